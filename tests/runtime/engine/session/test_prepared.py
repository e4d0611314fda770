"""Prepared calls: the same numbers as the session's other calls, and their own mistakes."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.blocks.errors import FeedError, HeadError, RunError
from gradwire.blocks.library.arithmetic import Mul
from gradwire.blocks.library.linear import Linear
from gradwire.blocks.library.losses import Loss, MeanSquaredError
from gradwire.blocks.library.random import RandomNormal
from gradwire.blocks.library.reduce import Sum
from gradwire.blocks.library.sources import Input, Variable
from gradwire.runtime.engine import Session
from gradwire.runtime.training.optimisers import SGD
from tests.runtime.engine.drawing import draw, seed


def regression() -> Session:
    """mse(x·wᵀ, t) with x and t fed, x of any number of rows."""
    return Session(
        draw(
            {
                "x": Input(shape=[None, 2]),
                "t": Input(shape=[None, 1]),
                "w": Variable(value=[[1, 2]]),
                "fit": Linear(),
                "mse": MeanSquaredError(),
                "loss": Loss(),
            },
            {
                "fit.x": "x",
                "fit.weight": "w",
                "mse.prediction": "fit",
                "mse.target": "t",
                "loss.x": "mse",
            },
        )
    )


def test_it_gives_values_then_gradients_as_backward_does() -> None:
    session = Session(seed())
    call = session.prepare(values=["loss", "stop"])
    assert call.results == ("loss.out", "stop.out", "a", "b")
    loss, stop, a, b = call()
    run = session.backward()
    assert loss is not None and loss.tolist() == run.values["loss.out"].tolist()
    assert stop is not None and stop.tolist() == [[0, 3]]
    assert a is not None and a.tolist() == [[1, 1]]
    assert b is None


def test_it_is_fed_and_reads_the_variables_of_now() -> None:
    session = regression()
    call = session.prepare(["x", "t"], values=["mse"], shapes={"x": (3, 2), "t": (3, 1)})
    x, t = np.arange(6.0).reshape(3, 2), np.ones((3, 1))
    for value in ([[1, 2]], [[0, -1]]):
        session.set("w", value)
        mse, gradient = call(x, t)
        run = session.backward(feeds={"x": x, "t": t})
        assert mse is not None and mse == run.values["mse.out"]
        assert gradient is not None
        assert gradient.tolist() == run.gradients["w"].tolist()


def test_wrong_feeds_are_told() -> None:
    call = regression().prepare(["x", "t"], shapes={"x": (3, 2), "t": (3, 1)})
    with pytest.raises(FeedError, match=r"one array for each feed\. Expected 2 \(x, t\), got 1"):
        call(np.ones((3, 2)))
    with pytest.raises(FeedError, match=r"x: .*Expected float32 of shape \[3, 2\], got float64 of"):
        call(np.ones((4, 2)), np.ones((3, 1)))
    with pytest.raises(FeedError, match="no variable, constant, input or data 'y'"):
        regression().prepare(["y"])


def test_an_input_that_is_not_among_the_feeds_needs_a_value() -> None:
    call = regression().prepare(["x"], shapes={"x": (3, 2), "t": (3, 1)})
    with pytest.raises(FeedError, match="t: This input has no value and is not among the feeds"):
        call(np.ones((3, 2)))


def test_values_alone_need_no_loss() -> None:
    session = Session(draw({"a": Variable(value=[2.0, 3.0]), "mul": Mul(b=2)}, {"mul.a": "a"}))
    assert [v.tolist() for v in session.prepare(values=["mul"], wrt=())() if v is not None] == [
        [4, 6]
    ]
    with pytest.raises(HeadError, match="no loss"):
        session.prepare(values=["mul"])
    with pytest.raises(RunError, match="no block or output"):
        session.prepare(values=["mol"], wrt=())


def test_it_draws_with_the_sessions_step() -> None:
    session = Session(
        draw(
            {"w": Variable(value=1.0), "noise": RandomNormal(shape=(3,)), "mul": Mul(),
             "sum": Sum()},
            {"mul.a": "w", "mul.b": "noise", "sum.x": "mul"},
        )
    )  # fmt: skip
    call = session.prepare(values=["noise"])
    first, again = call()[0], call()[0]
    assert first is not None and again is not None
    assert first.tolist() == again.tolist()
    session.step(SGD(lr=0.0))
    later = call()[0]
    assert later is not None and later.tolist() != first.tolist()
    assert later.tolist() == session.run().values["noise.out"].tolist()


def test_results_are_fresh() -> None:
    call = Session(seed()).prepare(values=["loss"])
    first = call()[0]
    assert first is not None
    first[:] = 9
    second = call()[0]
    assert second is not None and second.tolist() == [[1, 5]]
