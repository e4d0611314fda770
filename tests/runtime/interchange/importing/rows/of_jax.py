"""Equations of small programs, each imported by its row, and JAX's own results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.ad_checkpoint
import jax.extend
import jax.numpy as jnp
import numpy as np
from jax import lax

from gradwire.runtime.interchange.importing.jax.jaxprs import CALLS, LazyBroadcast, block_dtype
from gradwire.runtime.interchange.importing.jax.operations import ELEMENTWISE, LAZY, WHOLE
from tests.runtime.interchange.importing.rows.comparing import (
    ARRAYS,
    Case,
    Found,
    Given,
    Refused,
    by_row,
    flat,
    random,
    weights,
)

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged

ROWS = sorted({*ELEMENTWISE, *LAZY, *WHOLE})
UNREACHED = {
    "cholesky": "by itself it leaves numbers above the diagonal: test_operations.py has it whole",
    **dict.fromkeys(
        ("copy_p", "pvary", "sharding_constraint"), "it moves numbers between devices, of which "
        "there is one"
    ),
    **dict.fromkeys(
        (
            *(name.replace("-", "_") for name in WHOLE if name.startswith("scatter-")),
            "eq_to", "le_to", "lt_to", "expand_dims", "log2", "one_minus_square", "polynomial",
        ),
        "a name of other versions of JAX",
    ),
}  # fmt: skip
"""Why rows are reached by no equation."""
_ONE = ("matrix", "equal", "whole", "special", "truth")
_TWO = (("matrix", "other"), ("cube", "matrix"), ("equal", "equal"), ("whole", "indices"),
        ("truth", "truth"), ("shares", "spread"))  # fmt: skip
_UNARY: tuple[Callable[..., Any], ...] = (
    lax.abs, lax.acos, lax.acosh, lax.asin, lax.asinh, lax.atan, lax.atanh, lax.cbrt, lax.ceil,
    lax.cos, lax.cosh, lax.erf, lax.erfc, lax.exp, lax.exp2, lax.expm1, lax.floor, lax.is_finite,
    lax.log, lax.log1p, lax.logistic, lax.neg, lax.rsqrt, lax.sign, lax.sin, lax.sinh, lax.sqrt,
    lax.square, lax.tan, lax.tanh, lax.bitwise_not, jnp.log2, jnp.exp2, jnp.copy,
    lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    lambda x: lax.reduce_precision(x, 5, 10), lambda x: lax.reduce_precision(x, 8, 23),
    *(partial(lax.integer_pow, y=y) for y in (-3, -1, 0, 1, 2, 5)),
    *(partial(lax.convert_element_type, new_dtype=dtype)
      for dtype in ("float16", "float32", "int32", "bool")),
    lambda x: lax.clamp(-0.5, x, 0.5), lambda x: lax.clamp(x - 1, x, x + 1),
    jnp.sum, jnp.prod, jnp.max, jnp.min, jnp.any, jnp.all, lambda x: x.sum(0), lambda x: x.max(-1),
    lambda x: x.min(0), lambda x: x.prod(-1), lambda x: x.all(0), lambda x: x.any(-1),
    *(partial(f, axis=axis) for f in (jnp.argmax, jnp.argmin) for axis in (0, -1)),
    *(partial(f, axis=axis, reverse=reverse)
      for f in (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin, lax.cumlogsumexp)
      for axis in (0, 1) for reverse in (False, True)),
    partial(lax.top_k, k=2), partial(lax.sort, dimension=0), partial(lax.sort, dimension=-1),
    lambda x: x[::-1], lambda x: lax.rev(x, (0, 1)), lambda x: x.reshape(-1), lambda x: x.T,
    lambda x: x[:, 1:3], lambda x: x[1], lambda x: lax.slice(x, (0, 1), (3, 4), (2, 1)),
    lambda x: lax.pad(x, jnp.zeros((), x.dtype), ((1, 2, 1), (-1, 0, 0))),
    lambda x: lax.pad(x, jnp.ones((), x.dtype), ((-1, 0, 2), (2, 1, 0))),
    lambda x: lax.broadcast_in_dim(x, (2, *x.shape), range(1, x.ndim + 1)),
    lambda x: lax.expand_dims(x, (0, x.ndim)), lambda x: lax.squeeze(x[None], (0,)),
    lambda x: jnp.tile(x, (2, 1)), lambda x: lax.tile(x, (2,) * x.ndim),
    lambda x: lax.split(x, (1, x.shape[0] - 1)), lambda x: lax.concatenate([x, x, x], 0),
    lambda x: jnp.stack([x, x], 1), lambda x: jnp.unstack(x),
    lambda x: x + lax.iota("float32", x.shape[-1]),
    lambda x: x + lax.broadcasted_iota("int32", x.shape, 0),
    lambda x: jax.ad_checkpoint.checkpoint_name(x, "here"), jax.nn.gelu, jnp.sinc,
    jax.grad(lambda x: jnp.sum(x * x + x * jnp.tanh(x))), lambda x: jnp.polyval(x[0], x),
)  # fmt: skip
_BINARY: tuple[Callable[..., Any], ...] = (
    *(getattr(lax, name) for name in (
        "add", "atan2", "bitwise_and", "bitwise_or", "bitwise_xor", "div", "eq", "ge", "gt", "le",
        "lt", "max", "min", "mul", "ne", "pow", "rem", "shift_left", "shift_right_arithmetic",
        "shift_right_logical", "sub",
    )),
    jnp.power, jnp.remainder, jnp.where, lambda a, b: jnp.where(a > b, a, b), jnp.logaddexp,
    jnp.hypot, lambda a, b: lax.select_n((a > 0).astype("int32"), a, b),
    lambda a, b: lax.select_n((a > 0).astype("int32") + (b > 0), a, b, a * b),
    lambda a, b: lax.sort((a, b), num_keys=1), lambda a, b: lax.sort((a, b), num_keys=2),
    jnp.matmul, lambda a, b: a @ b.T, lambda a, b: a.T @ b, jnp.outer, jnp.tensordot,
    lambda a, b: lax.dot_general(a, b, (((1,), (1,)), ((0,), (0,)))),
)  # fmt: skip


def _pooled(x: Any, start: Any, reduce: Any, padding: str, apart: int = 1) -> Any:
    return lax.reduce_window(
        x, start, reduce, (1, 1, 2, 3), (1, 1, 1, 2), padding, window_dilation=(1, 1, apart, 1)
    )


def _convolution(x: Any, w: Any, *args: Any, **more: Any) -> Any:
    return lax.conv_general_dilated(x, w, *args, **more)


_AT = np.array([0, 2, 1])
_FAR = np.array([0, 7, -9])
_PLACES = np.array([[0, 1], [2, 3]])
WRITTEN: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = (
    (lax.shift_right_logical, ("bytes", np.array([1, 3, 0], "u1"))),
    *((partial(_pooled, start=start, reduce=reduce, padding=padding), ("image",))
      for start, reduce in ((-jnp.inf, lax.max), (jnp.inf, lax.min), (0.0, lax.add))
      for padding in ("SAME", "VALID")),
    (partial(_pooled, start=-jnp.inf, reduce=lax.max, padding="VALID", apart=2), ("image",)),
    (jax.grad(lambda x: jnp.sum(_pooled(x, -jnp.inf, lax.max, "SAME") ** 2)), ("image",)),
    *((partial(_convolution, **more), ("image", "kernel")) for more in (
        {"window_strides": (2, 1), "padding": "SAME"},
        {"window_strides": (1, 1), "padding": ((1, 0), (-1, 2)), "rhs_dilation": (1, 2)},
        {"window_strides": (1, 1), "padding": ((1, 1), (2, 2)), "lhs_dilation": (2, 3)},
        {"window_strides": (2, 1), "padding": ((1, 1), (2, 2)), "lhs_dilation": (2, 1)},
    )),
    (partial(_convolution, window_strides=(1,), padding="SAME", feature_group_count=3),
     ("signal", np.ones((6, 1, 3), "f4"))),
    (partial(_convolution, window_strides=(1,), padding="VALID", batch_group_count=2),
     ("signal", np.ones((4, 3, 2), "f4"))),
    (partial(lax.conv_transpose, strides=(2, 2), padding="SAME",
             dimension_numbers=("NCHW", "OIHW", "NCHW")), ("image", "kernel")),
    *((lambda a, b, more=more: lax.linalg.triangular_solve(a, b, **more), ("triangle", "right"))
      for more in ({"left_side": True, "lower": True},
                   {"left_side": True, "lower": True, "transpose_a": True},
                   {"left_side": True, "lower": True, "unit_diagonal": True})),
    (lambda a, b: lax.linalg.triangular_solve(a, b.T, lower=True), ("triangle", "right")),
    (lax.linalg.cholesky, ("definite",)),
    (lambda x: x[_AT], ("matrix",)), (lambda x: x[:, _AT], ("cube",)),
    (lambda x: x[_AT, _AT], ("matrix",)), (lambda x, i: x[i], ("matrix", _AT)),
    (lambda x, i: jnp.take_along_axis(x, i[:, None], 1), ("matrix", _AT)),
    (lambda x, i: x[jnp.arange(3), i], ("matrix", _AT)),
    *((lambda x, i, mode=mode: jnp.take(x, i, axis=0, mode=mode), ("matrix", _FAR))
      for mode in ("clip", "wrap", "fill")),
    (lambda x, i: lax.dynamic_slice(x, (i[1], i[0]), (2, 3)), ("matrix", _FAR)),
    (lambda x, i: lax.dynamic_slice(x, (i[0], 1), (1, 3)), ("matrix", _AT)),
    (lambda x, b, i: lax.dynamic_update_slice(x, b[:2, :2], (i[1], i[0])),
     ("matrix", "other", _FAR)),
    (lambda x, b, i: lax.dynamic_update_slice(x, b[:2], (i[1], 0)), ("matrix", "other", _AT)),
    (lambda x: lax.dynamic_update_slice(x, x[:1] * 2, (1, 0)), ("matrix",)),
    *((lambda x, y, i, how=how: getattr(x.at[i], how)(y), ("matrix", "other", _AT))
      for how in ("set", "add", "max", "min", "multiply", "mul", "subtract")),
    *((lambda x, y, i, how=how: getattr(x.at[i[:, 0], i[:, 1]], how)(y[:2]),
       ("matrix", "four", _PLACES)) for how in ("set", "add", "max", "min", "multiply")),
    *((lambda x, y, i, mode=mode: x.at[i].add(y, mode=mode), ("matrix", "other", _FAR))
      for mode in ("clip", "drop")),
    (lambda x, y: x.at[:, 1:3].set(y[:, :2]), ("matrix", "other")),
    (lambda x: x.at[1].add(x[0]), ("equal",)),
    (lambda x: x / x.sum(), ("shares",)), (lambda x: jnp.cumsum(x > 0), ("matrix",)),
    (jnp.polyval, ("four", "matrix")),
    (jax.vmap(jax.grad(jnp.tanh)), ("four",)),
)  # fmt: skip
"""Programs with what they get."""


_PROGRAMS = ("jaxpr", "call_jaxpr", "fun_jaxpr")
MOST = 4
"""Programs of a row that are run: JAX compiles each of their operations."""


_OUTSIDE = {
    "atan2": {"equal"}, "cbrt": {"equal", "special"}, "clamp": {"special"},
    "pow": {"equal"}, "reduce_max": {"special"}, "reduce_min": {"special"},
    "round": {"special"}, "cummax": {"equal", "special"}, "cummin": {"equal", "special"},
}  # fmt: skip
"""Arrays where JAX's gradient is NaN, or is shared among equals in an order that it doesn't say."""


class Equation(NamedTuple):
    """One equation with numbers for its inputs."""

    primitive: Any
    params: dict[str, Any]
    inputs: Sequence[Any]
    results: Sequence[Any]
    known: Sequence[bool]
    """Which inputs are constants of the program."""
    shown: str


class Program(NamedTuple):
    """A traced program with what it gets."""

    jaxpr: Any
    arrays: Sequence[Any]
    names: frozenset[str]
    """Of all primitives in it."""
    given: Sequence[Any]
    shown: str


@cache
def _programs() -> list[Program]:
    """All programs for all arrays that they take."""
    found = []
    given = [(f, (name,)) for f in _UNARY for name in _ONE]
    given += [(f, names) for f in _BINARY for names in _TWO]
    for function, names in (*given, *WRITTEN):
        arrays = [jnp.asarray(ARRAYS[x] if isinstance(x, str) else x) for x in names]
        try:
            made = jax.make_jaxpr(function)(*arrays)
        except (TypeError, ValueError, IndexError, ZeroDivisionError):
            continue  # a function that doesn't take such arrays
        shown = f"of {getattr(function, '__name__', function)}{names}"
        found.append(
            Program(
                made,
                arrays,
                frozenset(_names(made.jaxpr)),
                [x for x in names if isinstance(x, str)],
                shown,
            )
        )
    return found


def _inner(equation: Any) -> Any:
    """The program that an equation runs once; None where it runs none, or is a loop."""
    if equation.primitive.name not in (*CALLS, "custom_jvp_call", "custom_vjp_call"):
        return None
    return next(equation.params[key] for key in _PROGRAMS if key in equation.params)


def _names(jaxpr: Any) -> Iterator[str]:
    for equation in jaxpr.eqns:
        inner = _inner(equation)
        yield from [equation.primitive.name] if inner is None else _names(_open(inner))


def _open(program: Any) -> Any:
    return getattr(program, "jaxpr", program)


def _walk(
    row: str, program: Any, arrays: Sequence[Any], found: list[Equation], shown: str
) -> list[Any]:
    """Run a program; the equations of a row are noted."""
    jaxpr, literal = _open(program), jax.extend.core.Literal
    consts = getattr(program, "consts", ())
    values = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *arrays), strict=True))
    known = {*jaxpr.constvars}

    def read(x: Any) -> Any:
        return jnp.asarray(x.val, x.aval.dtype) if isinstance(x, literal) else values[x]

    for equation in jaxpr.eqns:
        inputs = [read(x) for x in equation.invars]
        inner = _inner(equation)
        if inner is None:
            results = flat(equation.primitive.bind(*inputs, **equation.params))
        else:
            results = _walk(row, inner, inputs, found, shown)
        if equation.primitive.name == row and row not in UNREACHED:
            constant = [isinstance(x, literal) or x in known for x in equation.invars]
            found.append(
                Equation(equation.primitive, equation.params, inputs, results, constant, shown)
            )
        values.update(zip(equation.outvars, results, strict=True))
    return [read(x) for x in jaxpr.outvars]


def _of_program(row: str, program: Program) -> list[Equation]:
    """The equations of a row in a program, with numbers; compiled as a whole, which is faster."""
    found: list[Equation] = []

    def run(*arrays: Any) -> list[Any]:
        _walk(row, program.jaxpr, arrays, found, program.shown)
        return [(x.inputs, x.results) for x in found]

    numbers = jax.jit(run)(*program.arrays)
    return [
        equation._replace(inputs=inputs, results=results)
        for equation, (inputs, results) in zip(found, numbers, strict=True)
    ]


def cases(row: str, count: int) -> Iterator[Case]:
    """The equations of a row in some of the programs that have one."""
    found: list[Equation] = []
    with jax.enable_x64(False):
        having = [
            program for program in _programs()
            if row in program.names and not _OUTSIDE.get(row, set()) & {*program.given}
        ]  # fmt: skip
        for program in having[:: max(len(having) // min(count, MOST), 1)]:
            with suppress(OverflowError):  # whole numbers that a program compares with infinity
                found += _of_program(row, program)
    for number, equation in enumerate(found):
        given = Given(random("jax", row, number))
        xs = [
            given.of(np.asarray(x), f"x{i}", constant=known or x.size == 0)
            for i, (x, known) in enumerate(zip(equation.inputs, equation.known, strict=True))
        ]
        yield Case(
            f"{xs} {equation.params} {equation.shown}",
            partial(_ours, row, equation, given, xs),
            partial(_by_jax, equation, given, xs),
        )


def _ours(row: str, equation: Equation, given: Given, xs: Sequence[Staged]) -> Found:
    stage, params = given.stage, equation.params
    shapes = [(x.shape, block_dtype(str(x.dtype))) for x in equation.results]

    def made() -> list[Staged]:
        if row in LAZY:
            results = [
                LAZY[row](stage, params, *(LazyBroadcast(x, x.shape) for x in xs)).wide(stage)
            ]
        elif row in ELEMENTWISE:
            y = ELEMENTWISE[row](stage, params, *xs)
            results = [LazyBroadcast(y, shapes[0][0]).wide(stage)]
        else:
            results = flat(WHOLE[row](stage, params, *xs))
        return [stage.cast(y, dtype) for y, (_, dtype) in zip(results, shapes, strict=True)]

    return by_row(given, made)


def _by_jax(equation: Equation, given: Given, xs: Sequence[Staged], _: Found) -> Found:
    def run(*inputs: Any) -> list[Any]:
        values = list(equation.inputs)
        for place, x in zip(places, inputs, strict=True):
            values[place] = x
        return flat(equation.primitive.bind(*values, **equation.params))

    def back(*inputs: Any) -> Any:
        results, pulled = jax.vjp(run, *inputs)
        return pulled([
            jnp.asarray(weights(np.empty(y.shape, y.dtype))) if y.dtype.kind == "f"
            else np.zeros(y.shape, jax.dtypes.float0) for y in results
        ])  # fmt: skip

    places = [i for i, x in enumerate(xs) if any(x is y for y in given.variables)]
    inputs = [equation.inputs[i] for i in places]
    slopes: Sequence[Any] = []
    with jax.enable_x64(False):
        try:
            results = jax.jit(run)(*inputs)
            with suppress(NotImplementedError):  # a primitive without a derivative
                slopes = jax.jit(back)(*inputs) if inputs else []
        except (NotImplementedError, OverflowError, TypeError, ValueError) as error:
            raise Refused(str(error)) from error
    arrays = [np.asarray(y) for y in results]
    return Found(arrays, {i: np.asarray(x) for i, x in enumerate(slopes)})
