"""What would keep the value and the slope of a block finite, by what stands around the block."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gradwire.blocks.importing.kinds import is_clip
from gradwire.runtime.flow.structure.neighbours import SHAPES, Neighbours, neighbours_of
from gradwire.runtime.flow.words import tables, value_sentences

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.paths import InstancePath
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.words.value_sentences import InputElement


# Recognises functions written with Exp for which a block exists: Sigmoid, Softmax, Softplus, ….

_SUMS = ("Add", "AddN", "Mean", "Sum")
_TRANSPARENT = SHAPES | {"Add", "Clip", "Maximum"}
"""Blocks between a sum and the Log or Div that reads it, which may add or enforce an epsilon."""
_MAX_STEPS = 4
"""Maximum number of blocks between the Exp and the numerator of a quotient."""


def function_of(program: Program, exp: InstancePath) -> str:
    """The block type that computes the function written with an Exp block without overflow; empty
    if none is recognised.
    """
    near = neighbours_of(program)
    for wire in near.beyond(exp):
        kind = near.kind(wire.block)
        if kind == "Log1p":
            return "Softplus"
        if kind in _SUMS:
            other = {"a": "b", "b": "a"}.get(wire.port, "")
            one = kind == "Add" and near.is_given(wire.block, other, 1.0)
            if found := _of_sum(near, exp, wire.block, one):
                return found
    return ""


def _of_sum(near: Neighbours, exp: InstancePath, total: InstancePath, one: bool) -> str:
    """As ``function_of``, for a sum of exponentials; ``one`` if it is that of 1 and one of them."""
    for wire in near.beyond(total, _TRANSPARENT):
        kind = near.kind(wire.block)
        if kind == "Log":
            return "Softplus" if one else "LogSumExp"
        if kind == "Div" and wire.port == "b" and one:
            return "Sigmoid"
        if kind == "Div" and wire.port == "b" and _is_numerator(near, exp, wire.block):
            logs = any(near.kind(further.block) == "Log" for further in near.beyond(wire.block))
            return "LogSoftmax" if logs else "Softmax"
    return ""


def _is_numerator(near: Neighbours, exp: InstancePath, quotient: InstancePath) -> bool:
    """Whether an Exp leads to the numerator of a quotient."""
    numerator = near.sources(quotient).get("a")
    return numerator is not None and exp in near.before(numerator.block, _MAX_STEPS)


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
        self.program = program
        self._values = values
        self.near = neighbours_of(program)

    def of_value(self, path: InstancePath, elements: Sequence[InputElement]) -> str:
        """What keeps the value of a block finite, which made it not so of these elements."""
        asked = NonfiniteSource(self, path, elements)
        return tables.decide(
            tables.VALUE_CURES, self.near.kind(path), lambda name: FACTS[name](asked)
        )

    def overflows_float16(self, path: InstancePath, elements: Sequence[InputElement]) -> bool:
        """Whether finite numbers overflow the narrow dtype that is there."""
        value = self._values.get(path.port("out"))
        is_narrow = value is not None and value.dtype == np.float16 and not np.isnan(value).any()
        return is_narrow and all(math.isfinite(element.value) for element in elements)

    def divisor(self, path: InstancePath) -> InstancePath | None:
        """The block that makes what a block divides by, if one does."""
        source = self.near.sources(path).get("b")
        return None if source is None else self.near.origin(source)

    def is_masked(self, path: InstancePath) -> bool:
        """Whether somewhere all that a Softmax normalises is −inf, and nothing is NaN or +inf."""
        source = self.near.sources(path).get("x")
        value = None if source is None else self._values.get(source)
        if value is None or np.isnan(value).any() or np.isposinf(value).any():
            return False
        axis = getattr(self.program.instances[path].block, "axis", -1)
        return bool(np.isneginf(value).all(axis=axis).any())

    def of_slope(self, path: InstancePath) -> str:
        """What keeps the slope of a block finite, which is infinite at a finite value."""
        kind = self.near.kind(path)
        alternative = self._without_root(path) if kind == "Sqrt" else ""
        return self.limit(path) or alternative or value_sentences.steep_cure(kind)

    def _without_root(self, path: InstancePath) -> str:
        """A form without a Sqrt, by the block that makes what is under it; empty if unknown."""
        near = self.near
        under = next(map(self.near.origin, near.sources(path).values()), path)
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
        source = self.near.sources(path).get(port)
        maker = None if source is None else self.near.origin(source)
        if maker is None:
            return None
        read = [self._values.get(source) for source in self.near.sources(maker).values()]
        if not all(a is not None and np.isfinite(a).all() for a in read):
            return None
        is_above_zero = self.near.kind(maker) in _POSITIVE
        return maker if is_above_zero or self._is_small_product(maker) else None

    def _is_small_product(self, path: InstancePath) -> bool:
        """Whether a block multiplies, and none of its zeros has a factor of 0."""
        instance, value = self.program.instances[path], self._values.get(path.port("out"))
        if instance.block.type_name() not in _PRODUCTS or value is None:
            return False
        literals = (literal.tensor.array for literal in instance.block.literals.values())
        wired = (self._values[source] for source in self.near.sources(path).values())
        return all(np.all((factor != 0) | (value != 0)) for factor in (*literals, *wired))

    def _is_nonnegative(self, path: InstancePath, port: str) -> bool:
        """Whether none of the numbers that a block reads is below 0."""
        source = self.near.sources(path).get(port)
        if source is not None:
            value = self._values.get(source)
            return value is not None and not np.any(value < 0)
        literal = self.program.instances[path].block.literals.get(port)
        return literal is not None and not np.any(literal.tensor.array < 0)

    def limit(self, path: InstancePath) -> str:
        """To move the limit of a Clip that all numbers at the pole of a block are at."""
        inputs = [self._values.get(source) for source in self.near.sources(path).values()]
        places = (np.isin(a, _poles(self.near.kind(path))) for a in inputs if a is not None)
        poles = next((at for at in places if np.any(at)), None)
        if poles is None:
            return ""
        for at in self._route_back(path):
            block = self.program.instances[at].block
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
        pending = [source.block for source in self.near.sources(path).values()]
        while pending:
            at = pending.pop()
            if at not in found:
                found[at] = None
                if self.near.kind(at) in _KEEPS_PLACE:
                    pending += [source.block for source in self.near.sources(at).values()]
        return [at for at in found if at in self.program.instances]


class NonfiniteSource(NamedTuple):
    """A block, and the elements that it made its value of, which is not finite."""

    remedies: Remedies
    path: InstancePath
    elements: Sequence[InputElement]

    @property
    def read(self) -> set[str]:
        """The types of blocks that it reads."""
        near = self.remedies.near
        return {near.kind(source.block) for source in near.sources(self.path).values()}

    @property
    def divisor(self) -> str:
        """The type of the block that makes what it divides by; empty where there is none."""
        made = self.remedies.divisor(self.path)
        return "" if made is None else self.remedies.near.kind(made)

    @property
    def limit(self) -> str:
        """To move the limit that all elements at its pole are at, where some are."""
        poles = _poles(self.remedies.near.kind(self.path))
        is_there = any(element.value in poles for element in self.elements)
        return self.remedies.limit(self.path) if is_there else ""


FACTS: Mapping[str, Callable[[NonfiniteSource], object]] = {
    "instead": lambda on: value_sentences.EXP[function_of(on.remedies.program, on.path)],
    "masked": lambda on: on.remedies.is_masked(on.path),
    "limit": lambda on: on.limit,
    "zero": lambda on: any(element.value == 0 for element in on.elements),
    "infinite": lambda on: any(math.isinf(element.value) for element in on.elements),
    "divisor": lambda on: on.remedies.divisor(on.path),
    "by_norm": lambda on: on.divisor == "Norm",
    "by_root": lambda on: on.divisor == "Sqrt",
    "by_nonnegative": lambda on: on.divisor in _NONNEGATIVE,
    "complement": lambda on: is_complement(on.remedies.program, on.path),
    "after_softmax": lambda on: "Softmax" in on.read,
    "after_sigmoid": lambda on: "Sigmoid" in on.read,
    "wider": lambda on: on.remedies.overflows_float16(on.path, on.elements),
}
"""What the table of cures asks of them, by name."""


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
