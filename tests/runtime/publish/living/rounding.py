"""The runtime with float32 that doesn't depend on the machine, to tell sentences by.

Libraries round float32 each in their own way: numpy's functions are off by up to four units in the
last place, by other units on each processor, and matrix products add up in the order of the
machine's registers. What is a rounding error, and what saturates to exactly 0, differs with them,
and so do sentences that count or show it. Here, as in the page, each function and each sum of
products is computed in float64, and rounded once. That the page's kernels are near the runtime's
own is tested by ``test_kernels``, values and gradients of diagrams by ``compare.js``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus import Value
from gradwire.runtime.engine import Session

Array = NDArray[Any]
ACCUMULATING = (
    "conv2d", "conv2d_x", "conv2d_w", "inverse", "solve", "cholesky", "determinant",
    "log_determinant",
)  # fmt: skip


def has_float32(session: Session) -> bool:
    """Whether anything is computed in it."""
    return any(value.dtype == "float32" for value in session.program.trace.values)


@contextmanager
def rounded_once() -> Iterator[None]:
    """Sessions that are made here round as the page does."""
    kernel = Value.kernel
    assert isinstance(kernel, property) and kernel.fget is not None
    own = kernel.fget

    def chosen(value: Value) -> Callable[..., Any]:
        primitive, is_scalar = value.primitive, not value.shape
        if value.dtype == "float32":
            if primitive.name in _KERNELS:
                return _KERNELS[primitive.name]
            if (primitive.transcendental and not is_scalar) or primitive.name in ACCUMULATING:
                return _in_float64(primitive.kernel)
        found: Callable[..., Any] = own(value)
        return found

    with mock.patch.object(Value, "kernel", property(chosen)):
        yield


def twin(session: Session) -> Session:
    """A session of the same diagram with the same values; to be made where it shall round so."""
    other = Session(session.diagram, fast=False)
    for path, leaf in session.program.leaves.items():
        if getattr(leaf.source, "kind", "literal") in ("variable", "input"):
            value = session._store.value(path, leaf)
            assert value is not None
            other.set(path, np.asarray(value))
    other.step_number = session.step_number
    return other


def _in_float64(kernel: Callable[..., Any]) -> Callable[..., None]:
    def call(*arrays: Array, out: Array, **attributes: Any) -> None:
        wide = np.empty(out.shape)
        kernel(*(array.astype(np.float64) for array in arrays), out=wide, **attributes)
        np.copyto(out, wide, casting="same_kind")

    return call


def _rounded(function: Callable[[Array], Array], x: Array) -> Array:
    return function(x.astype(np.float64)).astype(x.dtype)


def _sigmoid(x: Array, *, out: Array) -> None:
    out[...] = 1 / (1 + _rounded(np.exp, -x).astype(np.float64))


def _softmax(x: Array, *, out: Array, axis: int) -> None:
    parts = _rounded(np.exp, x - np.max(x, axis=axis, keepdims=True))
    np.divide(parts, np.add.reduce(parts, axis=axis, keepdims=True), out=out)


def _log_softmax(x: Array, *, out: Array, axis: int) -> None:
    shifted = x - np.max(x, axis=axis, keepdims=True)
    total = np.add.reduce(_rounded(np.exp, shifted), axis=axis, keepdims=True)
    np.subtract(shifted, _rounded(np.log, total), out=out)


def _logsumexp(x: Array, *, out: Array, axes: tuple[int, ...]) -> None:
    top = np.max(x, axis=axes, keepdims=True)
    shift = np.where(np.isfinite(top), top, x.dtype.type(0))
    total = np.add.reduce(_rounded(np.exp, x - shift), axis=axes, keepdims=True)
    np.add(_rounded(np.log, total), shift, out=out)


def _matmul(a: Array, b: Array, *, out: Array) -> None:
    """One product after the other, in the order of the inner dimension."""
    left, right, sums = a.astype(np.float64), b.astype(np.float64), np.zeros(out.shape)
    for k in range(a.shape[-1]):
        sums += left[..., :, k : k + 1] * right[..., k : k + 1, :]
    np.copyto(out, sums, casting="same_kind")


def _einsum(*arrays: Array, out: Array, terms: tuple[str, ...], output: str) -> None:
    """One product after the other, in the order of the letters that are summed."""
    letters = dict.fromkeys([*output, *"".join(terms)])
    products = np.einsum(f"{','.join(terms)}->{''.join(letters)}", *map(np.float64, arrays))
    flat = products.reshape(*out.shape, -1)
    np.copyto(out, np.add.accumulate(flat, axis=-1)[..., -1], casting="same_kind")


_KERNELS: dict[str, Callable[..., None]] = {
    "sigmoid": _sigmoid,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "matmul": _matmul,
    "einsum": _einsum,
}
