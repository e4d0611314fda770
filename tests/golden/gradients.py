"""The schema of basics, use cases and random diagrams: forward, gradients, adjoints, nulls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine import Run, Session
from gradwire.runtime.flow import State
from gradwire.runtime.flow.analyse import analyse
from tests.golden.cases import Case, identified
from tests.golden.comparison import Comparison
from tests.golden.diagrams import diagram_of, out

Array = NDArray[Any]


def cases(document: Mapping[str, Any]) -> Iterator[Case]:
    """All of them."""
    for identity, case in identified(document):
        yield Case(identity, partial(check, case))


def check(case: Mapping[str, Any]) -> Comparison:
    """Run a case: forward values and dtypes, then every backward."""
    session = Session(diagram_of(case))
    expect = case.get("expect") or {}
    comparison = Comparison()
    run = session.run()
    for name, expected in (expect.get("forward") or {}).items():
        comparison.close(f"forward {name}", expected, _of(run.values, name))
    for name, expected in (expect.get("dtypes") or {}).items():
        comparison.same(f"dtype of {name}", expected, str(_of(run.values, name).dtype))
    backwards = {backward["id"]: backward for backward in case.get("backwards") or ()}
    for identity, expected in (expect.get("backward") or {}).items():
        if identity in backwards:
            _check_backward(comparison, session, backwards[identity], expected)
        else:
            comparison.missing(f"backward {identity}", "a backward of that id")
    _check_arguments(comparison, session, case)
    return comparison


def heads_of(
    session: Session, heads: Sequence[Mapping[str, Any]]
) -> tuple[list[str], dict[str, Array]]:
    """The ports to differentiate, and the output gradients that have to be given.

    A seed of null is ones; a Loss and a scalar take it by themselves. A head that is listed
    twice gets the sum of its seeds.
    """
    seeds: dict[str, Array] = {}
    given: set[str] = set()
    for head in heads:
        port = out(head["node"])
        shape = session.program.shape(port)
        seed = np.ones(shape) if head.get("seed") is None else np.asarray(head["seed"], float)
        own = not shape or session.program.block(head["node"]).head
        if port in seeds or head.get("seed") is not None or not own:
            given.add(port)
        seeds[port] = seeds[port] + seed if port in seeds else seed
    return list(seeds), {port: seed for port, seed in seeds.items() if port in given}


def _check_arguments(comparison: Comparison, session: Session, case: Mapping[str, Any]) -> None:
    """What MXNet lists as arguments of the last backward, in graph order; constants are none."""
    backwards, variables = case.get("backwards"), case.get("variables") or {}
    for system, found in (case.get("checks") or {}).items():
        if backwards and "list_arguments" in found:
            heads = [head["node"] for head in backwards[-1]["heads"]]
            listed = [name for name in found["list_arguments"] if name in variables]
            comparison.same(f"arguments as in {system}", listed, session.arguments(heads))


def _check_backward(
    comparison: Comparison,
    session: Session,
    backward: Mapping[str, Any],
    expected: Mapping[str, Any],
) -> None:
    name = backward["id"]
    ports, seeds = heads_of(session, backward["heads"])
    run = session.backward(
        ports,
        out_gradients=seeds,
        wrt=backward.get("wrt"),
        ports=(),
        adjoints="all",
        contributions=True,
    )
    gradients = expected.get("grads") or {}
    for variable, gradient in gradients.items():
        comparison.close(f"{name}: gradient of {variable}", gradient, _of(run.gradients, variable))
    for node, adjoint in (expected.get("adjoints") or {}).items():
        comparison.close(f"{name}: adjoint of {node}", adjoint, _of(run.adjoints, node))
    _check_flow(comparison, session, name, ports, run, gradients)


def _check_flow(
    comparison: Comparison,
    session: Session,
    name: str,
    ports: Sequence[str],
    run: Run,
    gradients: Mapping[str, Any],
) -> None:
    """A variable carries exactly if its expected gradient is not null, a wire if it brings one."""
    flow = analyse(session.program, ports)
    for variable, gradient in gradients.items():
        carries = flow.variable(variable).state is State.CARRIES
        comparison.same(f"{name}: whether {variable} carries", gradient is not None, carries)
    for wire, state in flow.states().items():
        brings = run.contributions[wire] is not None
        comparison.same(f"{name}: whether wire {wire} carries", brings, state is State.CARRIES)


def _of(results: Mapping[str, Any], name: str) -> Any:
    """A result by the name of a block or of its port; raises ValueError where there is none."""
    for key in (name, out(name)):
        if key in results:
            return results[key]
    raise ValueError(f"the case expects something of {name!r}, which the diagram doesn't have")
