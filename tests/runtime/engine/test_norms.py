"""Norms of wires: the same numbers as from the arrays, without the arrays."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gradwire.blocks.errors import RunError
from gradwire.blocks.library.activations import Tanh
from gradwire.blocks.library.arithmetic import Mul
from gradwire.blocks.library.losses import Loss
from gradwire.blocks.library.reduce import Sum
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.norms import rms
from tests.golden.cases import DATA
from tests.golden.diagrams import diagram_of
from tests.golden.runner import documents
from tests.runtime.engine.drawing import draw, seed


def exact(array) -> float:
    x = np.asarray(array, np.longdouble)
    return float(np.sqrt(np.mean(np.square(x)))) if x.size else 0.0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("scale", [1.0, 1e-4, 3e4, 1e-30, 1e30, 1e-160, 1e160])
def test_root_mean_squares(dtype: str, scale: float) -> None:
    with np.errstate(all="ignore"):
        x = (scale * np.random.default_rng(0).standard_normal((130, 131))).astype(dtype)
    if np.isfinite(x).all():
        for view in (x, x.T, x[::3, ::-2], np.broadcast_to(x[0], (7, 131)), x[:0], x[3, 4]):
            assert rms(view) == pytest.approx(exact(view), rel=1e-5)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "bool"])
def test_integers_do_not_wrap_around(dtype: str) -> None:
    most = True if dtype == "bool" else np.iinfo(dtype).max
    assert rms(np.array([most, most], dtype)) == pytest.approx(float(most))
    assert rms(np.array([most, 0], dtype)) == pytest.approx(float(most) / math.sqrt(2.0))


def test_numbers_that_are_not_finite():
    assert rms(np.float32([1, np.inf])) == math.inf
    assert math.isnan(rms(np.float32([1, np.nan, np.inf])))
    assert rms(np.zeros(5, np.float32)) == 0


def test_norms_alone_are_those_of_the_contributions():
    for case in next(documents(DATA / "basics.json"))["cases"]:
        session = Session(diagram_of(case))
        for loss in session.losses:
            full = session.backward([loss])
            alone = session.backward([loss], contributions=False, norms=True)
            assert alone.contributions == {}
            assert alone.norms.keys() == full.norms.keys()
            for wire, norm in full.norms.items():
                found = alone.norms[wire]
                assert (found is None) == (norm is None), wire
                assert norm is None or found == pytest.approx(norm, rel=1e-5, nan_ok=True), wire


def test_some_wires_are_watched_and_all_are_sized_up():
    run = Session(seed()).backward(contributions=["plus.b"], norms=True)
    assert run.contributions.keys() == {"plus.b"}
    assert run.contributions["plus.b"].tolist() == [[1.0, 1.0]]
    assert run.norms == {
        "triple.b": None, "stop.x": None, "plus.a": None, "plus.b": 1.0, "loss.x": 1.0,
    }  # fmt: skip


def test_some_norms():
    run = Session(seed()).backward(contributions=False, norms=["plus.b", "plus.a"])
    assert run.norms == {"plus.b": 1.0, "plus.a": None}


@pytest.mark.parametrize("asked", [{"norms": ["plus.x"]}, {"contributions": ["plus.x"]}])
def test_a_wire_that_is_not_there(asked: dict[str, list[str]]) -> None:
    with pytest.raises(RunError, match=r"no wire into 'plus\.x'.*plus\.[ab]"):
        Session(seed()).backward(**asked)


@pytest.mark.night
def test_norms_keep_no_array_alive():
    layers = [f"t{i}" for i in range(40)]
    diagram = draw(
        {
            "x": Variable(shape=[20_000]),
            **{name: Mul(b=1.001) if i % 2 else Tanh() for i, name in enumerate(layers)},
            "sum": Sum(),
            "loss": Loss(),
        },
        {
            **{
                f"{name}.{'a' if i % 2 else 'x'}": before
                for i, (name, before) in enumerate(zip(layers, ["x", *layers], strict=False))
            },
            "sum.x": layers[-1],
            "loss.x": "sum",
        },
    )

    def memory(**asked: bool) -> int:
        session = Session(diagram)
        session.backward(ports=["loss.out"], **asked)
        (compiled,) = session._executor._compiled.values()
        return compiled.plan.bytes

    without = memory(contributions=False)
    assert memory(contributions=False, norms=True) < 1.2 * without
    assert memory(contributions=True) > 1.5 * without
