"""The numbers of sources as a page has them: written out, or how they are drawn.

Weights that an initialiser draws have no pattern that packing could find, but a page can draw them
again: it gets the key of their generator, and their interval or standard deviation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.library.sources import Variable
from gradwire.runtime.publish.living.computing.numbers import number, numbers

if TYPE_CHECKING:
    from gradwire.blocks.block import Source
    from gradwire.blocks.values import Array

FEWEST, MOST = 16, 50_000
"""Fewer numbers are shorter written out; more take long to draw."""
_LAYERS = 256
_TAIL = 3.6541528853610088
"""Where the tail of the normal distribution begins."""
_MANTISSA = 2**52


def initial_data(source: Source | Any, path: str, array: Array) -> Any:
    """``array``, the numbers of a source, as plain data: all of them, or ``{key, low, span}`` or
    ``{key, deviation}`` of a Philox generator, where ``drawn`` gives the same bits by that.
    """
    if isinstance(source, Variable) and source.value is None and FEWEST <= array.size <= MOST:
        key = np.random.Philox(source.seeds(path)).state["state"]["key"].tolist()
        if (law := _law(source, array)) and drawn(key, law, array).tobytes() == array.tobytes():
            return {"key": [f"{word:x}" for word in key], **law}
    return numbers(array)


def _law(source: Variable, array: Array) -> dict[str, Any]:
    """How the numbers are distributed; nothing where they are not drawn."""
    if (interval := source.interval(array.shape)) is not None:
        low, high = interval
        return {"low": number(low), "span": number(high - low)}
    deviation = source.deviation(array.shape)
    return {} if deviation is None else {"deviation": number(deviation)}


def drawn(key: list[int], law: dict[str, Any], like: Array) -> Array:
    """Numbers in the shape and dtype of an array, as ``script/drawn.js`` draws them."""
    bits = np.random.Philox(key=np.array(key, np.uint64))
    with np.errstate(over="ignore"):
        if "span" in law:
            shares = (bits.random_raw(like.size) >> np.uint64(11)).astype(np.float64) * 2.0**-53
            return _as(law["low"] + law["span"] * shares, like)
        raw = iter(bits.random_raw(2 * like.size + _LAYERS).tolist())
        normal = np.array([_normal(raw) for _ in range(like.size)])
        return _as(normal * law["deviation"], like)


def _as(array: Array, like: Array) -> Array:
    found: Array = array.reshape(like.shape).astype(like.dtype)
    return found


def _normal(raw: Iterator[int]) -> float:
    """A standard normal number of a generator's bits, as numpy draws it.

    Source: Marsaglia, Tsang, "The Ziggurat Method for Generating Random Variables", JSS 2000.
    """
    edges, heights, inner = _ziggurat()
    while True:
        bits = next(raw)
        layer, size = bits & 255, bits >> 9 & (_MANTISSA - 1)
        x = size * (edges[layer] / _MANTISSA) * (-1 if bits & 256 else 1)
        if size < inner[layer] * _MANTISSA:
            return x
        if not layer:
            while True:
                further = -math.log1p(-_one(raw)) / _TAIL
                if -2 * math.log1p(-_one(raw)) > further * further:
                    return -(_TAIL + further) if size >> 8 & 1 else _TAIL + further
        below = heights[layer - 1] - heights[layer]
        if below * _one(raw) + heights[layer] < math.exp(-0.5 * x * x):
            return x


def _one(raw: Iterator[int]) -> float:
    return (next(raw) >> 11) * 2.0**-53


@cache
def _ziggurat() -> tuple[list[float], list[float], list[float]]:
    """The right edges of the layers, the base first and then outwards from the peak; the density at
    each; and the share of each layer that is below the density for sure.
    """
    density = math.exp(-0.5 * _TAIL * _TAIL)
    area = _TAIL * density + math.sqrt(math.pi / 2) * math.erfc(_TAIL / math.sqrt(2))
    edges = [area / density] * _LAYERS
    edges[_LAYERS - 1] = at = _TAIL
    for layer in range(_LAYERS - 2, 0, -1):
        at = math.sqrt(-2 * math.log(area / at + math.exp(-0.5 * at * at)))
        edges[layer] = at
    heights = [1.0, *(math.exp(-0.5 * edge * edge) for edge in edges[1:])]
    inner = [_TAIL / edges[0], 0.0, *(a / b for a, b in pairwise(edges[1:]))]
    return edges, heights, inner
