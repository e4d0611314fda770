"""What other systems report where the table of choices says that they differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import dialects, observe
from gradwire.runtime.flow.numbers import elsewhere

NORM = "norm1: at length 0, the gradient is NaN in {} and 0 here."


def x(*values: float, **parameters: Any) -> b.Expression:
    return b.variable("x", list(values), **parameters)


def reports(end: b.Expression, name: str = "x") -> dict[str, tuple[str, str]]:
    """By system what it says of a variable, and why it says so where it differs."""
    observed = observe(Session(b.build(b.loss(end))))
    return {r.system: (r.says, r.because) for r in dialects(observed, name).reports}


def test_the_norm_of_0() -> None:
    assert reports(b.norm(x(0, 0), name="norm1")) == {
        "PyTorch": ("zeros", ""),
        "JAX": ("NaN", NORM.format("JAX")),
        "TensorFlow": ("NaN", NORM.format("TensorFlow")),
        "MXNet": ("NaN", NORM.format("MXNet")),
    }


def masked_root(v: b.Expression) -> b.Expression:
    return b.sum(b.where(b.greater(v, 0), b.sqrt(v, name="n"), 0))


def both(v: b.Expression) -> b.Expression:
    aside = b.abs(b.stop_gradient(v), name="aside")
    return b.sum(b.add(aside, b.abs(v, name="way")))


@pytest.mark.parametrize(
    ("end", "system", "says", "because"),
    [
        (b.sum(b.abs(x(0, 0), name="n")), "JAX", "rms 1",
         "n: at x = 0, the gradient is 1 in JAX and 0 here."),
        (b.sum(b.clip(x(-2, -2), min=-2, max=5, name="n")), "JAX", "rms 0.5",
         "n: at x = min or x = max, the gradient is 1/2 in JAX and 1 here."),
        (b.sum(b.maximum(x(1, 1), 1, name="n")), "TensorFlow", "rms 1",
         "n: at a = b, the gradient is 1 to one side in TensorFlow and 1/2 to each side here."),
        (masked_root(x(0, 0)), "TensorFlow", "zeros",
         "n: at x = 0 where 0 arrives, as behind a Where, the gradient is 0 in TensorFlow "
         "and NaN here."),
        (b.sum(b.round(b.log(x(0, 0)), name="n")), "JAX", "zeros",
         "n: at 0 · ∞ further back, the gradient is 0 in JAX and NaN here."),
        (b.sum(b.round(x(1, 1), name="n")), "TensorFlow", "None",
         "n: the gradient is None in TensorFlow and 0, connected here."),
        (b.binary_cross_entropy(x(0, 0), b.constant("t", [1.0, 1.0]), given="probabilities",
                                name="n"), "PyTorch", "rms 5e11",
         "n: at probability 0 or 1, the gradient is up to 10¹² in PyTorch and 0 for the "
         "prediction here."),
    ],
)  # fmt: skip
def test_points_of_the_table(end: b.Expression, system: str, says: str, because: str) -> None:
    assert reports(end)[system] == (says, because)


def test_the_block_that_makes_the_difference_is_named() -> None:
    """Both sit at a point of the table; only one lies between the variable and the loss."""
    assert reports(both(x(0, 0)))["JAX"][1].startswith("way: at x = 0")


def test_axes_and_parameters_of_the_block_decide() -> None:
    """A row of zeros along one axis is none along the other, and a limit is where it is set."""
    rows = b.variable("x", [[0.0, 1.0], [0.0, 2.0]])
    assert reports(b.sum(b.norm(rows, axis=1)))["JAX"][1] == ""
    assert reports(b.sum(b.norm(rows, axis=0, name="norm1")))["JAX"] == (
        "NaN in 2 of 4", NORM.format("JAX"),
    )  # fmt: skip
    assert reports(b.sum(b.clip(x(0, 1), min=-1, max=2)))["JAX"][1] == ""


def test_nothing_is_traced_again_where_no_point_occurs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(elsewhere, "retrace")
    found = reports(b.norm(b.abs(x(3, 4)), name="norm1"))
    assert set(found.values()) == {("rms 0.7071", "")}


def test_what_no_definition_follows_is_not_known() -> None:
    """PyTorch's Elu of NaN depends on whether a vector or a single number is computed."""
    session = Session(b.build(b.loss(b.sum(b.elu(x(np.nan, 1), name="elu1")))))
    report = dialects(observe(session), "x").reports[0]
    assert (report.system, report.says, report.gradient) == ("PyTorch", "not known", None)
    assert report.because.startswith("elu1: at x = NaN, the gradient is 1 in float32 in PyTorch")
    assert {f.plain for f in dialects(observe(session), "x").fates["PyTorch"]} == {
        "depends on its gradient"
    }


def test_coarse_numbers_are_told_apart() -> None:
    """One is 0 and the other 1 in float16, whose rounding is a thousandth."""
    large = b.variable("x", [60000.0, 0.0], dtype="float16")
    found = reports(b.sum(b.cast(b.norm(large, name="n"), dtype="float32")))
    assert found["PyTorch"] == ("rms 0.7071", "")
    assert found["JAX"] == (
        "zeros", "n: at squares that float16 does not hold, the gradient is 0 or NaN in JAX and "
        "x / length here.",
    )  # fmt: skip


def test_subnormal_numbers_that_matter_leave_jax_unknown() -> None:
    """JAX takes them as 0 on some machines: √x has another slope then, x + 1 has not."""
    because = "x.out: subnormal numbers are kept here, kept in PyTorch, 0 in JAX on a CPU."
    assert reports(b.sum(b.sqrt(x(1e-45, 1))))["JAX"] == ("not known", because)
    assert reports(b.sum(b.add(x(1e-45, 1), 1)))["JAX"] == ("rms 1", "")
    slope = b.block("Gradient", b.sum(b.square(v := x(1e-45, 1))), v)
    assert reports(b.sum(slope))["JAX"] == ("rms 2", "")


def test_the_numbers_of_the_run_are_used() -> None:
    """Its feeds, and the random numbers of its step."""
    fed = b.input("data", shape=[2], dtype="float32")
    noise = b.block("RandomNormal", shape=(2,), name="noise")
    h = b.mul(b.add(fed, b.mul(noise, 0)), x(1, 1), name="h")
    session = Session(b.build(b.loss(b.norm(h, name="norm1"))))
    session.step_number = 3
    observed = observe(session, feeds={"data": [0.0, 0.0]})
    for port in ("x", "h.out"):
        found = {r.system: r.because for r in dialects(observed, port).reports}
        assert found["JAX"] == NORM.format("JAX"), port


def test_all_variables_are_computed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One trace a system, and one for each block that is tried for the reason."""
    calls = []
    retrace = elsewhere.retrace
    monkeypatch.setattr(elsewhere, "retrace", lambda *given: calls.append(given) or retrace(*given))
    variables = [b.variable(f"v{n}", [0.0, 0.0]) for n in range(9)]
    observed = observe(Session(b.build(b.loss(b.norm(b.add_n(*variables), name="norm1")))))
    for n in range(9):
        assert dialects(observed, f"v{n}").reports[1].says == "NaN"
    assert len(calls) == 6  # JAX, TensorFlow, MXNet, and norm1 alone in each


def fates(
    make: Callable[[b.Expression], b.Expression], value: list[float]
) -> tuple[str, dict[str, str]]:
    """What JAX reports of a variable, and by optimiser what becomes of it."""
    session = Session(b.build(b.loss(make(b.variable("w", value)), name="loss")))
    about = dialects(observe(session), "w")
    return about.reports[1].says, {fate.optimiser: fate.plain for fate in about.fates["JAX"]}


@pytest.mark.parametrize(
    ("value", "says", "made"),
    [([0.0], "NaN", "NaN"), ([0.0, 1.0], "NaN in 1 of 2", "NaN in 1 of 2")],
)
def test_an_optimiser_makes_a_weight_nan_by_a_gradient_that_is(
    value: list[float], says: str, made: str
) -> None:
    told, after = fates(lambda w: b.sum(b.sqrt(w) * 0.0), value)
    assert told == says
    assert set(after.values()) == {f"becomes {made}: no later step brings it back"}


def test_by_an_infinite_gradient_it_becomes_infinite_or_with_adam_nan() -> None:
    told, after = fates(lambda w: b.sum(b.sqrt(w)), [0.0])
    assert told == "∞"
    assert after["SGD"] == "becomes infinite: no later step brings it back"
    assert after["AdamW"] == "becomes NaN: no later step brings it back"


def test_by_a_gradient_of_0_it_stays_unless_momentum_or_decay_move_it() -> None:
    told, after = fates(lambda w: b.sum(b.relu(w)), [-1.0])
    assert told == "zeros"
    assert after["SGD"] == "stays unchanged"
