"""Scans of every kind, within one another, and what fails in one of their steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import gradwire as gw
from gradwire.runtime.engine.jax.repeats.parts import Loop
from gradwire.runtime.engine.jax.repeats.rolling import Limits
from tests.runtime.engine.jax.repeats.networks import drawn, mean_square
from tests.runtime.engine.jax.repeats.rolling import assert_same, loops, of_diagram

STEPS = 9


@gw.page("cell")
def cell(x: gw.Expression, h: gw.Expression, k: gw.Expression) -> dict[str, gw.Expression]:
    """Also returns whether the sum of the state is below 0.9."""
    w = gw.variable("w", drawn(3, seed=2))
    new = gw.tanh(w * x + h * k)
    return {"next": new, "y": gw.square(new), "goes": gw.block("Less", gw.sum(new), 0.9)}


def scanned(body: Any = cell, steps: int = STEPS, **parameters: Any) -> gw.Expression:
    x, h = gw.variable("x", drawn(steps, 3)), gw.variable("h", drawn(3, seed=1))
    k = gw.variable("k", drawn(3, seed=3))
    return gw.scan(body, x, h, k, steps=steps, carry={"h": "next"}, over="x", **parameters)


@pytest.mark.night
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("condition", ["", "goes"])
def test_scans_with_conditions_and_backwards(reverse: bool, condition: str) -> None:
    found = scanned(reverse=reverse, condition=condition)
    parts = assert_same(of_diagram(mean_square(found["y"], found["next"])))
    assert max(loop.steps for loop in loops(parts)) >= STEPS - 2


def test_a_scan_within_a_scan_is_a_loop_within_a_loop() -> None:
    @gw.page("outer")
    def outer(x: gw.Expression, h: gw.Expression, k: gw.Expression) -> dict[str, gw.Expression]:
        found = gw.scan(cell, x, h, k, steps=4, carry={"h": "next"}, over="x", name="inner")
        return {"next": found["next"], "y": gw.sum(found["y"])}

    x, h = gw.variable("x", drawn(6, 4, 3)), gw.variable("h", drawn(3, seed=1))
    k = gw.variable("k", drawn(3, seed=3))
    found = gw.scan(outer, x, h, k, steps=6, carry={"h": "next"}, over="x", name="outer")
    parts = assert_same(of_diagram(mean_square(found["next"], found["y"])), Limits(3, 6, 0, 1))
    inner = [
        (loop.steps, part.steps)
        for loop in loops(parts)
        for part in loop.parts
        if isinstance(part, Loop)
    ]
    assert len(inner) >= 2
    assert all(outer >= 4 and within >= 3 for outer, within in inner)


def test_a_scan_of_pages_that_are_used_again() -> None:
    layer = gw.page("layer")(lambda x: gw.relu(gw.block("Linear", x, units=3)))

    @gw.page("deep")
    def deep(x: gw.Expression, h: gw.Expression, k: gw.Expression) -> dict[str, gw.Expression]:
        for i in range(5):
            h = layer(h, name=f"use{i}") + k
        return {"next": h + x, "y": h}

    found = scanned(deep, steps=6)
    assert_same(of_diagram(mean_square(found["next"], found["y"])), Limits(3, 6, 0, 1))


def test_a_failure_names_the_steps_in_which_it_happened() -> None:
    def lookup(i: gw.Expression, h: gw.Expression, k: gw.Expression) -> dict[str, gw.Expression]:
        return {"next": gw.tanh(h + gw.block("Embedding", i, k)), "y": h}

    i = gw.variable("i", np.array([0, 1, 7, 2, 1, -9, 0]), dtype="int64")
    h, k = gw.variable("h", drawn(3)), gw.variable("k", drawn(4, 3))
    found = gw.scan(
        gw.page("lookup")(lookup), i, h, k, steps=7, carry={"h": "next"}, over="i", name="scan"
    )
    c = of_diagram(mean_square(found["next"]))
    parts = c.rolled()
    assert loops(parts)
    blocks = {str(value.owner) for value in c.failures(parts)}
    assert blocks == {"scan/2/embedding1", "scan/5/embedding1"}
    assert blocks == {str(value.owner) for value in c.failures(c.computed)}
