"""Linear layers, products of matrices, and attention."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings import products
from gradwire.runtime.interchange.importing.meanings.reductions import norm
from gradwire.runtime.interchange.importing.meanings.shapes import swap
from gradwire.runtime.interchange.importing.staged import put
from gradwire.runtime.interchange.importing.torch.operators.creation import uniform_numbers
from gradwire.runtime.interchange.importing.torch.operators.shapes import repeat_interleave
from gradwire.runtime.interchange.importing.torch.operators.table import Operand, enter

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.torch.operators.table import Operator


def _linear(x: Staged, weight: Staged, bias: Staged | None = None) -> Staged:
    if weight.ndim == 2:
        return put("Linear", x, weight, bias)
    return x @ weight if bias is None else x @ weight + bias


def _outer(a: Staged, b: Staged) -> Staged:
    return put("Einsum", a, b, subscripts="i,j->ij")


def _inner(a: Staged, b: Staged) -> Staged:
    """The sum of products along the last axis of both, for all the others of one and the other."""
    if not a.ndim or not b.ndim:
        return a * b
    if b.ndim == 1:
        return a @ b
    rows = b.stage.reshape(b, (math.prod(b.shape[:-1]), b.shape[-1]))
    return b.stage.reshape(a @ swap(rows, 0, 1), (*a.shape[:-1], *b.shape[:-1]))


def _added(product: Callable[[Staged, Staged], Staged]) -> Operator:
    """``beta * x + alpha * product(a, b)``."""

    def add(x: Staged, a: Staged, b: Staged, beta: Operand = 1, alpha: Operand = 1) -> Staged:
        y = product(a, b)
        return _scaled(x, beta) + _scaled(y, alpha)

    return add


def _scaled(x: Staged, factor: Operand) -> Staged:
    """``factor * x``; times 0 it is 0 even where x is no number, with gradient 0."""
    if factor == 0:
        return put("Where", x.stage.constant(False), x, x.like(0))
    return x if factor == 1 else x * factor


def _cross(a: Staged, b: Staged, *, dim: int = -1) -> Staged:
    """The vectors at right angles to two, along an axis of length 3."""
    shape = np.broadcast_shapes(a.shape, b.shape)
    stage = a.stage
    a, b = stage.broadcast(a, shape), stage.broadcast(b, shape)
    after, before = (1, 2, 0), (2, 0, 1)
    first = stage.take(a, after, dim) * stage.take(b, before, dim)
    return first - stage.take(a, before, dim) * stage.take(b, after, dim)


def _bilinear(a: Staged, b: Staged, weight: Staged, bias: Staged | None = None) -> Staged:
    """``a @ weight[k] @ b`` for every k."""
    y = products.einsum("...i,kij,...j->...k", [a, weight, b])
    return y if bias is None else y + bias


def _attention(
    query: Staged,
    key: Staged,
    value: Staged,
    attn_mask: Staged | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Staged:
    """Heads of keys and values may be shared by queries in a row."""
    shared = query.shape[-3] // key.shape[-3] if enable_gqa else 1
    if shared != 1:
        key, value = (repeat_interleave(x, shared, -3) for x in (key, value))
    by = None if scale is None else float(scale)
    drop = partial(dropout, p=dropout_p) if dropout_p else None
    return products.attention(query, key, value, attn_mask, bool(is_causal), by, drop)


def dropout(
    x: Staged, p: float, train: bool | None = True, by_channel: bool = False, alpha: bool = False
) -> Staged:
    """Some numbers, or channels, set to 0 and the others enlarged, while training.

    With ``alpha`` they are set to what a SELU tends to, and mean and variance stay.
    """
    if not train or p == 0:
        return x
    p, shape = float(p), (*x.shape[:2], *(1,) * (x.ndim - 2)) if by_channel else x.shape
    kept = uniform_numbers(x.stage, shape, x.dtype) >= p
    if p >= 1 or not alpha:
        return put("Where", kept, x if p >= 1 else x * (1 / (1 - p)), x.like(0))
    scale, dropped = scale_and_dropped(p)
    return put("Where", kept, x * scale + (dropped + SELU_LEAST * scale), x.like(dropped))


SELU_LEAST = 1.7580993408473766
"""What a SELU never falls below, without its sign."""


def scale_and_dropped(p: float) -> tuple[float, float]:
    """Of a dropout that keeps mean and variance: the scale, and what stands for a lost number."""
    scale = 1 / math.sqrt((SELU_LEAST**2 * p + 1) * (1 - p))
    return scale, SELU_LEAST * scale * (p - 1)


def _cdist(a: Staged, b: Staged, p: float = 2.0, *_: object) -> Staged:
    """The distance of each row of one from each row of the other."""
    stage = a.stage
    one = stage.reshape(a, (*a.shape[:-1], 1, a.shape[-1]))
    return norm(one - stage.reshape(b, (*b.shape[:-2], 1, *b.shape[-2:])), p, (-1,))


def _pdist(x: Staged, p: float = 2.0) -> Staged:
    """The distance of each row from each one after it."""
    first, second = np.triu_indices(x.shape[0], 1)
    return norm(x.stage.take(x, first, 0) - x.stage.take(x, second, 0), p, (-1,))


def _checked(y: Staged) -> list[Staged | None]:
    """A matrix, and 0 for each that there is."""
    return [y, y.stage.constant(np.zeros(y.shape[:-2], np.int32))]


def _root(root: Staged, upper: bool) -> Staged:
    """PyTorch reads a triangle, and gives gradient to the whole matrix: both agree for a root."""
    known = root.stage.example(root)
    if known is None or (np.tril(known, -1) if upper else np.triu(known, 1)).any():
        raise UnsupportedError("a Cholesky root", "it is not known to be triangular")
    return root


def _cholesky_solve(b: Staged, root: Staged, upper: bool = False) -> Staged:
    """The x of ``root @ root.T @ x = b``, or of ``root.T @ root @ x = b`` for an upper root."""
    turned = swap(_root(root, upper), -2, -1)
    outer, inner = (turned, root) if upper else (root, turned)
    return put("Solve", inner, put("Solve", outer, b))


def _cholesky_inverse(root: Staged, upper: bool = False) -> Staged:
    """The inverse of ``root @ root.T``, or of ``root.T @ root`` for an upper root."""
    inverted = put("Inverse", _root(root, upper))
    turned = swap(inverted, -2, -1)
    return inverted @ turned if upper else turned @ inverted


def _cholesky(x: Staged, upper: bool = False) -> Staged:
    root = put("Cholesky", x)
    return swap(root, -2, -1) if upper else root


def _sign_and_logarithm(x: Staged) -> list[Staged]:
    """The sign of the determinant, and the logarithm of its size."""
    size, sign = x.stage.blocks("LogDeterminant", x)
    return [sign, size]


def _log_determinant(x: Staged) -> Staged:
    """NaN for a determinant below 0."""
    sign, size = _sign_and_logarithm(x)
    return put("Where", sign < 0, size.like(np.nan), size)


enter({
    "linear": _linear,
    "matmul mm bmm mv linalg_matmul __matmul__": lambda a, b, *rest: a @ b,
    "dot vdot": lambda a, b: a @ b,
    "inner": _inner,
    "outer ger": _outer,
    "addmm addmv baddbmm": _added(lambda a, b: a @ b),
    "addbmm": _added(lambda a, b: put("Sum", a @ b, axis=(0,))),
    "addr": _added(_outer),
    "linalg_cross": _cross,
    "bilinear": _bilinear,
    "einsum": lambda equation, tensors, path=None: products.einsum(equation, tensors),
    "scaled_dot_product_attention": _attention,
    "dropout": dropout,
    "feature_dropout": partial(dropout, by_channel=True),
    "alpha_dropout": partial(dropout, alpha=True),
    "feature_alpha_dropout": partial(dropout, by_channel=True, alpha=True),
    "native_dropout": lambda *args: [dropout(*args), None],
    "_cdist_forward cdist": _cdist,
    "_pdist_forward": _pdist,
    "linalg_inv inverse": partial(put, "Inverse"),
    "linalg_inv_ex": lambda x, *rest, **more: _checked(put("Inverse", x)),
    "linalg_solve": lambda a, b, *, left=True: (
        products.solve(a, b) if left else products.solve_right(a, b)
    ),
    "linalg_solve_triangular": products.triangular_solve,
    "triangular_solve": lambda b, a, upper=True, transpose=False, unitriangular=False: [
        products.triangular_solve(a, b, upper, True, transpose, unitriangular), None
    ],
    "cholesky_solve": _cholesky_solve,
    "cholesky_inverse": _cholesky_inverse,
    "linalg_cholesky cholesky": _cholesky,
    "linalg_cholesky_ex": lambda x, *, upper=False, **more: _checked(_cholesky(x, upper)),
    "linalg_det det": partial(put, "Determinant"),
    "linalg_slogdet slogdet": _sign_and_logarithm,
    "logdet": _log_determinant,
})  # fmt: skip
