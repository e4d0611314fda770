"""Variables that stops keep a loss from as is common: targets, teachers and the other player."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.importing.kinds import is_view
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.flow.structure.constants import stops_of
from gradwire.runtime.flow.structure.misuses import AVERAGED, PREDICTIONS
from gradwire.runtime.flow.structure.neighbours import neighbours_of
from gradwire.runtime.flow.words import sentences
from gradwire.runtime.flow.words.states import PASSING

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import WirePath
    from gradwire.runtime.flow.observed import ObservedFlow

_ALIKE, _CHANCE = 0.5, 4.0
"""The cosine of the weights of two modules from which on one follows the other; and how many times
the deviation of that of weights that were drawn apart, 1/√n of n, it has to be."""


def apart(observed: ObservedFlow, names: Collection[str]) -> dict[str, str]:
    """What is said of variables without gradient that are kept apart as is common, by name."""
    stopped = {
        InstancePath(name): frozenset(cutter.block for cutter in cutters)
        for name in names
        if (cutters := stops_of(observed.flow, name))
    }
    found: dict[str, str] = dict(_Twins(observed, stopped).all())
    ways = _Ways(observed)
    for name, stops in stopped.items():
        if name not in found and (said := ways.told(stops)):
            found[name] = said
    return found


class _Twins:
    """Modules that are stopped, and others of their form and with values like theirs."""

    def __init__(self, observed: ObservedFlow, stopped: Collection[InstancePath]) -> None:
        self._observed = observed
        self._stopped = stopped
        self._within: dict[InstancePath, dict[InstancePath, InstancePath]] = {}
        variables = observed.program.sources("variable") if stopped else ()
        for name in map(InstancePath, variables):
            names = name.names
            for length in range(1, len(names)):
                module, rest = (InstancePath.of(*part) for part in (names[:length], names[length:]))
                self._within.setdefault(module, {})[rest] = name
        self._trained = set(map(InstancePath, observed.program.trainable))

    def all(self) -> Iterator[tuple[InstancePath, str]]:
        """What is said of variables of such modules."""
        told: set[InstancePath] = set()
        for module, own in sorted(self._within.items(), key=lambda item: len(item[0].names)):
            trained = [n for n in own.values() if n in self._trained and n not in told]
            if trained and all(name in self._stopped for name in trained):
                twin = next((other for other in self._within if self._follows(own, other)), None)
                if twin is not None:
                    told.update(trained)
                    yield from dict.fromkeys(trained, sentences.twin(module, twin)).items()

    def _follows(self, own: Mapping[InstancePath, InstancePath], module: InstancePath) -> bool:
        """Whether the variables of a module are like those of another one, which is trained."""
        other = self._within[module]
        if own.keys() != other.keys() or own == other:
            return False
        if not any(n in self._trained and n not in self._stopped for n in other.values()):
            return False
        run = self._observed.run()
        if run is None:
            return False
        values = run.values
        pairs = [(values.get(own[k].port("out")), values.get(other[k].port("out"))) for k in own]
        products, count = np.zeros(3), 0
        for a, b in pairs:
            if a is None or b is None or a.shape != b.shape:
                return False
            if a.ndim > 1:
                x, y = a.astype(float), b.astype(float)
                count += x.size
                products += [(x * y).sum(), (x * x).sum(), (y * y).sum()]
        both, first, second = products
        least = max(_ALIKE, _CHANCE / np.sqrt(max(1, count)))
        return bool(both > least * np.sqrt(first * second) > 0.0)


class _Ways:
    """What becomes of what stops let through as numbers."""

    def __init__(self, observed: ObservedFlow) -> None:
        self._flow = observed.flow
        self._program = observed.program
        self._near = neighbours_of(observed.program)
        self._heads = {loss.block for loss in observed.losses}
        self._known: dict[InstancePath, str] = {}

    def told(self, stops: Collection[InstancePath]) -> str:
        """What is said where each of these stops makes a target, or leads to another player."""
        for stop in stops:
            if stop not in self._known:
                self._known[stop] = self._target(stop) or self._player(stop)
        said = [self._known[stop] for stop in stops]
        return said[0] if said and all(said) else ""

    def _target(self, stop: InstancePath) -> str:
        """Where all comes to the targets of losses whose predictions are trained."""
        pending, seen, losses = [stop], {stop}, list[str]()
        while pending:
            for wire in self._near.readers(pending.pop()):
                block = self._program.wire_targets[wire]
                if is_view(self._program.block(block)):
                    continue
                if self._is_compared(wire):
                    losses.append(block)
                elif block in self._heads or any(map(self._carries, self._others(wire))):
                    return ""
                elif block not in seen:
                    seen.add(block)
                    pending.append(block)
        return sentences.target_of(list(dict.fromkeys(losses))) if losses else ""

    def _is_compared(self, wire: WirePath) -> bool:
        """Whether a wire is the target of a trained prediction, or taken from one in a loss."""
        block = self._program.wire_targets[wire]
        kind, port = self._near.kind(block), wire.within_block
        predicted, target = PREDICTIONS.get(kind, ("", ""))
        if kind == "Sub":
            predicted, target = ("b", "a") if port == "a" else ("a", "b")
            if self._heads.isdisjoint(self._near.through(block, AVERAGED | {"Loss"})):
                return False
        return port == target and self._carries(block.wire(predicted))

    def _player(self, stop: InstancePath) -> str:
        """Where the same losses train on data as well all that is trained behind a stop."""
        behind, before = set(self._near.after(stop)), set(self._near.before(stop))
        read = (s for block in behind for s in self._near.sources(block).values())
        judges = {self._near.origin(source) for source in read} & self._trained
        elsewhere = {
            judge: [
                wire
                for wire in self._near.beyond(judge)
                if self._program.wire_targets[wire] not in behind | before
            ]
            for judge in judges
        }
        if not judges:
            return ""
        is_joined = all(map(self._is_row, self._near.readers(stop)))
        losses = [set(self._near.before(head)) for head in self._heads & behind]
        is_compared = all(
            any(self._program.wire_targets[wire] in loss for wire in wires)
            for wires in elsewhere.values()
            for loss in losses
        )
        if not is_joined and not (
            is_compared
            and any(self._reads_data(wire) for wires in elsewhere.values() for wire in wires)
        ):
            return ""
        first = next(name for name in self._program.trainable if name in judges)
        return sentences.judged_by(first)

    @cached_property
    def _trained(self) -> set[InstancePath]:
        return set(map(InstancePath, self._program.trainable))

    def _reads_data(self, wire: WirePath) -> bool:
        """Whether a variable is applied to what does not depend on trained ones."""
        others = self._others(wire)
        origins = {w: self._near.origin(self._program.wire_sources[w]) for w in others}
        inputs = [w for w, origin in origins.items() if origin not in self._trained]
        return bool(inputs) and not any(map(self._flow.trained_upstream, inputs))

    def _is_row(self, wire: WirePath) -> bool:
        """Whether a wire is joined with data along the first axis, as a batch is."""
        block = self._program.wire_targets[wire]
        is_batch = getattr(self._program.block(block), "axis", None) == 0
        others = self._others(wire)
        is_data = bool(others) and not any(map(self._flow.trained_upstream, others))
        return self._near.kind(block) == "Concat" and is_batch and is_data

    def _others(self, wire: WirePath) -> list[WirePath]:
        """The other wires into the block that a wire enters."""
        block = self._program.wire_targets[wire]
        wires = (key for key, _ in self._program.instances[block].wires.values())
        return [w for key in wires for w in self._program.leaf_wires(key) if w != wire]

    def _carries(self, wire: WirePath) -> bool:
        return wire in self._program.wire_sources and self._flow.state(wire) in PASSING
