"""Orders of rows: pseudorandom permutations that are pure functions of seed, use and epoch.

The numbers are those of Philox, a counter-based generator whose bits are equal on every machine.
Source: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]

SPLIT, EPOCH, DRAW = range(3)
"""What a permutation, or a stream of numbers, is for: each has its own."""

SORTED = 2**20
"""Up to this many rows a permutation is kept; for more it is computed where it is needed."""

_ROUNDS = 24
_FACTOR = 0xD2B74407B1CE6E93


def bits(seed: int, use: int, number: int = 0) -> np.random.Philox:
    """The generator of bits for one use of a seed."""
    return np.random.Philox(key=[seed, 4 * number + use])


def permuted(rows: Rows, count: int, seed: int, use: int, number: int = 0) -> Rows:
    """Where a permutation of ``range(count)`` takes these rows.

    Up to ``SORTED`` rows it sorts random keys. Beyond, it is a Feistel network walked until it
    stays in range, and takes memory for ``rows`` alone.

    Source: Mitchell, Stokes, Frank, Holmes, "Bandwidth-Optimal Random Shuffling for GPUs", 2022.
    """
    if count <= SORTED:
        return _sorted(count, seed, use, number)[rows]
    keys = bits(seed, use, number).random_raw(_ROUNDS) & np.uint64(0xFFFFFFFF)
    width = max(4, (count - 1).bit_length())
    moved = _mixed(rows.astype(np.uint64), keys, width)
    outside = np.flatnonzero(moved >= count)
    while outside.size:
        moved[outside] = _mixed(moved[outside], keys, width)
        outside = outside[moved[outside] >= count]
    return moved.astype(np.int64)


@lru_cache(maxsize=16)
def _sorted(count: int, seed: int, use: int, number: int) -> Rows:
    keys = bits(seed, use, number).random_raw(count)
    return np.argsort(keys, kind="stable").astype(np.int64, copy=False)


def _mixed(x: NDArray[np.uint64], keys: NDArray[np.uint64], width: int) -> NDArray[np.uint64]:
    """One pass of the network over numbers of ``width`` bits."""
    left_bits = np.uint64(width // 2)
    right_bits = np.uint64(width) - left_bits
    one, half = np.uint64(1), np.uint64(32)
    left_mask = (one << left_bits) - one
    right_mask = (one << right_bits) - one
    odd = right_bits - left_bits
    low_factor = np.uint64(_FACTOR & 0xFFFFFFFF)
    high_factor, factor = np.uint64(_FACTOR >> 32), np.uint64(_FACTOR)
    left, right = x >> right_bits, x & right_mask
    for key in keys:
        # The high word of a 64-bit product; left has less than 32 bits, so nothing overflows.
        high = (high_factor * left + ((low_factor * left) >> half)) >> half
        low = (factor * left << odd) | (right >> left_bits)
        left, right = (high ^ key ^ right) & left_mask, low & right_mask
    return (left << right_bits) | right
