"""Scans as source for other systems: the page is a function or module, called in each step."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import gradwire as gw
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.export.content import content_of
from gradwire.runtime.interchange.export.source import export_source
from gradwire.runtime.interchange.export.systems.onnx.model import onnx_model
from gradwire.runtime.interchange.importing.onnx.importing import import_onnx
from tests.runtime.interchange.export.comparing import compare, same_pass
from tests.runtime.interchange.export.examples import run

if TYPE_CHECKING:
    from pathlib import Path

    from gradwire.runtime.diagram import Diagram


def looped() -> Diagram:
    """A loop of three steps, which a condition ends after two, around one with a stop."""

    @gw.page
    def inner(z, k):
        w = gw.variable("w", 0.5, dtype="float64")
        return {"k_n": gw.tanh(gw.stop_gradient(z, name="stop") + w * k)}

    @gw.page
    def outer(x, h):
        again = gw.scan(inner, h, x, steps=2, carry={"k": "k_n"}, name="again")
        return {"h_n": again["k_n"] + h, "y": h * 2.0, "more": gw.sum(h) < 0.5}

    x = gw.variable("x", [0.3, 0.7, 0.2], dtype="float64")
    h = gw.variable("h", 0.4, dtype="float64")
    out = gw.scan(outer, x, h, steps=3, over="x", carry={"h": "h_n"}, condition="more", name="s")
    return gw.build(gw.loss(out + gw.sum(out["y"])))


def long(steps: int = 12, reverse: bool = False, apart: bool = False) -> Diagram:
    """A loop of many steps: rows, what is the same in all, a short loop and a stop inside, and
    what is carried, stacked, and the same in all steps. A number is carried into one whose first
    step is ``apart``, and a condition ends it in the middle.
    """

    @gw.page
    def inner(z, k):
        w = gw.variable("w", [0.5, -0.4], dtype="float64")
        return {"k_n": gw.tanh(gw.stop_gradient(z, name="stop") + w * k)}

    @gw.page
    def cell(x, y, h, c, u):
        again = gw.scan(inner, h, gw.square(c), steps=2, carry={"k": "k_n"}, name="again")
        new = gw.sin(again["k_n"] * x + u * h, name="new")
        goes = gw.less(gw.sum(gw.square(x)), 1.1)
        return {"h_n": c + u, "c_n": new * 0.5, "y_n": new * y, "s": gw.square(u), "r": x,
                "goes": goes}  # fmt: skip

    def variable(name: str, *shape: int) -> gw.Expression:
        number = np.random.default_rng(len(name) + ord(name[0])).uniform(-1, 1, shape)
        return gw.variable(name, number, dtype="float64")

    found = gw.scan(
        cell, variable("x", steps, 2), variable("y", steps, 2), variable("h", 2),
        0.0 if apart else gw.constant("c", [0.0, 0.0], dtype="float64"), variable("u", 2),
        condition="goes" if apart else "",
        steps=steps, over=("x", "y"), carry={"h": "h_n", "c": "c_n"}, reverse=reverse, name="s",
    )  # fmt: skip
    total = gw.sum(found["y_n"] * found["s"]) + gw.sum(found["h_n"] * variable("v", 2))
    return gw.build(gw.loss(total + gw.sum(gw.sin(found["r"])), name="loss"))


@pytest.mark.parametrize(("reverse", "apart"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("target", ["numpy", "jax"])
def test_a_long_loop_is_the_same_in_source(
    target: str, reverse: bool, apart: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if target == "jax":
        request.getfixturevalue("jax_in_float64")
    diagram = long(reverse=reverse, apart=apart)
    assert Session(diagram).shortest.flat.loops
    compare(diagram, target, tmp_path)


@pytest.mark.parametrize(("reverse", "apart"), [(False, False), (True, True)])
def test_a_long_loop_is_a_scan_in_onnx(reverse: bool, apart: bool, tmp_path: Path) -> None:
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    diagram = long(reverse=reverse, apart=apart)
    file = tmp_path / "long.onnx"
    file.write_bytes(onnx_model(content_of(Session(diagram))))
    model = onnx.load(file)
    onnx.checker.check_model(model, full_check=True)
    assert [node.op_type for node in model.graph.node].count("Scan") == 1
    found = runtime.InferenceSession(model.SerializeToString())
    names = [output.name for output in found.get_outputs()]
    numbers = dict(zip(names, found.run(names, {}), strict=True))
    run = Session(diagram).run()
    for name, number in numbers.items():
        np.testing.assert_allclose(number, run.values[name], rtol=1e-12, err_msg=name)
    wanted, back = Session(diagram).backward(), Session(import_onnx(file).diagram).backward()
    assert len(back.gradients) == len(wanted.gradients)
    for name, gradient in back.gradients.items():
        path = {"s_u": "u", "s_0_again_0_w": "s/0/again/0/w"}.get(name, name)
        np.testing.assert_allclose(gradient, wanted.gradients[path], rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_loop_that_stacks_nothing_is_a_scan_in_onnx(reverse: bool) -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")

    @gw.page
    def cell(x, h):
        return {"h_n": gw.tanh(h * 0.5 + x)}

    x = gw.variable("x", np.linspace(-1, 1, 12), dtype="float64")
    h = gw.variable("h", 0.3, dtype="float64")
    out = gw.scan(cell, x, h, steps=12, over="x", carry={"h": "h_n"}, reverse=reverse, name="s")
    diagram = gw.build(gw.loss(out["h_n"], name="loss"))
    found = runtime.InferenceSession(onnx_model(content_of(Session(diagram))))
    [number] = found.run(["loss.out"], {})
    np.testing.assert_allclose(number, Session(diagram).run().values["loss.out"], rtol=1e-12)


@pytest.mark.parametrize("target", ["numpy", "jax", "torch"])
def test_source_is_no_longer_for_more_steps(target: str) -> None:
    few, many = (
        len(export_source(Session(long(steps)), target, "arrays.safetensors").source.split("\n"))
        for steps in (30, 1000)
    )
    assert few == many


@pytest.mark.night
@pytest.mark.parametrize("target", ["numpy", "jax"])
def test_a_loop_is_the_same_in_source(
    target: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if target == "jax":
        request.getfixturevalue("jax_in_float64")
    compare(looped(), target, tmp_path)


@pytest.mark.parametrize(
    "made", [looped, long, partial(long, reverse=True), partial(long, apart=True)]
)
def test_a_loop_is_the_same_in_pytorch(made: Callable[[], Diagram], tmp_path: Path) -> None:
    pytest.importorskip("torch")
    session = Session(made())
    model = run(session, "torch", tmp_path)["Model"]()
    losses = model()
    sum(losses.values()).backward()
    found: dict[str, Any] = {name: p.grad for name, p in model.named_parameters()}
    gradients = {
        path: next(g for name, g in found.items() if name.split(".")[-1] == path.split("/")[-1])
        for path in session.program.trainable
    }
    same_pass(made(), losses, gradients, lambda tensor: tensor.detach().numpy())


def test_the_page_of_a_scan_is_written_once() -> None:
    written = export_source(Session(looped()), "numpy", "arrays.safetensors").source
    assert written.count("def inner(") == 1
