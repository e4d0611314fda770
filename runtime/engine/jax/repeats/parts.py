"""What a rolled computation consists of: single values, loops, and what joins their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.calculus.scan import needed_values, result_of

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.calculus.scan import Body

Computed: TypeAlias = "tuple[Value, list[Value]]"
"""A value and its inputs."""


class Rows(NamedTuple):
    """An element of ``base`` for each step: ``size`` places along ``axis``, in step t from
    ``start + stride·t`` on, in the shape of what reads it.
    """

    base: Value
    axis: int
    start: int
    stride: int
    size: int


class Carried(NamedTuple):
    """What a loop carries: ``slot`` is ``result`` of the step before, at first ``initial``.

    Without ``initial`` it is at first what adding changes nothing: −0, and 0 for integers.
    """

    slot: Value
    initial: Value | None
    result: Value


class Span(NamedTuple):
    """The rows ``start`` to ``stop`` of a stack, the last one first if it is ``flipped``."""

    stack: Value
    start: int
    stop: int
    flipped: bool


class Zeros(NamedTuple):
    """Zeros of this length along the axis."""

    length: int


Piece: TypeAlias = "Value | Span | Zeros"


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """A value made of pieces along an axis; scalars count as arrays of one element."""

    value: Value
    axis: int
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """The same parts for each of ``steps``; all values of ``parts`` belong to the loop alone.

    What it reads has a slot within: ``fixed`` values are the same in all steps. ``stacks`` are
    results of all steps along a new axis 0, with ``reverse`` that of the last step first. ``last``
    are values outside that are carried ones (by their number) after the last step, ``single``
    those that are a row of a stack, at the place that a constant says. If that is passed to the
    program, all rows are taken by the same code, which is compiled once.
    """

    steps: int
    reverse: bool
    parts: Sequence[Part]
    carried: Sequence[Carried]
    rows: Sequence[tuple[Value, Rows]]
    fixed: Sequence[tuple[Value, Value]]
    stacks: Sequence[tuple[Value, Value]]
    last: Sequence[tuple[Value, int]]
    single: Sequence[tuple[Value, Value, Value]]
    originals: Mapping[Value, tuple[Value, ...]]
    """For each value within, those that it stands for, by step."""


Part: TypeAlias = "Computed | Joined | Loop"


def count_operations(parts: Sequence[Part]) -> int:
    """How many operations are compiled: those of a loop once, and the rows that are taken."""
    scans: dict[int, tuple[Body, set[Value]]] = {}
    count = 0
    for part in parts:
        if isinstance(part, Loop):
            count += count_operations(part.parts) + len(part.single)
        elif isinstance(part, Joined) or part[0].primitive.together is None:
            count += 1
        else:
            body: Body = part[0].attributes["body"]
            scans.setdefault(id(body), (body, set()))[1].add(result_of(part[0]))
    for body, results in scans.values():
        afters = [each.after for each in body.carried]
        count += len(needed_values([*results, *afters], body.leaves))
    return count


def places(parts: Sequence[Part]) -> list[Value]:
    """The constants that say where single rows are."""
    loops = [part for part in parts if isinstance(part, Loop)]
    return list(dict.fromkeys(place for loop in loops for *_, place in loop.single))
