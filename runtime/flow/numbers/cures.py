"""What would help a gradient that is 0, too large or too small, by the blocks on its way."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from runtime.flow.numbers.flat_spots import PRODUCTS
from runtime.flow.structure.neighbours import neighbours_of
from runtime.flow.words import value_sentences
from runtime.flow.words.formatting import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runtime.diagram.paths import InstancePath, WirePath
    from runtime.flow.numbers.contributions import Contributions

_SQUASHING = ("Sigmoid", "Softmax", "Tanh")
_WEIGHING = (*PRODUCTS, "Conv2D")
_POLES = ("Arctan2", "Div", "Log", "Pow", "Sqrt")
_DISTANCES = (
    "BinaryCrossEntropy", "CrossEntropy", "Huber", "MeanAbsoluteError", "MeanSquaredError"
)  # fmt: skip
_SMALL = 1e-3
"""Factor of a route from which on down the route itself, and no cancelling, makes it faint."""
_SATURATED = 0.01
"""Factor below which a squashing function is saturated, not just flatter than the identity."""
_NEAR_POLE = 0.1
_LARGE = 100.0
"""Size of data from which on it is named as what makes a gradient large."""


class _Step(NamedTuple):
    """A block on the way of a gradient, by the wire into it, and what it multiplies its size by."""

    wire: WirePath
    block: InstancePath
    kind: str
    factor: float


class Cures:
    """Cures for the wires of one run; empty where none is known."""

    def __init__(self, contributions: Contributions) -> None:
        self._contributions = contributions
        self._program = contributions.program
        self._near = neighbours_of(contributions.program)

    # ---- zero ---------------------------------------------------------------------------------

    def of_output(self, block: InstancePath) -> str:
        """For a Relu that is off, and that nothing reads but what measures a distance."""
        wires = [*self._near.beyond(block)]
        is_output = wires and all(self._measures(wire.block) for wire in wires)
        is_relu = self._near.kind(block) == "Relu"
        return value_sentences.RELU_AT_OUTPUT if is_output and is_relu else ""

    def _measures(self, block: InstancePath) -> bool:
        kind, near = self._near.kind(block), self._near
        if kind == "Sub":
            return all(near.kind(w.block) in ("Abs", "Norm", "Square") for w in near.beyond(block))
        return kind in _DISTANCES

    def of_norms(self, wire: WirePath) -> Iterator[str]:
        """For the Norm blocks of length 0 through which the gradient of a wire comes."""
        run, near = self._contributions.run, self._near
        pending, seen = [self._program.wire_targets[wire]], set()
        while pending:
            block = pending.pop()
            length = run.values.get(block.port("out"))
            if near.kind(block) == "Norm" and length is not None and not np.any(length):
                yield value_sentences.norm_cure(block, self._is_squared(block))
            seen.add(block)
            ahead = (w for w in near.readers(block) if run.contributions.get(w) is not None)
            pending += [at for w in ahead if (at := self._program.wire_targets[w]) not in seen]

    def _is_squared(self, block: InstancePath) -> bool:
        near = self._near
        return all(
            near.kind(at) == "Square" or (near.kind(at) == "Pow" and near.is_given(at, "b", 2.0))
            for at in (wire.block for wire in near.beyond(block))
        )

    # ---- too large, too small -----------------------------------------------------------------

    def of_flood(self, wires: Sequence[WirePath]) -> str:
        """For wires that bring back too much, together: by the block that does most of it."""
        steps = self._steps(wires)
        worst = max(steps, key=lambda step: step.factor, default=None)
        total = math.prod(step.factor for step in steps)
        if worst is None or worst.factor < math.sqrt(max(total, 1.0)):
            return value_sentences.EXPLODES
        if worst.kind in _POLES and self._is_near_pole(worst):
            return value_sentences.pole_cure(worst.block, worst.kind)
        if worst.kind in _WEIGHING and (data := self._large_data(worst)):
            return f"{data} {value_sentences.EXPLODES}"
        return value_sentences.EXPLODES

    def of_faint(self, wires: Sequence[WirePath]) -> str:
        """For wires that bring back too little."""
        steps = self._steps(wires)
        total = math.prod(step.factor for step in steps)
        if not 0.0 < total < _SMALL:
            return ""
        squashing = [s for s in steps if s.kind in _SQUASHING and s.factor < 1.0]
        if squashing and math.prod(s.factor for s in squashing) <= math.sqrt(total):
            is_saturated = any(s.factor < _SATURATED for s in squashing)
            return value_sentences.squashing_cure([s.block for s in squashing], is_saturated)
        worst = min(steps, key=lambda step: step.factor)
        return value_sentences.SMALL_WEIGHTS if worst.kind in _WEIGHING else ""

    def _steps(self, wires: Sequence[WirePath]) -> list[_Step]:
        """The blocks on the way of the largest contribution, from the variable on."""
        sizes = self._contributions.sizes
        if not wires:
            return []
        largest = max(wires, key=lambda wire: sizes[wire].rms)
        factors = self._contributions.factors(largest)
        return [_Step(w, at, self._near.kind(at), factor) for w, at, factor in factors]

    def _is_near_pole(self, step: _Step) -> bool:
        """Whether the input that a block has its pole in is small; of Arctan2 both."""
        values = self._contributions.values.inputs(step.block)
        port = {"Div": "b", "Pow": "a"}.get(step.kind)
        watched = [values[port]] if port in values else [*values.values()]
        return all(float(np.min(np.abs(a))) < _NEAR_POLE for a in watched if a.size)

    def _large_data(self, step: _Step) -> str:
        """To scale down the other factor of a product, where nothing in it is trained."""
        for name, source in self._near.sources(step.block).items():
            wire = step.block.wire(name)
            array = self._contributions.run.values.get(source)
            is_trained = self._program.wires.get(wire) in self._program.reached
            if wire == step.wire or is_trained or array is None or not array.size:
                continue
            if (peak := float(np.max(np.abs(array)))) > _LARGE:
                return f"Scale {source.block} down: its numbers reach {number(peak)}."
        return ""
