"""What would keep the value and the slope of a block finite, by what stands around the block."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.importing.kinds import is_clip
from gradwire.runtime.flow.structure.exponentials import function_of
from gradwire.runtime.flow.structure.neighbours import SHAPES, neighbours_of
from gradwire.runtime.flow.words import value_sentences

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import InstancePath
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.words.value_sentences import Element

Array = NDArray[Any]
_KEEPS_PLACE = ("Abs", "Add", "Display", "Mul", "Neg", "Sqrt", "Square", "Sub")
"""Blocks through which a limit of a Clip is followed to where it makes a 0."""
_POSITIVE = ("Exp", "Sigmoid", "Softmax", "Softplus")
"""Blocks whose result is above 0 for all finite numbers, but for rounding."""
_PRODUCTS = ("Mul", "Square")
"""Blocks whose result is 0 only where a factor is, but for rounding."""
_NONNEGATIVE = (*_POSITIVE, "Abs", "Relu", "Square", "Variance")


_POLES = {
    "Arccos": (-1.0, 1.0), "Arccosh": (1.0,), "Arcsin": (-1.0, 1.0), "Arctanh": (-1.0, 1.0),
    "Log1p": (-1.0,),
}  # fmt: skip
"""Where the value or the slope of a block is infinite, by its type; of others at 0."""


def _poles(kind: str) -> tuple[float, ...]:
    return _POLES.get(kind, (0.0,))


class Remedies:
    """Cures for the blocks of one run."""

    def __init__(self, program: Program, values: Mapping[str, Array]) -> None:
        self._program = program
        self._values = values
        self._near = neighbours_of(program)

    def of_value(self, path: InstancePath, elements: Sequence[Element]) -> str:
        """What keeps the value of a block finite, which made it not so of these elements."""
        kind = self._near.kind(path)
        at_zero = any(element.value == 0 for element in elements)
        at_pole = any(element.value in _poles(kind) for element in elements)
        if kind == "Exp":
            return value_sentences.exp_cure(function_of(self._program, path))
        if kind in ("Softmax", "LogSoftmax"):
            return value_sentences.MASKED if self._is_masked(path) else ""
        if at_pole and (limit := self._limit(path)):
            return limit
        if kind == "Div" and at_zero and (source := self._near.sources(path).get("b")):
            root = self._near.origin(source)
            if self._near.kind(root) in ("Norm", "Sqrt"):
                return value_sentences.under_root(root, self._near.kind(root))
            if self._near.kind(root) in _NONNEGATIVE:
                return value_sentences.NEVER_NEGATIVE
        if kind == "Log" and at_zero and is_complement(self._program, path):
            return value_sentences.LOG_COMPLEMENT
        before = {self._near.kind(source.block) for source in self._near.sources(path).values()}
        return value_sentences.cure(kind, elements, before) or self._wider(path, elements)

    def _wider(self, path: InstancePath, elements: Sequence[Element]) -> str:
        """To use a wider dtype where finite numbers overflow the one that is there."""
        value = self._values.get(path.port("out"))
        overflows = all(math.isfinite(element.value) for element in elements)
        if value is None or value.dtype != np.float16 or not overflows or np.isnan(value).any():
            return ""
        return value_sentences.IN_FLOAT32

    def _is_masked(self, path: InstancePath) -> bool:
        """Whether somewhere all that a Softmax normalises is −inf, and nothing is NaN or +inf."""
        source = self._near.sources(path).get("x")
        value = None if source is None else self._values.get(source)
        if value is None or np.isnan(value).any() or np.isposinf(value).any():
            return False
        axis = getattr(self._program.instances[path].block, "axis", -1)
        return bool(np.isneginf(value).all(axis=axis).any())

    def of_slope(self, path: InstancePath) -> str:
        """What keeps the slope of a block finite, which is infinite at a finite value."""
        kind = self._near.kind(path)
        alternative = self._without_root(path) if kind == "Sqrt" else ""
        return self._limit(path) or alternative or value_sentences.steep_cure(kind)

    def _without_root(self, path: InstancePath) -> str:
        """A form without a Sqrt, by the block that makes what is under it; empty if unknown."""
        near = self._near
        under = next(map(self._near.origin, near.sources(path).values()), path)
        kind = near.kind(under)
        if kind == "Pow" and near.is_given(under, "b", 2.0):
            kind = "Square"
        readers = near.beyond(path, SHAPES | {"Add", "Clip", "Maximum"})
        divides = any(near.kind(wire.block) == "Div" and wire.port == "b" for wire in readers)
        fits = {
            "Pow": kind == "Pow" and self._is_nonnegative(under, "a"),
            "Square": True,
            "Variance": not divides,  # a normalisation is not what the variance divides by
        }
        return value_sentences.root_cure(under, kind) if fits.get(kind) else ""

    def underflow(self, path: InstancePath, port: str) -> InstancePath | None:
        """The block behind an input that makes zeros of finite numbers, which it never is."""
        source = self._near.sources(path).get(port)
        maker = None if source is None else self._near.origin(source)
        if maker is None:
            return None
        read = [self._values.get(source) for source in self._near.sources(maker).values()]
        if not all(a is not None and np.isfinite(a).all() for a in read):
            return None
        is_above_zero = self._near.kind(maker) in _POSITIVE
        return maker if is_above_zero or self._is_small_product(maker) else None

    def _is_small_product(self, path: InstancePath) -> bool:
        """Whether a block multiplies, and none of its zeros has a factor of 0."""
        instance, value = self._program.instances[path], self._values.get(path.port("out"))
        if instance.block.type_name() not in _PRODUCTS or value is None:
            return False
        literals = (literal.tensor.array for literal in instance.block.literals.values())
        wired = (self._values[source] for source in self._near.sources(path).values())
        return all(np.all((factor != 0) | (value != 0)) for factor in (*literals, *wired))

    def _is_nonnegative(self, path: InstancePath, port: str) -> bool:
        """Whether none of the numbers that a block reads is below 0."""
        source = self._near.sources(path).get(port)
        if source is not None:
            value = self._values.get(source)
            return value is not None and not np.any(value < 0)
        literal = self._program.instances[path].block.literals.get(port)
        return literal is not None and not np.any(literal.tensor.array < 0)

    def _limit(self, path: InstancePath) -> str:
        """To move the limit of a Clip that all numbers at the pole of a block are at."""
        inputs = [self._values.get(source) for source in self._near.sources(path).values()]
        places = (np.isin(a, _poles(self._near.kind(path))) for a in inputs if a is not None)
        poles = next((at for at in places if np.any(at)), None)
        if poles is None:
            return ""
        for at in self._route_back(path):
            block = self._program.instances[at].block
            value = self._values.get(at.port("out"))
            if not is_clip(block) or value is None or value.shape != poles.shape:
                continue
            given = {"min": block.min, "max": block.max}
            limits = {name: limit for name, limit in given.items() if limit is not None}
            held = {name: value.dtype.type(limit) for name, limit in limits.items()}
            met = [name for name, limit in held.items() if np.any(value[poles] == limit)]
            if met and np.isin(value[poles], [*held.values()]).all():
                if len(met) > 1:
                    return value_sentences.limits_cure(at, held["min"], held["max"])
                return value_sentences.limit_cure(at, met[0], limits[met[0]], held[met[0]])
        return ""

    def _route_back(self, path: InstancePath) -> list[InstancePath]:
        """The blocks before a block, as long as they keep the place of every number."""
        found: dict[InstancePath, None] = {}
        pending = [source.block for source in self._near.sources(path).values()]
        while pending:
            at = pending.pop()
            if at not in found:
                found[at] = None
                if self._near.kind(at) in _KEEPS_PLACE:
                    pending += [source.block for source in self._near.sources(at).values()]
        return [at for at in found if at in self._program.instances]


def is_complement(program: Program, path: InstancePath) -> bool:
    """Whether a block reads 1 − Sigmoid."""
    near = neighbours_of(program)
    difference = next(map(near.origin, near.sources(path).values()), path)
    subtracted = near.sources(difference).get("b")
    return (
        near.kind(difference) == "Sub"
        and near.is_given(difference, "a", 1.0)
        and subtracted is not None
        and near.kind(near.origin(subtracted)) == "Sigmoid"
    )
