"""Numbers of a block that are changed in place: their steps, and the change to the diagram."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blocks.block import Source
from blocks.library.pages import Page as PageBlock
from blocks.values import Tensor
from runtime.diagram import MAIN, SetParameters

if TYPE_CHECKING:
    from blocks.block import Block

FINE, COARSE = 0.1, 10.0
"""Factors of the step while Shift or Ctrl is held."""
_VALUE = "value"
_SMALLEST = 0.1
"""The magnitude that a number without one, such as zero, is treated as having."""
_WORDS = {"true": 1.0, "false": 0.0, "∞": math.inf, "-∞": -math.inf}


class Number(NamedTuple):
    """A cell of a source's value, or of the literal of an input, on some page."""

    block: str
    key: str
    """``value``, or the name of the input."""
    cell: tuple[int, ...] = ()
    """Its indices; empty for a scalar."""


def array_of(block: Block, key: str, shown: NDArray[Any] | None = None) -> NDArray[Any] | None:
    """The array with the numbers of ``key``; None if they can't be changed in place.

    ``shown`` is the value of a source that draws its numbers.
    """
    if isinstance(block, Source) and key == _VALUE:
        given = getattr(block, _VALUE, None)
        return given.array if isinstance(given, Tensor) else shown
    if isinstance(block, PageBlock) or (port := block.port(key)) is None:
        return None
    if (literal := block.literals.get(key)) is not None:
        return literal.array
    is_number = isinstance(port.default, bool | int | float)
    return np.array(port.default) if is_number and not port.required else None


def set_number(
    block: Block, number: Number, value: Any, shown: NDArray[Any] | None = None, page: str = MAIN
) -> SetParameters:
    """The change that gives one cell of ``block`` another value."""
    before = array_of(block, number.key, shown)
    assert before is not None
    array = before.copy()
    array[number.cell] = value
    written: Any = Tensor(array)
    if number.key != _VALUE:
        literal = block.literals.get(number.key)
        written = written.to_json()
        if literal is not None and literal.typed:
            written = {"dtype": literal.dtype, "value": written}
    return SetParameters(number.block, {number.key: written}, page)


def read_number(text: str, dtype: np.dtype[Any]) -> Any:
    """The number that ``text`` is in ``dtype``; raises ValueError if it is none that fits."""
    plain = text.strip().lower().replace("−", "-")
    value = _WORDS[plain] if plain in _WORDS else float(plain)
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return dtype.type(value)
    low, high = _limits(dtype)
    if value != round(value, 0) or not low <= value <= high:
        raise ValueError(text)
    return dtype.type(int(value))


def step_of(value: Any) -> float:
    """The step of a number: 1 for integers and booleans, or a tenth of its power of ten."""
    if np.asarray(value).dtype.kind != "f":
        return 1.0
    size = abs(float(value))
    if not math.isfinite(size) or size == 0.0:
        size = _SMALLEST
    return float(10.0 ** (math.floor(math.log10(size)) - 1))


class Scrub:
    """Moves a number by steps whose size is that of the number when the change began.

    Floats stop at multiples of the step, so that they read well; integers and floats stay within
    what their dtype can express. A boolean is true above a half.
    """

    def __init__(self, value: Any) -> None:
        start = np.asarray(value)[()]
        self._dtype = start.dtype
        self._step = step_of(start)
        self._low, self._high = _limits(start.dtype)
        self._exact = float(start) if math.isfinite(float(start)) else 0.0
        self.value: Any = start

    def by(self, steps: float, factor: float = 1.0) -> Any:
        """Move by ``steps`` of ``factor`` times the usual size; return the new number."""
        grain = self._step * factor
        self._exact = min(max(self._exact + steps * grain, self._low), self._high)
        if self._dtype.kind == "b":
            self.value = np.bool_(self._exact >= 0.5)
        elif self._dtype.kind == "f":
            places = max(0, -math.floor(math.log10(grain)))
            rounded = round(round(self._exact / grain) * grain, places)
            self.value = self._dtype.type(min(max(rounded, self._low), self._high))
        else:
            self.value = self._dtype.type(round(self._exact))
        return self.value


def _limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The least and the largest number of a dtype that a Python float can express."""
    if dtype.kind == "b":
        return 0.0, 1.0
    if dtype.kind == "f":
        return float(np.finfo(dtype).min), float(np.finfo(dtype).max)
    exact = 2.0**53
    return max(float(np.iinfo(dtype).min), -exact), min(float(np.iinfo(dtype).max), exact)
