"""Trajectories of gradient descent: the heads before every update, and where it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.engine import Session
from gradwire.runtime.training.optimisers import SGD
from tests.golden.cases import Case, identified
from tests.golden.comparison import Comparison
from tests.golden.diagrams import diagram_of, out
from tests.golden.gradients import heads_of

Lookup = Callable[[str], Mapping[str, Any]]


def cases(document: Mapping[str, Any], find: Lookup) -> Iterator[Case]:
    """All of them; ``find`` gives the case of an id that names a diagram."""
    for identity, case in identified(document):
        yield Case(identity, partial(check, case, find))


def check(case: Mapping[str, Any], find: Lookup) -> Comparison:
    """Train, and compare the history and the variables at the end."""
    if case.get("optimizer", "sgd") != "sgd":
        raise ValueError(f"there is no optimizer {case['optimizer']!r} in this schema; only sgd")
    named = case["diagram"]
    source = find(named) if isinstance(named, str) else named
    comparison = Comparison()
    session = Session(diagram_of(source))
    session.run()  # says what is wrong, where the diagram can't run
    history = _train(session, case, source)
    for entry in case.get("history") or ():
        key = entry["step"], entry["backward"]
        what = f"step {key[0]}, {key[1]}"
        if key not in history:
            comparison.missing(what, f"heads {entry['head']}")
            continue
        comparison.same(f"{what}: number of heads", len(entry["head"]), len(history[key]))
        for i, (expected, got) in enumerate(zip(entry["head"], history[key], strict=False)):
            comparison.close(f"{what}: head {i}", expected, got)
    values = session.values
    for name, expected in (case.get("final_variables") or {}).items():
        comparison.close(f"final {name}", expected, values.get(name))
    return comparison


def _train(
    session: Session, case: Mapping[str, Any], source: Mapping[str, Any]
) -> dict[tuple[int, str], list[NDArray[Any]]]:
    """The values of the heads by step and backward, from before the update."""
    backwards = {backward["id"]: backward for backward in source["backwards"]}
    order: Sequence[str] = case.get("backwards_per_step") or list(backwards)
    history = {}
    for step in range(case["steps"]):
        for name in order:
            history[step, name] = _update(session, backwards[name], SGD(lr=case["lr"]))
    return history


def _update(session: Session, backward: Mapping[str, Any], optimiser: SGD) -> list[NDArray[Any]]:
    """One update; by hand where a head needs an output gradient, which a step doesn't take."""
    ports, seeds = heads_of(session, backward["heads"])
    wrt = backward.get("wrt")
    if not seeds:
        run = session.step(optimiser, ports, wrt=wrt)
    else:
        run = session.backward(ports, out_gradients=seeds, wrt=wrt, ports=ports)
        for name, value in optimiser.update(session.values, run.gradients).items():
            session.set(name, value)
    return [np.asarray(run.values[out(head["node"])]) for head in backward["heads"]]
