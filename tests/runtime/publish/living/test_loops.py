"""Long loops on the page: one period of a tape, with the numbers of all steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import gradwire as gw
from gradwire.runtime.publish.living.data import living_data
from gradwire.runtime.publish.living.writing.html import page
from gradwire.runtime.publish.living.writing.repeats import compacted
from tests.runtime.publish.living.hard import hard_cases
from tests.runtime.publish.living.node import NODE, compared
from tests.runtime.publish.living.oracle import cases, work_of

if TYPE_CHECKING:
    from gradwire.blocks.formulas.expressions import Expression as Node
    from gradwire.runtime.diagram import Diagram

needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


def layer(kind: str, steps: int) -> Diagram:
    """A recurrent layer over numbers that are not trained, as in the manual."""
    x = np.random.default_rng(0).normal(size=(steps, 3))
    out = getattr(gw, kind)(gw.constant("x", x), steps=steps, units=2, name="rnn")
    return gw.build(gw.loss(gw.sum(out["y"])))


def stacked(steps: int) -> Diagram:
    """A layer that reads what another gives, from the end."""
    x = gw.variable("x", np.sin(np.arange(2.0 * steps)).reshape(steps, 2), dtype="float64")
    first = gw.rnn(x, steps=steps, units=3, name="a")
    second = gw.gru(first["y"], steps=steps, units=2, reverse=True, name="b")
    return gw.build(gw.loss(gw.sum(gw.square(second["y"]))))


def stopped(steps: int, reverse: bool = False, ends: bool = False) -> Diagram:
    """A loop around a short one with a stop; its condition may end it before the last step."""

    @gw.page
    def inner(z: Node, k: Node) -> dict[str, Node]:
        return {"k_n": gw.tanh(gw.stop_gradient(z, name="stop") + gw.variable("w", 0.5) * k)}

    @gw.page
    def outer(x: Node, h: Node) -> dict[str, Node]:
        again = gw.scan(inner, h, x, steps=2, carry={"k": "k_n"}, name="again")
        return {"h_n": again["k_n"] + h, "y": h * 2.0, "more": gw.sum(h) < 3.5}

    x = gw.variable("x", np.cos(np.arange(float(steps))), dtype="float64")
    h = gw.variable("h", 0.4, dtype="float64")
    out = gw.scan(
        outer, x, h, steps=steps, over="x", carry={"h": "h_n"}, reverse=reverse, name="s",
        condition="more" if ends else "",
    )  # fmt: skip
    return gw.build(gw.loss(out + gw.sum(out["y"])))


def inside_short(steps: int) -> Diagram:
    """A loop in each of three steps."""

    @gw.page
    def inner(k: Node) -> dict[str, Node]:
        return {"k_n": gw.tanh(gw.variable("w", 0.9, dtype="float64") * k)}

    @gw.page
    def outer(x: Node, h: Node) -> dict[str, Node]:
        again = gw.scan(inner, h, steps=steps, carry={"k": "k_n"}, name="again")
        return {"h_n": again["k_n"] + h * x}

    x, h = gw.variable("x", [0.3, 0.7, 0.2]), gw.variable("h", 0.4, dtype="float64")
    out = gw.scan(outer, x, h, steps=3, over="x", carry={"h": "h_n"}, name="s")
    return gw.build(gw.loss(out * out))


def trained_inside(steps: int) -> Diagram:
    """Steps of gradient descent, so that what is differentiated has a derivative in each."""

    @gw.page
    def descend(w: Node) -> dict[str, Node]:
        error = gw.square(gw.sum(w * [1.0, 2.0]) - 1.0)
        return {"w_n": w - gw.gradient(error, w) * gw.variable("rate", 0.05, dtype="float64")}

    w = gw.variable("w", [0.3, -0.4], dtype="float64")
    out = gw.scan(descend, w, steps=steps, carry={"w": "w_n"}, name="s")
    return gw.build(gw.loss(gw.sum(out * out)))


def squashed(steps: int, kind: str = "Tanh") -> Diagram:
    """Two losses of a loop: one of what each step gives, one of what the last carries out."""

    @gw.page
    def cell(x: Node, h: Node) -> dict[str, Node]:
        new = gw.block(kind, gw.variable("w", 0.5, dtype="float64") * h + x * 2.0 + 0.25)
        return {"h_n": new, "y": gw.stop_gradient(new, name="stop") * 3.0 + h}

    x = gw.variable("x", np.linspace(-1, 1, steps), dtype="float64")
    h = gw.variable("h", [0.4, -0.2], dtype="float64")
    out = gw.scan(cell, x, h, steps=steps, over="x", carry={"h": "h_n"}, name="s")
    return gw.build(gw.loss(gw.sum(out["y"]), name="A"), gw.loss(gw.sum(out["h_n"]), name="B"))


def packed(steps: int) -> Diagram:
    """A tree is carried, and each step gives one."""

    @gw.page
    def cell(x: Node, s: Node) -> dict[str, Node]:
        h, c = gw.block("Pick", s, path="h"), gw.block("Pick", s, path="c")
        new = gw.tanh(gw.variable("w", 0.5, dtype="float64") * h + x)
        after = gw.block("Pack", new, c * 0.9 + new, keys="h, c")
        return {"s_n": after, "y": after}

    x = gw.variable("x", np.linspace(-1, 1, steps), dtype="float64")
    h = gw.variable("h", [0.4, -0.2], dtype="float64")
    start = gw.block("Pack", h, gw.variable("c", [0.1, 0.2], dtype="float64"), keys="h, c")
    out = gw.scan(cell, x, start, steps=steps, over="x", carry={"s": "s_n"}, name="s")
    return gw.build(gw.loss(gw.sum(gw.block("Pick", out["y"], path="c"))))


def noisy(steps: int) -> Diagram:
    """Steps that draw numbers: each is another block."""

    @gw.page
    def cell(h: Node) -> dict[str, Node]:
        return {"h_n": gw.tanh(h + gw.block("RandomNormal", shape=[2], dtype="float64"))}

    h = gw.variable("h", [0.4, -0.2], dtype="float64")
    out = gw.scan(cell, h, steps=steps, carry={"h": "h_n"}, name="s")
    return gw.build(gw.loss(gw.sum(out)))


LOOPS: dict[str, Callable[[int], Diagram]] = {
    "lstm": partial(layer, "lstm"),
    "gru": partial(layer, "gru"),
    "stacked": stacked,
    "stopped": stopped,
    "reversed": partial(stopped, reverse=True),
    "ended": partial(stopped, ends=True),
    "inside short": inside_short,
    "trained inside": trained_inside,
    "tree": packed,
    "two losses": squashed,
}
FLOAT32 = ("lstm", "gru", "stacked", "stopped")


def assert_same(found: dict[str, Any], name: str) -> None:
    assert found["cases"] > 0 and found["numbers"] > 100
    assert (found["none"], found["structure"]) == (0, 0), found["wrong"]
    assert (found["states"], found["said"]) == (0, 0), (found["wrong"], found["unlike"])
    assert found["worst"] < (1e-5 if name in FLOAT32 else 1e-12), found["where"]


@needs_node
@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", LOOPS)
def test_all_steps_have_the_numbers_and_sentences_of_the_runtime(name: str, tmp_path: Path) -> None:
    living = living_data(LOOPS[name](12))
    assert compacted(living.data)["tapes"][0]["runs"]["ops"]
    assert_same(compared(tmp_path, work_of(living, trials=2, most=2)), name)


@needs_node
@pytest.mark.night
@pytest.mark.parametrize("kind", ["Relu", "Sigmoid"])
def test_what_is_zero_or_not_finite_in_steps_has_the_reasons_of_the_runtime(
    kind: str, tmp_path: Path
) -> None:
    living = living_data(squashed(12, kind))
    work = {"data": living.data, "cases": [*cases(living, 1, 1), *hard_cases(living, 12)]}
    assert_same(compared(tmp_path, work), kind)


@needs_node
def test_steps_that_draw_numbers_are_written_out(tmp_path: Path) -> None:
    living = living_data(noisy(12))
    assert_same(compared(tmp_path, work_of(living, trials=2)), "noisy")


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", [name for name in LOOPS if name != "ended"])
def test_more_steps_take_no_more_room(name: str) -> None:
    """But for the numbers of what is read step by step, which a tape reads by parts of so many.

    That of a loop which ends earlier has a list of all later stops for each.
    """

    def size(steps: int) -> int:
        data = living_data(LOOPS[name](steps)).data
        for path in ("x", "x.out"):
            data["leaves"].get(path, {})["data"] = [0]
        return len(page(data, "<svg></svg>"))

    assert abs(size(49) - size(36)) < 300


def test_a_short_loop_is_written_out() -> None:
    data = living_data(stopped(8)).data
    assert "runs" not in compacted(data)
    assert "class Looped" not in page(data, "", "0")
    assert "class Looped" in page(living_data(stopped(9)).data, "", "0")
