"""JAX: functions and modules as people write them, with their values and gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from gradwire.runtime.diagram import check
from gradwire.runtime.interchange.importing.capturing import capture
from tests.interchange.rows import Row


class Case(NamedTuple):
    """A loss, its parameters and its inputs."""

    loss: Callable[..., Any]
    arguments: tuple[Any, ...]


def rows() -> Iterator[Row]:
    """A row for each function, checked against one run of JAX."""
    import jax

    for make in CASES:
        with jax.enable_x64(False):  # as users have it, whatever ran here before
            case = make()
            imported = capture(case.loss, *case.arguments)
        said = imported.remarks[-1].text
        passed = said.startswith("Agrees with JAX") and not check(imported.diagram)
        blocks = sum(len(page.blocks) for page in imported.diagram.pages.values())
        name = make.__name__.replace("_", " ").strip()
        yield Row(name, passed, f"{blocks} blocks on {len(imported.diagram.pages)} pages. {said}")


def numbers(*shape: int, seed: int = 0) -> Any:
    """Standard normal float32 numbers."""
    draw = np.random.default_rng([seed, *shape])
    return draw.standard_normal(shape).astype(np.float32)


def multilayer_perceptron() -> Case:
    import jax
    import jax.numpy as jnp

    def loss(params: Any, x: Any, y: Any) -> Any:
        for weight, bias in params[:-1]:
            x = jax.nn.gelu(x @ weight + bias)
        weight, bias = params[-1]
        return jnp.mean((x @ weight + bias - y) ** 2)

    params = [(0.3 * numbers(8, 16), numbers(16)), (0.3 * numbers(16, 3), numbers(3))]
    return Case(loss, (params, numbers(5, 8), numbers(5, 3)))


def attention() -> Case:
    import jax
    import jax.numpy as jnp

    def loss(params: Any, x: Any) -> Any:
        query, key, value = (x @ params[name] for name in "qkv")
        scores = query @ key.swapaxes(-1, -2) / 2.0
        causal = jnp.tril(jnp.ones((6, 6), bool))
        y = jax.nn.softmax(jnp.where(causal, scores, -1e9)) @ value
        centred = y - y.mean(-1, keepdims=True)
        return jnp.sum((centred * jax.lax.rsqrt(y.var(-1, keepdims=True) + 1e-5)) ** 3)

    return Case(loss, ({name: numbers(4, 4, seed=ord(name)) for name in "qkv"}, numbers(2, 6, 4)))


def recurrence_by_scan() -> Case:
    import jax.numpy as jnp
    from jax import lax

    def loss(params: Any, x: Any) -> Any:
        def step(hidden: Any, now: Any) -> Any:
            following = jnp.tanh(now @ params["w"] + hidden @ params["u"])
            return following, following

        last, every = lax.scan(step, jnp.zeros(5), x)
        return jnp.sum(every**2) + jnp.sum(last)

    return Case(loss, ({"w": 0.4 * numbers(3, 5), "u": 0.4 * numbers(5, 5)}, numbers(10, 3)))


def loop_by_fori() -> Case:
    import jax.numpy as jnp
    from jax import lax

    def loss(w: Any, x: Any) -> Any:
        return jnp.sum(lax.fori_loop(0, 12, lambda i, v: jnp.tanh(v * w + x[i]), x[0]))

    return Case(loss, (numbers(4), numbers(12, 4)))


def choice_by_cond() -> Case:
    import jax.numpy as jnp
    from jax import lax

    def loss(w: Any, x: Any) -> Any:
        return lax.cond(x.sum() > 0, lambda: jnp.sum(w * x), lambda: jnp.sum(w**2))

    return Case(loss, (numbers(4), numbers(4, seed=1)))


def loop_by_while() -> Case:
    import jax.numpy as jnp
    from jax import lax

    def loss(w: Any, x: Any) -> Any:
        found = lax.while_loop(
            lambda c: c[0] < x[0] + 9, lambda c: (c[0] + 1, c[1] * 1.5), (0.0, 1.0)
        )
        return jnp.sum(w) * found[1]

    return Case(loss, (numbers(4), numbers(4)))


def derivative_by_custom_jvp() -> Case:
    import jax
    import jax.numpy as jnp

    @jax.custom_jvp
    def spike(x: Any) -> Any:
        return (x > 0) * 1.0

    spike.defjvps(lambda tangent, value, x: tangent / (1 + jnp.abs(x)) ** 2)
    return Case(lambda w, x: jnp.sum(spike(w * x) * x), (numbers(4), numbers(4, seed=1)))


def straight_through_by_custom_vjp() -> Case:
    import jax
    import jax.numpy as jnp

    @jax.custom_vjp
    def rounded(x: Any) -> Any:
        return jnp.round(x)

    rounded.defvjp(lambda x: (jnp.round(x), None), lambda _, gradient: (gradient,))
    return Case(lambda w, x: jnp.sum(rounded(w * x) ** 2), (2 * numbers(4), 2 * numbers(4, seed=1)))


def reversal_by_custom_vjp() -> Case:
    import jax
    import jax.numpy as jnp

    @jax.custom_vjp
    def reversed_(x: Any) -> Any:
        return x

    reversed_.defvjp(lambda x: (x, None), lambda _, gradient: (-0.5 * gradient,))

    def loss(params: Any, x: Any) -> Any:
        features = jnp.tanh(x @ params["features"])
        return jnp.mean((features @ params["task"]) ** 2) + jnp.mean(
            jax.nn.softplus(reversed_(features) @ params["domain"])
        )

    params = {"features": numbers(4, 3), "task": numbers(3, 2), "domain": numbers(3, 1)}
    return Case(loss, (params, numbers(5, 4)))


def convolutional_network() -> Case:
    import jax
    import jax.numpy as jnp
    from jax import lax

    def loss(params: Any, x: Any, labels: Any) -> Any:
        axes = ("NHWC", "HWIO", "NHWC")
        x = lax.conv_general_dilated(x, params["kernel"], (1, 1), "SAME", dimension_numbers=axes)
        x = jax.nn.relu(x + params["bias"])
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        scores = jax.nn.log_softmax(x.reshape(x.shape[0], -1) @ params["head"])
        return -jnp.mean(scores[jnp.arange(len(labels)), labels])

    params = {"kernel": numbers(3, 3, 2, 4), "bias": numbers(4), "head": 0.3 * numbers(64, 3)}
    return Case(loss, (params, numbers(2, 8, 8, 2), np.array([2, 0])))


def gradient_penalty() -> Case:
    import jax
    import jax.numpy as jnp

    def loss(params: Any, x: Any) -> Any:
        def critic(point: Any) -> Any:
            return jnp.sum(jnp.tanh(point @ params["first"]) @ params["second"])

        slopes = jnp.linalg.norm(jax.vmap(jax.grad(critic))(x), axis=-1)
        return jnp.mean((slopes - 1) ** 2)

    return Case(loss, ({"first": numbers(4, 6), "second": numbers(6, 1)}, numbers(5, 4)))


def flax_module_with_layer_norm() -> Case:
    import flax.linen as nn
    import jax
    import jax.numpy as jnp

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            return nn.Dense(3)(nn.LayerNorm()(nn.silu(nn.Dense(16)(x))))

    net = Net()
    params = net.init(jax.random.key(0), numbers(5, 8))

    def loss(params: Any, x: Any, y: Any) -> Any:
        return jnp.mean((net.apply(params, x) - y) ** 2)

    return Case(loss, (params, numbers(5, 8), numbers(5, 3)))


def flax_nnx_module_with_batch_norm() -> Case:
    import jax.numpy as jnp
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, rngs: Any) -> None:
            self.first = nnx.Linear(8, 16, rngs=rngs)
            self.norm = nnx.BatchNorm(16, rngs=rngs)
            self.last = nnx.Linear(16, 3, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            return self.last(nnx.relu(self.norm(self.first(x))))

    graph, params, rest = nnx.split(Net(nnx.Rngs(0)), nnx.Param, ...)

    def loss(params: Any, x: Any, y: Any) -> Any:
        return jnp.mean((nnx.merge(graph, params, rest, copy=True)(x) - y) ** 2)

    return Case(loss, (params, numbers(5, 8), numbers(5, 3)))


def flax_dropout() -> Case:
    import flax.linen as nn
    import jax
    import jax.numpy as jnp

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            return nn.Dense(3)(nn.Dropout(0.5, deterministic=False)(nn.Dense(16)(x)))

    net = Net()
    params = net.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, numbers(5, 8))

    def loss(params: Any, x: Any, key: Any) -> Any:
        return jnp.mean(net.apply(params, x, rngs={"dropout": key}) ** 2)

    return Case(loss, (params, numbers(5, 8), jax.random.key(2)))


def equinox_module() -> Case:
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    def loss(model: Any, x: Any, y: Any) -> Any:
        return jnp.mean((jax.vmap(model)(x) - y) ** 2)

    model = eqx.nn.MLP(8, 3, 16, 2, key=jax.random.key(1))
    return Case(loss, (model, numbers(5, 8), numbers(5, 3)))


def equinox_gated_recurrence() -> Case:
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    from jax import lax

    def loss(cell: Any, x: Any) -> Any:
        return jnp.sum(lax.scan(lambda h, now: (cell(now, h), None), jnp.zeros(8), x)[0] ** 2)

    return Case(loss, (eqx.nn.GRUCell(4, 8, key=jax.random.key(2)), numbers(7, 4)))


def variational_autoencoder() -> Case:
    import jax
    import jax.numpy as jnp

    def loss(params: Any, x: Any, key: Any) -> Any:
        hidden = jnp.tanh(x @ params["encoder"]["w"])
        mean, log_variance = jnp.split(hidden @ params["encoder"]["heads"], 2, axis=-1)
        noise = jax.random.normal(key, mean.shape)
        code = mean + jnp.exp(0.5 * log_variance) * noise
        error = jnp.sum((code @ params["decoder"]["w"] - x) ** 2, axis=-1)
        divergence = -0.5 * jnp.sum(1 + log_variance - mean**2 - jnp.exp(log_variance), axis=-1)
        return jnp.mean(error + divergence)

    params = {
        "encoder": {"w": 0.5 * numbers(6, 8), "heads": 0.5 * numbers(8, 4)},
        "decoder": {"w": numbers(2, 6)},
    }
    return Case(loss, (params, numbers(5, 6), jax.random.key(0)))


def stopped_target_of_q_learning() -> Case:
    import jax
    import jax.numpy as jnp
    from jax import lax

    def values(params: Any, x: Any) -> Any:
        return jax.nn.relu(x @ params["w1"]) @ params["w2"]

    def loss(params: Any, now: Any, actions: Any, rewards: Any, then: Any) -> Any:
        best = jnp.max(values(params["target"], then), axis=-1)
        target = rewards + 0.9 * lax.stop_gradient(best)
        chosen = jnp.take_along_axis(values(params["online"], now), actions[:, None], axis=1)
        return jnp.mean((chosen[:, 0] - target) ** 2)

    nets = [{"w1": numbers(4, 8, seed=i), "w2": numbers(8, 2, seed=i)} for i in (0, 1)]
    actions = np.array([0, 1, 1, 0, 1, 0])
    return Case(
        loss,
        (
            {"online": nets[0], "target": nets[1]},
            numbers(6, 4),
            actions,
            numbers(6),
            numbers(6, 4, seed=1),
        ),
    )


def quantised_codes() -> Case:
    import jax.numpy as jnp
    from jax import lax

    def loss(params: Any, x: Any) -> Any:
        z = jnp.tanh(x @ params["encoder"])
        distances = jnp.sum((z[:, None] - params["codes"][None]) ** 2, axis=-1)
        code = params["codes"][jnp.argmin(distances, axis=-1)]
        passed = z + lax.stop_gradient(code - z)
        commitment = 0.25 * jnp.mean((z - lax.stop_gradient(code)) ** 2)
        moving = jnp.mean((lax.stop_gradient(z) - code) ** 2)
        return jnp.mean((passed @ params["decoder"] - x) ** 2) + moving + commitment

    params = {"encoder": numbers(6, 3), "codes": numbers(4, 3), "decoder": numbers(3, 6)}
    return Case(loss, (params, numbers(7, 6)))


def rematerialised_layers() -> Case:
    import jax
    import jax.numpy as jnp

    @jax.checkpoint
    def layer(weight: Any, x: Any) -> Any:
        return jnp.sin(x @ weight)

    def loss(params: Any, x: Any) -> Any:
        for weight in params:
            x = layer(weight, x)
        return jnp.sum(x**2)

    return Case(loss, ([numbers(4, 4, seed=i) for i in range(3)], numbers(5, 4)))


def cache_by_dynamic_update_slice() -> Case:
    import jax.numpy as jnp
    from jax import lax

    def loss(w: Any, x: Any, position: Any) -> Any:
        cache = lax.dynamic_update_slice(x, jnp.tanh(x[:2] @ w), (position, 0))
        return jnp.sum(lax.dynamic_slice(cache * x, (position, 1), (2, 2)) ** 2)

    return Case(loss, (numbers(4, 4), numbers(6, 4), np.int32(3)))


def sums_by_segment() -> Case:
    import jax
    import jax.numpy as jnp

    def loss(w: Any, nodes: Any, senders: Any, receivers: Any) -> Any:
        sent = jnp.tanh(nodes[senders] @ w)
        return jnp.sum(jax.ops.segment_sum(sent, receivers, num_segments=4) ** 2)

    edges = np.array([0, 1, 2, 3, 1]), np.array([1, 1, 0, 2, 2])
    return Case(loss, (numbers(3, 5), numbers(4, 3), *edges))


def gaussian_process() -> Case:
    import jax.numpy as jnp
    import jax.scipy as jsp

    def loss(params: Any, x: Any, y: Any) -> Any:
        distances = (x[:, None] - x[None]) ** 2 / jnp.exp(params["length"])
        lower = jnp.linalg.cholesky(jnp.exp(-distances) + 0.1 * jnp.eye(len(x)))
        whitened = jsp.linalg.solve_triangular(lower, y, lower=True)
        return 0.5 * jnp.sum(whitened**2) + jnp.sum(jnp.log(jnp.diag(lower)))

    return Case(loss, ({"length": np.float32(0.3)}, numbers(6), numbers(6, seed=1)))


CASES = (
    multilayer_perceptron,
    attention,
    recurrence_by_scan,
    loop_by_fori,
    choice_by_cond,
    loop_by_while,
    derivative_by_custom_jvp,
    straight_through_by_custom_vjp,
    reversal_by_custom_vjp,
    convolutional_network,
    gradient_penalty,
    flax_module_with_layer_norm,
    flax_nnx_module_with_batch_norm,
    flax_dropout,
    equinox_module,
    equinox_gated_recurrence,
    variational_autoencoder,
    stopped_target_of_q_learning,
    quantised_codes,
    rematerialised_layers,
    cache_by_dynamic_update_slice,
    sums_by_segment,
    gaussian_process,
)
