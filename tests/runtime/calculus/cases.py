"""One case or more for every primitive: a call through xp, inputs, and a formula in numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.calculus.primitives.convolution import Geometry

if TYPE_CHECKING:
    from tests.runtime.calculus.tracing import Array


@dataclass(frozen=True)
class Case:
    """``call(xp, *inputs)`` uses ``primitive`` and is ``formula(*inputs)``.

    ``open`` says by input whether gradient passes; ``surrogate`` means that it is no derivative.
    ``dtypes`` are those that the float inputs may have besides float64.
    """

    primitive: str
    call: Callable[..., Any]
    inputs: tuple[Array, ...]
    formula: Callable[..., Any]
    open: tuple[bool, ...] = (True,)
    surrogate: bool = False
    dtypes: tuple[str, ...] = ("float16", "float32")
    name: str = ""

    def __str__(self) -> str:
        return self.name or self.primitive


RANDOM = np.random.default_rng(7)


def draw(*shape: int) -> Array:
    """Normal numbers; no two are alike, none is at a kink."""
    return RANDOM.normal(size=shape)


def positive(*shape: int) -> Array:
    return 0.5 + RANDOM.random(shape)


def whole(*shape: int) -> Array:
    return RANDOM.integers(-20, 20, shape)


def yes_no(*shape: int) -> Array:
    return RANDOM.random(shape) < 0.5


def _unary(name: str, formula: Any, x: Array, **more: Any) -> Case:
    return Case(name, lambda xp, x: getattr(xp, name)(x), (x,), formula, **more)


def _binary(name: str, formula: Any, a: Array, b: Array, open_: Any = (True, True)) -> Case:
    return Case(name, lambda xp, a, b: getattr(xp, name)(a, b), (a, b), formula, open_)


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


_erf = np.vectorize(math.erf, otypes=[float])

ARITHMETIC = [
    _binary("add", lambda a, b: a + b, draw(2, 3), draw(3)),
    _binary("subtract", lambda a, b: a - b, draw(3), draw(1, 3)),
    _binary("multiply", lambda a, b: a * b, draw(2, 1), draw(1, 3)),
    _binary("divide", lambda a, b: a / b, draw(2, 3), positive(2, 1)),
    _binary("floor_divide", lambda a, b: np.floor(a / b), 9 * draw(2, 3), positive(3)),
    _binary("remainder", lambda a, b: a - b * np.floor(a / b), 9 * draw(2, 3), positive(3)),
    _binary("power", lambda a, b: np.exp(b * np.log(a)), positive(2, 3), draw(3)),
    _binary("maximum", lambda a, b: np.where(a > b, a, b), draw(2, 3), draw(3)),
    _binary("minimum", lambda a, b: np.where(a < b, a, b), draw(2, 3), draw()),
    _binary("arctan2", lambda a, b: np.angle(b + 1j * a), draw(2, 3), draw(3)),
]
FUNCTIONS = [
    _unary("negative", lambda x: 0 - x, draw(3)),
    _unary("abs", lambda x: np.sqrt(x * x), draw(5)),
    _unary("square", lambda x: x * x, draw(2, 3)),
    _unary("sqrt", lambda x: x**0.5, positive(4)),
    _unary("exp", lambda x: np.e**x, draw(4)),
    _unary("expm1", lambda x: np.exp(x) - 1, draw(4)),
    _unary("log", lambda x: np.log2(x) / np.log2(np.e), positive(4)),
    _unary("log1p", lambda x: np.log(1 + x), positive(4)),
    _unary("sin", lambda x: np.exp(1j * x).imag, draw(4)),
    _unary("cos", lambda x: np.exp(1j * x).real, draw(4)),
    _unary("tan", lambda x: np.sin(x) / np.cos(x), draw(4)),
    _unary("arcsin", lambda x: np.angle(np.sqrt(1 - x * x) + 1j * x), 0.9 * np.sin(draw(4))),
    _unary("arccos", lambda x: np.angle(x + 1j * np.sqrt(1 - x * x)), 0.9 * np.sin(draw(4))),
    _unary("arctan", lambda x: np.angle(1 + 1j * x), draw(4)),
    _unary("sinh", lambda x: (np.exp(x) - np.exp(-x)) / 2, draw(4)),
    _unary("cosh", lambda x: (np.exp(x) + np.exp(-x)) / 2, draw(4)),
    _unary("arcsinh", lambda x: np.log(x + np.sqrt(x * x + 1)), draw(4)),
    _unary("arccosh", lambda x: np.log(x + np.sqrt(x * x - 1)), 1 + positive(4)),
    _unary("arctanh", lambda x: np.log((1 + x) / (1 - x)) / 2, 0.9 * np.sin(draw(4))),
    _unary("tanh", lambda x: 2 * _sigmoid(2 * x) - 1, draw(4)),
    _unary("sigmoid", _sigmoid, draw(4)),
    _unary("softplus", lambda x: np.log(1 + np.exp(x)), draw(4)),
    _unary("relu", lambda x: x * (x > 0), draw(6)),
    _unary("erf", _erf, draw(5)),
    _unary("sign", lambda x: x / np.abs(x), draw(4)),
    _unary("floor", lambda x: x - x % 1, draw(4)),
    _unary("ceil", lambda x: x + (-x) % 1, draw(4)),
    _unary("round", lambda x: np.floor(x + 0.5), draw(4)),
    Case(
        "clip", lambda xp, x: xp.clip(x, -0.5, 0.75), (draw(9),),
        lambda x: np.minimum(np.maximum(x, -0.5), 0.75),
    ),
    Case("clip", lambda xp, x: xp.clip(x, None, 0.0), (draw(4),), lambda x: np.minimum(x, 0)),
]  # fmt: skip

SHUT = (False, False)
LOGIC = [
    _binary("equal", lambda a, b: ~((a < b) | (a > b)), np.array([1.0, 2.0]), np.ones(2), SHUT),
    _binary("not_equal", lambda a, b: (a < b) | (a > b), np.array([1.0, 2.0]), np.ones(2), SHUT),
    _binary("less", lambda a, b: b > a, draw(2, 3), draw(3), SHUT),
    _binary("less_equal", lambda a, b: ~(a > b), draw(2, 3), draw(3), SHUT),
    _binary("greater", lambda a, b: b < a, draw(2, 3), draw(3), SHUT),
    _binary("greater_equal", lambda a, b: ~(a < b), draw(2, 3), draw(3), SHUT),
    _binary("logical_and", lambda a, b: a & b, yes_no(2, 9), yes_no(9), SHUT),
    _binary("logical_or", lambda a, b: a | b, yes_no(2, 9), yes_no(9), SHUT),
    _binary("logical_xor", lambda a, b: a != b, yes_no(2, 9), yes_no(9), SHUT),
    _unary("logical_not", lambda x: x ^ True, yes_no(9), open=(False,)),
    _unary("isnan", lambda x: ~(x <= np.inf), np.array([np.nan, np.inf, 1.0]), open=(False,)),
    _unary("isfinite", lambda x: np.abs(x) < np.inf, np.array([np.nan, -np.inf, 1.0]),
           open=(False,)),
    _binary("bitwise_and", lambda a, b: a & b, whole(5), whole(5), SHUT),
    _binary("bitwise_or", lambda a, b: a | b, whole(5), whole(5), SHUT),
    _binary("bitwise_xor", lambda a, b: a ^ b, whole(2, 5), whole(5), SHUT),
    _binary("left_shift", lambda a, b: a * 2**b, whole(5), np.arange(5), SHUT),
    _binary("right_shift", lambda a, b: a // 2**b, whole(5), np.arange(5), SHUT),
    Case(
        "where", lambda xp, c, a, b: xp.where(c, a, b), (yes_no(2, 3), draw(3), draw(2, 1)),
        lambda c, a, b: c * a + (1 - c) * b, (False, True, True),
    ),
]  # fmt: skip


def _logsumexp(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
    return np.log(np.exp(x).sum(axis, keepdims=keepdims))


REDUCTIONS = [
    Case("sum", lambda xp, x: xp.sum(x, (0, -1)), (draw(2, 3, 2),),
         lambda x: np.einsum("ijk->j", x)),
    Case("sum", lambda xp, x: xp.sum(x, 1, keepdims=True), (draw(2, 3),),
         lambda x: (x @ np.ones(3))[:, None], name="sum, keepdims"),
    Case("sum", lambda xp, x: xp.mean(x, 0), (draw(4, 2),), lambda x: np.ones(4) @ x / 4,
         name="mean"),
    Case("max", lambda xp, x: xp.max(x, 1), (draw(3, 4),), lambda x: np.sort(x, 1)[:, -1]),
    Case("min", lambda xp, x: xp.min(x), (draw(3, 4),), lambda x: np.sort(x, None)[0]),
    Case("logsumexp", lambda xp, x: xp.logsumexp(x, 0), (draw(3, 4),),
         lambda x: _logsumexp(x, 0)),
    Case("softmax", lambda xp, x: xp.softmax(x, 0), (draw(3, 2),),
         lambda x: np.exp(x) / np.exp(x).sum(0)),
    Case("log_softmax", lambda xp, x: xp.log_softmax(x), (draw(3, 2),),
         lambda x: x - _logsumexp(x, 1, True)),
    Case("cumulative_sum", lambda xp, x: xp.cumulative_sum(x, 1), (draw(2, 4),),
         lambda x: x @ np.triu(np.ones((4, 4)))),
    Case("concat", lambda xp, x: xp.prod(x, 1), (draw(2, 5),),
         lambda x: x[:, 0] * x[:, 1] * x[:, 2] * x[:, 3] * x[:, 4], name="prod"),
    Case("where", lambda xp, x: xp.norm(x, 1), (draw(2, 3),), lambda x: (x * x).sum(1) ** 0.5,
         name="norm"),
    Case("any", lambda xp, x: xp.any(x, 0), (yes_no(2, 9),), lambda x: x.sum(0) > 0, (False,)),
    Case("all", lambda xp, x: xp.all(x, 0), (yes_no(2, 9),), lambda x: x.sum(0) == 2, (False,)),
    Case("argmax", lambda xp, x: xp.argmax(x, 1), (draw(3, 5),),
         lambda x: np.argsort(x, 1)[:, -1], (False,)),
    Case("argmin", lambda xp, x: xp.argmin(x), (draw(3, 5),), lambda x: np.argsort(x, None)[0],
         (False,)),
]  # fmt: skip

_PLACES = np.array([[2, -1], [0, 2]])
_COLUMNS = np.array([[2, 0], [-1, 1]])


def _scattered(x: Array, i: Array, u: Array) -> Array:
    result = np.array(x)
    for place in np.ndindex(i.shape):
        result[:, i[place]] += u[(slice(None), *place)]
    return result


def _added_along(x: Array, i: Array, u: Array) -> Array:
    result = np.array(x)
    for row, column in np.ndindex(i.shape):
        result[row, i[row, column]] += u[row, column]
    return result


def _along(name: str, write: Callable[[Any, Any], Any]) -> Case:
    """A case of repeated indices, and of rows without one."""

    def formula(x: Array, i: Array, u: Array) -> Array:
        result = np.array(x)
        for place in np.ndindex(i.shape):
            result[place[0], i[place]] = write(result[place[0], i[place]], u[place])
        return result

    return Case(name, lambda xp, x, i, u: getattr(xp, name)(x, i, u, 1),
                (draw(3, 3), np.array([[2, 0, 2], [-1, 1, 0]]), draw(2, 3)), formula,
                (True, False, True))  # fmt: skip


SHAPES = [
    Case("permute_dims", lambda xp, x: xp.permute_dims(x, (2, 0, 1)), (draw(2, 3, 4),),
         lambda x: np.einsum("ijk->kij", x)),
    Case("flip", lambda xp, x: xp.flip(x, 1), (draw(2, 3),), lambda x: x[:, [2, 1, 0]]),
    Case("slice", lambda xp, x: x[..., -2, 5:0:-2], (draw(2, 3, 6),),
         lambda x: x[:, 1, [5, 3, 1]]),
    Case("slice", lambda xp, x: xp.slice_(x, (1, 0), (2, -1)), (draw(4, 3),),
         lambda x: x[[1, 2]], name="slice_"),
    Case("embed", lambda xp, x: xp.pad(x, ((1, 0), (0, 2)), 9), (draw(2, 2),),
         lambda x: np.array([[9] * 4, [x[0, 0], x[0, 1], 9, 9], [x[1, 0], x[1, 1], 9, 9]])),
    Case("concat", lambda xp, *x: xp.concat(x, 1), (draw(2, 1), draw(2, 3), draw(2, 2)),
         lambda *x: np.hstack(x), (True, True, True)),
    Case("concat", lambda xp, *x: xp.stack(x, -1), (draw(2, 3), draw(2, 3)),
         lambda a, b: np.array([a, b]).transpose(1, 2, 0), (True, True), name="stack"),
    Case("reshape", lambda xp, x: xp.reshape(x, (3, -1)), (draw(2, 6),),
         lambda x: np.array([*x.flat]).reshape(3, 4)),
    Case("broadcast_to", lambda xp, x: xp.broadcast_to(x, (4, 2, 3)), (draw(2, 1),),
         lambda x: x * np.ones((4, 2, 3))),
    Case("take", lambda xp, x, i: xp.take(x, i, 1), (draw(2, 3), _PLACES),
         lambda x, i: np.array([[[row[j] for j in k] for k in i] for row in x]), (True, False)),
    Case("scatter_add", lambda xp, x, i, u: xp.scatter_add(x, i, u, 1),
         (draw(2, 3), _PLACES, draw(2, 2, 2)), _scattered, (True, False, True)),
    Case("take_along_axis", lambda xp, x, i: xp.take_along_axis(x, i, 1), (draw(2, 3), _COLUMNS),
         lambda x, i: np.array([row[k] for row, k in zip(x, i, strict=True)]), (True, False)),
    Case("add_along_axis", lambda xp, x, i, u: xp.add_along_axis(x, i, u, 1),
         (draw(2, 3), _COLUMNS, draw(2, 2)), _added_along, (True, False, True)),
    _along("set_along_axis", lambda old, new: new),
    _along("multiply_along_axis", lambda old, new: old * new),
    _along("maximum_along_axis", lambda old, new: old if old > new else new),
    _along("minimum_along_axis", lambda old, new: old if old < new else new),
    Case("argsort", lambda xp, x: xp.argsort(x, 0), (draw(5, 2),),
         lambda x: (x[:, None] > x[None]).sum(1).argsort(0), (False,)),
    Case("take_along_axis", lambda xp, x: xp.sort(x, descending=True), (draw(2, 5),),
         lambda x: -np.sort(-x), name="sort"),
    Case("one_hot", lambda xp, i: xp.one_hot(i, 4, "float64"), (np.array([[3, 0], [4, -1]]),),
         lambda i: np.eye(6)[i][..., :4] * (i[..., None] >= 0), (False,)),
]  # fmt: skip

LINEAR = [
    _binary("matmul", lambda a, b: np.einsum("bij,jk->bik", a, b), draw(2, 3, 4), draw(4, 2)),
    Case("matmul", lambda xp, a, b: a @ b, (draw(4), draw(2, 4, 3)),
         lambda a, b: np.einsum("j,bjk->bk", a, b), (True, True), name="matmul, vector"),
    Case("matmul", lambda xp, a, b: a @ b, (draw(4), draw(4)),
         lambda a, b: (a * b).sum(), (True, True), name="matmul, dot"),
    Case("einsum", lambda xp, a, b, c: xp.einsum("ij,jkl,m->ki", a, b, c),
         (draw(2, 3), draw(3, 4, 2), draw(3)),
         lambda a, b, c: (a @ b.sum(2) * c.sum()).T, (True, True, True)),
]  # fmt: skip

_MATRICES = draw(2, 3, 3) + 3 * np.eye(3)
_POSITIVE = _MATRICES @ _MATRICES.swapaxes(1, 2)

MATRICES = [
    Case("inverse", lambda xp, x: xp.inverse(x), (_MATRICES,), np.linalg.inv),
    Case("solve", lambda xp, a, b: xp.solve(a, b), (_MATRICES, draw(3, 4)),
         lambda a, b: np.linalg.inv(a) @ b, (True, True)),
    Case("solve", lambda xp, a, b: xp.solve(a, b), (_MATRICES[0], draw(2, 3, 1)),
         lambda a, b: np.linalg.inv(a) @ b, (True, True), name="solve, batch on the right"),
    Case("cholesky", lambda xp, x: xp.cholesky(x), (_POSITIVE,),
         lambda x: np.linalg.cholesky((x + x.swapaxes(1, 2)) / 2)),
    Case("determinant", lambda xp, x: xp.determinant(x), (_MATRICES,), np.linalg.det),
    Case("log_determinant", lambda xp, x: xp.log_determinant(x), (-_MATRICES,),
         lambda x: np.log(-np.linalg.det(x))),
    Case("determinant_sign", lambda xp, x: xp.determinant_sign(x), (-_MATRICES,),
         lambda x: np.sign(np.linalg.det(x)), (False,)),
]  # fmt: skip

_GEOMETRY = Geometry((2, 3), (2, 1), ((1, 0), (0, 2)), (1, 2))
_IMAGE, _FILTERS, _OUTPUT = (2, 4, 4, 5), (6, 2, 2, 3), (2, 6, 2, 3)
_HOW = {"geometry": _GEOMETRY, "groups": 2}


def _taps() -> Any:
    """(filter, channel of the weights, window place) and (row, column, padded row, column)."""
    for o, c, i, j in np.ndindex(_FILTERS):
        for r, q in np.ndindex(_OUTPUT[2:]):
            yield o, c, i, j, r, q, r * 2 + i - 1, q + j * 2, o // 3 * 2 + c


def _inside(y: int, x: int) -> bool:
    return 0 <= y < _IMAGE[2] and 0 <= x < _IMAGE[3]


def _convolved(x: Array, w: Array) -> Array:
    out = np.zeros(_OUTPUT)
    for o, c, i, j, r, q, y, z, channel in _taps():
        if _inside(y, z):
            out[:, o, r, q] += w[o, c, i, j] * x[:, channel, y, z]
    return out


def _back_to_image(g: Array, w: Array) -> Array:
    out = np.zeros(_IMAGE)
    for o, c, i, j, r, q, y, z, channel in _taps():
        if _inside(y, z):
            out[:, channel, y, z] += w[o, c, i, j] * g[:, o, r, q]
    return out


def _back_to_weights(x: Array, g: Array) -> Array:
    out = np.zeros(_FILTERS)
    for o, c, i, j, r, q, y, z, channel in _taps():
        if _inside(y, z):
            out[o, c, i, j] += (g[:, o, r, q] * x[:, channel, y, z]).sum()
    return out


def _windows(x: Array) -> Array:
    out = np.full((2, 3, 2, 4, 2, 3), 5.0)
    for *_, i, j, r, q, y, z, channel in _taps():
        if _inside(y, z):
            out[i, j, :, channel, r, q] = x[:, channel, y, z]
    return out


def _folded(patches: Array) -> Array:
    out = np.zeros(_IMAGE)
    for r, q, i, j in np.ndindex(2, 3, 2, 3):
        y, z = r * 2 + i - 1, q + j * 2
        if _inside(y, z):
            out[:, :, y, z] += patches[i, j, :, :, r, q]
    return out


def _pooled(x: Array, function: Any, fill: float) -> Array:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0)), constant_values=fill)
    rows = [function(padded[:, :, r : r + 2, q : q + 3], (2, 3)) for r in (0, 2, 4) for q in (0, 2)]
    return np.stack(rows, -1).reshape(2, 4, 3, 2)


def _mixed(einsum: str) -> Any:
    """Products of single elements, of two groups of two channels and three filters."""

    def formula(a: Array, b: Array) -> Array:
        a, b = (x.reshape(2, 2, -1, 4, 5) if x.ndim == 4 and x.shape[2] > 1
                else x.reshape(2, 3, 2) for x in (a, b))  # fmt: skip
        found = np.einsum(einsum, a, b)
        return found.reshape((6, 2, 1, 1) if found.ndim == 3 else (2, -1, 4, 5))

    return formula


_SINGLE = {"geometry": Geometry((1, 1)), "groups": 2}

CONVOLUTION = [
    Case("conv2d",
         lambda xp, x, w: xp.conv2d(x, w, (2, 1), ((1, 0), (0, 2)), (1, 2), 2),
         (draw(*_IMAGE), draw(*_FILTERS)), _convolved, (True, True)),
    Case("conv2d_x", lambda xp, g, w: xp.conv2d_x(g, w, _IMAGE, **_HOW),
         (draw(*_OUTPUT), draw(*_FILTERS)), _back_to_image, (True, True)),
    Case("conv2d_w", lambda xp, x, g: xp.conv2d_w(x, g, _FILTERS, **_HOW),
         (draw(*_IMAGE), draw(*_OUTPUT)), _back_to_weights, (True, True)),
    Case("conv2d", lambda xp, x, w: xp.conv2d(x, w, groups=2),
         (draw(*_IMAGE), draw(6, 2, 1, 1)), _mixed("ngchw,gfc->ngfhw"), (True, True),
         name="conv2d of single elements"),
    Case("conv2d_x", lambda xp, g, w: xp.conv2d_x(g, w, _IMAGE, **_SINGLE),
         (draw(2, 6, 4, 5), draw(6, 2, 1, 1)), _mixed("ngfhw,gfc->ngchw"), (True, True),
         name="conv2d_x of single elements"),
    Case("conv2d_w", lambda xp, x, g: xp.conv2d_w(x, g, (6, 2, 1, 1), **_SINGLE),
         (draw(*_IMAGE), draw(2, 6, 4, 5)), _mixed("ngchw,ngfhw->gfc"), (True, True),
         name="conv2d_w of single elements"),
    Case("windows", lambda xp, x: xp.windows(x, _GEOMETRY, 5.0), (draw(*_IMAGE),), _windows),
    Case("fold", lambda xp, p: xp.fold(p, _IMAGE, _GEOMETRY), (draw(2, 3, 2, 4, 2, 3),), _folded),
    Case("windows", lambda xp, x: xp.max_pool(x, (2, 3), (2, 2), ((1, 1), (0, 0))),
         (draw(*_IMAGE),), lambda x: _pooled(x, np.max, -np.inf), name="max_pool"),
    Case("windows", lambda xp, x: xp.avg_pool(x, (2, 3), (2, 2), ((1, 1), (0, 0))),
         (draw(*_IMAGE),), lambda x: _pooled(x, np.mean, 0.0), name="avg_pool"),
]  # fmt: skip

GRADIENT = [
    Case("wire", lambda xp, x: xp.wire(x), (draw(3),), lambda x: x),
    Case("stop_gradient", lambda xp, x: xp.stop_gradient(x), (draw(3),), lambda x: x, (False,)),
    Case("surrogate", lambda xp, a, b: xp.surrogate(a, b), (draw(3), draw(3)),
         lambda a, b: a, (False, True), surrogate=True),
    Case("clip_gradient", lambda xp, x: xp.clip_gradient(x, 0.5, "norm"), (draw(4, 2),),
         lambda x: x, surrogate=True),
    Case("loss_head", lambda xp, x: xp.loss_head(x, 2.0, "batch"), (draw(4, 2),), lambda x: x,
         surrogate=True),
]  # fmt: skip

BASE = [
    Case("leaf", lambda xp, x: x, (draw(2),), lambda x: x),
    Case("constant", lambda xp, x: x + xp.asarray([1.0, 2.0]), (draw(2),),
         lambda x: x + np.arange(1, 3), dtypes=("float32",)),
    Case("cast", lambda xp, x: xp.astype(x, "float64"), (draw(3).astype("float16"),),
         lambda x: x.astype("float64"), dtypes=()),
    Case("cast", lambda xp, x: xp.astype(x, "int64"), (np.array([1.9, -1.9, 0.5]),),
         lambda x: np.array([1, -1, 0]), (False,), name="cast to integers"),
]  # fmt: skip

CASES = [*ARITHMETIC, *FUNCTIONS, *LOGIC, *REDUCTIONS, *SHAPES, *LINEAR, *MATRICES, *CONVOLUTION,
         *GRADIENT, *BASE]  # fmt: skip
