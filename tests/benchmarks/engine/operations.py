"""The functions that losses are written in, as users of each peer would call them.

A loss is written once, over one of these namespaces; see ``Workload.peer``. What a peer lacks is
an AttributeError, and the workload a dash in its column.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np


class Operations:
    """What is composed of the rest wherever a peer has no function for it."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        raise AttributeError(f"{type(self).__name__} has no {name}")

    def total(self, x: Any, axis: Any, keepdims: bool = False) -> Any:
        """The sum over one axis or several."""
        return x.sum(axis=axis, keepdims=keepdims)

    def middle(self, x: Any, axis: Any, keepdims: bool = False) -> Any:
        """The mean over one axis or several."""
        return x.mean(axis=axis, keepdims=keepdims)

    def root(self, x: Any) -> Any:
        """The square root."""
        return x**0.5

    def linear(self, x: Any, weight: Any) -> Any:
        """The product with a weight (out, in)."""
        return self.matmul(x, weight.T)

    def dense(self, x: Any, weight: Any, bias: Any) -> Any:
        """A layer without activation."""
        return self.linear(x, weight) + bias

    def embed(self, weight: Any, indices: Any) -> Any:
        """Rows of a table."""
        return weight[indices]

    def binary(self, logits: Any, targets: Any) -> Any:
        """The sum of binary cross-entropies."""
        return self.sum(self.softplus(logits) - targets * logits)

    def normalised(self, x: Any) -> Any:
        """Rows of length 1."""
        return x / self.root(self.total(x * x, -1, keepdims=True))

    def layer_norm(self, x: Any, weight: Any, bias: Any) -> Any:
        """Rows with mean 0 and variance 1, scaled and shifted."""
        away = x - self.middle(x, -1, keepdims=True)
        variance = self.middle(away * away, -1, keepdims=True)
        return away / self.root(variance + np.float32(1e-5)) * weight + bias

    def attend(self, q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        """Scaled dot-product attention; False in a mask hides a key from a query."""
        each = np.float32(int(q.shape[-1]) ** -0.5)
        scores = self.matmul(q, self.transpose(k, (0, 1, 3, 2))) * each
        if mask is not None:
            scores = self.where(mask, scores, np.float32(-np.inf))
        return self.matmul(self.softmax(scores), v)

    def gates(self, x: Any, count: int) -> list[Any]:
        """Equal parts of the last axis."""
        size = int(x.shape[-1]) // count
        return [x[..., i * size : (i + 1) * size] for i in range(count)]

    def lstm_step(self, state: Any, given: Any, v: Any) -> Any:
        """The next output and cell of an LSTM, from what the input adds to the gates."""
        h, c = state
        i, f, g, o = self.gates(given + self.linear(h, v["u"]), 4)
        c = self.sigmoid(f) * c + self.sigmoid(i) * self.tanh(g)
        return self.sigmoid(o) * self.tanh(c), c

    def gru_step(self, h: Any, given: Any, v: Any) -> Any:
        """The next output of a GRU, from what the input adds to the gates."""
        r, z, n = self.gates(given, 3)
        a, b, c = self.gates(self.dense(h, v["u"], v["c"]), 3)
        z = self.sigmoid(z + b)
        n = self.tanh(n + self.sigmoid(r + a) * c)
        return n + z * (h - n)

    def lstm(self, x: Any, v: Any) -> Any:
        """The last output of an LSTM; ``x`` is (steps, batch, width)."""
        inputs = self.dense(x, v["w"], v["b"])
        state = (self.zeros(x, v), self.zeros(x, v))
        for step in range(int(x.shape[0])):
            state = self.lstm_step(state, inputs[step], v)
        return state[0]

    def gru(self, x: Any, v: Any) -> Any:
        """The last output of a GRU; ``x`` is (steps, batch, width)."""
        inputs = self.dense(x, v["w"], v["b"])
        h = self.zeros(x, v)
        for step in range(int(x.shape[0])):
            h = self.gru_step(h, inputs[step], v)
        return h

    def zeros(self, x: Any, v: Any) -> Any:
        """The state before the first step."""
        return np.zeros((int(x.shape[1]), int(v["u"].shape[1])), np.float32)


class TorchOperations(Operations):
    """PyTorch, with its fused functions where there are any."""

    def __init__(self, torch: Any) -> None:
        self._torch, self._f = torch, torch.nn.functional
        self.sum, self.mean, self.stack = torch.sum, torch.mean, torch.stack
        self.tanh, self.sin, self.sigmoid = torch.tanh, torch.sin, torch.sigmoid
        self.matmul, self.relu, self.maximum = torch.matmul, torch.relu, torch.maximum
        self.exp, self.log, self.where = torch.exp, torch.log, torch.where
        self.reshape, self.gelu, self.softplus = torch.reshape, self._f.gelu, self._f.softplus
        self.cross_entropy, self.linear, self.dense = (
            self._f.cross_entropy, self._f.linear, self._f.linear,
        )  # fmt: skip

    def stop_gradient(self, x: Any) -> Any:
        return x.detach()

    def log_sum_exp(self, x: Any, axis: int) -> Any:
        return self._torch.logsumexp(x, axis)

    def transpose(self, x: Any, axes: Any) -> Any:
        return x.permute(axes)

    def softmax(self, x: Any) -> Any:
        return self._f.softmax(x, -1)

    def conv(self, x: Any, w: Any) -> Any:
        return self._f.conv2d(x, w, padding=1)

    def max_pool(self, x: Any) -> Any:
        return self._f.max_pool2d(x, 2)

    def layer_norm(self, x: Any, weight: Any, bias: Any) -> Any:
        return self._f.layer_norm(x, x.shape[-1:], weight, bias)

    def attend(self, q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        return self._f.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    def embed(self, weight: Any, indices: Any) -> Any:
        return self._f.embedding(indices, weight)

    def binary(self, logits: Any, targets: Any) -> Any:
        return self._f.binary_cross_entropy_with_logits(logits, targets, reduction="sum")

    def grouped(self, x: Any, weight: Any, groups: int) -> Any:
        return self._f.conv2d(x, weight, padding=weight.shape[-1] // 2, groups=groups)

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


class JaxOperations(Operations):
    """JAX, under jit."""

    def __init__(self, jax: Any) -> None:
        jnp, self._jax = jax.numpy, jax
        self.sum, self.mean, self.stack = jnp.sum, jnp.mean, jnp.stack
        self.tanh, self.sin, self.maximum = jnp.tanh, jnp.sin, jnp.maximum
        self.exp, self.log, self.where, self.root = jnp.exp, jnp.log, jnp.where, jnp.sqrt
        self.sigmoid, self.relu, self.softmax = jax.nn.sigmoid, jax.nn.relu, jax.nn.softmax
        self.matmul, self.reshape, self.transpose = jnp.matmul, jnp.reshape, jnp.transpose
        self.stop_gradient, self.softplus = jax.lax.stop_gradient, jax.nn.softplus

    def gelu(self, x: Any) -> Any:
        return self._jax.nn.gelu(x, approximate=False)

    def log_sum_exp(self, x: Any, axis: int) -> Any:
        return self._jax.nn.logsumexp(x, axis)

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        scores = self._jax.nn.log_softmax(logits)
        return -self._jax.numpy.take_along_axis(scores, labels[:, None], 1).mean()

    def conv(self, x: Any, w: Any) -> Any:
        return self._jax.lax.conv(x, w, (1, 1), "SAME")

    def grouped(self, x: Any, weight: Any, groups: int) -> Any:
        return self._jax.lax.conv_general_dilated(
            x, weight, (1, 1), "SAME", feature_group_count=groups
        )

    def max_pool(self, x: Any) -> Any:
        return self._jax.lax.reduce_window(
            x, -np.inf, self._jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"
        )

    def layer_norm(self, x: Any, weight: Any, bias: Any) -> Any:
        away = x - x.mean(-1, keepdims=True)
        scale = self._jax.lax.rsqrt((away * away).mean(-1, keepdims=True) + 1e-5)
        return away * scale * weight + bias

    def gradient(self, function: Any, x: Any) -> Any:
        return self._jax.grad(lambda x: function(x).sum())(x)

    def lstm(self, x: Any, v: Any) -> Any:
        state = (self.zeros(x, v), self.zeros(x, v))
        inputs = self.dense(x, v["w"], v["b"])
        return self._jax.lax.scan(
            lambda state, given: (self.lstm_step(state, given, v), None), state, inputs
        )[0][0]

    def gru(self, x: Any, v: Any) -> Any:
        inputs = self.dense(x, v["w"], v["b"])
        return self._jax.lax.scan(
            lambda h, given: (self.gru_step(h, given, v), None), self.zeros(x, v), inputs
        )[0]


class AutogradOperations(Operations):
    """HIPS autograd on numpy; has no convolution."""

    def __init__(self, anp: Any) -> None:
        self._np = anp
        self.sum, self.mean = anp.sum, anp.mean
        self.tanh, self.sin, self.maximum = anp.tanh, anp.sin, anp.maximum
        self.exp, self.log, self.where, self.root = anp.exp, anp.log, anp.where, anp.sqrt
        self.matmul, self.reshape, self.transpose = anp.matmul, anp.reshape, anp.transpose

    def total(self, x: Any, axis: Any, keepdims: bool = False) -> Any:
        return self._np.sum(x, axis, keepdims=keepdims)

    def middle(self, x: Any, axis: Any, keepdims: bool = False) -> Any:
        return self._np.mean(x, axis, keepdims=keepdims)

    def stop_gradient(self, x: Any) -> Any:
        while hasattr(x, "_value"):
            x = x._value
        return x

    def log_sum_exp(self, x: Any, axis: int) -> Any:
        special: Any = importlib.import_module("autograd.scipy.special")
        return special.logsumexp(x, axis)

    def stack(self, parts: Any) -> Any:
        return self._np.concatenate([self._np.reshape(part, (1,)) for part in parts])

    def sigmoid(self, x: Any) -> Any:
        return 1 / (1 + self._np.exp(-x))

    def softplus(self, x: Any) -> Any:
        return self._np.logaddexp(np.float32(0), x)

    def relu(self, x: Any) -> Any:
        return self._np.maximum(x, 0)

    def softmax(self, x: Any) -> Any:
        e = self._np.exp(x - self._np.max(x, axis=-1, keepdims=True))
        return e / self._np.sum(e, axis=-1, keepdims=True)

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        top = self._np.max(logits, axis=-1, keepdims=True)
        total = self._np.log(self._np.sum(self._np.exp(logits - top), -1)) + top[:, 0]
        return self._np.mean(total - logits[np.arange(len(labels)), labels])

    def gradient(self, function: Any, x: Any) -> Any:
        return importlib.import_module("autograd").elementwise_grad(function)(x)


class TensorFlowOperations(Operations):
    """TensorFlow, in a tf.function."""

    def __init__(self, tf: Any) -> None:
        self._tf = tf
        self.sum, self.mean, self.stack = tf.reduce_sum, tf.reduce_mean, tf.stack
        self.total, self.middle = tf.reduce_sum, tf.reduce_mean
        self.tanh, self.sin, self.maximum = tf.tanh, tf.sin, tf.maximum
        self.exp, self.log, self.where, self.root = tf.exp, tf.math.log, tf.where, tf.sqrt
        self.sigmoid, self.relu, self.softmax = tf.sigmoid, tf.nn.relu, tf.nn.softmax
        self.reshape, self.transpose, self.matmul = tf.reshape, tf.transpose, tf.matmul
        self.stop_gradient, self.softplus = tf.stop_gradient, tf.nn.softplus

    def gelu(self, x: Any) -> Any:
        return self._tf.nn.gelu(x, approximate=False)

    def log_sum_exp(self, x: Any, axis: int) -> Any:
        return self._tf.reduce_logsumexp(x, axis)

    def linear(self, x: Any, weight: Any) -> Any:
        return self._tf.tensordot(x, weight, ((-1,), (1,)))

    def embed(self, weight: Any, indices: Any) -> Any:
        return self._tf.nn.embedding_lookup(weight, indices)

    def binary(self, logits: Any, targets: Any) -> Any:
        return self.sum(self._tf.nn.sigmoid_cross_entropy_with_logits(targets, logits))

    def normalised(self, x: Any) -> Any:
        return self._tf.math.l2_normalize(x, -1)

    def layer_norm(self, x: Any, weight: Any, bias: Any) -> Any:
        mean, variance = self._tf.nn.moments(x, -1, keepdims=True)
        return self._tf.nn.batch_normalization(x, mean, variance, bias, weight, 1e-5)

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        loss = self._tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        return self._tf.reduce_mean(loss)

    def conv(self, x: Any, w: Any) -> Any:
        # Its CPU kernels know images with channels last alone.
        x, w = self.transpose(x, (0, 2, 3, 1)), self.transpose(w, (2, 3, 1, 0))
        return self.transpose(self._tf.nn.conv2d(x, w, 1, "SAME"), (0, 3, 1, 2))

    def grouped(self, x: Any, weight: Any, groups: int) -> Any:
        if groups == 1:
            return self.conv(x, weight)
        x = self.transpose(x, (0, 2, 3, 1))
        if groups == x.shape[-1]:
            w = self.transpose(weight, (2, 3, 0, 1))
            y = self._tf.nn.depthwise_conv2d(x, w, (1, 1, 1, 1), "SAME")
        else:  # the gradient of its grouped convolution has no CPU kernel
            w = self.transpose(weight, (2, 3, 1, 0))
            parts = zip(self._tf.split(x, groups, -1), self._tf.split(w, groups, -1), strict=True)
            y = self._tf.concat([self._tf.nn.conv2d(a, b, 1, "SAME") for a, b in parts], -1)
        return self.transpose(y, (0, 3, 1, 2))

    def max_pool(self, x: Any) -> Any:
        y = self._tf.nn.max_pool2d(self.transpose(x, (0, 2, 3, 1)), 2, 2, "VALID")
        return self.transpose(y, (0, 3, 1, 2))

    def gradient(self, function: Any, x: Any) -> Any:
        with self._tf.GradientTape() as tape:
            tape.watch(x)
            y = self.sum(function(x))
        return tape.gradient(y, x)


class PyTensorOperations(Operations):
    """PyTensor, compiled to C; has no convolution here."""

    def __init__(self, pt: Any, gradient: Any) -> None:
        self.sum, self.mean, self.stack = pt.sum, pt.mean, pt.stack
        self.tanh, self.sin, self.maximum = pt.tanh, pt.sin, pt.maximum
        self.exp, self.log, self.where, self.root = pt.exp, pt.log, pt.where, pt.sqrt
        self.sigmoid, self.matmul, self.reshape = pt.sigmoid, pt.matmul, pt.reshape
        self.stop_gradient, self.softplus = gradient.disconnected_grad, pt.softplus
        self._pt, self._grad = pt, gradient.grad

    def relu(self, x: Any) -> Any:
        return self._pt.maximum(x, np.float32(0))

    def gelu(self, x: Any) -> Any:
        return np.float32(0.5) * x * (1 + self._pt.erf(x * np.float32(0.5**0.5)))

    def softmax(self, x: Any) -> Any:
        return self._pt.special.softmax(x, axis=-1)

    def transpose(self, x: Any, axes: Any) -> Any:
        return x.transpose(*axes)

    def cross_entropy(self, logits: Any, labels: Any) -> Any:
        scores = self._pt.special.log_softmax(logits, axis=-1)
        return -self._pt.mean(scores[self._pt.arange(labels.shape[0]), labels])

    def gradient(self, function: Any, x: Any) -> Any:
        return self._grad(self.sum(function(x)), x)
