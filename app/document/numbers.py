"""Numbers of a block that are changed in place: their steps, and the change to the diagram."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradwire.blocks.block import Source
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.values import Tensor
from gradwire.runtime.diagram import MAIN, SetParameters

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.blocks.values import Array

FINE, COARSE = 0.1, 10.0
"""Factors of the step while Shift or Ctrl is held."""
_VALUE = "value"
_SMALLEST = 0.1
"""The magnitude that a number without one, such as zero, is treated as having."""
_WORDS = {"true": 1.0, "false": 0.0, "∞": math.inf, "-∞": -math.inf}


class NumberCell(NamedTuple):
    """A cell of a source's value, or of the literal of an input, on some page."""

    block: str
    key: str
    """``value``, or the name of the input."""
    cell: tuple[int, ...] = ()
    """Its indices; empty for a scalar."""


class Slider(NamedTuple):
    """The limits within which a number is dragged."""

    least: float
    largest: float
    step: float = 0.0
    """Between two neighbouring numbers, counted from the least; 0 for any number."""

    def share(self, value: Any) -> float:
        """Where a number lies from least to largest, 0 … 1; at the nearer end if outside."""
        share = (float(value) - self.least) / (self.largest - self.least)
        return min(max(share, 0.0), 1.0) if math.isfinite(share) else 0.0

    def has(self, value: Any) -> bool:
        """Whether a number lies within the limits."""
        return self.least <= float(value) <= self.largest

    def at(self, share: float, dtype: np.dtype[np.generic]) -> np.generic:
        """The number at a share of the way, at most the hundredth part of it or a step away."""
        wanted = self.least + min(max(share, 0.0), 1.0) * (self.largest - self.least)
        return self.nearest(wanted, self.grain(), dtype)

    def grain(self) -> float:
        """The step, or else a power of ten that is at most the hundredth part of the way."""
        return self.step or 10.0 ** math.floor(math.log10((self.largest - self.least) / 100.0))

    def nearest(self, value: float, grain: float, dtype: np.dtype[np.generic]) -> np.generic:
        """The nearest number within the limits: a step, a multiple of the grain or an end."""
        found = self._step_near(value) if self.step else round(value / grain) * grain
        found = min(max(round(found, _places(grain) + 3), self.least), self.largest)
        if dtype.kind == "b":
            return np.bool_(found >= 0.5)
        low, high = _limits(dtype)
        whole = found if dtype.kind == "f" else round(found)
        return dtype.type(min(max(whole, low), high))

    def _step_near(self, value: float) -> float:
        last = math.floor((self.largest - self.least) / self.step + 1e-9)
        return self.least + min(round((value - self.least) / self.step), last) * self.step


def slider_of(block: Block, key: str = _VALUE) -> Slider | None:
    """The slider of a source's numbers; None for other numbers, and without one."""
    limits = getattr(block, "slider", None) if isinstance(block, Source) else None
    return Slider(*limits) if limits is not None and key == _VALUE else None


def array_of(block: Block, key: str, shown: Array | None = None) -> Array | None:
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
    block: Block, number: NumberCell, value: object, shown: Array | None = None, page: str = MAIN
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


def read_number(text: str, dtype: np.dtype[np.generic]) -> np.generic:
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
    what their dtype can express, and within the limits of a slider. A boolean is true above a half.
    """

    def __init__(self, value: object, slider: Slider | None = None) -> None:
        start = np.asarray(value).flat[0]
        self._dtype = start.dtype
        self._slider = slider
        self._step = slider.step if slider and slider.step else step_of(start)
        self._low, self._high = slider[:2] if slider else _limits(start.dtype)
        self._exact = float(start) if math.isfinite(float(start)) else 0.0
        self.value: np.generic = start

    def by(self, steps: float, factor: float = 1.0) -> np.generic:
        """Move by ``steps`` of ``factor`` times the usual size; return the new number."""
        grain = self._step * factor
        self._exact = min(max(self._exact + steps * grain, self._low), self._high)
        if self._slider is not None:
            self.value = self._slider.nearest(self._exact, grain, self._dtype)
        elif self._dtype.kind == "b":
            self.value = np.bool_(self._exact >= 0.5)
        elif self._dtype.kind == "f":
            rounded = round(round(self._exact / grain) * grain, _places(grain))
            self.value = self._dtype.type(min(max(rounded, self._low), self._high))
        else:
            self.value = self._dtype.type(round(self._exact))
        return self.value


def _places(grain: float) -> int:
    """How many decimal places a multiple of a power of ten needs."""
    return max(0, -math.floor(math.log10(grain)))


def _limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The least and the largest number of a dtype that a Python float can express."""
    if dtype.kind == "b":
        return 0.0, 1.0
    if dtype.kind == "f":
        return float(np.finfo(dtype).min), float(np.finfo(dtype).max)
    exact = 2.0**53
    return max(float(np.iinfo(dtype).min), -exact), min(float(np.iinfo(dtype).max), exact)
