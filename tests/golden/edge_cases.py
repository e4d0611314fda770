"""One operation at awkward points: value and gradient, non-finite ones included, by our choices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.build import build, variable
from gradwire.runtime.engine import Session
from tests.golden.cases import Case, choices, identified
from tests.golden.comparison import Comparison
from tests.golden.formulas import formula
from tests.golden.gradients import heads_of

CHOICES = choices("edge_cases")


def cases(document: Mapping[str, Any]) -> Iterator[Case]:
    """All of them."""
    for identity, case in identified(document):
        yield Case(identity, partial(check, case))


def check(case: Mapping[str, Any]) -> Comparison:
    """Value and gradient of sum(f(x)): as we chose, else as the reference found them."""
    choice = CHOICES["cases"].get(case["id"], {})
    session = _session(choice.get("formula") or _formula(case), case["x"])
    expected = choice if choice.get("x") == case["x"] else _reference(case)
    comparison = Comparison()
    y = session.run().values["y.out"]
    comparison.close("value", expected["y"], np.atleast_1d(y))
    comparison.close("gradient", expected["grad"], _gradient(session, y))
    return comparison


def _session(text: str, x: Sequence[Any]) -> Session:
    variables = {"x": variable("x", x, dtype="float64")}
    return Session(build(formula(text, variables).named("y")))


def _gradient(session: Session, y: NDArray[Any]) -> NDArray[Any] | None:
    if y.dtype.kind != "f":
        return None
    heads, seeds = heads_of(session, [{"node": "y", "seed": None}])
    return session.backward(heads, out_gradients=seeds).gradients["x"]


def _reference(case: Mapping[str, Any]) -> Mapping[str, Any]:
    """The result of the system that made our choices; of another, where it has none."""
    results = {s: found for s, found in case["results"].items() if "y" in found}
    preferred = [s for s in results if s.startswith(CHOICES["reference"])]
    if not results:
        raise ValueError("no system has a result")
    found: Mapping[str, Any] = results[next(iter(preferred or results))]
    return found


def _formula(case: Mapping[str, Any]) -> str:
    """The formula that the id names; where it leaves numbers open, the one that gives y."""
    identity: str = case["id"]
    stems = [stem for stem in CHOICES["formulas"] if stem in identity]
    for stem in sorted(stems, key=lambda stem: (not identity.startswith(stem), -len(stem))):
        for text in CHOICES["formulas"][stem]:
            if _gives(text, case):
                return str(text)
    raise ValueError(
        f"no formula for {identity!r} gives the expected value; write it in choices/edge_cases.json"
    )


def _gives(text: str, case: Mapping[str, Any]) -> bool:
    try:
        y = _session(text, case["x"]).run().values["y.out"]
    except GradwireError:
        return False
    comparison = Comparison()
    comparison.close("value", _reference(case)["y"], np.atleast_1d(y))
    return not comparison.differences
