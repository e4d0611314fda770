"""Primitives of JAX as blocks: each loss agrees with JAX in its value and its gradients."""

from __future__ import annotations

import numpy as np
import pytest

import gradwire as gw
from gradwire.runtime.interchange.importing.jax.operations import ELEMENTWISE, LAZY, WHOLE

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


PLACES = np.array([2, 0, 2])


def agrees(loss, *args) -> gw.Imported:
    imported = gw.capture(loss, *args)
    assert imported.remarks[-1].text.startswith("Agrees with JAX"), imported.remarks
    return imported


def blocks_of(imported) -> list[str]:
    pages = imported.diagram.pages.values()
    return [block.type_name() for page in pages for block in page.blocks.values()]


def squares(x):
    return jnp.sum(x**2)


READS = {
    "rows": lambda w, i: w[i],
    "columns by a matrix": lambda w, i: w[:, jnp.stack([i, i + 1])],
    "a slice": lambda w, i: lax.dynamic_slice(w, (i[0], 1), (2, 2)),
    "pairs": lambda w, i: w[i, i - 2],
    "one of each row": lambda w, i: w[jnp.arange(3), i],
    "along an axis": lambda w, i: jnp.take_along_axis(w, i[:, None], 1),
    "windows": lambda w, i: jax.vmap(lambda j: lax.dynamic_slice(w, (j, 1), (2, 2)))(i),
}
WRITES = {
    "rows added": lambda w, i: jnp.zeros((4, 4)).at[i].add(w),
    "rows set": lambda w, i: jnp.sin(w).at[i[:2]].set(w[0] * 2),
    "rows subtracted": lambda w, i: jnp.sin(w).at[i[:2]].add(-w[0]),
    "columns multiplied": lambda w, i: w.at[:, i].multiply(2.0),
    "pairs set": lambda w, i: w.at[jnp.arange(3), i].set(0.0),
    "a box": lambda w, i: lax.dynamic_update_slice(jnp.ones((4, 5)), w * 2, (1, 1)),
    "rows at a computed place": lambda w, i: lax.dynamic_update_slice(
        jnp.ones((6, 4)), w, (i[0], 0)
    ),
    "each in its row": lambda w, i: jax.vmap(lambda row, j: row.at[j].add(row[0]))(w, i),
    "sums by segment": lambda w, i: jax.ops.segment_sum(w, i, 4),
}


@pytest.mark.sampled(one_in=11)
@pytest.mark.parametrize("name", [*READS, *WRITES])
def test_elements_at_computed_places(name):
    indexed = {**READS, **WRITES}[name]
    agrees(lambda w, i: squares(indexed(w, i)), numbers(3, 4), PLACES)


def test_common_ways_to_index_are_one_block():
    picked = agrees(lambda w, i: squares(w[jnp.arange(3), i]), numbers(3, 4), PLACES)
    assert blocks_of(picked) == ["Input", "Variable", "PickAlong", "Square", "Sum", "Loss"]
    rows = agrees(lambda w, i: squares(w[i]), numbers(3, 4), PLACES)
    assert blocks_of(rows) == ["Variable", "Input", "Gather", "Square", "Sum", "Loss"] or (
        blocks_of(rows) == ["Input", "Variable", "Gather", "Square", "Sum", "Loss"]
    )


@pytest.mark.night
def test_elementwise_and_shapes():
    def loss(w, x):
        parts = [
            jnp.clip(w * x, -0.5, 0.5), jnp.where(x > 0, w, 0.0), jnp.abs(w) ** 1.5,
            jnp.round(w) + jnp.sign(w) * w, w % 0.3, jnp.hypot(w, x), jnp.logaddexp(w, x),
            jnp.arctan2(w, x) + jnp.expm1(w) + jnp.cbrt(w), jnp.exp2(w) + jnp.tan(w),
            jax.scipy.special.erf(w) + jax.scipy.special.erfc(w), lax.rsqrt(w**2 + 1),
            jnp.mod(jnp.arange(6), 4) * w + (jnp.arange(6) // 4) * w + (jnp.arange(6) & 3) * w,
            jnp.pad(w, (1, 2))[1:7], jnp.roll(w, 2), jnp.flip(w), jnp.repeat(w, 2)[:6],
            jnp.tile(w, 2)[1:7], jnp.tril(jnp.outer(w, w)).sum(0), jnp.stack([w, x]).T.ravel()[:6],
            lax.pad(w, 0.0, ((-1, 2, 1),))[:6], jnp.concatenate([x[:2], w[2:]])[::-1],
            w.astype(jnp.float16).astype(jnp.float32), w[0] / x,
        ]  # fmt: skip
        return sum(squares(part) for part in parts) + jnp.prod(w) + jnp.var(w) + jnp.ptp(x) * w[0]

    agrees(loss, numbers(6), numbers(6, seed=1))


@pytest.mark.night
def test_running_totals_and_orders():
    def loss(w, x):
        values, _ = lax.top_k(w * x, 2)
        return (
            squares(jnp.cumprod(w, 1)) + squares(jnp.cumsum(w, 0)) + squares(lax.cummax(w, 1))
            + squares(lax.cummin(w, 0, reverse=True)) + squares(values)
            + squares(lax.cumlogsumexp(w, 1, reverse=True)) + squares(w[0][jnp.argsort(x[1])][:2])
            + squares(jnp.sort(w * x) * jnp.arange(5)) + jnp.max(w) + jnp.sum(jnp.argmax(w, 0) * x)
        )  # fmt: skip

    agrees(loss, numbers(3, 5), numbers(3, 5, seed=1))


@pytest.mark.night
def test_activations_and_probabilities_are_single_blocks():
    def loss(w, x):
        y = jax.nn.relu(w) + jax.nn.silu(w) + jax.nn.softplus(w) + jax.nn.elu(w)
        y += jax.nn.leaky_relu(w, 0.2) + jax.nn.gelu(w) + jax.nn.gelu(w, approximate=False)
        z = jax.nn.softmax(w * x) + jax.nn.log_softmax(w * x)
        return squares(y) + squares(z) + jax.nn.logsumexp(w) + jnp.mean(w)

    found = blocks_of(agrees(loss, numbers(5), numbers(2, 5)))
    wanted = ["Relu", "Silu", "Softplus", "Elu", "LeakyRelu", "Gelu", "Gelu", "Softmax"]
    wanted += ["LogSoftmax", "LogSumExp", "Mean"]
    assert all(found.count(kind) >= wanted.count(kind) for kind in wanted)
    assert "StopGradient" not in found and "Exp" not in found


def by_deviation(params, x):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * params["weight"] + params["bias"]


def by_mean_square(params, x):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.maximum(0.0, (x**2).mean(-1, keepdims=True) - mean**2)
    return (x - mean) * (lax.rsqrt(variance + 1e-5) * params["weight"]) + params["bias"]


@pytest.mark.parametrize("normalised", [by_deviation, by_mean_square])
def test_the_normalisation_of_rows_is_one_block(normalised):
    params = {"weight": numbers(5), "bias": numbers(5, seed=1)}
    imported = agrees(lambda p, x: jnp.sum(normalised(p, x) ** 3), params, numbers(4, 5))
    assert sorted(blocks_of(imported)) == [
        "Input", "LayerNorm", "Loss", "Pow", "Sum", "Variable", "Variable"
    ]  # fmt: skip


def test_what_only_looks_like_the_normalisation_of_rows_is_none():
    def loss(params, x):
        mean, variance = x.mean(0), x.var(-1, keepdims=True)
        y = (x - mean) / jnp.sqrt(variance + 1e-5) * params["weight"] + params["bias"]
        return jnp.sum(y**3)

    params = {"weight": numbers(5), "bias": numbers(5, seed=1)}
    assert "LayerNorm" not in blocks_of(agrees(loss, params, numbers(5, 5)))


@pytest.mark.night
@pytest.mark.parametrize(
    ("kernel", "image", "axes"),
    [
        ((3, 4, 5), (2, 7, 4), ("NWC", "WIO", "NWC")),
        ((3, 2, 4, 5), (2, 6, 7, 4), ("NHWC", "HWIO", "NHWC")),
        ((2, 2, 2, 3, 4), (1, 4, 5, 4, 3), ("NDHWC", "DHWIO", "NDHWC")),
    ],
)
def test_convolution_over_one_to_three_axes_and_transposed(kernel, image, axes):
    rank = len(image) - 2

    def loss(w, x):
        y = lax.conv_general_dilated(x, w, (2,) * rank, "SAME", dimension_numbers=axes)
        z = lax.conv_transpose(x, w, (2,) * rank, "SAME", dimension_numbers=axes)
        return squares(jnp.sin(y)) + squares(jnp.sin(z))

    found = blocks_of(agrees(loss, numbers(*kernel), numbers(*image)))
    assert f"Conv{rank}D" in found and f"ConvTranspose{rank}D" in found


@pytest.mark.night
def test_grouped_and_dilated_convolution_and_its_gradients_in_a_program():
    axes = ("NHWC", "HWIO", "NHWC")

    def convolved(w, x):
        return lax.conv_general_dilated(
            x, w, (1, 1), "SAME", rhs_dilation=(2, 1), dimension_numbers=axes, feature_group_count=2
        )

    def loss(w, x):
        slopes = jax.grad(lambda v, u: squares(convolved(v, u)), argnums=(0, 1))(w, x)
        return squares(slopes[0]) + squares(slopes[1])

    agrees(loss, numbers(3, 3, 1, 4), numbers(2, 5, 4, 2))


@pytest.mark.night
def test_pooling():
    def loss(w, x):
        y = w * x
        images = [
            lax.reduce_window(y, start, reduce, (1, 3, 2, 1), (1, 2, 2, 1), "SAME")
            for start, reduce in ((-jnp.inf, lax.max), (0.0, lax.add), (jnp.inf, lax.min))
        ]
        signal = lax.reduce_window(y[0], 0.0, lax.add, (3, 1, 1), (2, 1, 1), "VALID")
        return sum(squares(jnp.sin(image)) for image in images) + squares(signal)

    agrees(loss, numbers(2, 7, 6, 3), numbers(2, 7, 6, 3, seed=1))


@pytest.mark.night
def test_matrices():
    def loss(w, x):
        positive = w @ w.T + jnp.eye(3)
        lower = jnp.linalg.cholesky(positive)
        solved = jnp.linalg.solve(positive, x)
        triangular = jax.scipy.linalg.solve_triangular(lower.T, x, trans=1)
        return (
            squares(solved) + squares(triangular) + squares(jnp.linalg.inv(positive))
            + jnp.linalg.slogdet(positive)[1] + jnp.linalg.det(w)
        )  # fmt: skip

    found = blocks_of(agrees(loss, numbers(3, 3), numbers(3)))
    assert {"Cholesky", "Solve", "Inverse", "LogDeterminant", "Determinant"} <= set(found)


def test_functions_that_are_primitives_only_in_later_versions():
    def loss(w, x):
        slope = jax.vmap(jax.vmap(jax.grad(jnp.tanh)))(x)
        return squares(jnp.log2(1 + x**2)) + squares(slope) + squares(jnp.polyval(w, x))

    agrees(loss, numbers(4), numbers(3, 2))


def test_every_primitive_has_one_row():
    tables = (ELEMENTWISE, LAZY, WHOLE)
    names = [name for table in tables for name in table]
    assert len(names) == len(set(names))
