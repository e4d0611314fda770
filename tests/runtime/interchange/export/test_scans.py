"""Scans as source for other systems: the page is a function or module, called in each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import gradwire as gw
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.export.source import export_source
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


@pytest.mark.night
@pytest.mark.parametrize("target", ["numpy", "jax"])
def test_a_loop_is_the_same_in_source(
    target: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if target == "jax":
        request.getfixturevalue("jax_in_float64")
    compare(looped(), target, tmp_path)


def test_a_loop_is_the_same_in_pytorch(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    session = Session(looped())
    model = run(session, "torch", tmp_path)["Model"]()
    losses = model()
    sum(losses.values()).backward()
    found: dict[str, Any] = {name: p.grad for name, p in model.named_parameters()}
    gradients = {
        path: next(g for name, g in found.items() if name.split(".")[-1] == path.split("/")[-1])
        for path in session.program.trainable
    }
    same_pass(looped(), losses, gradients, lambda tensor: tensor.detach().numpy())


def test_the_page_of_a_scan_is_written_once() -> None:
    written = export_source(Session(looped()), "numpy", "arrays.safetensors").source
    assert written.count("def inner(") == 1
