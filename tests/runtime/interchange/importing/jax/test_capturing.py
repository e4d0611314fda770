"""Functions of JAX as diagrams: their values and gradients, pages, places and names."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire as gw
from gradwire.runtime.diagram import check

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def captured(function, *args):
    """The import, checked: it runs, and agrees with JAX."""
    imported = gw.capture(function, *args)
    assert not check(imported.diagram)
    assert str(imported.remarks[-1]).startswith("Agrees with JAX"), imported.remarks
    return imported


def kinds(imported, page: str = "main") -> list[str]:
    blocks = imported.diagram.pages[page].blocks.values()
    return [block.type_name() for block in blocks]


def test_a_dense_layer_is_a_product_and_a_sum():
    def loss(params, x):
        return jnp.sum(jnp.tanh(x @ params["w"] + params["b"]))

    params = {"w": numbers(3, 4), "b": numbers(4)}
    imported = captured(loss, params, numbers(5, 3))
    assert kinds(imported) == [
        "Input", "Variable", "MatMul", "Variable", "Add", "Tanh", "Sum", "Loss"
    ]  # fmt: skip
    assert imported.parameters == {"b": "b", "w": "w"}
    assert imported.inputs == {"x": "x"} and imported.outputs == {"loss": "loss.out"}


def test_a_stop_keeps_its_line_and_its_gradient_is_none():
    def loss(params, x):
        target = lax.stop_gradient(x * params["target"])
        return jnp.mean((x * params["online"] - target) ** 2)

    imported = captured(loss, {"online": numbers(3), "target": numbers(3)}, numbers(3, seed=1))
    (cut,) = [remark for remark in imported.remarks if remark.kind == "cut"]
    line = loss.__code__.co_firstlineno + 1
    assert (cut.block, cut.written) == ("stop_gradient", f"test_capturing.py:{line}")
    stop = imported.diagram.main.blocks["stop_gradient"]
    assert stop.written == cut.written
    gradients = gw.Session(imported.diagram).backward().gradients
    assert gradients["target"] is None and gradients["online"] is not None


def test_a_jitted_function_of_the_user_is_a_page_and_one_of_jax_is_none():
    @jax.jit
    def layer(w, x):
        return jax.nn.silu(x @ w)

    def loss(params, x):
        return jnp.sum(layer(params["first"], x)) + jnp.sum(layer(params["second"], x))

    imported = captured(
        loss, {"first": numbers(3, 4), "second": numbers(3, 4, seed=1)}, numbers(2, 3)
    )
    assert {"layer", "layer_2"} <= set(imported.diagram.main.blocks)
    assert "silu" not in " ".join(imported.diagram.pages)


def test_named_scopes_are_pages_with_their_parameters():
    def loss(params, x):
        for name in ("encoder", "decoder"):
            with jax.named_scope(name):
                x = jnp.tanh(x @ params[name]["w"])
        return jnp.sum(x)

    params = {name: {"w": numbers(3, 3, seed=i)} for i, name in enumerate(("encoder", "decoder"))}
    imported = captured(loss, params, numbers(2, 3))
    assert imported.parameters == {"decoder/w": "decoder/w", "encoder/w": "encoder/w"}
    assert kinds(imported, "encoder") == ["PageInput", "Variable", "MatMul", "Tanh", "PageOutput"]


def test_functions_of_jax_stay_in_the_scope_around_them():
    def loss(w, x):
        with jax.named_scope("layer"):
            x = jnp.clip(jnp.take(x @ w, np.array([2, 0]), axis=1), -1.0, 1.0)
        return jnp.sum(x)

    imported = captured(loss, numbers(3, 3), numbers(2, 3))
    assert set(imported.diagram.pages) == {"main", "layer"}
    assert kinds(imported) == ["Input", "Page", "Sum", "Loss"]


def test_a_scope_entered_twice_is_one_page_used_twice():
    def loss(w, x):
        for _ in range(2):
            with jax.named_scope("layer"):
                x = jnp.tanh(x @ w)
            x = x * 2.0
        return jnp.sum(x)

    imported = captured(loss, numbers(3, 3), numbers(2, 3))
    assert set(imported.diagram.pages) == {"main", "layer"}
    assert imported.parameters == {"w": "layer/w"}


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("axes", [("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_convolution_with_any_order_of_axes(axes, padding):
    places = {"N": 2, "H": 7, "W": 6, "C": 3}
    kernel = {"O": 4, "I": 3, "H": 3, "W": 2}

    def loss(w, x):
        y = lax.conv_general_dilated(x, w, (2, 1), padding, dimension_numbers=axes)
        return jnp.sum(jnp.sin(y))

    w = numbers(*(kernel[axis] for axis in axes[1]))
    captured(loss, w, numbers(*(places[axis] for axis in axes[0])))


def test_products_over_any_axes():
    def loss(a, b, c):
        x = jnp.einsum("bij,bkj->bik", a, b)
        y = jnp.einsum("abc,cbd->ad", x, c)
        return jnp.sum(jnp.sin(y)) + jnp.vdot(a, b)

    captured(loss, numbers(2, 3, 4), numbers(2, 3, 4, seed=1), numbers(3, 3, 5))


def test_results_besides_the_loss_are_shown():
    def loss(w, x):
        y = w * x
        return jnp.sum(y), {"y": y}

    imported = captured(loss, numbers(3), numbers(3, seed=1))
    assert set(imported.outputs) == {"loss", "out_1/y"}


def test_a_function_without_a_loss_shows_its_result():
    imported = captured(lambda w, x: w * x, numbers(3), numbers(3, seed=1))
    assert "no loss" in str(imported.remarks[0])


def test_a_diagram_that_does_not_run_is_given_and_says_why():
    imported = gw.capture(lambda w, i: jnp.sum(w[i] ** 2), numbers(4), np.array([7, 1]))
    said = imported.remarks[-1].text
    assert said.startswith("Not compared with JAX") and "index 7 is out of range" in said


def test_double_precision_is_kept():
    with jax.enable_x64(True):
        imported = captured(lambda w, x: jnp.mean(w * x), numbers(3).astype(float), numbers(3))
    assert imported.diagram.main.blocks["w"].to_record()["dtype"] == "float64"


def test_brain_floats_are_computed_in_single_precision():
    imported = captured(lambda w, x: jnp.sum((w * x) ** 2), jnp.ones(3, jnp.bfloat16), numbers(3))
    assert "bfloat16" in str(imported.remarks[0])


def test_what_is_no_array_stays_as_it_is():
    def loss(params, x, scale, train):
        return scale * jnp.sum(params["act"](x * params["w"])) if train else 0.0

    params = {"w": numbers(3), "act": jnp.tanh, "depth": 3}
    imported = captured(loss, params, numbers(3, seed=1), 2, True)
    assert imported.parameters == {"w": "w"} and imported.inputs == {"x": "x"}


def test_data_and_numbers_are_left_out():
    params, x = {"w": np.full(3, 7.125, "float32")}, np.full(3, 41.25, "float32")

    def loss(params, x):
        return (params["w"] * x).sum()

    assert "41.25" not in gw.dumps(gw.capture(loss, params, x, data=False).diagram)
    text = gw.dumps(gw.capture(loss, params, x, structure=True).diagram)
    assert "41.25" not in text and "7.125" not in text
