"""Numbers and attributes of primitives as JSON that JavaScript reads back bit by bit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.calculus.primitives.base import CONSTANT
from gradwire.runtime.calculus.primitives.convolution import Geometry

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value

LARGEST_INTEGER = 2**53
"""Up to here JavaScript's numbers have all integers."""


def number(x: Any) -> bool | int | float | str:
    """One number: NaN, ∞ and −0 as text, the shortest digits that give a float32 back."""
    if isinstance(x, np.float32):
        short = float(str(x))
        x = short if np.float32(short) == x else float(x)
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, bool):
        return int(x)
    if isinstance(x, float):
        if not math.isfinite(x):
            return "NaN" if math.isnan(x) else "Infinity" if x > 0 else "-Infinity"
        if x.is_integer() and abs(x) < LARGEST_INTEGER:
            return "-0" if x == 0.0 and math.copysign(1.0, x) < 0.0 else int(x)
    return x  # type: ignore[no-any-return]  # numpy leaves the type of item() open


@np.errstate(invalid="ignore")  # a NaN may be a signalling one
def numbers(array: Array) -> list[object]:
    """All numbers of an array, in row-major order, each as ``number`` gives it."""
    flat = array.ravel()
    if flat.dtype.kind != "f":
        return (flat.astype(np.uint8) if flat.dtype == bool else flat).tolist()
    exact = flat.astype(np.float64)
    if flat.dtype == np.float32:
        short = np.array([*map(float, map(str, flat))], np.float64)
        exact = np.where(short.astype(np.float32) == flat, short, exact)
    found = exact.astype(object)
    whole = (np.trunc(exact) == exact) & (np.abs(exact) < LARGEST_INTEGER)
    found[whole] = exact[whole].astype(np.int64)
    texts = ~np.isfinite(exact) | ((exact == 0.0) & np.signbit(exact))
    found[texts] = [*map(number, exact[texts])]
    return found.tolist()


def constant(array: Array) -> list[object]:
    """As ``numbers``; a single one if all are equal bit by bit."""
    flat = array.ravel()
    alike = flat.size > 1 and flat.tobytes() == flat[:1].tobytes() * flat.size
    return numbers(flat[:1] if alike else flat)


def attributes_of(value: Value) -> dict[str, object]:
    """The attributes that the kernel of a primitive needs besides its shapes and dtypes."""
    found = dict(value.attributes)
    if value.primitive is CONSTANT:
        return {"data": constant(found["array"])}
    if "index" in found:
        shape = value.inputs[0].shape if value.primitive.name == "slice" else value.shape
        found["index"] = _steps(found["index"], shape)
    for name, attribute in found.items():
        if isinstance(attribute, Geometry):
            found[name] = attribute._asdict()
        elif isinstance(attribute, int | float):
            found[name] = number(attribute)
    for known in ("shape", "dtype"):
        found.pop(known, None)
    return found


def _steps(index: tuple[slice, ...], shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """Where each slice starts, and its step."""
    bounds = [part.indices(length) for part, length in zip(index, shape, strict=True)]
    return [(start, step) for start, _, step in bounds]
