"""Every primitive on ordinary and on hard numbers: as the runtime computes it, and as a page does.

Each case of the calculus is traced with its derivatives, in float64 and float32; elementwise
primitives also take all pairs of NaN, ±0, ±∞, subnormal and extreme numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.calculus import Trace, Value, sweep
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.publish.living.computing.kernels import KERNELS
from gradwire.runtime.publish.living.computing.numbers import attributes_of, numbers
from tests.runtime.calculus.cases import CASES
from tests.runtime.publish.living.node import run

Array = NDArray[Any]
FLOATS = ("float64", "float32")
HARD = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 0.1, 3.0, 30.0, -40.0, 88.0, -88.8, 1e-8,
        2.49999, 2.50001, 5.9, 700.0, -740.0, np.inf, -np.inf, np.nan)  # fmt: skip
EXTREME = {
    "float64": (5e-324, -3e-310, 2.3e-308, 1e-300, 1e300, -1.7e308, 2.0**53 + 2, 1e16),
    "float32": (1e-45, -3e-40, 1.2e-38, 1e-30, 1e30, -3.4e38, 2.0**24 + 2, 1e8),
}
EXACT = {"add", "subtract", "multiply", "divide", "sqrt", "sum", "negative", "abs", "square"}
"""Primitives that must have the runtime's bits."""
ELEMENTWISE = {
    **dict.fromkeys(
        "negative abs square sqrt exp expm1 log log1p sin cos tan tanh sigmoid softplus relu erf "
        "arcsin arccos arctan sinh cosh arcsinh arccosh arctanh sign floor ceil round isnan "
        "isfinite".split(),
        1,
    ),
    **dict.fromkeys(
        "add subtract multiply divide floor_divide remainder power maximum minimum arctan2 equal "
        "not_equal less less_equal greater greater_equal".split(),
        2,
    ),
}
"""Primitives that take hard numbers, by their number of inputs."""
_WHOLE = np.random.default_rng(2)
INTEGERS = [
    (_WHOLE.integers(-99, 99, 9), _WHOLE.integers(1, 9, 9)),
    (_WHOLE.integers(-(2**31), 2**31, 9, "int32"), _WHOLE.integers(1, 2**31, 9, "int32")),
    (_WHOLE.integers(0, 2**32, 9, "uint32"), _WHOLE.integers(1, 2**32, 9, "uint32")),
    (_WHOLE.integers(-128, 128, 9, "int8"), _WHOLE.integers(1, 128, 9, "int8")),
]
SUMS = [(5,), (8,), (100,), (4000,), (6, 200), (3, 4, 50), (2, 3, 4)]
"""Shapes that are summed over each axis, and several."""
ACCUMULATING = {
    "matmul", "einsum", "conv2d", "conv2d_x", "conv2d_w", "inverse", "solve", "cholesky",
    "determinant", "log_determinant",
}  # fmt: skip
"""Primitives whose terms each library adds up in an order of its own."""
_SCRIPT = """(work) => {
  const ready = prepared({ops: work.ops});
  for (const [place, data] of work.leaves) {
    data.forEach((x, k) => { ready.arrays[place].d[k] = +x; });
  }
  for (const step of ready.steps) step.run();
  const read = (place) => [...ready.arrays[place].d];
  return work.results.map((place) => read(place).map((x) => (Number.isFinite(x) ? x : String(x))));
}"""


@dataclass(frozen=True)
class Compared:
    """A value as both compute it, and the inputs of its primitive."""

    value: Value
    wanted: Array
    found: Array
    inputs: tuple[Array, ...]

    @property
    def name(self) -> str:
        return self.value.primitive.name

    @property
    def error(self) -> float:
        """The largest error: relative in float64, in units of the last place in float32.

        Where terms are added up, relative to the sum of their sizes.
        """
        wanted, found = self.wanted.astype("float64"), self.found.astype("float64")
        differ = ~((wanted == found) | (np.isnan(wanted) & np.isnan(found)))
        if not np.any(differ):
            return 0.0
        with np.errstate(all="ignore"):
            off = np.abs(wanted - found)
        single = self.value.dtype == "float32"
        spacing = np.spacing(np.abs(self.wanted)).astype("float64")
        unit = spacing if single else np.maximum(np.abs(wanted), 8 * spacing / 1e-13)
        if self.name in ACCUMULATING:
            size = np.max(np.abs(wanted), initial=0.0)
            unit = np.full(wanted.shape, size * (np.finfo("float32").eps if single else 1.0))
        with np.errstate(all="ignore"):
            error = np.where(differ, off / unit, 0.0)
        return float(np.max(np.where(np.isnan(error), np.inf, error)))


def compared(folder: Path) -> list[Compared]:
    """All values of all cases, by the runtime and by the page's script from equal inputs."""
    known = [*_values()]
    ops: list[Any] = []
    leaves: list[Any] = []
    results: list[int] = []
    for value, inputs, _ in known:
        places = []
        for array in inputs:
            places.append(len(ops))
            leaves.append([len(ops), numbers(array)])
            ops.append(["leaf", [], array.shape, array.dtype.name, 0, -1, 0, {}])
        results.append(len(ops))
        attributes = attributes_of(value)
        name = value.primitive.name
        ops.append([name, places, value.shape, value.dtype, 0, -1, 0, attributes])
    found = run(folder, _SCRIPT, {"ops": ops, "leaves": leaves, "results": results})
    return [
        Compared(value, wanted, _array(data, value), inputs)
        for (value, inputs, wanted), data in zip(known, found, strict=True)
    ]


def _array(data: list[Any], value: Value) -> Array:
    with np.errstate(all="ignore"):
        floats = np.array([float(x) for x in data], "float64")
        return floats.astype(value.dtype).reshape(value.shape)


def _values() -> Iterator[tuple[Value, tuple[Array, ...], Array]]:
    """Every value that a page has a kernel for, with its inputs and what the runtime gives."""
    for dtype in FLOATS:
        for case in CASES:
            inputs = [_as(array, dtype) for array in case.inputs]
            yield from _traced(case.call, inputs, with_derivative=True)
        hard = np.array([*HARD, *EXTREME[dtype]], dtype)
        for name in sorted(KERNELS):
            if name in ELEMENTWISE:
                arrays = (hard,) if ELEMENTWISE[name] == 1 else (hard, hard[:, None])
                yield from _traced(_call(name), arrays, with_derivative=False)
    for inputs in INTEGERS:
        for name in ("add", "subtract", "multiply", "floor_divide", "remainder", "maximum", "less"):
            yield from _traced(_call(name), inputs, with_derivative=False)
    for lengths in SUMS:
        array = np.random.default_rng(1).normal(size=lengths).astype("float32")
        for axes in (None, *range(len(lengths)), *([(0, 2), (1, 2)] if len(lengths) > 2 else [])):
            yield from _traced(lambda xp, x, axes=axes: xp.sum(x, axes), [array], False)


def _call(name: str) -> Any:
    return lambda xp, *arrays: getattr(xp, name)(*arrays)


def _as(array: Any, dtype: str) -> Array:
    found = np.asarray(array)
    return found.astype(dtype) if found.dtype.kind == "f" else found


def _traced(
    call: Any, inputs: Any, with_derivative: bool
) -> Iterator[tuple[Value, tuple[Array, ...], Array]]:
    trace = Trace()
    leaves = [trace.apply(LEAF, shape=x.shape, dtype=x.dtype.name) for x in inputs]
    out = trace.xp.asarray(call(trace.xp, *leaves))
    if with_derivative and is_float(out.dtype):
        sweep([(out, trace.xp.ones_like(out))], leaves)
    arrays = dict(zip(leaves, inputs, strict=True))
    if trace.step is not None:
        arrays[trace.step] = np.array(3, "uint32")
    with np.errstate(all="ignore"):
        for value in trace.values:
            if value in arrays:
                continue
            sources = tuple(arrays[x] for x in value.inputs)
            if value.primitive.view:
                arrays[value] = value.kernel(*sources, **value.attributes)
            else:
                arrays[value] = np.empty(value.shape, value.dtype)
                value.kernel(*sources, out=arrays[value], **value.attributes)
            if value.primitive.name in KERNELS:
                yield value, sources, arrays[value]
