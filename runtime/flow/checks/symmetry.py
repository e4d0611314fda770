"""Units of a layer that have equal weights and get equal gradients, so that they stay equal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.importing.kinds import is_view
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.flow.numbers.reruns import Reruns
from gradwire.runtime.flow.structure.neighbours import neighbours_of
from gradwire.runtime.flow.tools.findings import SYMMETRIC, Finding
from gradwire.runtime.flow.words import value_sentences

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.engine import Run
    from gradwire.runtime.flow.observed import ObservedFlow
    from gradwire.runtime.flow.structure.neighbours import Neighbours

_CONVOLUTIONS = ("Conv1D", "Conv2D", "Conv3D")
_UNITS = {
    ("Linear", "weight"): 0,
    ("MatMul", "a"): -2,
    ("MatMul", "b"): -1,
    **{(kind, "weight"): 0 for kind in _CONVOLUTIONS},
}
"""The axis of the units in a weight, by the type and input that read it."""
_SAME = ("Cast", "PageInput", "PageOutput")
_ALIKE, _LEAST = 1e-5, 1e-6
"""By how much gradients of equal units may differ, as a share of their largest number, and how
large that is at least, as a share of the largest of all units."""
_KINDS = 64
"""Different gradients of units with equal weights that are told apart, at most."""
_STEPS = 2
"""Steps of training after which units must still be equal."""


def symmetric(observed: ObservedFlow) -> Iterator[Finding]:
    """A finding for each layer in front of another trained one that has such units.

    Units of the last layer are left out: that they are alike may be what the loss asks for.
    """
    layers = _Layers(observed)
    for name in observed.program.trainable:
        if found := layers.finding(InstancePath(name)):
            yield found


class _Layers:
    def __init__(self, observed: ObservedFlow) -> None:
        self._observed = observed
        self._program = observed.program
        self._near: Neighbours = neighbours_of(observed.program)

    def finding(self, name: InstancePath) -> Finding | None:
        """What is wrong with the units of the layer that a variable is the weight of."""
        value = self._observed.value(name)
        uses = [] if value is None or value.ndim < 2 else self._uses(name)
        if value is None or not uses or len({axis for _, axis in uses}) > 1:
            return None
        (layer, axis), *_ = uses
        split = partial(_units, axis=axis % value.ndim)
        if not _alike(split(value)):
            return None
        run = self._observed.run()
        gradient = None if run is None else run.gradients.get(name)
        if run is None or gradient is None or gradient.shape != value.shape:
            return None
        alike = _alike(np.hstack([split(value), self._bias(run, layer, len(split(value)))]))
        groups = [same for group in alike for same in _same(split(gradient), group)]
        if not groups or not self._is_mixed(layer) or self._is_shaken(layer):
            return None
        if not all(_stay(split(later), groups) for later in self._trained(run, name)):
            return None
        count, total = sum(map(len, groups)), value.shape[axis]
        who = f"All {total}" if len(groups) == 1 and count == total else f"{count} of {total}"
        text = value_sentences.SYMMETRIC if len(groups) == 1 else value_sentences.SYMMETRIC_GROUPS
        said = text.format(who, layer, len(groups), name)
        return Finding(SYMMETRIC, name, said, culprit=layer, affected=(name,))

    def _uses(self, name: InstancePath) -> list[tuple[InstancePath, int]]:
        """The layers that read a variable as a weight, with the axis of their units; none if
        anything else reads it.
        """
        found, pending = [], [(name, False)]
        while pending:
            at, is_turned = pending.pop()
            for wire in self._near.readers(at):
                block = self._program.wire_targets[wire]
                kind = self._near.kind(block)
                axis = _UNITS.get((kind, wire.within_block))
                if kind in _SAME:
                    pending.append((block, is_turned))
                elif kind == "Transpose" and len(self._program.ports[block.port("out")].shape) == 2:
                    pending.append((block, is_turned != self._turns(block)))
                elif axis is not None:
                    found.append((block, axis if not is_turned else {-1: -2, -2: -1, 0: 1}[axis]))
                elif not is_view(self._program.block(block)):
                    return []
        return found

    def _turns(self, block: InstancePath) -> bool:
        perm: Sequence[int] | None = getattr(self._program.block(block), "perm", None)
        return not perm or tuple(axis % 2 for axis in perm) == (1, 0)

    def _bias(self, run: Run, layer: InstancePath, units: int) -> Array:
        """The bias of each unit, as a column; nothing where the layer has none."""
        source = self._near.sources(layer).get("bias")
        value = None if source is None else run.values.get(source)
        return np.zeros((units, 0)) if value is None else value.reshape(units, -1)

    def _is_mixed(self, layer: InstancePath) -> bool:
        """Whether another trained layer weighs the units."""
        return any(
            self._weighs_by(source.block)
            for block in self._near.after(layer)
            if block != layer
            for port, source in self._near.sources(block).items()
            if (self._near.kind(block), port) in _UNITS
        )

    def _is_shaken(self, layer: InstancePath) -> bool:
        """Whether random numbers come to what is computed of the units, as those of a Dropout."""
        step, out = self._program.trace.step, self._program.ports[layer.port("out")]
        if step is None:
            return False
        values = self._program.trace.values[: self._program.forward_end]
        before, behind, noise = {out.index}, {out.index}, {step.index}
        for value in reversed(values[: out.index + 1]):
            if value.index in before:
                before |= {source.index for source in value.inputs}
        for value in values:
            sources = {source.index for source in value.inputs}
            if sources & behind:
                if sources & noise - before:
                    return True
                behind.add(value.index)
            elif sources & noise:
                noise.add(value.index)
        return False

    def _weighs_by(self, block: InstancePath) -> bool:
        """Whether a weight is trained, behind blocks that leave its numbers the same."""
        while self._near.kind(block) in (*_SAME, "Transpose"):
            block = next(iter(self._near.sources(block).values())).block
        return block in self._program.trainable

    def _trained(self, run: Run, name: InstancePath) -> Iterator[Array]:
        """The values of a variable after steps of training."""
        reruns = Reruns(self._program, run)
        values: dict[str, Array] = {}
        for _ in range(_STEPS):
            values = reruns.stepped(values)
            if name in values:
                yield values[name]


def _units(array: Array, axis: int) -> Array:
    """The numbers of each unit, as rows."""
    return np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)


def _alike(rows: Array) -> list[list[int]]:
    """The rows that are equal to others, in groups."""
    if len(np.unique(rows[:, 0])) == len(rows):
        return []
    groups: dict[bytes, list[int]] = {}
    for place, row in enumerate(np.ascontiguousarray(rows)):
        groups.setdefault(row.tobytes(), []).append(place)
    return [group for group in groups.values() if len(group) > 1]


def _same(gradients: Array, group: Sequence[int]) -> list[list[int]]:
    """The rows of a group that are nearly equal to others, and not 0, in groups."""
    least = _LEAST * float(np.max(np.abs(gradients), initial=0.0))
    found: list[list[int]] = []
    for place in group:
        row = gradients[place]
        size = float(np.max(np.abs(row)))
        if not least < size < np.inf:
            continue
        for known in found:
            if np.max(np.abs(gradients[known[0]] - row)) <= _ALIKE * size:
                known.append(place)
                break
        else:
            if len(found) < _KINDS:
                found.append([place])
    return [known for known in found if len(known) > 1]


def _stay(rows: Array, groups: Sequence[Sequence[int]]) -> bool:
    """Whether the rows of each group are nearly equal."""
    return all(
        np.max(np.ptp(rows[group], axis=0)) <= _ALIKE * (1.0 + np.max(np.abs(rows)))
        for group in groups
    )
