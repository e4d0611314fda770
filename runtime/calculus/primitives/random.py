"""Random numbers from a counter, in primitives: the same bits on every engine.

Threefry-2x32 with 20 rounds, keyed by a block's seed and the session's step. Source: Salmon,
Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from blocks.block import Shape
from blocks.errors import DTypeError
from runtime.calculus.dtypes import is_float
from runtime.calculus.primitives.base import LEAF, BaseNames
from runtime.calculus.trace import Value

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)
_MANTISSA = {"float16": 10, "float32": 23, "float64": 52}


class RandomNames(BaseNames):
    """Uniform and normal numbers: constants to the gradient."""

    __slots__ = ()

    def step(self) -> Value:
        """How many steps the session has made, uint32: a leaf that the session binds."""
        if self.trace.step is None:
            owner, self.trace.owner = self.trace.owner, None
            self.trace.step = self.trace.apply(LEAF, shape=(), dtype="uint32")
            self.trace.owner = owner
        return self.trace.step

    def threefry(self, key: tuple[Any, Any], x: Value, y: Value) -> tuple[Value, Value]:
        """The 20-round Threefry-2x32 of counters ``x``, ``y`` (uint32) under two key words."""
        xp: Any = self
        first, second = (xp.asarray(word, "uint32") for word in key)
        keys = (first, second, xp.bitwise_xor(xp.bitwise_xor(first, second), xp.asarray(_PARITY)))
        x, y = x + keys[0], y + keys[1]
        for group in range(5):
            for bits in _ROTATIONS[group % 2]:
                x = x + y
                left = xp.left_shift(y, xp.asarray(np.uint32(bits)))
                right = xp.right_shift(y, xp.asarray(np.uint32(32 - bits)))
                y = xp.bitwise_xor(xp.bitwise_or(left, right), x)
            x = x + keys[(group + 1) % 3]
            y = y + keys[(group + 2) % 3] + xp.asarray(np.uint32(group + 1))
        return x, y

    def random_uniform(self, shape: Shape, seed: int, dtype: str = "float32") -> Value:
        """Uniform on [0, 1): multiples of 2⁻ᵐ, m the mantissa bits; new numbers each step.

        Equal seeds give equal numbers. Raises DTypeError for a dtype that is no float.
        """
        if not is_float(dtype):
            raise DTypeError(f"Random numbers are floats, not {dtype}.", next_step="Cast them.")
        xp: Any = self
        count = math.prod(shape)
        key = (np.uint32(seed & 0xFFFFFFFF), np.uint32((seed >> 32) & 0xFFFFFFFF))
        counter = xp.asarray(np.arange(count, dtype=np.uint32))
        x, y = self.threefry(key, counter, xp.zeros((count,), "uint32") + self.step())
        bits = _MANTISSA[dtype]
        high = xp.right_shift(x, xp.asarray(np.uint32(max(0, 32 - bits))))
        if dtype == "float64":
            low = xp.right_shift(y, xp.asarray(np.uint32(64 - bits)))
            exact = xp.astype(x, "float64") * 2.0**-32 + xp.astype(low, "float64") * 2.0**-bits
            return xp.reshape(exact, shape)  # type: ignore[no-any-return]  # names of other families
        return xp.reshape(xp.astype(high, dtype) * 2.0**-bits, shape)  # type: ignore[no-any-return]  # names of other families

    def random_normal(self, shape: Shape, seed: int, dtype: str = "float32") -> Value:
        """Standard normal numbers. Source: Box, Muller, "A Note on the Generation of Random
        Normal Deviates", 1958."""
        xp: Any = self
        work = "float64" if dtype == "float64" else "float32"
        pairs = (math.prod(shape) + 1) // 2
        uniform = self.random_uniform((2, pairs), seed, work)
        radius = xp.sqrt(-2.0 * xp.log(1.0 - uniform[0]))
        angle = (2.0 * math.pi) * uniform[1]
        both = xp.concat([radius * xp.cos(angle), radius * xp.sin(angle)])
        return xp.astype(xp.reshape(both[: math.prod(shape)], shape), dtype)  # type: ignore[no-any-return]  # names of other families
