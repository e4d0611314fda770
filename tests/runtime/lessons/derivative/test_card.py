"""The derivative card, headless."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.blocks.errors import RunError
from gradwire.blocks.library.gradient import Gradient
from gradwire.runtime.build import (
    build,
    loss,
    maximum,
    mul,
    relu,
    softmax,
    square,
    stop_gradient,
    sum,
    variable,
)
from gradwire.runtime.engine import Session
from gradwire.runtime.lessons.derivative.card import derivative_card
from tests.blocks.examples import EXAMPLES
from tests.runtime.lessons.squared import squared


def product():
    w, x = variable("w", 3.0), variable("x", 2.0)
    return Session(build(loss(square(mul(w, x, name="product") - 4.0), name="L")))


def test_a_product_in_numbers():
    card = derivative_card(product(), "product")
    assert card.type_name == "Mul"
    assert card.arrivals == ("4 arrives at product.",)
    a, b = card.inputs
    assert (a.port, a.rule, a.text) == ("a", r"g \cdot b", "w gets 4 × 2 = 8.")
    assert (b.port, b.rule, b.text) == ("b", r"g \cdot a", "x gets 4 × 3 = 12.")
    assert a.jacobian == 2
    assert card.check.agrees
    assert card.check.comparison.startswith("✓ Along a random direction the rule gives ")


def test_a_stop_gives_none_and_says_why_the_difference_is_another():
    x = variable("x", [1.0, 2.0])
    session = Session(build(loss(sum(stop_gradient(x, name="stop") * x), name="L")))
    card = derivative_card(session, "stop")
    (back,) = card.inputs
    assert (back.rule, back.jacobian) == (None, None)
    assert "stop stops every route to L" in back.text
    assert card.check.mark == "≈"
    assert "it stops the gradient" in card.check.comparison


def test_a_kink_excuses_a_difference():
    card = derivative_card(Session(build(loss(relu(variable("x", 0.0)), name="L"))), "relu1")
    assert card.check.mark == "≈"


def test_softmax_has_a_jacobian():
    z = variable("z", [2.0, 1.0, 0.1])
    card = derivative_card(Session(build(loss(sum(softmax(z, name="p") * z), name="L"))), "p")
    (back,) = card.inputs
    assert back.jacobian.shape == (3, 3)
    assert back.output_rank == 1
    np.testing.assert_allclose(back.jacobian.sum(axis=1), 0.0, atol=1e-6)


def test_a_source_has_only_what_arrives():
    card = derivative_card(product(), "w")
    assert card.arrivals == ("8 arrives at w.",)
    assert card.inputs == ()
    assert card.check is None


def test_differences_between_systems_are_listed():
    session = Session(build(loss(maximum(variable("x", 1.0), 1.0), name="L")))
    card = derivative_card(session, "maximum1")
    assert any("TensorFlow" in text for text in card.differences)


def test_an_unknown_block_is_an_error():
    with pytest.raises(RunError, match="no such block"):
        derivative_card(product(), "prodcut")


@pytest.mark.night
@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_every_block_of_the_library_has_a_card_that_is_right(example):
    """Jacobian, row by row, and difference agree with what the session sends back."""
    single, losses = squared(example)
    if "block" not in single.session.program.instances:
        return  # a Formula, of which every block inside has a card
    card = derivative_card(single.session, "block", losses)
    run = single.session.backward(losses, adjoints=[single.output]) if losses else None
    arriving = None if run is None else run.adjoints.get(single.output)
    assert [back.port for back in card.inputs] == (
        [] if isinstance(example.block, Gradient) else [*example.inputs]
    )
    if not card.inputs:
        assert card.arrivals == (f"{described(arriving)} arrives at block.",)
        assert card.check is None
    assert card.formula and card.summary
    for back in card.inputs:
        sent = None if run is None else run.gradients.get(single.places[back.port])
        if back.rule is None:
            assert sent is None
        if arriving is None or sent is None:
            continue
        if back.jacobian is not None and type(example.block).type_name() not in NOT_LINEAR:
            found = np.tensordot(arriving, back.jacobian, arriving.ndim)
            np.testing.assert_allclose(found, sent, rtol=1e-5, atol=1e-9)
        if back.product is not None:
            np.testing.assert_allclose(back.product.arriving, arriving)
            np.testing.assert_allclose(back.product.returned, sent, rtol=1e-6)
            sent_at_1 = back.product.local.returned({"out": one_hot(arriving.shape, 1)})
            np.testing.assert_allclose(back.product.row(1), sent_at_1[back.port])
    assert card.check is None or not card.check.is_wrong


NOT_LINEAR = {"GradientClip", "Loss"}
"""Blocks whose rule is not a product with a Jacobian, on purpose."""


def described(array):
    """As the card describes an array of several numbers."""
    size = np.sqrt(np.mean(np.square(array, dtype=float)))
    return f"{' × '.join(map(str, array.shape))} numbers, rms {size:.4g}"


def one_hot(shape, index):
    array = np.zeros(shape)
    array.reshape(-1)[index] = 1.0
    return array
