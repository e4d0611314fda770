"""PyTorch, eager and compiled, and JAX under jit, for what people run: loss and all gradients."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks import peers

if TYPE_CHECKING:
    from tests.benchmarks.workloads import Workload

Array = NDArray[Any]


class System(NamedTuple):
    """``call()`` computes loss and gradients once; ``results()`` does so and returns the arrays."""

    call: Callable[[], Any]
    results: Callable[[], dict[str, Array]]


class TorchOps(peers.TorchOps):
    """What a user of PyTorch would call, with its fused functions where there are any."""

    def __init__(self, torch: Any) -> None:
        super().__init__(torch)
        self._torch = torch
        self.exp, self.log, self.where, self.gelu = (
            torch.exp,
            torch.log,
            torch.where,
            self._f.gelu,
        )

    def total(self, x: Any, axis: int) -> Any:
        return x.sum(axis)

    def middle(self, x: Any, axis: Any) -> Any:
        return x.mean(axis)

    def layer_norm(self, x: Any, weight: Any, bias: Any) -> Any:
        return self._f.layer_norm(x, x.shape[-1:], weight, bias)

    def attend(self, q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        return self._f.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    def dense(self, x: Any, weight: Any, bias: Any) -> Any:
        return self._f.linear(x, weight, bias)

    def embed(self, weight: Any, indices: Any) -> Any:
        return self._f.embedding(indices, weight)

    def binary(self, logits: Any, targets: Any) -> Any:
        return self._f.binary_cross_entropy_with_logits(logits, targets, reduction="sum")

    def grouped(self, x: Any, weight: Any, groups: int) -> Any:
        return self._f.conv2d(x, weight, padding=weight.shape[-1] // 2, groups=groups)

    def softplus(self, x: Any) -> Any:
        return self._f.softplus(x)

    def normalised(self, x: Any) -> Any:
        return self._f.normalize(x, dim=-1)

    def gradient(self, function: Any, x: Any) -> Any:
        x = x.detach().requires_grad_()
        (found,) = self._torch.autograd.grad(self.sum(function(x)), x, create_graph=True)
        return found

    def lstm(self, x: Any, v: Any) -> Any:
        zeros = x.new_zeros(1, x.shape[1], v["u"].shape[1])
        weights = [v["w"], v["u"], v["b"], self._torch.zeros_like(v["b"])]
        found = self._torch._VF.lstm(x, (zeros, zeros), weights, True, 1, 0.0, True, False, False)
        return found[1][0]

    def gru(self, x: Any, v: Any) -> Any:
        zeros = x.new_zeros(1, x.shape[1], v["u"].shape[1])
        weights = [v["w"], v["u"], v["b"], v["c"]]
        return self._torch._VF.gru(x, zeros, weights, True, 1, 0.0, True, False, False)[1][0]


class JaxOps(peers.JaxOps):
    """What a user of JAX would call."""

    def __init__(self, jax: Any) -> None:
        super().__init__(jax)
        jnp = jax.numpy
        self._jnp = jnp
        self.exp, self.log, self.where = jnp.exp, jnp.log, jnp.where
        self.softplus = jax.nn.softplus

    def total(self, x: Any, axis: int) -> Any:
        return x.sum(axis)

    def middle(self, x: Any, axis: Any) -> Any:
        return x.mean(axis)

    def gelu(self, x: Any) -> Any:
        return self._jax.nn.gelu(x, approximate=False)

    def layer_norm(self, x: Any, weight: Any, bias: Any) -> Any:
        away = x - x.mean(-1, keepdims=True)
        scale = self._jax.lax.rsqrt((away * away).mean(-1, keepdims=True) + 1e-5)
        return away * scale * weight + bias

    def attend(self, q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        scores = self.matmul(q, k.swapaxes(-1, -2)) * q.shape[-1] ** -0.5
        if mask is not None:
            scores = self._jnp.where(mask, scores, -np.inf)
        return self.matmul(self.softmax(scores), v)

    def dense(self, x: Any, weight: Any, bias: Any) -> Any:
        return self.matmul(x, weight.T) + bias

    def embed(self, weight: Any, indices: Any) -> Any:
        return weight[indices]

    def binary(self, logits: Any, targets: Any) -> Any:
        return (self.softplus(logits) - targets * logits).sum()

    def grouped(self, x: Any, weight: Any, groups: int) -> Any:
        return self._jax.lax.conv_general_dilated(
            x, weight, (1, 1), "SAME", feature_group_count=groups
        )

    def normalised(self, x: Any) -> Any:
        return x / self._jnp.sqrt((x * x).sum(-1, keepdims=True))

    def gradient(self, function: Any, x: Any) -> Any:
        return self._jax.grad(lambda x: function(x).sum())(x)

    def lstm(self, x: Any, v: Any) -> Any:
        inputs = self.dense(x, v["w"], v["b"])

        def step(state: Any, given: Any) -> Any:
            h, c = state
            i, f, g, o = self._jnp.split(given + self.linear(h, v["u"]), 4, -1)
            c = self.sigmoid(f) * c + self.sigmoid(i) * self.tanh(g)
            return (self.sigmoid(o) * self.tanh(c), c), None

        zeros = self._jnp.zeros((x.shape[1], v["u"].shape[1]), x.dtype)
        return self._jax.lax.scan(step, (zeros, zeros), inputs)[0][0]

    def gru(self, x: Any, v: Any) -> Any:
        inputs = self.dense(x, v["w"], v["b"])

        def step(h: Any, given: Any) -> Any:
            r, z, n = self._jnp.split(given, 3, -1)
            a, b, c = self._jnp.split(self.dense(h, v["u"], v["c"]), 3, -1)
            z = self.sigmoid(z + b)
            n = self.tanh(n + self.sigmoid(r + a) * c)
            return n + z * (h - n), None

        zeros = self._jnp.zeros((x.shape[1], v["u"].shape[1]), x.dtype)
        return self._jax.lax.scan(step, zeros, inputs)[0]


def _named(loss: Any, gradients: Mapping[str, Any]) -> dict[str, Array]:
    return {"loss": np.asarray(loss)} | {name: np.asarray(g) for name, g in gradients.items()}


def _torch(work: Workload, compiling: bool) -> System:
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    ops = TorchOps(torch)
    variables = {k: torch.tensor(v, requires_grad=True) for k, v in work.variables.items()}
    data = {k: torch.tensor(v) for k, v in work.data.items()}

    def loss_of() -> Any:
        return work.peer(ops, variables, data)

    function = torch.compile(loss_of) if compiling else loss_of

    def call() -> Any:
        loss = function()
        for variable in variables.values():
            variable.grad = None
        loss.backward()
        return float(loss.detach())

    def results() -> dict[str, Array]:
        return _named(call(), {name: v.grad for name, v in variables.items()})

    return System(call, results)


def _jax(work: Workload) -> System:
    jax: Any = importlib.import_module("jax")
    ops = JaxOps(jax)
    function = jax.jit(jax.value_and_grad(lambda v, data: work.peer(ops, v, data)))
    variables = {k: jax.numpy.asarray(v) for k, v in work.variables.items()}
    data = {k: jax.numpy.asarray(v) for k, v in work.data.items()}

    def call() -> Any:
        return jax.block_until_ready(function(variables, data))

    return System(call, lambda: _named(*call()))


def _ours(work: Workload, fast: bool) -> System:
    from runtime.engine import Session

    session = Session(work.diagram, fast=fast)
    step = session.prepare(feeds=tuple(work.data), values=("loss",))
    feeds = tuple(work.data.values())

    def results() -> dict[str, Array]:
        found = dict(zip(step.results, step(*feeds), strict=True))
        loss = found.pop("loss.out")
        return _named(loss, {name: g for name, g in found.items() if g is not None})

    return System(lambda: step(*feeds), results)


OURS = ("gradwire", "gradwire-fast")
SYSTEMS: dict[str, Callable[[Workload], System]] = {
    "gradwire": lambda work: _ours(work, fast=False),
    "gradwire-fast": lambda work: _ours(work, fast=True),
    "torch": lambda work: _torch(work, compiling=False),
    "torch-compiled": lambda work: _torch(work, compiling=True),
    "jax": _jax,
}


def installed(system: str) -> bool:
    """Whether a system can be had here."""
    needs = {"gradwire-fast": "llvmlite"}.get(system, system.partition("-")[0])
    return needs == "gradwire" or importlib.util.find_spec(needs) is not None
