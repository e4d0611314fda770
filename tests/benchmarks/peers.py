"""The peers, each as a namespace of functions and a way to get loss and gradients."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tests.benchmarks.workloads import Workload

Call = Callable[[], float]
"""Computes loss and gradients once; returns the loss."""


class TorchOps:
    """PyTorch, eager."""

    def __init__(self, torch: Any) -> None:
        self._f = torch.nn.functional
        self.sum, self.mean, self.stack = torch.sum, torch.mean, torch.stack
        self.tanh, self.sin, self.sigmoid = torch.tanh, torch.sin, torch.sigmoid
        self.matmul, self.relu, self.maximum = torch.matmul, torch.relu, torch.maximum
        self.reshape = torch.reshape
        self.cross_entropy, self.linear = self._f.cross_entropy, self._f.linear

    def stop_gradient(self, x: Any) -> Any:
        return x.detach()

    def transpose(self, x: Any, axes: Any) -> Any:
        return x.permute(axes)

    def softmax(self, x: Any) -> Any:
        return self._f.softmax(x, -1)

    def conv(self, x: Any, w: Any) -> Any:
        return self._f.conv2d(x, w, padding=1)

    def max_pool(self, x: Any) -> Any:
        return self._f.max_pool2d(x, 2)


class JaxOps:
    """JAX, under jit."""

    def __init__(self, jax: Any) -> None:
        jnp, self._jax = jax.numpy, jax
        self.sum, self.mean, self.stack = jnp.sum, jnp.mean, jnp.stack
        self.tanh, self.sin, self.maximum = jnp.tanh, jnp.sin, jnp.maximum
        self.sigmoid, self.relu, self.softmax = jax.nn.sigmoid, jax.nn.relu, jax.nn.softmax
        self.matmul, self.reshape, self.transpose = jnp.matmul, jnp.reshape, jnp.transpose
        self.stop_gradient = jax.lax.stop_gradient

    def linear(self, x: Any, w: Any) -> Any:
        return self.matmul(x, w.T)

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        scores = self._jax.nn.log_softmax(logits)
        return -self._jax.numpy.take_along_axis(scores, labels[:, None], 1).mean()

    def conv(self, x: Any, w: Any) -> Any:
        return self._jax.lax.conv(x, w, (1, 1), "SAME")

    def max_pool(self, x: Any) -> Any:
        return self._jax.lax.reduce_window(
            x, -np.inf, self._jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"
        )


class AutogradOps:
    """HIPS autograd on numpy; has no convolution."""

    def __init__(self, anp: Any) -> None:
        self._np = anp
        self.sum, self.mean = anp.sum, anp.mean
        self.tanh, self.sin, self.maximum = anp.tanh, anp.sin, anp.maximum
        self.matmul, self.reshape, self.transpose = anp.matmul, anp.reshape, anp.transpose

    def stop_gradient(self, x: Any) -> Any:
        while hasattr(x, "_value"):
            x = x._value
        return x

    def stack(self, parts: Any) -> Any:
        return self._np.concatenate([self._np.reshape(part, (1,)) for part in parts])

    def linear(self, x: Any, w: Any) -> Any:
        return self.matmul(x, w.T)

    def sigmoid(self, x: Any) -> Any:
        return 1 / (1 + self._np.exp(-x))

    def relu(self, x: Any) -> Any:
        return self._np.maximum(x, 0)

    def softmax(self, x: Any) -> Any:
        e = self._np.exp(x - self._np.max(x, axis=-1, keepdims=True))
        return e / self._np.sum(e, axis=-1, keepdims=True)

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        top = self._np.max(logits, axis=-1, keepdims=True)
        total = self._np.log(self._np.sum(self._np.exp(logits - top), -1)) + top[:, 0]
        return self._np.mean(total - logits[np.arange(len(labels)), labels])


class TensorFlowOps:
    """TensorFlow, in a tf.function."""

    def __init__(self, tf: Any) -> None:
        self._tf = tf
        self.sum, self.mean, self.stack = tf.reduce_sum, tf.reduce_mean, tf.stack
        self.tanh, self.sin, self.maximum = tf.tanh, tf.sin, tf.maximum
        self.sigmoid, self.relu, self.softmax = tf.sigmoid, tf.nn.relu, tf.nn.softmax
        self.reshape, self.transpose, self.matmul = tf.reshape, tf.transpose, tf.matmul
        self.stop_gradient = tf.stop_gradient

    def linear(self, x: Any, w: Any) -> Any:
        return self._tf.tensordot(x, w, ((-1,), (1,)))

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        loss = self._tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        return self._tf.reduce_mean(loss)

    def conv(self, x: Any, w: Any) -> Any:
        # Its CPU kernels know images with channels last alone.
        x, w = self.transpose(x, (0, 2, 3, 1)), self.transpose(w, (2, 3, 1, 0))
        return self.transpose(self._tf.nn.conv2d(x, w, 1, "SAME"), (0, 3, 1, 2))

    def max_pool(self, x: Any) -> Any:
        y = self._tf.nn.max_pool2d(self.transpose(x, (0, 2, 3, 1)), 2, 2, "VALID")
        return self.transpose(y, (0, 3, 1, 2))


class PyTensorOps:
    """PyTensor, compiled to C; has no convolution here."""

    def __init__(self, pt: Any, disconnected: Any) -> None:
        self.sum, self.mean, self.stack = pt.sum, pt.mean, pt.stack
        self.tanh, self.sin, self.maximum = pt.tanh, pt.sin, pt.maximum
        self.sigmoid, self.matmul, self.reshape = pt.sigmoid, pt.matmul, pt.reshape
        self.stop_gradient = disconnected
        self._pt = pt

    def linear(self, x: Any, w: Any) -> Any:
        return self.matmul(x, w.T)

    def relu(self, x: Any) -> Any:
        return self._pt.maximum(x, np.float32(0))

    def softmax(self, x: Any) -> Any:
        return self._pt.special.softmax(x, axis=-1)

    def transpose(self, x: Any, axes: Any) -> Any:
        return x.transpose(*axes)

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        scores = self._pt.special.log_softmax(logits, axis=-1)
        return -self._pt.mean(scores[self._pt.arange(labels.shape[0]), labels])


def torch_call(work: Workload, threads: int) -> Call:
    """Eager PyTorch with ``threads`` threads."""
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(threads)
    ops = TorchOps(torch)
    variables = {k: torch.tensor(v, requires_grad=True) for k, v in work.variables.items()}
    data = {k: torch.tensor(v) for k, v in work.data.items()}

    def call() -> float:
        loss = work.peer(ops, variables, data)
        for variable in variables.values():
            variable.grad = None
        loss.backward()
        return float(loss.detach())

    return call


def jax_call(work: Workload, threads: int) -> Call:
    """jit of value_and_grad; its thread count is fixed when the process starts."""
    jax: Any = importlib.import_module("jax")
    ops = JaxOps(jax)
    function = jax.jit(jax.value_and_grad(lambda v, data: work.peer(ops, v, data)))
    variables = {k: jax.numpy.asarray(v) for k, v in work.variables.items()}
    data = {k: jax.numpy.asarray(v) for k, v in work.data.items()}

    def call() -> float:
        loss, gradients = function(variables, data)
        for gradient in gradients.values():
            gradient.block_until_ready()
        return float(loss)

    return call


def autograd_call(work: Workload, threads: int) -> Call:
    """HIPS autograd; its matrix products use numpy's threads."""
    autograd: Any = importlib.import_module("autograd")
    ops = AutogradOps(importlib.import_module("autograd.numpy"))
    function = autograd.value_and_grad(lambda v: work.peer(ops, v, work.data))
    variables = dict(work.variables)

    def call() -> float:
        return float(function(variables)[0])

    return call


def _tensorflow_call(work: Workload, threads: int, xla: bool) -> Call:
    tf: Any = importlib.import_module("tensorflow")
    if not tf.config.threading.get_intra_op_parallelism_threads():
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads)
    ops = TensorFlowOps(tf)
    variables = {k: tf.Variable(v) for k, v in work.variables.items()}
    data = {k: tf.constant(v) for k, v in work.data.items()}

    @tf.function(jit_compile=xla)  # type: ignore[untyped-decorator]  # TensorFlow is imported by name
    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = work.peer(ops, variables, data)
        return loss, tape.gradient(loss, list(variables.values()))

    def call() -> float:
        return float(step()[0])

    return call


def pytensor_call(work: Workload, threads: int) -> Call:
    """A compiled PyTensor function of shared variables."""
    pytensor: Any = importlib.import_module("pytensor")
    pt: Any = importlib.import_module("pytensor.tensor")
    gradient: Any = importlib.import_module("pytensor.gradient")
    pytensor.config.floatX = "float32"
    variables = {k: pytensor.shared(v, name=k) for k, v in work.variables.items()}
    data = {k: pytensor.shared(v, name=k) for k, v in work.data.items()}
    loss = work.peer(PyTensorOps(pt, gradient.disconnected_grad), variables, data)
    gradients = pytensor.grad(loss, list(variables.values()), disconnected_inputs="ignore")
    function = pytensor.function([], [loss, *gradients])

    def call() -> float:
        return float(function()[0])

    return call


PEERS: dict[str, Callable[[Workload, int], Call]] = {
    "torch": torch_call,
    "jax": jax_call,
    "tensorflow": lambda work, threads: _tensorflow_call(work, threads, xla=False),
    "tensorflow-xla": lambda work, threads: _tensorflow_call(work, threads, xla=True),
    "pytensor": pytensor_call,
    "autograd": autograd_call,
}


def installed(name: str) -> bool:
    """Whether a peer can be imported here."""
    return importlib.util.find_spec(name.partition("-")[0]) is not None
