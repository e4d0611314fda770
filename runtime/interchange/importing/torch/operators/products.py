"""Linear layers, products of matrices, and attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings.shapes import swap
from gradwire.runtime.interchange.importing.torch.operators.creation import uniform_numbers
from gradwire.runtime.interchange.importing.torch.operators.shapes import (
    repeat_interleave,
    same,
)
from gradwire.runtime.interchange.importing.torch.operators.table import Operand, operator

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@operator("linear")
def linear(stage: Stage, x: Staged, weight: Staged, bias: Staged | None = None) -> Staged:
    """``x @ weight.T + bias``."""
    if weight.ndim == 2:
        return stage.block("Linear", x, weight, bias)
    y = stage.block("MatMul", x, weight)
    return y if bias is None else y + bias


@operator("matmul", "mm", "bmm", "mv", "linalg_matmul", "__matmul__")
def matmul(stage: Stage, a: Staged, b: Staged, *_: Any) -> Staged:
    """The product of matrices, or of stacks of them."""
    return stage.block("MatMul", a, b)


@operator("dot", "vdot", "inner")
def dot(stage: Stage, a: Staged, b: Staged) -> Staged:
    """The sum of products along the last axes."""
    return stage.block("MatMul", a, swap(b, -2, -1) if b.ndim > 1 else b)


@operator("outer", "ger")
def outer(stage: Stage, a: Staged, b: Staged) -> Staged:
    """All products of two elements."""
    return stage.block("Einsum", a, b, subscripts="i,j->ij")


@operator("addmm", "addmv", "addbmm", "baddbmm")
def addmm(
    stage: Stage, x: Staged, a: Staged, b: Staged, beta: Operand = 1, alpha: Operand = 1
) -> Staged:
    """``beta * x + alpha * a @ b``."""
    y = stage.block("MatMul", a, b)
    return _scaled(stage, x, beta) + _scaled(stage, y, alpha)


def _scaled(stage: Stage, x: Staged, factor: Operand) -> Staged:
    """``factor * x``; times 0 it is 0 even where x is no number, with gradient 0."""
    if factor == 0:
        return stage.block("Where", stage.constant(False), x, x.like(0))
    return x if factor == 1 else x * factor


@operator("addr")
def addr(
    stage: Stage, x: Staged, a: Staged, b: Staged, beta: Operand = 1, alpha: Operand = 1
) -> Staged:
    """``beta * x + alpha * outer(a, b)``."""
    y = outer(stage, a, b)
    return _scaled(stage, x, beta) + _scaled(stage, y, alpha)


@operator("linalg_cross")
def cross(stage: Stage, a: Staged, b: Staged, *, dim: int = -1) -> Staged:
    """The vectors at right angles to two, along an axis of length 3."""
    shape = np.broadcast_shapes(a.shape, b.shape)
    a, b = stage.broadcast(a, shape), stage.broadcast(b, shape)
    after, before = (1, 2, 0), (2, 0, 1)
    first = stage.take(a, after, dim) * stage.take(b, before, dim)
    return first - stage.take(a, before, dim) * stage.take(b, after, dim)


@operator("bilinear")
def bilinear(
    stage: Stage, a: Staged, b: Staged, weight: Staged, bias: Staged | None = None
) -> Staged:
    """``a @ weight[k] @ b`` for every k."""
    batch = _LETTERS[: a.ndim - 1]
    y = stage.block("Einsum", a, weight, b, subscripts=f"{batch}X,YXZ,{batch}Z->{batch}Y")
    return y if bias is None else y + bias


@operator("einsum")
def einsum(stage: Stage, equation: str, tensors: Sequence[Staged], path: Any = None) -> Staged:
    """The sum of products that an equation states; ``...`` stands for the axes around."""
    equation = equation.replace(" ", "")
    given, arrow, result = equation.partition("->")
    terms = given.split(",")
    free = [c for c in _LETTERS if c not in equation]
    named = [x.ndim - len(term.replace("...", "")) for term, x in zip(terms, tensors, strict=True)]
    most = max((n for n, term in zip(named, terms, strict=True) if "..." in term), default=0)
    around = "".join(free[:most])
    if not arrow:
        letters = given.replace(",", "").replace("...", "")
        once = sorted(c for c in set(letters) if letters.count(c) == 1)
        result = ("..." if "..." in given else "") + "".join(once)
    spelled = [
        term.replace("...", around[most - n :]) for n, term in zip(named, terms, strict=True)
    ]
    subscripts = ",".join(spelled) + "->" + result.replace("...", around)
    return stage.block("Einsum", *tensors, subscripts=subscripts)


@operator("scaled_dot_product_attention")
def attention(
    stage: Stage,
    query: Staged,
    key: Staged,
    value: Staged,
    attn_mask: Staged | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Staged:
    """``softmax(query @ key.T * scale + mask) @ value``; in parts where weights are dropped."""
    if enable_gqa:
        key, value = (_by_query(stage, x, query.shape[-3]) for x in (key, value))
    if not dropout_p and not (is_causal and attn_mask is not None):
        by = None if scale is None else float(scale)
        return stage.block(
            "Attention", query, key, value, attn_mask, causal=bool(is_causal), scale=by
        )
    by = query.shape[-1] ** -0.5 if scale is None else float(scale)
    scores = stage.block("MatMul", query, swap(key, -2, -1)) * by
    if is_causal:
        attn_mask = stage.constant(np.tri(query.shape[-2], key.shape[-2], dtype=bool))
    if attn_mask is not None and attn_mask.dtype == "bool":
        scores = stage.block("Where", attn_mask, scores, scores.like(-np.inf))
    elif attn_mask is not None:
        scores = scores + attn_mask
    weights = stage.block("Softmax", scores, axis=-1)
    return stage.block("MatMul", dropout(stage, weights, dropout_p, True), value)


def _by_query(stage: Stage, x: Staged, heads: int) -> Staged:
    """Heads of keys or values, each repeated for the queries in a row that share it."""
    shared = heads // x.shape[-3]
    return x if shared == 1 else repeat_interleave(stage, x, shared, -3)


@operator("dropout", "feature_dropout", "alpha_dropout", "native_dropout")
def dropout(stage: Stage, x: Staged, p: float, train: bool | None = True) -> Staged:
    """Some numbers set to 0 and the others enlarged, while training."""
    if not train or p == 0:
        return same(stage, x)
    kept = uniform_numbers(stage, x.shape, x.dtype) >= float(p)
    if p >= 1:
        return stage.block("Where", kept, x, x.like(0))
    return stage.block("Where", kept, x * (1 / (1 - float(p))), x.like(0))


@operator("_cdist_forward", "cdist")
def cdist(stage: Stage, a: Staged, b: Staged, p: float = 2.0, *_: Any) -> Staged:
    """The distance of each row of one from each row of the other."""
    _require_order(p)
    apart = stage.reshape(a, (*a.shape[:-1], 1, a.shape[-1])) - stage.reshape(
        b, (*b.shape[:-2], 1, *b.shape[-2:])
    )
    return _lengths(stage, apart, p)


@operator("_pdist_forward")
def pdist(stage: Stage, x: Staged, p: float = 2.0) -> Staged:
    """The distance of each row from each one after it."""
    _require_order(p)
    first, second = np.triu_indices(x.shape[0], 1)
    return _lengths(stage, stage.take(x, first, 0) - stage.take(x, second, 0), p)


def _require_order(p: float) -> None:
    if p not in (1, 2):
        raise UnsupportedError("a distance", f"of order {p}")


def _lengths(stage: Stage, x: Staged, p: float) -> Staged:
    """The norms of rows, of order 1 or 2."""
    if p == 2:
        return stage.block("Norm", x, axis=(-1,))
    return stage.block("Sum", stage.block("Abs", x), axis=(-1,))


@operator("linalg_inv", "inverse")
def inverse(stage: Stage, x: Staged) -> Staged:
    """The inverse matrix."""
    return stage.block("Inverse", x)


@operator("linalg_inv_ex")
def inverse_ex(stage: Stage, x: Staged, *_: Any, **__: Any) -> list[Staged | None]:
    """The inverse matrix, and 0 for each that there is."""
    return [inverse(stage, x), stage.constant(np.zeros(x.shape[:-2], np.int32))]


@operator("linalg_solve")
def solve(stage: Stage, a: Staged, b: Staged, *, left: bool = True) -> Staged:
    """The x of ``a @ x = b``, or of ``x @ a = b``; rows of b are vectors where they are as many."""
    if b.ndim == 1 or b.shape == a.shape[:-1]:
        columns = solve(stage, a, stage.reshape(b, (*b.shape, 1)), left=True)
        return stage.reshape(columns, columns.shape[:-1])
    if left:
        return stage.block("Solve", a, b)
    turned = solve(stage, swap(a, -2, -1), swap(b, -2, -1))
    return swap(turned, -2, -1)


@operator("linalg_solve_triangular")
def solve_triangular(
    stage: Stage,
    a: Staged,
    b: Staged,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Staged:
    """The x of ``a @ x = b``, or of ``x @ a = b``, with one triangle of a."""
    a = _triangle(stage, a, upper, unitriangular)
    if left:
        return stage.block("Solve", a, b)
    turned = stage.block("Solve", swap(a, -2, -1), swap(b, -2, -1))
    return swap(turned, -2, -1)


def _triangle(stage: Stage, x: Staged, upper: bool, ones: bool = False) -> Staged:
    """One triangle of a matrix, with ones on the diagonal if it is to have them."""
    part = "upper" if upper else "lower"
    offset = 0 if not ones else 1 if upper else -1
    kept = stage.block("Triangle", x, part=part, offset=offset)
    return kept + stage.constant(np.eye(x.shape[-1], dtype=x.dtype)) if ones else kept


@operator("triangular_solve")
def triangular_solve(
    stage: Stage,
    b: Staged,
    a: Staged,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> list[Staged | None]:
    """The x of ``a @ x = b`` with one triangle of a, or with that turned."""
    a = _triangle(stage, a, upper, unitriangular)
    a = swap(a, -2, -1) if transpose else a
    return [stage.block("Solve", a, b), None]


@operator("cholesky_solve")
def cholesky_solve(stage: Stage, b: Staged, root: Staged, upper: bool = False) -> Staged:
    """The x of ``root @ root.T @ x = b``, or of ``root.T @ root @ x = b`` for an upper root."""
    _require_triangle(stage, root, upper)
    turned = swap(root, -2, -1)
    outer, inner = (turned, root) if upper else (root, turned)
    return stage.block("Solve", inner, stage.block("Solve", outer, b))


def _require_triangle(stage: Stage, root: Staged, upper: bool) -> None:
    """PyTorch reads a triangle, and gives gradient to the whole matrix: both agree for a root."""
    known = stage.example(root)
    if known is None or (np.tril(known, -1) if upper else np.triu(known, 1)).any():
        raise UnsupportedError("a Cholesky root", "it is not known to be triangular")


@operator("cholesky_inverse")
def cholesky_inverse(stage: Stage, root: Staged, upper: bool = False) -> Staged:
    """The inverse of ``root @ root.T``, or of ``root.T @ root`` for an upper root."""
    _require_triangle(stage, root, upper)
    inverted = stage.block("Inverse", root)
    turned = swap(inverted, -2, -1)
    return inverted @ turned if upper else turned @ inverted


@operator("linalg_cholesky", "cholesky")
def cholesky(stage: Stage, x: Staged, upper: bool = False) -> Staged:
    """The triangular root of a matrix."""
    root = stage.block("Cholesky", x)
    return swap(root, -2, -1) if upper else root


@operator("linalg_cholesky_ex")
def cholesky_ex(stage: Stage, x: Staged, *, upper: bool = False, **_: Any) -> list[Staged | None]:
    """The triangular root of a matrix, and 0 for each that there is."""
    return [cholesky(stage, x, upper), stage.constant(np.zeros(x.shape[:-2], np.int32))]


@operator("linalg_det", "det")
def determinant(stage: Stage, x: Staged) -> Staged:
    """The determinant."""
    return stage.block("Determinant", x)


@operator("linalg_slogdet", "slogdet")
def sign_and_logarithm(stage: Stage, x: Staged) -> list[Staged]:
    """The sign of the determinant, and the logarithm of its size."""
    logarithm = stage.block("LogDeterminant", x)
    root = stage.block("Exp", logarithm * (1 / max(1, x.shape[-1])))
    scaled = x / stage.reshape(root, (*root.shape, 1, 1))  # whose determinant is 1 or -1
    sign = stage.block("Round", stage.block("Determinant", scaled))
    return [sign, logarithm]


@operator("logdet")
def log_determinant(stage: Stage, x: Staged) -> Staged:
    """The logarithm of the determinant; NaN for one below 0."""
    sign, logarithm = sign_and_logarithm(stage, x)
    return stage.block("Where", sign < 0, logarithm.like(np.nan), logarithm)
