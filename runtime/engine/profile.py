"""Profiles a diagram: how much time and memory each block takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from threading import get_ident
from time import perf_counter, perf_counter_ns
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.engine.compilation import listening
from gradwire.runtime.engine.lowering import lower

if TYPE_CHECKING:
    from gradwire.runtime.engine.compilation import Compilation
    from gradwire.runtime.engine.engine import PlanWork
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.engine.session.session import Session

MAX_RUNS = 1000
"""Number of runs after which the medians no longer change."""

BETWEEN_BLOCKS = "between blocks"
"""Name under which arithmetic without a block is listed, such as the start of backward."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one block in a call, or of several blocks that were fused into one task.

    ``forward`` and ``backward`` are in seconds; a task that does both is split by the number of
    values it computes for each. ``bytes`` counts the results it writes, ``steps`` its calls.
    """

    blocks: tuple[str, ...]
    forward: float = 0.0
    backward: float = 0.0
    bytes: int = 0
    steps: int = 0

    @property
    def seconds(self) -> float:
        """Seconds of forward and backward together."""
        return self.forward + self.backward


@dataclass(frozen=True, slots=True)
class Profile:
    """The cost of one call that computes the losses and the gradients of all trainable variables.

    Without a loss, the call computes the values of all ports. Times are in seconds, medians of
    ``runs`` calls; ``tracing``, ``planning`` and, on engines that do, ``compiling`` happen once.
    ``bytes`` is the memory of the plan.
    """

    costs: tuple[Cost, ...]
    call: float
    tracing: float
    planning: float
    runs: int
    steps: int
    bytes: int
    losses: tuple[str, ...]
    compiling: float = 0.0


def profile(
    session: Session, losses: Sequence[str] | None = None, *, seconds: float = 1.0
) -> Profile:
    """Run for about ``seconds`` and attribute the time of every step to its block.

    Half of the time measures whole calls, half single steps. The most expensive blocks come
    first. Raises what ``Session.backward`` does.
    """
    heads = tuple(session.losses if losses is None else losses)
    start = perf_counter()
    lower(session.diagram)
    traced = perf_counter()
    call = session.prepare(
        values=heads or tuple(session.program.ports), losses=heads, wrt=None if heads else ()
    )
    planned = perf_counter()
    with _compilations() as compiling:
        call()
    whole = _sampled([call], seconds / 2)
    parts = call.plan.parts
    with np.errstate(all="ignore"):
        times = _medians(_sampled([step for step, _ in parts], seconds / 2))
    return Profile(
        costs=_costs(session.program, [task for _, task in parts], times),
        call=_medians(whole)[0],
        tracing=traced - start,
        planning=planned - traced,
        runs=len(whole),
        steps=len(call.plan),
        bytes=call.plan.bytes,
        losses=heads,
        compiling=sum(compiling),
    )


@contextmanager
def _compilations() -> Iterator[list[float]]:
    """Within, the list takes the seconds of each compilation in this thread."""
    found: list[float] = []
    thread = get_ident()

    def listen(compilation: Compilation) -> None:
        if compilation.seconds is not None and get_ident() == thread:
            found.append(compilation.seconds)

    with listening(listen):
        yield found


def _sampled(calls: Sequence[Callable[[], object]], seconds: float) -> list[list[int]]:
    """Nanoseconds that each call took, one row for each run."""
    end = perf_counter() + seconds
    rows: list[list[int]] = []
    while len(rows) < MAX_RUNS and (not rows or perf_counter() < end):
        row = []
        for call in calls:
            start = perf_counter_ns()
            call()
            row.append(perf_counter_ns() - start)
        rows.append(row)
    return rows


def _medians(rows: Sequence[Sequence[int]]) -> list[float]:
    """Median seconds of each call, minus the time it takes to read the clock."""
    reading = median(-perf_counter_ns() + perf_counter_ns() for _ in range(200))
    return [max(0.0, median(column) - reading) / 1e9 for column in zip(*rows, strict=True)]


def _costs(program: Program, tasks: Sequence[PlanWork], times: Sequence[float]) -> tuple[Cost, ...]:
    """The costs, one for all steps that cover the same blocks."""
    found: dict[tuple[str, ...], Cost] = {}
    seen: set[int] = set()
    for task, seconds in zip(tasks, times, strict=True):
        blocks = tuple(dict.fromkeys(str(value.owner or BETWEEN_BLOCKS) for value in task.covers))
        back = sum(v.index >= program.forward_end for v in task.covers) / len(task.covers)
        written = 0
        if id(task) not in seen:
            written = sum(v.size * NUMPY[v.dtype].itemsize for v in task.values or task.covers)
        seen.add(id(task))
        old = found.get(blocks, Cost(blocks))
        found[blocks] = Cost(
            blocks,
            old.forward + seconds * (1 - back),
            old.backward + seconds * back,
            old.bytes + written,
            old.steps + 1,
        )
    return tuple(sorted(found.values(), key=lambda cost: -cost.seconds))
