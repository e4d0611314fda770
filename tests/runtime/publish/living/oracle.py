"""What the runtime computes, for every combination of switches and random values, as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks import Source
from gradwire.runtime.engine import Session
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.observed import ALL, ObservedFlow
from gradwire.runtime.publish.living.computing.numbers import numbers
from tests.runtime.publish.living.rounding import has_float32, rounded_once, twin

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine import Run
    from gradwire.runtime.publish.living.data import Living


def work_of(living: Living, trials: int, most: int = 64, told: bool = True) -> dict[str, Any]:
    """The data of a page, and what it must compute."""
    return {"data": living.data, "cases": list(cases(living, trials, most, told))}


def cases(
    living: Living, trials: int, most: int = 64, told: bool = True
) -> Iterator[dict[str, Any]]:
    """Values, switches and losses; values of ports, gradients, contributions and states; what is
    said about each wire and variable.
    """
    random = np.random.default_rng(0)
    settings = [*living.switches.settings(most)]
    sessions = [Session(living.switches.switched(each), fast=False) for each in settings]
    for trial in range(trials):
        values = _values(sessions[0], random) if trial else {}
        for setting, session in zip(settings, sessions, strict=True):
            for path, value in values.items():
                session.set(path, value)
            heads = session.losses
            for chosen in [heads, *([[head] for head in heads] if len(heads) > 1 else [])]:
                yield {
                    "values": {path: numbers(value) for path, value in values.items()},
                    "open": setting,
                    "heads": [head in chosen for head in heads],
                    **results(session, chosen, told),
                }


def swept(living: Living, count: int) -> Iterator[dict[str, Any]]:
    """Every float variable and input in turn at ``count`` multiples of its numbers, −2 to 2."""
    setting = living.switches.open
    session = Session(living.switches.switched(setting), fast=False)
    for path, value in floats(session).items():
        for factor in (*np.linspace(-2.0, 2.0, count), 1.0):
            moved = (value * factor).astype(value.dtype)
            session.set(path, moved)
            yield {
                "values": {path: numbers(moved)},
                "open": setting,
                "heads": [True] * len(session.losses),
                **results(session, session.losses, told=False),
            }


def floats(session: Session) -> dict[str, Any]:
    """The numbers of the float variables and inputs."""
    found = {}
    for path, leaf in session.program.leaves.items():
        kind = getattr(leaf.source, "kind", "literal")
        if kind in ("variable", "input") and leaf.value.dtype.startswith("float"):
            value = session._store.value(path, leaf)
            assert value is not None
            found[path] = np.asarray(value)
    return found


def _values(session: Session, random: np.random.Generator) -> dict[str, Any]:
    """Every float variable and input moved by about as much as its own numbers differ."""
    return {
        path: (value + random.normal(size=value.shape) * (np.std(value) or 1.0)).astype(value.dtype)
        for path, value in floats(session).items()
    }


def results(session: Session, chosen: list[Any], told: bool) -> dict[str, Any]:
    """What the runtime computes now, and what it says."""
    run, observed = _observed(session, chosen)
    return {
        "ports": _tables(run.values),
        "gradients": _tables(run.gradients),
        "contributions": _tables(run.contributions),
        "adjoints": _tables(run.adjoints),
        **_said(session, chosen, observed, told),
    }


def _observed(session: Session, chosen: list[Any]) -> tuple[Run, ObservedFlow]:
    flow = analyse(session.program, chosen)
    run = session.backward(chosen, adjoints="all" if flow.differentiates else "stops")
    return run, ObservedFlow(flow, {chosen[0] if len(chosen) == 1 else ALL: run})


def _said(
    session: Session, chosen: list[Any], observed: ObservedFlow, told: bool
) -> dict[str, Any]:
    """What the runtime says of its numbers; of float32, where it doesn't depend on the machine."""
    if not told:
        return {"states": _states(observed), "told": {}}
    if not has_float32(session):
        return {"states": _states(observed), "told": _told(observed)}
    with rounded_once():
        observed = _observed(twin(session), chosen)[1]
        return {"states": _states(observed), "told": _told(observed)}


def _states(observed: ObservedFlow) -> dict[str, str]:
    return {wire: str(state) for wire, state in observed.states().items()}


def _told(observed: ObservedFlow) -> dict[str, Any]:
    """The sentence, the cure, the route and the cutters of every verdict."""
    found = {}
    for name in (*observed.program.wire_sources, *observed.program.trainable):
        told = observed.explain(name)
        cutters = [*dict.fromkeys(str(cutter.wire) for cutter in told.cutters)]
        found[name] = [told.sentence, told.cure, list(told.witness), cutters]
    return found


def _tables(arrays: Any) -> dict[str, Any]:
    return {name: None if array is None else numbers(array) for name, array in arrays.items()}


def in_dtype(diagram: Diagram, dtype: str) -> Diagram:
    """The diagram with all floats of its sources in another dtype."""
    for name, page in diagram.pages.items():
        blocks = {key: _as(block, dtype) for key, block in page.blocks.items()}
        diagram = diagram.with_page(name, replace(page, blocks=blocks))
    return diagram


def _as(block: Any, dtype: str) -> Any:
    if not isinstance(block, Source) or not str(block.leaf_dtype).startswith("float"):
        return block
    record = block.to_record()
    return type(block).from_record({**record, "dtype": dtype})
