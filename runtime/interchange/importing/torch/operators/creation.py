"""Tensors from nothing: constants, ranges and random numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.limits import MAX_CONSTANT
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.staged import Staged, put
from gradwire.runtime.interchange.importing.torch.operators.table import (
    Number,
    dtype_of,
    enter,
    operator,
)

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Operand

_enter, _operator = partial(enter, with_stage=True), partial(operator, with_stage=True)
DRAWN = "Random numbers are drawn anew in every run, others than PyTorch's."
"""The remark about blocks that draw."""


def checked(shape: Sequence[int]) -> tuple[int, ...]:
    """A shape whose numbers fit into memory; raises UnsupportedError before any is made."""
    sizes = tuple(int(n) for n in shape)
    if any(n < 0 for n in sizes) or math.prod(sizes) > MAX_CONSTANT:
        raise UnsupportedError("a tensor", f"of shape {sizes}")
    return sizes


def _filled(stage: Stage, shape: Sequence[int], value: Number, dtype: str | None) -> Staged:
    return stage.constant(np.full(checked(shape), value, dtype or "float32"))


@_operator("arange", "arange.start", "arange.start_step")
def _arange(stage: Stage, *bounds: object, dtype: str | None = None, **_: object) -> Staged:
    """Numbers from a start up to an end, by a step."""
    numbers = [b for b in bounds if isinstance(b, int | float)]
    if dtype == "int64":
        numbers = [int(b) for b in numbers]
    checked([len(range(*(math.ceil(b) for b in numbers)))] if len(numbers) < 3 else ())
    if len(numbers) == 3:
        checked([math.ceil((numbers[1] - numbers[0]) / numbers[2])])
    found = np.arange(*numbers)
    default = "int64" if found.dtype.kind == "i" else "float32"
    return stage.constant(found.astype(dtype or default))


@_operator("linspace")
def _linspace(
    stage: Stage, start: Number, end: Number, steps: int, dtype: str | None = None, **_: object
) -> Staged:
    (steps,) = checked([steps])
    return stage.constant(np.linspace(start, end, steps).astype(dtype or "float32"))


@_operator("eye", "eye.m")
def _eye(
    stage: Stage, n: int, m: int | None = None, dtype: str | None = None, **_: object
) -> Staged:
    rows, columns = checked([n, n if m is None else m])
    return stage.constant(np.eye(rows, columns).astype(dtype or "float32"))


def _drawn(
    kind: str,
    names: tuple[str, str],
    stage: Stage,
    shape: Sequence[int],
    dtype: str,
    *parameters: float,
) -> Staged:
    """Random numbers, which a remark says are others than PyTorch's."""
    given: dict[str, Any] = dict(zip(names, map(float, parameters), strict=False))
    drawn = stage.block(kind, shape=tuple(shape), dtype=dtype, **given)
    stage.remark("note", DRAWN, drawn)
    return drawn


normal_numbers = partial(_drawn, "RandomNormal", ("mean", "std"))
uniform_numbers = partial(_drawn, "RandomUniform", ("low", "high"))


@_operator("normal.Tensor_Tensor", "normal.Tensor_float", "normal.float_Tensor")
def _normal_around(stage: Stage, mean: Operand, std: Operand = 1.0, **_: object) -> Staged:
    """``mean + std * z`` with normal z; no gradient goes to either, as in PyTorch."""
    given = [x for x in (mean, std) if isinstance(x, Staged)]
    shape = np.broadcast_shapes(*(x.shape for x in given))
    z = normal_numbers(stage, shape, given[0].dtype)
    return put("StopGradient", z * std + mean, name="normal")


@_operator("bernoulli", "bernoulli.p")
def _bernoulli(stage: Stage, p: Staged, by: float | None = None, **_: object) -> Staged:
    """1 with a probability, else 0."""
    u = uniform_numbers(stage, p.shape, p.dtype)
    return stage.cast(u < (p if by is None else by), p.dtype)


@_operator(
    "randint", "randint.low", "randint_like", "randint_like.low_dtype", "randperm", "multinomial",
    "poisson", "exponential", "geometric", "cauchy", "log_normal", "random",
)  # fmt: skip
def _refused(stage: Stage, *_: object, **__: object) -> Staged:
    raise UnsupportedError("a random draw", "no block draws from this distribution")


def _alike(x: Staged, shape: Sequence[int], value: Number, dtype: str | None) -> Staged:
    return _filled(x.stage, shape, value, dtype or x.dtype)


_enter({
    "zeros empty.memory_format empty": lambda stage, size, dtype=None, *_, **__: _filled(
        stage, size, 0, dtype
    ),
    "ones": lambda stage, size, dtype=None, *_, **__: _filled(stage, size, 1, dtype),
    "full": lambda stage, size, value, dtype=None, *_, **__: _filled(
        stage, size, value, dtype or dtype_of(value)
    ),
    "scalar_tensor": lambda stage, value, dtype=None, *_, **__: _filled(stage, (), value, dtype),
    "randn": lambda stage, size, dtype=None, *_, **__: normal_numbers(
        stage, checked(size), dtype or "float32"
    ),
    "rand": lambda stage, size, dtype=None, *_, **__: uniform_numbers(
        stage, checked(size), dtype or "float32"
    ),
})  # fmt: skip
enter({
    "zeros_like empty_like": lambda x, dtype=None, *_, **__: _alike(x, x.shape, 0, dtype),
    "ones_like": lambda x, dtype=None, *_, **__: _alike(x, x.shape, 1, dtype),
    "full_like": lambda x, value, dtype=None, *_, **__: _alike(x, x.shape, value, dtype),
    "new_zeros new_empty": lambda x, size, dtype=None, *_, **__: _alike(x, size, 0, dtype),
    "new_ones": lambda x, size, dtype=None, *_, **__: _alike(x, size, 1, dtype),
    "new_full": lambda x, size, value, dtype=None, **_: _alike(x, size, value, dtype),
    "randn_like": lambda x, dtype=None, *_, **__: normal_numbers(
        x.stage, x.shape, dtype or x.dtype
    ),
    "rand_like": lambda x, dtype=None, *_, **__: uniform_numbers(
        x.stage, x.shape, dtype or x.dtype
    ),
    "normal_functional": lambda x, mean=0, std=1, **_: normal_numbers(
        x.stage, x.shape, x.dtype, mean, std
    ),
    "uniform": lambda x, low=0, high=1, **_: uniform_numbers(x.stage, x.shape, x.dtype, low, high),
})  # fmt: skip
