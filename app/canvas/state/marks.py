"""What is shown over a page: guesses of a learner, a trial, and the route of a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum, auto
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram import ROOT, InstancePath, WirePath
from gradwire.runtime.flow import MANY

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.arrays import Indices
    from gradwire.app.canvas.scene.geometry import Scene
    from gradwire.runtime.diagram import Page
    from gradwire.runtime.flow import Verdict


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


@dataclass(frozen=True)
class TrialMarks:
    """What a trial changes on one page; blocks and wires by their names there."""

    cuts: tuple[str, ...] = ()
    """Keys of wires that are cut."""
    opened: tuple[str, ...] = ()
    """StopGradients that let gradient pass."""
    changes: Mapping[str, str] = field(default_factory=dict)
    """How the gradient changes, by block: ``6.00 → 3.00 (−50 %)``."""
    current: str = ""
    """The block at which the timeline is."""


CUTTER_GLYPHS = {"stop": "⊣", "no rule": "∅"}
"""Glyph of a cutter, by its kind."""


@dataclass(frozen=True)
class Route:
    """The part of a verdict that lies on one page; blocks and wires by their names there."""

    wire: str
    """Key of the wire that is explained."""
    numbers: Mapping[str, str] = field(default_factory=dict)
    """Position of blocks, counted from the loss: ``3``, or ``3–5`` for a page with several; empty
    for one that is only lit.
    """
    wires: tuple[str, ...] = ()
    """Keys of the wires along the route."""
    cutters: Mapping[WirePath, str] = field(default_factory=dict)
    """Glyphs by input port ``block.port`` that cuts."""

    def parts(self, scene: Scene) -> tuple[Indices, Indices]:
        """The wires and blocks of ``scene`` that belong to the route."""
        keys = dict.fromkeys([*self.wires, self.wire])
        wires = [scene.wire_index[key] for key in keys if key in scene.wire_index]
        names = [*self.numbers, *(wire.block for wire in self.cutters)]
        blocks = [scene.index[name] for name in names if name in scene.index]
        ends = scene.wire_blocks[wires].ravel().tolist() if wires else []
        return np.array(wires, np.intp), np.array(sorted({*blocks, *ends}), np.intp)


def route_of(verdict: Verdict, wire: str, page: Page, use: InstancePath = ROOT) -> Route:
    """The route of a wire of ``page``, which is used at the path ``use``.

    Of very many cutters, it includes those nearest to the loss.
    """
    positions: dict[str, list[int]] = {}
    for number, path in enumerate(verdict.witness, start=1):
        if (name := _block_here(path, use)) in page.blocks:
            positions.setdefault(name, []).append(number)
    cutters = {
        InstancePath(name).wire(cutter.port): CUTTER_GLYPHS.get(cutter.kind, "∅")
        for cutter in verdict.cutters[:MANY]
        if (name := _block_here(cutter.block, use)) in page.blocks
    }
    return Route(
        wire,
        {name: _span(numbers) for name, numbers in positions.items()},
        tuple(dict.fromkeys([*_wires_between(list(positions), page), wire])),
        cutters,
    )


def _block_here(path: str, use: InstancePath) -> str:
    """The block of the page at ``use`` that a path names or leads into; empty for none."""
    return InstancePath(path).block_below(use) or ""


def _span(numbers: Sequence[int]) -> str:
    first, last = min(numbers), max(numbers)
    return str(first) if first == last else f"{first}–{last}"


def _wires_between(names: Sequence[str], page: Page) -> list[str]:
    """Keys of the wires from each block of the route to the one before it."""
    steps = set(zip(names[1:], names, strict=False))
    return [str(t) for t, source in page.wires.items() if (source.block, t.block) in steps]
