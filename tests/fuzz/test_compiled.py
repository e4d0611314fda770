"""The fuzz program of JAX finds numbers that are wrong, and a block that is not named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("jax")

from gradwire.blocks.errors import RunError
from gradwire.runtime.engine.jax import traced
from gradwire.runtime.engine.jax.traced import apply
from tests.fuzz.compiled import PROGRAMS
from tests.fuzz.runner import fuzz
from tests.runtime.engine.jax.alike import compiled_quickly

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value

(PROGRAM,) = PROGRAMS


@pytest.mark.night
def test_cases_of_every_outcome_keep_their_promise() -> None:
    with compiled_quickly():
        report = fuzz(PROGRAM, 3, numbers=range(40))
    assert report.failures == [], report.failures[0].trace if report.failures else ""
    assert set(report.outcomes) == {"compared", "partly run", "failed in the same block"}


@pytest.mark.night
def test_a_row_that_computes_something_else_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(value: Value, arrays: Any) -> Any:
        found = apply(value, arrays)
        return found + 1e-3 if value.primitive.name == "tanh" else found

    monkeypatch.setattr(traced, "apply", wrong)
    with compiled_quickly():
        report = fuzz(PROGRAM, 3, numbers=range(20))
    assert report.failures


@pytest.mark.night
def test_a_failure_without_its_block_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traced, "_failed", lambda value: RunError("The run failed."))
    with compiled_quickly():
        report = fuzz(PROGRAM, 3, numbers=range(20))
    assert report.failures
