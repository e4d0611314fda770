"""Values outside that join results of the steps of a loop: they are made of whole stacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gradwire.runtime.calculus.primitives.elementwise import ADD
from gradwire.runtime.calculus.primitives.shape import CONCAT, EMBED
from gradwire.runtime.engine.jax.repeats.given import pieces
from gradwire.runtime.engine.jax.repeats.parts import Joined, Span, Zeros

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.jax.repeats.building import Building
    from gradwire.runtime.engine.jax.repeats.parts import Piece


class _Placed(NamedTuple):
    """A value at a place along an axis."""

    start: int
    stop: int
    value: Value


class _Terms(NamedTuple):
    """The first ``length`` of placed values, whose sum a value is: 0 elsewhere along the axis."""

    axis: int
    placed: list[_Placed]
    length: int


class Joining:
    """Recognises concatenations, and sums of arrays that are embedded in zeros side by side.

    The latter are the gradients of arrays of which each step reads a slice.
    """

    def __init__(self, building: Building) -> None:
        self._homes, self._operations = building.homes, building.operations
        self._terms: dict[Value, _Terms] = {}
        for value in building.operations.entries:
            terms = None if value in self._homes else self._found(value)
            if terms is not None:
                self._terms[value] = terms

    def joined(self, value: Value) -> Joined | None:
        """The value as joined results; None if it is none or nothing is gained by it."""
        if value.primitive is CONCAT:
            axis, found = value.attributes["axis"], self._pieces(self._operations.inputs[value])
        elif value in self._terms and value.primitive is ADD:
            axis, found = self._side_by_side(value)
        else:
            return None
        if not any(isinstance(piece, Span) for piece in found):
            return None
        return Joined(value, axis, tuple(found))

    def _pieces(self, values: Sequence[Value]) -> list[Piece]:
        return pieces(values, self._homes)

    def _side_by_side(self, value: Value) -> tuple[int, list[Piece]]:
        """The pieces of a sum, in the order of their places; none if some overlap."""
        axis, placed, length = self._terms[value]
        terms = sorted(self._nested(axis, placed[:length]), key=lambda each: each.start)
        ends = [0, *(each.stop for each in terms)]
        gaps = [each.start - end for each, end in zip(terms, ends, strict=False)]
        gaps.append(value.shape[axis] - ends[-1])
        if min(gaps) < 0:
            return axis, []
        found: list[Piece] = []
        start = 0
        for i, gap in enumerate(gaps):
            if gap or i == len(terms):
                found += self._pieces([each.value for each in terms[start:i]])
                found += [Zeros(gap)] if gap else []
                start = i
        return axis, found

    def _nested(self, axis: int, placed: Sequence[_Placed]) -> list[_Placed]:
        """The placed values, those that are themselves such sums replaced by their terms."""
        found = []
        for each in placed:
            inner = self._terms.get(each.value)
            if inner is None or inner.axis != axis:
                found.append(each)
            else:
                moved = [
                    _Placed(start + each.start, stop + each.start, value)
                    for start, stop, value in self._nested(axis, inner.placed[: inner.length])
                ]
                found += _filled(moved, each) or [each]
        return found

    def _found(self, value: Value) -> _Terms | None:
        inputs = self._operations.inputs[value]
        if value.primitive is EMBED:
            return _embedded(value, inputs[0])
        if value.primitive is not ADD or inputs[1] in self._homes:
            return None
        left, right = (self._terms.get(x) for x in inputs)
        if left is None or right is None or left.axis != right.axis:
            return None
        placed = left.placed if left.length == len(left.placed) else left.placed[: left.length]
        placed += right.placed[: right.length]
        return _Terms(left.axis, placed, len(placed))


def _embedded(value: Value, content: Value) -> _Terms | None:
    """What an embed puts at one place along one axis, over the whole of the others."""
    attributes, shape = value.attributes, value.shape
    ranges = [range(*part.indices(n)) for part, n in zip(attributes["index"], shape, strict=True)]
    partial = [(a, r) for a, r in enumerate(ranges) if r != range(shape[a])]
    if attributes["fill"] != 0 or len(partial) != 1 or partial[0][1].step != 1:
        return None
    axis, places = partial[0]
    return _Terms(axis, [_Placed(places.start, places.stop, content)], 1)


def _filled(terms: list[_Placed], whole: _Placed) -> list[_Placed] | None:
    """The terms if they fill the place of the whole without gaps."""
    terms.sort(key=lambda each: each.start)
    ends = [whole.start, *(each.stop for each in terms)]
    starts = [*(each.start for each in terms), whole.stop]
    return terms if ends == starts else None
