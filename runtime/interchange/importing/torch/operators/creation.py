"""Tensors from nothing: constants, ranges and random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.limits import MAX_CONSTANT
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.staged import Staged
from gradwire.runtime.interchange.importing.torch.operators.table import Number, operator

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.stage import Stage

DRAWN = "Random numbers are drawn anew in every run, others than PyTorch's."
"""The remark about blocks that draw."""


def checked(shape: Sequence[int]) -> tuple[int, ...]:
    """A shape whose numbers fit into memory; raises UnsupportedError before any is made."""
    sizes = tuple(int(n) for n in shape)
    if any(n < 0 for n in sizes) or math.prod(sizes) > MAX_CONSTANT:
        raise UnsupportedError("a tensor", f"of shape {sizes}")
    return sizes


def _filled(stage: Stage, shape: Sequence[int], value: Number, dtype: Any) -> Staged:
    return stage.constant(np.full(checked(shape), value, dtype or "float32"))


def _dtype_of(value: Number) -> str:
    return "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float32"


@operator("zeros", "empty.memory_format", "empty")
def zeros(stage: Stage, size: Sequence[int], dtype: Any = None, *_: Any, **__: Any) -> Staged:
    """Zeros, also where PyTorch leaves memory as it is."""
    return _filled(stage, size, 0, dtype)


@operator("ones")
def ones(stage: Stage, size: Sequence[int], dtype: Any = None, *_: Any, **__: Any) -> Staged:
    """Ones."""
    return _filled(stage, size, 1, dtype)


@operator("full")
def full(
    stage: Stage, size: Sequence[int], value: Number, dtype: Any = None, *_: Any, **__: Any
) -> Staged:
    """One number everywhere."""
    return _filled(stage, size, value, dtype or _dtype_of(value))


@operator("scalar_tensor")
def scalar_tensor(stage: Stage, value: Number, dtype: Any = None, *_: Any, **__: Any) -> Staged:
    """One number."""
    return _filled(stage, (), value, dtype)


@operator("zeros_like", "empty_like")
def zeros_like(stage: Stage, x: Staged, dtype: Any = None, *_: Any, **__: Any) -> Staged:
    """Zeros in a shape."""
    return _filled(stage, x.shape, 0, dtype or x.dtype)


@operator("ones_like")
def ones_like(stage: Stage, x: Staged, dtype: Any = None, *_: Any, **__: Any) -> Staged:
    """Ones in a shape."""
    return _filled(stage, x.shape, 1, dtype or x.dtype)


@operator("full_like")
def full_like(
    stage: Stage, x: Staged, value: Number, dtype: Any = None, *_: Any, **__: Any
) -> Staged:
    """One number in a shape."""
    return _filled(stage, x.shape, value, dtype or x.dtype)


@operator("new_zeros", "new_empty")
def new_zeros(
    stage: Stage, x: Staged, size: Sequence[int], dtype: Any = None, *_: Any, **__: Any
) -> Staged:
    """Zeros in the dtype of another tensor."""
    return _filled(stage, size, 0, dtype or x.dtype)


@operator("new_ones")
def new_ones(
    stage: Stage, x: Staged, size: Sequence[int], dtype: Any = None, *_: Any, **__: Any
) -> Staged:
    """Ones in the dtype of another tensor."""
    return _filled(stage, size, 1, dtype or x.dtype)


@operator("new_full")
def new_full(
    stage: Stage, x: Staged, size: Sequence[int], value: Number, dtype: Any = None, **_: Any
) -> Staged:
    """One number in the dtype of another tensor."""
    return _filled(stage, size, value, dtype or x.dtype)


@operator("arange", "arange.start", "arange.start_step")
def arange(stage: Stage, *bounds: Any, dtype: Any = None, **_: Any) -> Staged:
    """Numbers from a start up to an end, by a step."""
    numbers = [b for b in bounds if isinstance(b, int | float)]
    checked([len(range(*(math.ceil(b) for b in numbers)))] if len(numbers) < 3 else ())
    if len(numbers) == 3:
        checked([math.ceil((numbers[1] - numbers[0]) / numbers[2])])
    found = np.arange(*numbers)
    default = "int64" if found.dtype.kind == "i" else "float32"
    return stage.constant(found.astype(dtype or default))


@operator("linspace")
def linspace(
    stage: Stage, start: Number, end: Number, steps: int, dtype: Any = None, **_: Any
) -> Staged:
    """Numbers at equal distances."""
    (steps,) = checked([steps])
    return stage.constant(np.linspace(start, end, steps).astype(dtype or "float32"))


@operator("eye", "eye.m")
def eye(stage: Stage, n: int, m: int | None = None, dtype: Any = None, **_: Any) -> Staged:
    """Ones on the diagonal."""
    rows, columns = checked([n, n if m is None else m])
    return stage.constant(np.eye(rows, columns).astype(dtype or "float32"))


def _enter_random(name: str, draw: Callable[..., Staged]) -> None:
    @operator(name)
    def _(stage: Stage, size: Sequence[int], dtype: Any = None, *_: Any, **__: Any) -> Staged:
        return draw(stage, checked(size), dtype or "float32")

    @operator(f"{name}_like")
    def _as(stage: Stage, x: Staged, dtype: Any = None, *_: Any, **__: Any) -> Staged:
        return draw(stage, x.shape, dtype or x.dtype)


def normal_numbers(
    stage: Stage, shape: Sequence[int], dtype: str, mean: float = 0, std: float = 1
) -> Staged:
    """Normal random numbers."""
    drawn = stage.block(
        "RandomNormal", shape=tuple(shape), dtype=dtype, mean=float(mean), std=float(std)
    )
    stage.remark("note", DRAWN, drawn)
    return drawn


def uniform_numbers(
    stage: Stage, shape: Sequence[int], dtype: str, low: float = 0, high: float = 1
) -> Staged:
    """Uniform random numbers."""
    drawn = stage.block(
        "RandomUniform", shape=tuple(shape), dtype=dtype, low=float(low), high=float(high)
    )
    stage.remark("note", DRAWN, drawn)
    return drawn


_enter_random("randn", normal_numbers)
_enter_random("rand", uniform_numbers)


@operator("normal_functional")
def normal(stage: Stage, x: Staged, mean: float = 0, std: float = 1, **_: Any) -> Staged:
    """Normal random numbers in the place of ``x``."""
    return normal_numbers(stage, x.shape, x.dtype, mean, std)


@operator("normal.Tensor_Tensor", "normal.Tensor_float", "normal.float_Tensor")
def normal_around(stage: Stage, mean: Any, std: Any = 1.0, **_: Any) -> Staged:
    """``mean + std * z`` with normal z; no gradient goes to either, as in PyTorch."""
    given = [x for x in (mean, std) if isinstance(x, Staged)]
    shape = np.broadcast_shapes(*(x.shape for x in given))
    z = normal_numbers(stage, shape, given[0].dtype)
    drawn = z * std + mean
    return stage.block("StopGradient", drawn, name="normal")


@operator("uniform")
def uniform(stage: Stage, x: Staged, low: float = 0, high: float = 1, **_: Any) -> Staged:
    """Uniform random numbers in the place of ``x``."""
    return uniform_numbers(stage, x.shape, x.dtype, low, high)


@operator("bernoulli", "bernoulli.p")
def bernoulli(stage: Stage, p: Staged, by: float | None = None, **_: Any) -> Staged:
    """1 with a probability, else 0."""
    u = uniform_numbers(stage, p.shape, p.dtype)
    return stage.cast(u < (p if by is None else by), p.dtype)


@operator(
    "randint", "randint.low", "randint_like", "randint_like.low_dtype", "randperm", "multinomial",
    "poisson", "exponential", "geometric", "cauchy", "log_normal", "random",
)  # fmt: skip
def random_integers(stage: Stage, *_: Any, **__: Any) -> Staged:
    """Draws that no block makes."""
    raise UnsupportedError("a random draw", "no block draws from this distribution")
