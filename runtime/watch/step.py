"""What one training step did, without numbers: which call made which tensor, and from which.

Values are numbered in the order in which they were made. Nothing here refers to a tensor, so a
record outlives its step at the cost of some hundred bytes a call.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import field
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.interchange.importing.torch.places import place_of

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.scopes import Part

Kind: TypeAlias = tuple[str, tuple[int, ...]]
"""The dtype and the shape of a value."""


class SourceLine(NamedTuple):
    """A line of a program, by file; number 0 where it is not known."""

    file: str = ""
    number: int = 0


def shown(line: SourceLine) -> str:
    """A line as sentences have it: ``model.py:42``; empty where it is not known."""
    return place_of(*line).line if line.number else ""


class GradientFate(Enum):
    """What became of gradient in a call."""

    TRACKED = auto()
    """Autograd keeps track of a result."""
    CUT = auto()
    """It keeps track of none, though results are floating-point."""
    INTEGER = auto()
    """No result is floating-point."""
    LEFT = auto()
    """The result is a Python number."""


class NoGradRegion(NamedTuple):
    """Where gradient was off: what turned it off, ``no_grad``, and the line that did."""

    name: str
    line: SourceLine


@dataclass(eq=False, slots=True)
class StepCall:
    """One call of a function of PyTorch."""

    name: str
    line: SourceLine
    path: tuple[Part, ...]
    """The modules that it was made in."""
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    fate: GradientFate
    region: NoGradRegion | None
    sequence: int
    """The number of autograd's next node when the call had returned."""
    enclosed: tuple[int, ...] = ()
    """What a custom function read without being given it, which gets no gradient by it."""
    closed: tuple[int, ...] = ()
    """Inputs that the backward of a custom function gave no gradient."""

    @property
    def read(self) -> Sequence[int]:
        """All values that it read, each once."""
        return tuple(dict.fromkeys((*self.inputs, *self.enclosed)))


class Returned(NamedTuple):
    """Numbers that came into PyTorch from outside: a tensor made of a list or an array."""

    name: str
    line: SourceLine
    path: tuple[Part, ...]
    values: tuple[int, ...]


class Change(NamedTuple):
    """A write into a tensor."""

    name: str
    line: SourceLine
    shape: tuple[int, ...]


class StrayLeaf(NamedTuple):
    """A trained tensor that is no parameter of the model: where it was read first."""

    line: SourceLine
    is_gone: bool
    """Whether it no longer existed when the step had ended."""
    identity: int


@dataclass(eq=False)
class RecordedStep:
    """A record of one training step."""

    calls: list[StepCall] = field(default_factory=list)
    kinds: list[Kind] = field(default_factory=list)
    """Of each value."""
    tracked: list[bool] = field(default_factory=list)
    """Whether autograd keeps track of each value."""
    names: dict[int, str] = field(default_factory=dict)
    """Of parameters, by their values."""
    leaves: dict[int, StrayLeaf] = field(default_factory=dict)
    losses: list[int] = field(default_factory=list)
    """What ``backward`` was called of, in order."""
    returned: list[Returned] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    unseen: dict[str, SourceLine] = field(default_factory=dict)
    """Results of calls that were not seen, by autograd's names, and where they came up."""
    notes: list[str] = field(default_factory=list)
    began: int = 0
    """The number of autograd's next node when it began."""

    def made(self, sequence: int) -> StepCall | None:
        """The call that made autograd's node of this number; None where it isn't in the step."""
        ends = [call.sequence for call in self.calls]
        place = bisect_right(ends, sequence)
        return self.calls[place] if self.began <= sequence and place < len(ends) else None

    def readers(self) -> dict[int, list[StepCall]]:
        """The calls that read each value, in order."""
        found: dict[int, list[StepCall]] = {}
        for call in self.calls:
            for value in call.read:
                found.setdefault(value, []).append(call)
        return found

    def needed(self, ends: set[int]) -> set[int]:
        """All values that some depend on, with themselves."""
        needed = set(ends)
        for call in reversed(self.calls):
            if not needed.isdisjoint(call.outputs):
                needed.update(call.read)
        return needed

    def ends_of(
        self, value: int, readers: dict[int, list[StepCall]]
    ) -> Iterator[tuple[int, StepCall]]:
        """What a value leads to that nothing reads, each with the call that made it."""
        pending, seen = [value], {value}
        while pending:
            for call in readers.get(pending.pop(), ()):
                for output in call.outputs:
                    if output in seen:
                        continue
                    seen.add(output)
                    pending.append(output)
                    if output not in readers:
                        yield output, call
