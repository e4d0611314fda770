"""Wrong answers are matched to wrong beliefs, also where a gradient has several numbers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gradwire.runtime.build import block, build, loss, mul, stop_gradient, variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.diagram import Diagram
    from tests.runtime.publish.living.script.browsers import Browser
    from tests.runtime.publish.living.script.pages import Pages

W, X = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, -6.0])


def products() -> Diagram:
    """mean((w·x)²): the gradient of w is 2wx²/3."""
    w, x = variable("w", W, dtype="float64"), variable("x", X, dtype="float64")
    squares = block("Square", mul(w, x, name="product"), name="square")
    return build(loss(block("Mean", squares, name="mean"), name="L"))


def branches() -> Diagram:
    """sum(w·x + 3·stop(w) + w): w gets x + 1."""
    w, x = variable("w", W, dtype="float64"), variable("x", X, dtype="float64")
    total = mul(w, x, name="product") + 3.0 * stop_gradient(w, name="stop") + w
    return build(loss(block("Sum", total, name="sum"), name="L"))


RIGHT = 2 * W * X**2 / 3


@pytest.mark.night
@pytest.mark.parametrize(
    ("made", "answer", "belief"),
    [
        (products, -RIGHT, "sign"),
        (products, RIGHT * 3, "sum for mean"),
        (products, RIGHT / 2, "forgotten factor"),
        (products, 2 * W * X / 3 * W, "its own value"),
        (products, 2 * W * X / 3, "upstream unchanged"),
        (products, RIGHT + 5, ""),
        (branches, X, "one branch only"),
        (branches, X + 4, "stop ignored"),
    ],
)
def test_a_wrong_belief_about_arrays_is_named(
    browser: Browser, pages: Pages, made: object, answer: Sequence[float], belief: str
) -> None:
    assert callable(made)
    browser.open(pages.of(made.__name__, made()))
    browser.until("globalThis.living")
    typed = json.dumps([f"{x:.12g}" for x in answer])
    browser.run("(living.predict({gradient: 'w', answer: 'number'}), 0)")
    browser.run(f"(living.ask.given = {typed}, living.ask.commit(), 0)")
    told = browser.run("living.ask.outcome")
    assert (told["right"], told["misconception"]) == (False, belief)
    assert bool(told["feedback"]) is bool(belief)
    assert browser.complaints == []
