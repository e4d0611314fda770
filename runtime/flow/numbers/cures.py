"""What would help a gradient that is 0, too large or too small, by the blocks on its way."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.importing.kinds import is_kind
from gradwire.runtime.diagram.paths import InstancePath, WirePath
from gradwire.runtime.engine.norms import rms
from gradwire.runtime.flow.numbers.contributions import Contributions, RouteFactors
from gradwire.runtime.flow.numbers.reruns import Reruns
from gradwire.runtime.flow.structure.neighbours import SHAPES, neighbours_of
from gradwire.runtime.flow.words import phrases, value_sentences
from gradwire.runtime.flow.words.formatting import number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradwire.blocks.values import Array


# Gradients that vanish step by step along a sequence, measured along it.

ARRANGING = SHAPES | {"Elements", "Flip", "Pad", "Stacked"}
"""Types of blocks that only arrange numbers, those of single elements as well."""
LEAST = 8
"""Steps of which a decay is told, at least."""
SHARE = 1e-3
"""What is left at the far end of a sequence, at most."""
STEADY = 0.9
"""How well the logarithms of the sizes must follow a straight line, as a correlation."""


class Decay(NamedTuple):
    """What is said of a gradient that decays along a sequence, and what would help."""

    sentence: str
    cure: str


def decay(contributions: Contributions, culprit: InstancePath) -> Decay | None:
    """The decay along a sequence behind a block that only arranges numbers and seems to shrink
    gradients; None where there is none.
    """
    near = neighbours_of(contributions.program)
    if near.kind(culprit) not in ARRANGING:
        return None
    arriving = contributions.arriving(culprit.port("out"))
    for axis in range(0 if arriving is None else arriving.ndim):
        assert arriving is not None
        sizes = _sizes(arriving, axis)
        if (ends := _ends(sizes)) is not None:
            weak, strong = ends
            share = number(float(sizes[weak] / sizes[strong]))
            gated = "Sigmoid" in map(near.kind, near.after(culprit))
            said = value_sentences.DECAYS.format(weak + 1, share, strong + 1, culprit)
            cure = value_sentences.GATED_DECAY if gated else value_sentences.PLAIN_DECAY
            return Decay(said, cure)
    return None


def _sizes(array: NDArray[np.floating], axis: int) -> NDArray[np.float64]:
    """The root mean square at each place along an axis."""
    rows = np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1).astype(np.float64)
    peaks = np.max(np.abs(rows), axis=1, initial=0.0, keepdims=True)
    safe = np.where(peaks > 0, peaks, 1.0)
    sizes: NDArray[np.float64] = np.sqrt(np.mean((rows / safe) ** 2, axis=1)) * peaks[:, 0]
    return sizes


def _ends(sizes: NDArray[np.float64]) -> tuple[int, int] | None:
    """The ends of a sequence, the smaller first, if sizes shrink by steady factors to a small
    share of the other.
    """
    places = np.flatnonzero((sizes > 0) & np.isfinite(sizes))
    if len(places) < LEAST:
        return None
    weak, strong = sorted((int(places[0]), int(places[-1])), key=lambda place: float(sizes[place]))
    if sizes[weak] > SHARE * sizes[strong]:
        return None
    steady = abs(np.corrcoef(places, np.log(sizes[places]))[0, 1]) > STEADY
    return (weak, strong) if steady else None


_POLES = ("Arctan2", "Div", "Log", "Pow", "Sqrt")
_DISTANCES = (
    "BinaryCrossEntropy", "CrossEntropy", "Huber", "MeanAbsoluteError", "MeanSquaredError"
)  # fmt: skip
_SMALL = 1e-3
"""Factor of a route from which on down the route itself, and no cancelling, makes it vanishing."""
_GROWS = 100.0
"""By how much a gradient grows at least, of which it is said that it does."""
_SATURATED = 0.01
"""Factor below which a squashing function is saturated, not just flatter than the identity."""
_NEAR_POLE = 0.1
_NORMS = 8
"""Norm blocks of length 0 that are looked at."""
_STEPS = 4
"""Steps of training after which something is to pass, at most."""
_STARTS = 8
"""Variables that are started away from 0 together with another one, at most."""
_LARGE = 100.0
"""Size of data from which on it is named as what makes a gradient large."""


class Cures:
    """Cures for the wires of one run; empty where none is known."""

    def __init__(self, contributions: Contributions) -> None:
        self._contributions = contributions
        self._program = contributions.program
        self._near = neighbours_of(contributions.program)
        self._decays: dict[InstancePath, Decay | None] = {}

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

    def of_underflow(self, wires: Sequence[WirePath], dtype: str) -> str:
        """For wires by which nothing comes back, as it is too small for ``dtype`` on the way."""
        is_enough = dtype == "float16" and self._reruns.is_float32_enough(wires)
        return value_sentences.underflow_cure(self._reruns.scale_that_helps(wires), is_enough)

    def of_stuck(self, wires: Sequence[WirePath], stuck: Mapping[str, bool]) -> str:
        """For wires by which nothing comes back, as trained variables of zeros multiply; these by
        name, with whether they get a gradient. What is said passes is tried by steps of training.
        """
        if not stuck:
            return ""
        if moving := [name for name, gets in stuck.items() if gets]:
            if self._passes(wires, self._reruns.stepped({}, moving[:1])):
                return value_sentences.MOVES.format(moving[0])
            values: Mapping[str, Array] = {}
            for step in range(1, _STEPS + 1):
                values = self._reruns.stepped(values)
                if step > 1 and self._passes(wires, values):
                    return value_sentences.LATER.format(moving[0], step)
        return next(
            (
                value_sentences.start_cure(names)
                for names in self._starts(stuck)
                if self._passes(wires, self._reruns.started(names))
            ),
            "",
        )

    def _starts(self, stuck: Mapping[str, bool]) -> list[list[str]]:
        """Variables of zeros without a gradient that might have to start elsewhere, together."""
        gradients, values = self._contributions.run.gradients, self._contributions.run.values
        zero = [
            name
            for name in sorted(self._program.trainable)
            if not np.any(values.get(InstancePath(name).port("out"), 1.0))
            and (gradient := gradients.get(name)) is not None
            and not np.any(gradient)
        ]
        first = [name for name in stuck if name in zero]
        others = [name for name in zero if name not in first]
        pairs = [[*first[:1], other] for other in others[:_STARTS]]
        tried = [[name] for name in first] + pairs + [[*first, *others]]
        return [names for names in tried if names]

    def _passes(self, wires: Sequence[WirePath], values: Mapping[str, Array]) -> bool:
        """Whether something finite comes back by one of the wires with other values."""
        found = self._reruns.contributions(values=values)
        known = [found[wire] for wire in wires if wire in found]
        return any(bool(np.any(a)) and bool(np.isfinite(a).all()) for a in known)

    @cached_property
    def _reruns(self) -> Reruns:
        return Reruns(self._program, self._contributions.run)

    def of_norms(self, wire: WirePath, named: InstancePath) -> list[str]:
        """For the Norm blocks of length 0 through which the gradient of a wire comes; ``named`` is
        the block of which it is said already why it sends 0 back.
        """
        target = self._program.wire_targets[wire]
        return [
            value_sentences.norm_cure(norm, self._is_squared(norm), norm == named)
            for norm, before in self._norms_at_zero.items()
            if target in before
        ]

    @cached_property
    def _norms_at_zero(self) -> dict[InstancePath, set[InstancePath]]:
        """Every Norm of length 0, with the blocks that its gradient comes to."""
        run = self._contributions.run
        found: dict[InstancePath, set[InstancePath]] = {}
        for path, instance in self._program.instances.items():
            length = run.values.get(path.port("out"))
            is_norm = is_kind(instance.block, "Norm") and len(found) < _NORMS
            if is_norm and length is not None and length.size and not np.any(length):
                found[path] = self._before(path)
        return found

    def _before(self, path: InstancePath) -> set[InstancePath]:
        """A block and those before it that gradient comes to."""
        pending, found = [path], {path}
        while pending:
            for wire, source in self._program.instances[pending.pop()].wires.values():
                leaves = self._program.leaf_wires(wire)
                is_reached = any(
                    self._contributions.run.contributions.get(w) is not None for w in leaves
                )
                block = self._program.flat.source(source).block
                if is_reached and block not in found:
                    found.add(block)
                    pending.append(block)
        return found

    def _is_squared(self, block: InstancePath) -> bool:
        near = self._near
        return all(
            near.kind(at) == "Square" or (near.kind(at) == "Pow" and near.is_given(at, "b", 2.0))
            for at in (wire.block for wire in near.beyond(block))
        )

    # ---- too large, too small -----------------------------------------------------------------

    def of_exploding(self, wires: Sequence[WirePath]) -> str:
        """For wires that bring back too much, together: by the block that does most of it."""
        route = self._route(wires)
        worst, wire = route.most
        if wire is None or worst < math.sqrt(max(route.factor, 1.0)):
            return value_sentences.EXPLODES
        kind = self._near.kind(wire.block)
        if kind in _POLES and self._is_near_pole(wire.block, kind):
            return value_sentences.pole_cure(wire.block, kind)
        largest = self._largest(wires)
        entries = [wire, *([] if largest is None else self._contributions.route(largest))]
        weighing = (w for w in entries if self._near.kind(w.block) in phrases.FACTORS)
        data = next(filter(None, map(self._large_data, weighing)), "")
        return f"{data} {value_sentences.EXPLODES}".lstrip()

    def decay(self, block: InstancePath) -> Decay | None:
        """The decay along a sequence behind a block that seems to shrink gradients."""
        if block not in self._decays:
            self._decays[block] = decay(self._contributions, block)
        return self._decays[block]

    def of_vanishing(self, wires: Sequence[WirePath]) -> str:
        """For wires that bring back too little."""
        route = self._route(wires)
        _, wire = route.least
        if wire is not None and (decays := self.decay(wire.block)):
            return decays.cure
        if wire is not None and (grows := self._of_small_factor(wires, wire)):
            return grows
        if wire is None or not 0.0 < route.factor < _SMALL:
            return ""
        squashing = route.squashing
        if squashing.blocks and squashing.factor <= math.sqrt(route.factor):
            is_saturated = squashing.least < _SATURATED
            unnamed = [""] * (squashing.blocks - len(squashing.nearest))
            return value_sentences.squashing_cure([*squashing.nearest, *unnamed], is_saturated)
        is_product = self._near.kind(wire.block) in phrases.FACTORS
        return value_sentences.SMALL_WEIGHTS if is_product else ""

    def _of_small_factor(self, wires: Sequence[WirePath], into: WirePath) -> str:
        """For wires that bring back little because a trained factor is small, such as a layer
        scale; that they bring more once such factors have moved is tried.
        """
        near, factors = self._near, self._small_factors
        sources = near.sources(into.block) if near.kind(into.block) == "Mul" else {}
        others = (near.origin(port) for name, port in sources.items() if name != into.within_block)
        name = next((other for other in others if other in factors), None)
        sizes = self._contributions.sizes
        if name is None or not any(
            self._moved_sizes.get(w, 0.0) > _GROWS * sizes[w].rms for w in wires
        ):
            return ""
        return value_sentences.GROWS_WITH.format(name, number(factors[name]))

    @cached_property
    def _small_factors(self) -> dict[InstancePath, float]:
        """Trained variables that are small, and not 0, with a gradient; their largest numbers."""
        run, found = self._contributions.run, {}
        for name in self._program.trainable:
            value, gradient = (
                run.values.get(InstancePath(name).port("out")),
                run.gradients.get(name),
            )
            if value is None or gradient is None or not np.any(gradient):
                continue
            peak = float(np.max(np.abs(value), initial=0.0))
            if 0.0 < peak <= _SMALL:
                found[InstancePath(name)] = peak
        return found

    @cached_property
    def _moved_sizes(self) -> dict[WirePath, float]:
        """The size of what each wire brings back once all small factors have moved by a step."""
        values = self._reruns.stepped({}, list(self._small_factors))
        found = self._reruns.contributions(values=values)
        return {WirePath(wire): rms(array) for wire, array in found.items()}

    def _route(self, wires: Sequence[WirePath]) -> RouteFactors:
        """The way of the largest contribution."""
        largest = self._largest(wires)
        return RouteFactors() if largest is None else self._contributions.route_factors(largest)

    def _largest(self, wires: Sequence[WirePath]) -> WirePath | None:
        """The wire of these that brings back most."""
        return max(wires, key=lambda wire: self._contributions.sizes[wire].rms, default=None)

    def _is_near_pole(self, block: InstancePath, kind: str) -> bool:
        """Whether the input that a block has its pole in is small; of Arctan2 both."""
        values = self._contributions.values.inputs(block)
        port = {"Div": "b", "Pow": "a"}.get(kind)
        watched = [values[port]] if port in values else [*values.values()]
        return all(float(np.min(np.abs(a))) < _NEAR_POLE for a in watched if a.size)

    def _large_data(self, entry: WirePath) -> str:
        """To scale down the other factor of a product, where nothing in it is trained."""
        for name, source in self._near.sources(entry.block).items():
            wire = entry.block.wire(name)
            array = self._contributions.run.values.get(source)
            is_trained = self._program.wires.get(wire) in self._program.reached
            if wire == entry or is_trained or array is None or not array.size:
                continue
            if (peak := float(np.max(np.abs(array)))) > _LARGE:
                return value_sentences.TOO_LARGE.format(source.block, number(peak))
        return ""
