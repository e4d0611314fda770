"""Runs the losses of a session and observes their gradient flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from numpy import typing as npt

from gradwire.blocks.arguments import explained
from gradwire.runtime.flow.analyse import Flow, analyse
from gradwire.runtime.flow.numbers.rules import THRESHOLDS, Thresholds
from gradwire.runtime.flow.observed import ALL, ObservedFlow

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.engine import Run, Session
    from gradwire.runtime.engine.program import Program


CONTRIBUTIONS = 2_000_000
"""With more losses times wires than this, losses are not run one by one."""


def flow_of_run(
    program: Program,
    run: Run | Mapping[str, Run],
    losses: Sequence[str] | None = None,
    thresholds: Thresholds = THRESHOLDS,
    diagram: Diagram | None = None,
) -> ObservedFlow:
    """The observed flow of a run.

    A run with several losses is about their sum. For numbers per loss, pass a mapping with the run
    of each loss under its port, and that of the sum under "". ``diagram`` is the diagram that was
    run, which ``ObservedFlow.stale`` needs. Raises RunError for a loss that does not exist.
    """
    runs: dict[str, Run] = dict(run) if isinstance(run, Mapping) else {_key(run): run}
    if losses is None:
        losses = next((r.losses for r in (runs.get(ALL), *runs.values()) if r is not None), ())
    return ObservedFlow(analyse(program, losses), runs, thresholds, diagram)


@explained
def observe(
    session: Session,
    losses: Sequence[str] | None = None,
    *,
    feeds: Mapping[str, npt.ArrayLike] | None = None,
    thresholds: Thresholds = THRESHOLDS,
) -> ObservedFlow:
    """Run the sum of the losses and each loss on its own, and refine the flow by the numbers.

    Of very many losses only the sum is run, and what is said about each is structural. The
    session's accumulated gradients don't change. Raises what ``Session.backward`` does.
    """
    flow = analyse(session.program, losses)
    most = CONTRIBUTIONS // max(1, len(session.program.wire_sources))
    runs = run_losses(session, flow, feeds=feeds, most=most) if flow.losses else {}
    return ObservedFlow(flow, runs or {}, thresholds, session.diagram)


def run_losses(
    session: Session,
    flow: Flow,
    *,
    feeds: Mapping[str, npt.ArrayLike] | None = None,
    most: int | None = None,
    superseded: Callable[[], bool] = lambda: False,
) -> dict[str, Run] | None:
    """The runs that an observation needs: of the sum of several losses, under ALL, and of each
    loss, under its port. With more than ``most`` losses only the sum is run.

    Returns None as soon as the runs are ``superseded``. The session's accumulated gradients don't
    change. Raises what ``Session.backward`` does.
    """
    heads = flow.losses
    groups = {ALL if len(heads) != 1 else heads[0]: heads}
    if len(heads) > 1 and (most is None or len(heads) <= most):
        groups |= {head: (head,) for head in heads}
    adjoints: Literal["all", "stops"] = "all" if flow.differentiates else "stops"
    ask = partial(
        session.backward, feeds=feeds, adjoints=adjoints, contributions=True, accumulate=False
    )
    runs: dict[str, Run] = {}
    for name, group in groups.items():
        if not runs:
            first = runs[name] = ask(group)
        else:
            run = ask(group, ports=())
            runs[name] = replace(run, values=first.values, problems=first.problems)
        if superseded():
            return None
    return runs


def _key(run: Run) -> PortPath:
    return run.losses[0] if len(run.losses) == 1 else ALL
