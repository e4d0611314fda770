"""An optimiser of optax that says what is wrong with its gradients."""

from __future__ import annotations

import pytest

pytest.importorskip("optax")

import jax
import jax.numpy as jnp
import numpy as np
import optax
from gradwire.integrations import watch_optimizer

from gradwire.runtime.watch import Trouble

X = jnp.ones((4, 3))


def params():
    return {"encoder": {"w": jnp.arange(6.0).reshape(3, 2)}, "head": {"w": jnp.ones((2, 1))}}


def plain(params, x):
    return jnp.mean((x @ params["encoder"]["w"] @ params["head"]["w"] - 1) ** 2)


def stopped(params, x):
    return jnp.mean((jax.lax.stop_gradient(x @ params["encoder"]["w"]) @ params["head"]["w"]) ** 2)


def infinite(params, x):
    return jnp.mean(jnp.sqrt(x @ params["encoder"]["w"] * 0.0) @ params["head"]["w"])


def train(optimizer, loss, steps=7):
    now = params()
    state = optimizer.init(now)

    @jax.jit
    def step(now, state):
        gradients = jax.grad(loss)(now, X)
        updates, state = optimizer.update(gradients, state, now)
        return optax.apply_updates(now, updates), state

    for _ in range(steps):
        now, state = step(now, state)
    jax.effects_barrier()
    return now, state


def test_it_does_what_the_other_does_and_is_silent_where_nothing_is_wrong():
    alone, alike = optax.adamw(0.01), watch_optimizer(optax.adamw(0.01), plain, params(), X)
    for one, other in zip(
        jax.tree.leaves(train(alone, plain)), jax.tree.leaves(train(alike, plain)), strict=True
    ):
        assert np.array_equal(one, other)
    assert alike.found == []
    init, update = alike
    assert callable(init) and callable(update)


def test_a_gradient_that_stays_0_is_told_inside_of_jit(capsys):
    optimizer = watch_optimizer(optax.sgd(0.1))
    train(optimizer, stopped, steps=4)
    assert optimizer.found == []
    train(optimizer, stopped)
    (found,) = optimizer.found
    assert found.trouble is Trouble.ZERO and found.parameters == ("encoder/w",)
    assert capsys.readouterr().err.count("encoder/w: the gradient has been exactly 0") == 1


def test_with_the_function_the_reason_is_told_before_the_first_step():
    optimizer = watch_optimizer(optax.sgd(0.1), stopped, params(), X, quiet=True)
    (found,) = optimizer.found
    assert "stop_gradient (test_optax.py:" in found.sentence and found.written
    train(optimizer, stopped)
    assert optimizer.found == [found]


def test_what_is_not_finite_is_told_at_once():
    told = []
    optimizer = watch_optimizer(optax.sgd(0.1), quiet=True, on_finding=told.append)
    train(optimizer, infinite, steps=1)
    (found,) = told
    assert found.trouble is Trouble.NOT_FINITE and "encoder/w" in found.sentence
