"""Loops, choices, random numbers and rules of users' own, as JAX has them."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire as gw

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def agrees(loss, *args) -> gw.Imported:
    imported = gw.capture(loss, *args)
    assert imported.remarks[-1].text.startswith("Agrees with JAX"), imported.remarks
    return imported


def blocks_of(imported, page: str = "main") -> list[str]:
    return [block.type_name() for block in imported.diagram.pages[page].blocks.values()]


def said(imported, kind: str) -> list[str]:
    return [remark.text for remark in imported.remarks if remark.kind == kind]


def recurrence(w, x):
    def cell(hidden, now):
        following = jnp.tanh(now + hidden @ w)
        return following, following * 2

    last, every = lax.scan(cell, jnp.zeros(4), x, reverse=True)
    return jnp.sum(last) + jnp.sum(every**2)


def test_a_long_loop_is_a_scan_named_like_its_body():
    imported = agrees(recurrence, numbers(4, 4), numbers(9, 4))
    assert "Scan" in blocks_of(imported) and "cell" in imported.diagram.pages
    assert imported.parameters == {"w": "cell/0/w"}


def test_a_short_loop_is_the_blocks_of_each_step():
    imported = agrees(recurrence, numbers(4, 4), numbers(3, 4))
    assert "Scan" not in blocks_of(imported)
    assert said(imported, "unrolled")


def test_counters_and_keys_of_loops_are_known_numbers():
    def loss(w, x):
        def noisy(state, _):
            value, key = state
            key, now = jax.random.split(key)
            return (jnp.tanh(value * w) + jax.random.normal(now, (4,)), key), value

        (value, _), every = lax.scan(noisy, (x, jax.random.key(3)), None, length=6)
        counted = lax.fori_loop(0, 7, lambda i, v: v * w + i, x)
        return jnp.sum(value) + jnp.sum(every**2) + jnp.sum(counted)

    agrees(loss, numbers(4), numbers(4, seed=1))


def test_random_numbers_are_those_of_the_key():
    def loss(w, key):
        return jnp.sum(w * jax.random.normal(key, (4,))) + jnp.sum(
            jnp.where(jax.random.bernoulli(key, 0.5, (4,)), w, 0.0)
        )

    for key in (jax.random.key(0), jax.random.PRNGKey(0)):
        assert any("Random" in text for text in said(agrees(loss, numbers(4), key), "specialised"))


def test_a_while_loop_has_the_steps_of_the_example():
    def loss(w, x):
        def goes_on(state):
            return state[0] < x[0] + 8

        return jnp.sum(w) * lax.while_loop(goes_on, lambda s: (s[0] + 1, s[1] * 1.5), (0.0, 1.0))[1]

    imported = agrees(loss, numbers(4), numbers(4))
    assert any("while" in text for text in said(imported, "specialised"))


def test_an_endless_while_loop_is_refused():
    def loss(w, x):
        return w * lax.while_loop(lambda n: n > 0, lambda n: n + x * 0, x)

    with pytest.raises(gw.UnsupportedError, match="more than 10,000 steps"):
        gw.capture(loss, np.float32(1.0), np.int32(3), check=False)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_condition_on_data_chooses_and_a_known_one_has_chosen(sign):
    def loss(w, x, known):
        value = lax.cond(x.sum() > 0, lambda: jnp.sum(w * x), lambda: jnp.sum(w**2))
        return value + lax.cond(known, lambda: jnp.sum(jnp.sin(w)), lambda: jnp.sum(w))

    imported = agrees(loss, numbers(4), sign * np.abs(numbers(4)), sign > 0)
    found = blocks_of(imported)
    assert "Where" in found and ("Sin" in found) is (sign > 0)


def by_vjp(function, rule, keep=lambda x: None):
    made = jax.custom_vjp(function)
    made.defvjp(lambda x: (function(x), keep(x)), rule)
    return made


RULES = {
    "StraightThrough": by_vjp(jnp.rint, lambda _, g: (g,)),
    "GradientReversal": by_vjp(lambda x: x, lambda _, g: (-0.5 * g,)),
    "GradientScale": by_vjp(lambda x: x, lambda _, g: (2 * g,)),
    "GradientClip": by_vjp(lambda x: x, lambda _, g: (jnp.clip(g, -0.1, 0.1),)),
    "StopGradient": by_vjp(jnp.square, lambda _, g: (jnp.zeros_like(g),)),
}


@pytest.mark.parametrize("kind", RULES)
def test_rules_that_pass_scale_clip_or_stop_a_gradient_are_blocks(kind):
    rule = RULES[kind]
    imported = agrees(lambda w, x: jnp.sum((rule(w * x) - w) ** 2), numbers(4), numbers(4, seed=1))
    pages = imported.diagram.pages
    assert any(kind in blocks_of(imported, page) for page in pages)


def test_any_other_rule_that_is_linear_is_imported_with_what_it_reads():
    window = by_vjp(jnp.sign, lambda x, g: (g * (jnp.abs(x) < 1),), lambda x: x)

    @jax.custom_jvp
    def spike(x):
        return (x > 0) * 1.0

    spike.defjvps(lambda tangent, value, x: tangent / (1 + jnp.abs(x)) ** 2)

    def loss(w, x):
        return jnp.sum(window(w * x) * x) + jnp.sum(spike(w * x) * x)

    imported = agrees(loss, numbers(4), numbers(4, seed=1))
    assert len([text for text in said(imported, "note") if "own rule" in text]) == 2


def test_a_rule_that_is_the_derivative_needs_nothing():
    right = by_vjp(jnp.sin, lambda x, g: (g * jnp.cos(x),), lambda x: x)
    imported = agrees(lambda w, x: jnp.sum(right(w * x)), numbers(4), numbers(4, seed=1))
    assert len(imported.remarks) == 1


def test_a_stop_for_numerical_stability_is_no_cut():
    def loss(w, x):
        return jnp.sum(jax.nn.softmax(w * x, where=x > 0, axis=-1) ** 2)

    imported = agrees(loss, numbers(4), np.abs(numbers(4)) * [1, -1, 1, 1])
    assert not said(imported, "cut")


def test_gradients_within_a_program_keep_its_stops():
    def loss(w, x):
        slope = jax.grad(lambda v: jnp.sum(jnp.tanh(v @ w) ** 2))(x)
        return jnp.mean((slope - lax.stop_gradient(w.sum(1))) ** 2)

    assert said(agrees(loss, numbers(4, 3), numbers(4)), "cut")
