"""``gradwire.why(loss_fn, params, batch)``: what is wrong with the gradients of a function."""

from __future__ import annotations

import pytest

import gradwire as gw
from gradwire.blocks.errors import RunError


def test_of_jax():
    jax = pytest.importorskip("jax", exc_type=ImportError)
    jnp = jax.numpy

    def loss(params, x):
        h = jax.lax.stop_gradient(jnp.tanh(x @ params["encoder"]))
        return jnp.mean(h @ params["head"])

    params = {"encoder": jnp.ones((3, 2)), "head": jnp.ones((2, 1))}
    said = gw.why(loss, params, jnp.ones((4, 3)))
    assert "stop_gradient (test_why_function.py:16)" in said and "Agrees with JAX" in said

    def nan(params, x):
        return jnp.mean(jnp.log(x @ params["encoder"] - 5.0))

    assert "log of " in gw.why(nan, params, jnp.ones((4, 3)))


def test_of_pytorch():
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(3, 1)
    x = torch.ones(2, 3)
    assert "detach (test_why_function.py:" in gw.why(lambda x: model(x).detach().mean(), x)
    assert gw.why(lambda x: model(x).mean(), x).startswith("Nothing wrong")
    assert "no single float" in gw.why(model, x)


def test_of_something_else():
    with pytest.raises(RunError, match="Only a tensor of PyTorch"):
        gw.why(3)
