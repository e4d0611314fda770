"""How the function of a region of scalars reads its inputs and writes its results.

Scalars of one dtype often lie in one block of memory: leaves do, and results of a region.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.plan.tasks import Arrays

Array = NDArray[Any]

_FEWEST = 4
"""Inputs from which a block is read as a whole."""

_SPARSEST = 4
"""Elements per input up to which it is."""


class Inputs:
    """The expressions for inputs, and the ``readers`` that they need: functions by name.

    The function assigns what a reader returns to the reader's own name before anything else. Inputs
    that lie in one block of memory, as leaves of one dtype do, are elements of one list, which is
    made anew only if the bytes have changed.
    """

    def __init__(self, inputs: Sequence[Value], arrays: Arrays) -> None:
        self.readers: dict[str, Callable[[], Any]] = {}
        self._inputs = {value: f"i{i}" for i, value in enumerate(inputs)}
        self._arrays = arrays
        self._numbers: dict[int, int] = {}
        self._starts: dict[int, int] = {}
        blocks = {value: _block(arrays[value]) for value in inputs}
        members = Counter(id(block) for block in blocks.values() if block is not None)
        self._blocks = {
            value: block
            for value, block in blocks.items()
            if block is not None and members[id(block)] >= max(_FEWEST, block.size / _SPARSEST)
        }

    def read(self, value: Value) -> str:
        """The expression for an input; to be used once, as it may take a call."""
        if value in self._blocks:
            return self._element(value, "x", lambda block: block.tolist())
        name = self._inputs[value]
        self.readers[name] = self._arrays[value].item
        return name

    def as_float32(self, value: Value) -> str | None:
        """The expression for a float64 input rounded to float32, if it is in a block."""
        if value not in self._blocks:
            return None
        return self._element(value, "y", lambda block: block.astype(np.float32).tolist())

    def _element(self, value: Value, kind: str, listed: Callable[[Array], list[Any]]) -> str:
        block = self._blocks[value]
        name = f"{kind}{self._numbers.setdefault(id(block), len(self._numbers))}"
        if name not in self.readers:
            self.readers[name] = _reader(block, listed)
        return f"{name}[{_place(self._arrays[value], block, self._starts)}]"


class Outputs:
    """The expressions to assign results to, and the ``blocks`` that they need, by name."""

    def __init__(self, results: Sequence[Value], arrays: Arrays) -> None:
        self.blocks: dict[str, memoryview] = {}
        self._targets: dict[Value, tuple[str, int]] = {}
        names: dict[int, str] = {}
        starts: dict[int, int] = {}
        for value in results:
            array = arrays[value]
            block = _block(array)
            if block is None:
                block = array.reshape(1)
            name = names.setdefault(id(block), f"o{len(names)}")
            if name not in self.blocks:
                self.blocks[name] = block.data
            self._targets[value] = name, _place(array, block, starts)

    def __contains__(self, value: Value) -> bool:
        return value in self._targets

    def target(self, value: Value) -> str:
        """The element to assign a result to; reading it gives the number in the result's dtype."""
        name, place = self._targets[value]
        return f"{name}[{place}]"

    def element(self, value: Value) -> tuple[memoryview, int]:
        """The memory of a result, and its place there."""
        name, place = self._targets[value]
        return self.blocks[name], place


def _block(array: Array) -> Array | None:
    """The vector that a scalar is an element of."""
    base = array.base
    found = isinstance(base, np.ndarray) and base.ndim == 1 and base.dtype == array.dtype
    return base if found else None


def _place(array: Array, block: Array, starts: dict[int, int]) -> int:
    """The number of the element that a scalar is; ``starts`` keeps the addresses of blocks."""
    start = starts.get(id(block))
    if start is None:
        start = starts[id(block)] = _address(block)
    return (_address(array) - start) // block.itemsize


def _address(array: Array) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _reader(block: Array, listed: Callable[[Array], list[Any]]) -> Callable[[], list[Any]]:
    """Returns the elements as a list; the same list as long as the bytes are the same."""
    before, numbers = b"", []

    def read() -> list[Any]:
        nonlocal before, numbers
        now = block.tobytes()
        if now != before:
            before, numbers = now, listed(block)
        return numbers

    return read
