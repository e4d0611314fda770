"""What a learner is asked for on one page, what was guessed, and how it compares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum, auto

from gradwire.blocks.classes.dataclass import dataclass


class GuessStage(Enum):
    """How far a question is."""

    OPEN = auto()
    GUESSED = auto()
    RIGHT = auto()
    WRONG = auto()


@dataclass(frozen=True, slots=True)
class GuessLabel:
    """A question about a block or a wire: its text, such as ``∇ ?`` or ``12 → 8``."""

    text: str
    stage: GuessStage = GuessStage.OPEN
    typed: str = ""
    """What was typed for a number."""

    @property
    def is_judged(self) -> bool:
        """Whether the answer is known."""
        return self.stage in (GuessStage.RIGHT, GuessStage.WRONG)


@dataclass(frozen=True)
class GuessMarks:
    """The questions of a page by the names of blocks and the keys of wires, in their order."""

    blocks: Mapping[str, GuessLabel] = field(default_factory=dict)
    wires: Mapping[str, GuessLabel] = field(default_factory=dict)
    place: str = ""
    """The block that feedback points at."""

    @property
    def is_open(self) -> bool:
        """Whether guesses can still be made."""
        return not any(g.is_judged for g in (*self.blocks.values(), *self.wires.values()))
