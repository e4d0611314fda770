"""The run behind a timeline, with as many of its arrays as memory is allowed for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from gradwire.blocks.classes.identity import by_identity
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.observed import ObservedFlow

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine import Run, Session
    from gradwire.runtime.flow.analyse import Flow

MOST_BYTES = 64 << 20
"""Bytes of the arrays that a recording keeps."""
_OVERHEAD = 160
"""Bytes of an array besides its elements, with its place in a dict."""
K = TypeVar("K", bound=str)


@by_identity
class RunRecording(NamedTuple):
    """A run, what flows in it, and the values that its trained variables had."""

    observed: ObservedFlow
    run: Run
    values: Mapping[str, Array]


def record_step(
    session: Session,
    losses: Sequence[str] | None = None,
    feeds: Mapping[str, ArrayLike] | None = None,
) -> RunRecording:
    """A training step without its update; without losses a forward pass. The session does not
    change. Raises what ``Session.backward`` does.
    """
    flow = analyse(session.program, losses)
    run = record_run(session, flow, feeds)
    key = run.losses[0] if len(run.losses) == 1 else ""
    observed = ObservedFlow(flow, {key: run}, diagram=session.diagram)
    values = {name: v for name, v in session.values.items() if name in run.gradients}
    return RunRecording(observed, run, values)


def record_run(session: Session, flow: Flow, feeds: Mapping[str, ArrayLike] | None) -> Run:
    """A run with the values, adjoints and contributions that fit into MOST_BYTES, smallest first;
    the norms of contributions that don't. The session's accumulated gradients don't change.
    """
    program = session.program
    share = MOST_BYTES // 4  # a variable's gradient takes its part as well
    ports = affordable(program.ports, share)
    if not flow.losses:
        return session.run(feeds, ports=ports)
    wires = affordable(program.wires, share)
    large = program.wires.keys() - set(wires)
    arriving = set(flow.arriving())
    return session.backward(
        flow.losses,
        feeds=feeds,
        ports=ports,
        adjoints=[
            port
            for port in ports
            if flow.differentiates
            # Where gradient arrives and goes on to no trained variable, no wire shows it.
            or (port in arriving and program.ports[port] not in program.reached)
        ],
        contributions=wires,
        norms=sorted(large),
        accumulate=False,
    )


def affordable(values: Mapping[K, Value], most: int) -> list[K]:
    """The names of the smallest arrays that take at most ``most`` bytes together, in order."""
    sizes = {name: _bytes(value) for name, value in values.items()}
    ordered = sorted(sizes, key=sizes.__getitem__)
    totals = np.cumsum([sizes[name] for name in ordered], dtype=np.float64)
    fitting = set(ordered[: int(np.searchsorted(totals, most, side="right"))])
    return [name for name in values if name in fitting]


def _bytes(value: Value) -> int:
    return value.size * np.dtype(value.dtype).itemsize + _OVERHEAD
