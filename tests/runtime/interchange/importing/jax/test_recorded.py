"""What no block computes: the values and gradients of the run, as JAX has them."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire as gw
from gradwire.blocks.errors import RunError
from gradwire.runtime.diagram.pages import all_blocks

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import Mesh, PartitionSpec  # noqa: E402

W, X = (
    np.random.default_rng(seed).standard_normal((4, 4)).astype(np.float32) + np.eye(4, dtype="f4")
    for seed in (0, 1)
)


def recorded(imported: gw.Imported) -> list[str]:
    """The operations that are recorded."""
    found = (block for _, block in all_blocks(imported.diagram))
    return [block.operation for block in found if block.type_name() == "Recorded"]


def agrees(loss, *args) -> gw.Imported:
    """The import, whose saved diagram has JAX's gradient too."""
    imported = gw.capture(loss, *args)
    assert imported.remarks[-1].text.startswith("Agrees with JAX"), imported.remarks
    run = gw.Session(gw.loads(gw.dumps(imported.diagram))).backward()
    wanted = jax.grad(loss)(*args)
    np.testing.assert_allclose(run.gradients["w"], wanted, rtol=1e-4, atol=1e-4)
    return imported


def lgamma(x):
    return lax.lgamma(jnp.abs(x) + 1)


@jax.custom_vjp
def clipped(x):
    return jnp.sin(x)


clipped.defvjp(lambda x: (clipped(x), x), lambda x, g: (jnp.clip(g, -0.1, 0.1) * x,))


@jax.custom_vjp
def two_clipped(x):
    return x, jnp.sin(x)


two_clipped.defvjp(
    lambda x: (two_clipped(x), x), lambda x, g: (jnp.clip(g[0], -0.1, 0.1) * g[1] * x,)
)

PROGRAMS = {
    "complex numbers on the way": (
        lambda w, x: jnp.sum(jnp.abs(jnp.fft.fft(x @ w)) ** 2),
        ["fft_abs"],
    ),
    "a filter": (
        lambda w, x: jnp.sum(jnp.fft.irfft(jnp.fft.rfft(x) * jnp.fft.rfft(w), 4) ** 2),
        ["fft_mul_pad"],
    ),
    "parts of the same numbers": (
        lambda w, x: jnp.sum(jnp.real(jnp.fft.fft(x @ w)) * jnp.imag(jnp.fft.fft(w))),
        ["fft_real", "fft_imag"],
    ),
    "one after the other": (lambda w, x: jnp.sum(lgamma(lgamma(x @ w) * w)), ["lgamma"] * 2),
    "several results": (
        lambda w, x: jnp.sum(jnp.linalg.eigh(w + w.T)[0] ** 2 * jnp.linalg.svd(x @ w)[1]),
        ["eigh", "svd"],
    ),
    "a function called twice": (
        lambda w, x: jnp.sum(jax.jit(lgamma)(w) * jax.jit(lgamma)(x @ w)),
        ["lgamma"] * 2,
    ),
    "under checkpoint": (lambda w, x: jnp.sum(jax.checkpoint(lgamma)(x @ w)), ["lgamma"]),
    "a loop as a whole": (
        lambda w, x: jnp.sum(lax.scan(lambda c, r: (c + lgamma(r @ w), c), x[0], x)[0]),
        ["scan"],
    ),
    "a rule that clips": (lambda w, x: jnp.sum(clipped(w) * x * 3), ["clipped"]),
    "a rule of several results": (
        lambda w, x: sum(jnp.sum(y * x) for y in two_clipped(w)),
        ["two_clipped"],
    ),
}


@pytest.mark.parametrize(("loss", "operations"), PROGRAMS.values(), ids=PROGRAMS)
def test_gradients_are_those_of_jax(loss, operations: list[str]):
    imported = agrees(loss, W, X)
    assert sorted(recorded(imported)) == sorted(operations)


def test_what_is_recorded_holds_for_its_own_run():
    imported = gw.capture(lambda w, x: jnp.sum(lgamma(x @ w)), W, X)
    session = gw.Session(imported.diagram)
    with pytest.raises(RunError, match=r"lgamma \(test_recorded\.py:\d+\) is known for the run"):
        session.run(feeds={"x": X + 1})
    (remark,) = (remark for remark in imported.remarks if "no rules" in remark.text)
    assert remark.written.startswith("test_recorded.py")


def test_the_value_of_a_function_whose_rule_is_recorded_is_computed():
    imported = gw.capture(lambda w, x: jnp.sum(clipped(x @ w)), W, X)
    session = gw.Session(imported.diagram)
    found = session.run(feeds={"x": X + 1}).values["loss.out"]
    np.testing.assert_allclose(found, np.sin((X + 1) @ W).sum(), rtol=1e-4)
    with pytest.raises(RunError, match="is known for the run"):
        session.backward(feeds={"x": X + 1})


def test_results_without_a_derivative_have_values():
    def loss(w, x):
        called = jax.pure_callback(np.sin, jax.ShapeDtypeStruct((4, 4), np.float32), x)
        return jnp.sum(called @ w)

    assert recorded(agrees(loss, W, X)) == ["pure_callback"]


def test_complex_results_are_left_out_with_a_remark():
    imported = gw.capture(lambda w: {"loss": jnp.sum(w**2), "spectrum": jnp.fft.fft(w)}, W)
    assert set(imported.outputs) == {"loss"}
    texts = [remark.text for remark in imported.remarks if remark.kind == "lost"]
    assert texts == ["spectrum is complex: no block carries it."]


def on_one_device(function, *given: PartitionSpec):
    mesh = Mesh(np.array(jax.devices()[:1]), ("d",))
    return jax.shard_map(
        function, mesh=mesh, in_specs=given, out_specs=PartitionSpec(), check_vma=False
    )


EXCHANGES = {
    "psum": lambda y: lax.psum(y, "d"),
    "pmean": lambda y: lax.pmean(y, "d"),
    "all_gather": lambda y: lax.all_gather(y, "d"),
    "reduce_scatter": lambda y: lax.psum_scatter(y, "d", tiled=True),
    "ppermute": lambda y: lax.ppermute(y, "d", [(0, 0)]),
    "axis_index": lambda y: y * (lax.axis_index("d") + 2),
}


@pytest.mark.skipif(not hasattr(jax, "shard_map"), reason="JAX before 0.6 has it elsewhere")
@pytest.mark.parametrize("exchange", EXCHANGES.values(), ids=EXCHANGES)
def test_one_device_computes_all_of_a_shard_map(exchange):
    sharded = on_one_device(lambda w, x: exchange(x @ w), PartitionSpec(), PartitionSpec("d"))
    assert recorded(agrees(lambda w, x: jnp.sum(sharded(w, x) ** 2), W, X)) == []


def test_a_sum_over_an_axis_that_vmap_names():
    def loss(w, x):
        return jnp.sum(jax.vmap(lambda row: lax.psum(row @ w, "rows") ** 2, axis_name="rows")(x))

    assert recorded(agrees(loss, W, X)) == []


def test_rules_that_give_none_are_stops():
    @jax.custom_vjp
    def product(x, y):
        return x * y

    product.defvjp(lambda x, y: (x * y, y), lambda y, g: (g * y, None))
    assert recorded(agrees(lambda w, x: jnp.sum(product(w, x)), W, X)) == []
    imported = gw.capture(lambda w, x: jnp.sum(product(x, w)), W, X)
    assert gw.Session(imported.diagram).backward().gradients["w"] is None


def test_an_endless_loop_is_not_run_to_be_recorded():
    def loss(w, x):
        return jax.jit(lambda n: w * lax.while_loop(lambda n: n > 0, lambda n: n + x * 0, n))(x)

    with pytest.raises(gw.UnsupportedError, match="more than 10,000 steps"):
        gw.capture(loss, np.float32(1.0), np.int32(3), check=False)
