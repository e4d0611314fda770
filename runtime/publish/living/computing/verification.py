"""Compares the data of a page with the runtime, for every combination of switches it ships.

The tape is computed here as the page computes it, with the runtime's kernels: what the data says
must be right. That the page's own kernels are right is tested once, as the script never changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.errors import RunError
from gradwire.blocks.values import Array
from gradwire.runtime.calculus.primitives.base import CONSTANT, LEAF
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.session.execution import ValueStore
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.structure.reachability import Gate
from gradwire.runtime.flow.words.states import State
from gradwire.runtime.publish.living.computing.tape import COLLECT, Condition, Tape

if TYPE_CHECKING:
    from gradwire.runtime.engine import Run
    from gradwire.runtime.publish.living.data import Living

TOLERANCE = 1e-9
"""Relative to an array's largest element; sums may be added up in another order."""
_NOWHERE = 3


def verify(living: Living) -> None:
    """Raise RunError unless values, gradients and states are the runtime's for all combinations."""
    for setting in living.settings():
        session = Session(living.switches.switched(setting), fast=False)
        heads = session.losses
        for chosen in [heads, *([[head] for head in heads] if len(heads) > 1 else [])]:
            run = session.backward(chosen, contributions=True)
            states = analyse(session.program, chosen).states()
            replay = Replay(living, setting, [head in chosen for head in heads])
            for place in _differences(replay, run, {w: str(s) for w, s in states.items()}):
                raise RunError(
                    f"The page would differ from the runtime at {place}.",
                    next_step="Publish a picture, and report the diagram.",
                )


def _differences(replay: Replay, run: Run, states: Mapping[str, str]) -> Iterator[str]:
    tables: tuple[tuple[Mapping[str, Array | None], Mapping[str, Array | None]], ...] = (
        (run.values, replay.values()),
        (run.gradients, replay.gradients()),
        (run.contributions, replay.contributions()),
    )
    for wanted, found in tables:
        yield from (name for name in wanted if not _agree(wanted[name], found.get(name)))
    yield from (wire for wire, state in replay.states().items() if states[wire] != state)


def _agree(wanted: Array | None, found: Array | None) -> bool:
    if wanted is None or found is None:
        return wanted is found
    scale = np.max(np.abs(wanted), initial=0.0, where=np.isfinite(wanted))
    near: bool = np.allclose(
        found, wanted, rtol=TOLERANCE, atol=TOLERANCE * float(scale), equal_nan=True
    )
    return near or (
        wanted.dtype == np.float32
        and bool(np.allclose(found, wanted, rtol=1e-5, atol=1e-5 * float(scale), equal_nan=True))
    )


class Replay:
    """A tape computed as the page computes it: one setting of the switches, some of the losses."""

    def __init__(self, living: Living, setting: Sequence[bool], heads: Sequence[bool]) -> None:
        place = 0
        for switch in living.switches.inner:
            place = 2 * place + setting[switch]
        self._tape: Tape = living.tapes[place]
        self._data: Mapping[str, Any] = self._tape.data
        self._open, self._heads = setting, heads
        self._doubts: Sequence[Mapping[str, str]] = living.data.get("doubts", ())
        self._arrived = self._arrivals()
        self._levels = self._searched()
        with np.errstate(all="ignore"):
            self._arrays = self._computed(ValueStore(self._tape.program.sources()))

    def values(self) -> dict[str, Array | None]:
        """The values of all ports."""
        return {port: self._arrays[op] for port, (_, op, _) in self._data["ports"].items()}

    def gradients(self) -> dict[str, Array | None]:
        """The gradients of the trained variables."""
        return {path: self._adjoint(*at) for path, at in self._data["gradients"].items()}

    def contributions(self) -> dict[str, Array | None]:
        """What each wire brings back."""
        trained = self._levels[1]
        return {
            wire: None if trained[value] != Gate.OPEN else self._adjoint(value, op)
            for wire, (value, op) in self._data["wires"].items()
        }

    def states(self) -> dict[str, str]:
        """The states of the wires that have no tree, from structure alone."""
        found = {wire: self._state(value) for wire, (value, _) in self._data["wires"].items()}
        told = zip(self._doubts, self._heads, strict=False)  # empty without any
        doubtful = (wire for wires, chosen in told if chosen for wire in wires if wire in found)
        return found | dict.fromkeys(doubtful, str(State.UNKNOWN))

    def _adjoint(self, value: int, op: int) -> Array | None:
        return self._arrays[op] if op >= 0 and self._arrived[value] else None

    def _arrivals(self) -> list[bool]:
        arrived = [False] * self._data["size"]
        for value, conditions in self._data["arrive"]:
            arrived[value] = any(self._holds(each, arrived) for each in conditions)
        return arrived

    def _holds(self, condition: Condition, arrived: Sequence[bool]) -> bool:
        reader, gate = condition
        there = self._heads[~reader] if reader < 0 else arrived[reader]
        return there and (gate < 0 or self._open[gate])

    def _computed(self, store: ValueStore) -> list[Array]:
        program, arrays = self._tape.program, list[Array]()
        leaves = {leaf.value: (path, leaf) for path, leaf in program.leaves.items()}
        for value, inputs, guard in self._tape.ops:
            found = [arrays[k] for k in inputs]
            if value in leaves:
                array = store.value(*leaves[value])
                assert array is not None  # or the page has no data
                arrays.append(array.astype(value.dtype))
            elif guard >= 0 and not self._arrived[guard]:
                arrays.append(np.zeros(value.shape, value.dtype))
            elif value.primitive is LEAF:
                arrays.append(np.zeros(value.shape, value.dtype))  # the number of steps
            elif value.primitive is CONSTANT:
                arrays.append(value.attributes["array"])
            elif value.primitive is COLLECT:
                arrays.append(self._collected(found, value.attributes["conditions"]))
            elif value.primitive.view:
                arrays.append(value.kernel(found[0], **value.attributes))
            else:
                out = np.empty(value.shape, value.dtype)
                value.kernel(*found, out=out, **value.attributes)
                arrays.append(out)
        return arrays

    def _collected(self, parts: Sequence[Array], conditions: Sequence[Condition]) -> Array:
        there = [
            part
            for part, condition in zip(parts, conditions, strict=True)
            if self._holds(condition, self._arrived)
        ]
        total: Array = sum(there[1:], there[0]) if there else parts[0]
        return total

    def _searched(self) -> tuple[list[int], list[int], list[int]]:
        """For each value the worst gate from the losses, to trained and to frozen variables."""
        heads = [v for v, chosen in zip(self._data["heads"], self._heads, strict=True) if chosen]
        trained, frozen = self._data["trained"], self._data["frozen"]
        edges = [(v, x, self._gate(gate, at)) for v, x, gate, at in self._data["edges"]]
        back = [(x, v, gate) for v, x, gate in reversed(edges)]
        return self._search(heads, back), self._search(trained, edges), self._search(frozen, edges)

    def _gate(self, gate: int, switch: int) -> int:
        is_open = gate == Gate.STOP and switch >= 0 and self._open[switch]
        return int(Gate.OPEN) if is_open else gate

    def _search(self, starts: Sequence[int], edges: Sequence[tuple[int, int, int]]) -> list[int]:
        """The worst gate on the best way; each edge is (to, from, gate)."""
        levels = [_NOWHERE] * self._data["size"]
        for start in starts:
            levels[start] = Gate.OPEN
        for to, source, gate in edges:
            levels[to] = min(levels[to], max(levels[source], gate))
        return levels

    def _state(self, value: int) -> str:
        """As ``gradwire.runtime.flow.structure.searches`` has it."""
        loss, trained, frozen = (level[value] for level in self._levels)
        variables = frozen if trained == _NOWHERE else trained
        if loss == _NOWHERE:
            return "OFF ROUTE"
        if variables == _NOWHERE:
            return "NOTHING TO TRAIN"
        worst = max(loss, variables)
        frost = worst == Gate.NO_RULE and loss == frozen == Gate.OPEN
        if (trained == _NOWHERE and (loss == Gate.OPEN or worst == Gate.STOP)) or frost:
            return "FROZEN"
        return ("CARRIES", "STOPPED", "NO RULE")[worst]
