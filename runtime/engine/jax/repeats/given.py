"""What the steps of a loop read from outside: one array for all, or a row of one for each."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from gradwire.runtime.calculus.primitives.base import CONSTANT
from gradwire.runtime.calculus.primitives.shape import SLICE
from gradwire.runtime.engine.jax.repeats.operations import CHEAP
from gradwire.runtime.engine.jax.repeats.parts import Joined, Rows, Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.jax.repeats.body import Body, Home
    from gradwire.runtime.engine.jax.repeats.operations import Operations
    from gradwire.runtime.engine.jax.repeats.parts import Piece
    from gradwire.runtime.engine.jax.repeats.segments import Segments

_DEEPEST = 40
"""Operations in a row that are taken into a loop from before it."""


class Cut(NamedTuple):
    """``size`` places of ``base`` along one axis, from ``start`` on."""

    base: Value
    axis: int
    start: int
    size: int


class Given:
    """Gives the loops of a computation what they read. ``stacks`` are what was stacked for them."""

    def __init__(self, operations: Operations, homes: dict[Value, Home]) -> None:
        self._operations, self._homes = operations, homes
        self._cuts: dict[Value, Cut | None] = {}
        self._places: dict[Value, dict[Value, int]] = {}
        """Where the values of each stack are along axis 0."""
        self._stacked_in: dict[Value, dict[Value, None]] = {}
        """The stacks that a value is in."""
        self.stacks: dict[Value, Joined] = {}

    def slot(self, body: Body, sources: tuple[Value, ...], deep: int = 0) -> Value:
        """Where a step finds its value of ``sources``, of which there is one for each step."""
        if _equal(sources):
            return body.fix(sources[0])
        rows = self._results(sources) or self._slices(sources) or self._stacked(sources)
        if rows is not None:
            return body.row(rows, sources[0])
        if deep < _DEEPEST and self._belong(body.segments, sources):
            inputs = zip(*(self._operations.inputs[x] for x in sources), strict=True)
            return body.add(sources, [self.slot(body, each, deep + 1) for each in inputs])
        return body.row(self._stack(body, sources), sources[0])

    def even(self, found: Segments, sources: Sequence[Value], deep: int = 0) -> bool:
        """Whether nothing must be stacked for the steps to find their values of the sources."""
        if _equal(sources):
            return True
        if self._results(sources) or self._slices(sources) or self._stacked(sources):
            return True
        if deep == _DEEPEST or not self._belong(found, sources):
            return False
        inputs = zip(*(self._operations.inputs[x] for x in sources), strict=True)
        return all(self.even(found, each, deep + 1) for each in inputs)

    def _belong(self, found: Segments, sources: Sequence[Value]) -> bool:
        """Whether each step may as well compute its source: one operation on what is outside."""
        kinds = {self._operations.kind(x) for x in sources}
        if len(kinds) > 1 or -1 in kinds or any(x in self._homes for x in sources):
            return False
        if sources[0].primitive in CHEAP:
            return True
        inputs = zip(*(self._operations.inputs[x] for x in sources), strict=True)
        return sum(not _equal(each) for each in inputs) == 1 and all(
            found.start <= self._operations.place.get(reader, -1) < found.stop
            for source in sources
            for reader in self._operations.readers[source]
        )

    def _results(self, sources: Sequence[Value]) -> Rows | None:
        """Sources that are results of another loop, in an even order of its steps."""
        found = self._homes.get(sources[0])
        if found is None:
            return None
        body, copy, _ = found
        homes = [self._homes.get(x) for x in sources]
        if any(home is None or home.body is not body or home.copy is not copy for home in homes):
            return None
        stride = _stride([body.row_of(home.step) for home in homes if home is not None])
        if stride is None:
            return None
        return Rows(body.stack(copy), 0, body.row_of(found.step), stride, 1)

    def _slices(self, sources: Sequence[Value]) -> Rows | None:
        """Sources that are slices of one array, one behind the other along one axis."""
        first = self._cut(sources[0])
        if first is None:
            return None
        cuts = [cut for x in sources if (cut := self._cut(x)) is not None]
        if len({(cut.base, cut.axis, cut.size) for cut in cuts}) > 1:
            return None
        stride = _stride([cut.start for cut in cuts])
        if stride is None or len(cuts) < len(sources):
            return None
        return Rows(first.base, first.axis, first.start, stride, first.size)

    def _cut(self, value: Value) -> Cut | None:
        """What a slice takes of an array, also through several slices."""
        if value not in self._cuts:
            self._cuts[value] = self._found_cut(value)
        return self._cuts[value]

    def _found_cut(self, value: Value) -> Cut | None:
        if value.primitive is not SLICE or value in self._homes:
            return None
        source = self._operations.inputs[value][0]
        ranges = [
            (axis, range(*part.indices(n)))
            for axis, (part, n) in enumerate(
                zip(value.attributes["index"], source.shape, strict=True)
            )
        ]
        partial = [(a, r) for a, r in ranges if r != range(source.shape[a])]
        if len(partial) != 1 or partial[0][1].step != 1 or not partial[0][1]:
            return None
        axis, places = partial[0]
        whole = self._cut(source)
        if whole is not None and whole.axis == axis:
            return Cut(whole.base, axis, whole.start + places.start, len(places))
        return Cut(source, axis, places.start, len(places))

    def _stacked(self, sources: Sequence[Value]) -> Rows | None:
        """Sources that were stacked before, for another loop."""
        for stack in self._stacked_in.get(sources[0], ()):
            places = [self._places[stack].get(x) for x in sources]
            known = [place for place in places if place is not None]
            stride = _stride(known)
            if stride is not None and len(known) == len(places):
                return Rows(stack, 0, known[0], stride, _height(sources[0]))
        return None

    def _stack(self, body: Body, sources: Sequence[Value]) -> Rows:
        """Join the sources along axis 0; results of a loop stay together."""
        height, rest = _height(sources[0]), sources[0].shape[1:]
        stack = body.leaf((len(sources) * height, *rest), sources[0].dtype)
        self.stacks[stack] = Joined(stack, 0, tuple(pieces(sources, self._homes)))
        for i, source in enumerate(sources):
            self._places.setdefault(stack, {})[source] = i * height
            self._stacked_in.setdefault(source, {})[stack] = None
        return Rows(stack, 0, 0, height, height)


def pieces(sources: Sequence[Value], homes: dict[Value, Home]) -> list[Piece]:
    """The sources in their order, those that are results of a loop one after another as one."""
    found: list[Piece] = []
    i = 0
    while i < len(sources):
        span, count = _span(sources, i, homes)
        found.append(sources[i] if span is None else span)
        i += count
    return found


def _span(sources: Sequence[Value], i: int, homes: dict[Value, Home]) -> tuple[Span | None, int]:
    """The results of a loop from source ``i`` on that are next to each other, and their number."""
    first = homes.get(sources[i])
    if first is None:
        return None, 1
    rows = [first.body.row_of(first.step)]
    for source in sources[i + 1 :]:
        home = homes.get(source)
        if home is None or home.body is not first.body or home.copy is not first.copy:
            break
        row = home.body.row_of(home.step)
        if abs(row - rows[-1]) != 1 or (len(rows) > 1 and row - rows[-1] != rows[1] - rows[0]):
            break
        rows.append(row)
    if len(rows) == 1:
        return None, 1
    stack = first.body.stack(first.copy)
    return Span(stack, min(rows), max(rows) + 1, rows[1] < rows[0]), len(rows)


def _equal(sources: Sequence[Value]) -> bool:
    """Whether all are the same value, or equal constants."""
    first = sources[0]
    if all(x is first for x in sources):
        return True
    if not all(x.primitive is CONSTANT for x in sources):
        return False
    array = first.attributes["array"]
    return all(
        x.shape == first.shape
        and x.dtype == first.dtype
        and x.attributes["array"].tobytes() == array.tobytes()
        for x in sources[1:]
    )


def _height(value: Value) -> int:
    """The length of axis 0; a scalar has 1."""
    return value.shape[0] if value.shape else 1


def _stride(places: Sequence[int]) -> int | None:
    """The distance between places that are evenly spaced."""
    if len(places) == 1:
        return 1
    strides = {b - a for a, b in pairwise(places)}
    return strides.pop() if len(strides) == 1 else None
