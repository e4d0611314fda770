"""What a loss does not change with: a shift that a softmax ignores or a norm takes away, apart from
what a stop keeps constant; and all that is in front of outputs of which only the total is read, if
that is the same whatever they are, as that of a softmax is 1.

The derivative with respect to it is exactly 0, and what is computed in its place is rounding. A
shift is followed from a wire towards the losses by the axes along which it is constant, and so is a
total.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.importing.kinds import is_view
from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.terms import split_term
from gradwire.runtime.flow.structure.neighbours import neighbours_of
from gradwire.runtime.flow.structure.singles import batch_axes, group_axes, own_axes
from gradwire.runtime.flow.words import phrases, sentences

if TYPE_CHECKING:
    from gradwire.blocks.block import Block, Shape
    from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
    from gradwire.runtime.engine.program import Program

Axes = frozenset[int]
"""The axes along which a shift is constant."""
_HIDDEN = -1e4
"""What is this small has no weight in a softmax."""
_DEPTH = 100
"""Blocks through which a shift is followed, at most."""
_SOFTMAX = ("Attention", "CrossEntropy", "LogSoftmax", "Softmax")
_SAME = ("Cast", "GradientReversal", "GradientScale", "Neg", "PageInput", "PageOutput",
         "StopGradient")  # fmt: skip
_RESHAPING = ("ExpandDims", "Flatten", "Reshape", "Squeeze")


def invariance(program: Program, losses: Sequence[PortPath], wires: Sequence[WirePath]) -> str:
    """Why no loss changes with what these wires bring, for each of them: ``norm1 takes away the
    mean``; empty where one may.
    """
    reasons = list(dict.fromkeys(map(_invariances(program, losses).reason, wires)))
    return " and ".join(reasons) if all(reasons) else ""


def constant_totals(program: Program, losses: Sequence[PortPath]) -> dict[InstancePath, str]:
    """The blocks of whose outputs losses read only a total that never changes, with a sentence."""
    totals = _invariances(program, losses).totals
    return {path: totals.reason(path) for path in totals.sums}


def _invariances(program: Program, losses: Sequence[PortPath]) -> Invariances:
    heads = program.of_numbers("heads", lambda: frozenset(x.block for x in program.heads()))
    # Asked for each of many losses: what they have besides is looked for once.
    key: object = "others", id(losses)
    _, others = program.of_numbers(key, lambda: (losses, {x.block for x in losses} - heads))
    key = "invariances", frozenset(others)
    known: Invariances = program.of_numbers(key, lambda: Invariances(program, heads | others))
    return known


class Invariances:
    """The blocks of a program that remove a shift, by the wire over which it comes."""

    def __init__(self, program: Program, heads: Collection[InstancePath]) -> None:
        self._program = program
        self._near = neighbours_of(program)
        self._heads = heads
        self._known: dict[tuple[WirePath, Axes], list[InstancePath]] = {}
        self.totals = Totals(program, heads)

    def reason(self, wire: WirePath) -> str:
        """Why no loss changes with what a wire brings; empty where one may."""
        if wire in self._program.wire_sources and (blocks := self.totals.ahead(wire)):
            return " and ".join(map(self.totals.reason, blocks))
        found = self._removers(wire, frozenset(), 0) if wire in self._program.wire_sources else []
        soft = [block for block in found if self._near.kind(block) in _SOFTMAX]
        means = [block for block in found if block not in soft]
        parts = [
            phrases.IGNORES_SHIFT.format(sentences.names(soft)) if soft else "",
            phrases.TAKES_MEAN.format(sentences.names(means)) if means else "",
        ]
        return " and ".join(filter(None, parts))

    def _removers(self, wire: WirePath, constant: Axes, depth: int) -> list[InstancePath]:
        """The blocks that remove all that a wire brings, constant along these axes; none if not all
        of it is removed.
        """
        key = wire, constant
        if key not in self._known:
            self._known[key] = self._found(wire, constant, depth) if depth < _DEPTH else []
        return self._known[key]

    def _found(self, wire: WirePath, constant: Axes, depth: int) -> list[InstancePath]:
        program, path = self._program, self._program.wire_targets[wire]
        source, out = program.wire_sources[wire], program.ports.get(path.port("out"))
        if out is None or source not in program.ports or path in self._heads:
            return []
        shape = program.ports[source].shape
        given = constant | {axis for axis, length in enumerate(shape) if length == 1}
        shift = _Shift(program, path, wire.within_block, shape, given, out.shape)
        if shift.is_removed():
            return [path]
        kept = shift.passed()
        found: dict[InstancePath, None] = {}
        if kept is None:
            return []
        for reader in self._near.readers(path):
            target = program.block(program.wire_targets[reader])
            if is_view(target) or _is_closed(target):
                continue
            removers = self._removers(reader, frozenset(kept), depth + 1)
            if not removers:
                return []
            found |= dict.fromkeys(removers)
        return list(found)


def _is_closed(block: Block) -> bool:
    """Whether a block stops the gradient of all that it is given."""
    return (
        isinstance(block, StopGradient) and not (block.open or block.spare) and block.only is None
    )


class Totals:
    """The blocks of a program of which only such a total is read, and what adds it up."""

    def __init__(self, program: Program, heads: Collection[InstancePath]) -> None:
        self._program = program
        self._near = neighbours_of(program)
        self._heads = heads
        self.sums: dict[InstancePath, list[InstancePath]] = {}
        """For each the blocks that add up all of its outputs."""
        for path, instance in program.instances.items():
            along = _TOTALS.get(instance.block.type_name())
            sums = self._sums_of(path, along) if along else []
            if sums:
                self.sums[path] = sums
        self._read = self._read_by(()) if self.sums else set()
        self.sums = {path: sums for path, sums in self.sums.items() if path in self._read}
        self._read_otherwise = self._read_by(self.sums)

    def ahead(self, wire: WirePath) -> list[InstancePath]:
        """The blocks, one on each way from a wire to a loss, of which only the total is read; none
        where there is a way without one.
        """
        first = self._program.wire_targets[wire]
        if first not in self._read or first in self._read_otherwise:
            return []
        return [path for path in self._near.after(first) if path in self.sums]

    def reason(self, block: InstancePath) -> str:
        """Why no loss changes with what such a block is given."""
        is_soft = self._near.kind(block) == "Softmax"
        words = phrases.ADDS_UP_TO_1 if is_soft else phrases.ADDS_UP
        return words.format(block, sentences.names(self.sums[block]))

    def _read_by(self, without: Collection[InstancePath]) -> set[InstancePath]:
        """The blocks that a loss reads by a way on which none of these is."""
        found = set(self._heads)
        pending = list(found)
        while pending:
            for source in self._near.sources(pending.pop()).values():
                block = source.block
                if block in found or block in without or _is_closed(self._program.block(block)):
                    continue
                found.add(block)
                pending.append(block)
        return found

    def _sums_of(
        self,
        path: InstancePath,
        along: Callable[[Any, Shape, Collection[str]], list[int] | None],
    ) -> list[InstancePath]:
        source = self._near.sources(path).get("x")
        out = self._program.ports.get(path.port("out"))
        if source is None or out is None:
            return []
        axes = along(self._program.block(path), out.shape, self._near.sources(path))
        places = {axis % len(out.shape) for axis in axes or ()}
        if not any(out.shape[place] > 1 for place in places):
            return []
        return self._added_up(path, frozenset(places), 0) or []

    def _added_up(
        self, path: InstancePath, axes: frozenset[int], depth: int
    ) -> list[InstancePath] | None:
        """The blocks that add up all outputs of a block along these axes; None if one is read
        otherwise.
        """
        found: dict[InstancePath, None] = {}
        shape = self._program.ports[path.port("out")].shape
        for wire in self._near.readers(path):
            target = self._program.wire_targets[wire]
            block = self._program.block(target)
            if is_view(block) or _is_closed(block):
                continue
            sums = self._at(target, wire, shape, axes, depth)
            if sums is None:
                return None
            found |= dict.fromkeys(sums)
        return list(found)

    def _at(
        self,
        path: InstancePath,
        wire: WirePath,
        shape: Shape,
        axes: frozenset[int],
        depth: int,
    ) -> list[InstancePath] | None:
        if path in self._heads:  # of several elements a loss is the sum
            return [path]
        out = self._program.ports.get(path.port("out"))
        if out is None or depth == _DEPTH:
            return None
        shift = _Shift(self._program, path, wire.within_block, shape, axes, out.shape)
        further: set[int] | None = None
        if shift.kind in ("Mean", "Sum"):
            summed = _axes(shift.block.axis, len(shape))
            if axes <= summed:
                return [path]
            kept = (
                range(len(shape)) if shift.block.keepdims else sorted({*range(len(shape))} - summed)
            )
            further = {place for place, axis in enumerate(kept) if axis in axes - summed}
        elif shift.kind in _SAME:
            further = set(axes)
        elif shift.kind in _RESHAPING:
            further = set(range(len(out.shape)))
        elif shift.kind in ("Add", "AddN", "Sub"):
            further = shift.aligned()
        elif shift.kind == "Mul" or (shift.kind == "Div" and shift.port == "a"):
            moved = shift.aligned()
            further = moved if moved <= shift.factors_alike() else None
        return None if further is None else self._added_up(path, frozenset(further), depth + 1)


def _axes(axis: int | Sequence[int] | None, count: int) -> set[int]:
    """The axes of a reduction."""
    if axis is None:
        return set(range(count))
    return {each % count for each in ([axis] if isinstance(axis, int) else axis)}


class _Shift:
    """A shift that comes to an input of a block."""

    def __init__(
        self,
        program: Program,
        path: InstancePath,
        port: str,
        shape: Shape,
        constant: Axes,
        out: Shape,
    ) -> None:
        self.program, self.path, self.port = program, path, port
        self.block: Any = program.block(path)
        self.kind = self.block.type_name()
        self.shape, self.constant, self.out = shape, constant, out

    def is_removed(self) -> bool:
        """Whether the block gives the same with the shift as without it, but not the same for all
        inputs, as it does for rows of a single element.
        """
        along = _REMOVED.get((self.kind, self.port))
        axes = along(self.block, self.shape) if along and self.shape else []
        removed = {axis % len(self.shape) for axis in axes}
        return removed <= self.constant and any(self.shape[axis] > 1 for axis in removed)

    def passed(self) -> set[int] | None:
        """The axes along which the output's shift is constant; None if it isn't linear in this."""
        if self.kind in _SAME:
            return set(self.constant)
        if self.kind in _RESHAPING:
            return _reshaped(self.shape, self.constant, self.out)
        match self.kind, self.port:
            case (("Add" | "AddN" | "Sub" | "Broadcast"), _):
                return self.aligned()
            case ("Mul", _) | ("Div", "a"):
                return self.aligned() & self.factors_alike()
            case "Where", "a" | "b" if self._hides():
                return self.aligned()
            case "Transpose", _:
                order = self.block.perm or range(len(self.shape))[::-1]
                return {place for place, axis in enumerate(order) if axis in self.constant}
            case "Slice", _ if len(self.out) == len(self.shape):
                return set(self.constant)
            case "Linear", "bias":
                return set(range(len(self.out) - 1))
            case "Linear", "x":
                return set(self.constant) - {len(self.shape) - 1}
            case _, "bias" if self.kind.startswith("Conv"):
                return set(range(len(self.out))) - {1}
            case "MatMul", "a" | "b":
                return self._multiplied()
            case "Einsum", _:
                return self._summed()
        return None

    def aligned(self) -> set[int]:
        """The axes by the places that they have in the output, and those that are new."""
        new = len(self.out) - len(self.shape)
        return {*range(new), *(axis + new for axis in self.constant)}

    def factors_alike(self) -> set[int]:
        """The axes of the output along which the other factor is constant."""
        other = {"a": "b", "b": "a"}[self.port]
        shape = self._other_shape(other)
        new = len(self.out) - len(shape)
        return {i for i in range(len(self.out)) if i < new or shape[i - new] == 1}

    def _other_shape(self, port: str) -> Shape:
        literal = self.block.literals.get(port)
        if literal is not None:
            return tuple(literal.tensor.array.shape)
        source = neighbours_of(self.program).sources(self.path)[port]
        return self.program.ports[source].shape

    def _hides(self) -> bool:
        """Whether what a Where takes elsewhere has no weight in a softmax."""
        other = {"a": "b", "b": "a"}[self.port]
        literal = self.block.literals.get(other)
        if literal is None:
            source = neighbours_of(self.program).sources(self.path).get(other)
            block = None if source is None else self.program.block(source.block)
            literal = getattr(block, "value", None) if block is not None else None
            array = getattr(literal, "array", None)
        else:
            array = literal.tensor.array
        return array is not None and bool(np.all(np.asarray(array) <= _HIDDEN))

    def _multiplied(self) -> set[int] | None:
        """Of a product of matrices: the axis that only this factor has."""
        if len(self.shape) < 2:
            return None
        own = 2 if self.port == "a" else 1
        return {len(self.out) - own} if len(self.shape) - own in self.constant else set()

    def _summed(self) -> set[int] | None:
        """Of a sum of products: the axes that only this term has."""
        terms, _, out = self.block.subscripts.partition("->")
        letters = terms.split(",")
        place = int(split_term(self.port)[1])
        others = "".join(letters[:place] + letters[place + 1 :])
        mine = letters[place]
        return {
            at
            for at, letter in enumerate(out)
            if letter not in others and mine.find(letter) in self.constant
        }


def _reshaped(shape: Shape, constant: Axes, out: Shape) -> set[int]:
    """The constant axes behind a Reshape: those made only of constant ones."""
    found = {axis for axis, length in enumerate(out) if length == 1}
    before = after = 0
    while before < len(shape) and after < len(out):
        first, start, sizes = before, after, [shape[before], out[after]]
        before, after = before + 1, after + 1
        while sizes[0] != sizes[1]:
            if sizes[0] < sizes[1]:
                sizes[0] *= shape[before]
                before += 1
            else:
                sizes[1] *= out[after]
                after += 1
        if all(axis in constant for axis in range(first, before)):
            found |= set(range(start, after))
    return found


_REMOVED: Mapping[tuple[str, str], Callable[[Any, Shape], list[int]]] = {
    ("Attention", "key"): lambda _, shape: [-2],
    ("Attention", "mask"): lambda _, shape: [-1],
    ("BatchNorm", "x"): lambda block, shape: batch_axes(block, shape) or [],
    ("CrossEntropy", "logits"): lambda block, _: [block.axis],
    ("GroupNorm", "x"): group_axes,
    ("LayerNorm", "x"): own_axes,
    ("LogSoftmax", "x"): lambda block, _: [block.axis],
    ("Softmax", "x"): lambda block, _: [block.axis],
}
"""The axes along which what is constant is removed, by type and input."""


def _softmax_axes(block: Any, _: Shape, __: Collection[str]) -> list[int] | None:
    return [block.axis]


def _norm_axes(block: Any, shape: Shape, wired: Collection[str]) -> list[int] | None:
    return None if "weight" in wired or block.is_given("weight") else own_axes(block, shape)


def _batch_axes(block: Any, shape: Shape, _: Collection[str]) -> list[int] | None:
    return batch_axes(block, shape)


_TOTALS: Mapping[str, Callable[[Any, Shape, Collection[str]], list[int] | None]] = {
    "BatchNorm": _batch_axes,
    "LayerNorm": _norm_axes,
    "Softmax": _softmax_axes,
}
"""The axes along which outputs add up to the same whatever the input is, by type; None for none."""
