"""Random numbers from a counter, in primitives: the same bits on every engine.

But for normal numbers of float64, which are alike to a few units in the last place: no two systems
have the same logarithm and cosine.

Threefry-2x32 with 20 rounds, keyed by a block's seed and the session's step. Source: Salmon,
Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import DTypeError
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.calculus.primitives.base import LEAF, BaseOps, lengths_of
from gradwire.runtime.calculus.sizes import require_constant

if TYPE_CHECKING:
    from gradwire.runtime.calculus.value import Operand, Value

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)
_MANTISSA = {"float16": 10, "float32": 23, "float64": 52}


class RandomOps(BaseOps):
    """Uniform and normal numbers, which are constants to the gradient."""

    __slots__ = ()

    def step(self) -> Value:
        """The number of steps of the session, uint32: a leaf that the session binds."""
        if self.trace.step is None:
            owner, self.trace.owner = self.trace.owner, None
            self.trace.step = self.trace.apply(LEAF, shape=(), dtype="uint32")
            self.trace.owner = owner
        return self.trace.step

    def threefry(self, key: tuple[Operand, Operand], x: Value, y: Value) -> tuple[Value, Value]:
        """The 20-round Threefry-2x32 of counters ``x``, ``y`` (uint32) under two key words."""
        xp = self.xp
        first, second = (self.asarray(word, "uint32") for word in key)
        keys = (first, second, xp.bitwise_xor(xp.bitwise_xor(first, second), _PARITY))
        x, y = x + keys[0], y + keys[1]
        for group in range(5):
            for bits in _ROTATIONS[group % 2]:
                x = x + y
                turned = self.xp.bitwise_or(
                    self.xp.left_shift(y, bits), self.xp.right_shift(y, 32 - bits)
                )
                y = xp.bitwise_xor(turned, x)
            x = x + keys[(group + 1) % 3]
            y = y + keys[(group + 2) % 3] + (group + 1)
        return x, y

    def random_uniform(
        self, shape: int | Sequence[int], seed: int | None = None, dtype: str = "float32"
    ) -> Value:
        """Uniform on [0, 1): multiples of 2⁻ᵐ with m mantissa bits; new numbers at each step.

        Equal seeds give equal numbers; None takes the seed from the owner, a block's path. Raises
        DTypeError unless the dtype is a float.
        """
        _require_float(dtype)
        lengths = lengths_of(shape)
        require_constant(*lengths)
        count = math.prod(lengths)
        if seed is None and self.trace.own_seed is not None:
            key: tuple[Operand, Operand] = (self.trace.own_seed(), 0)
        else:
            seed = seed_of(self.trace.owner) if seed is None else seed
            key = (seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF)
        x, y = self.threefry(
            key,
            self.asarray(np.arange(count, dtype=np.uint32)),
            self.broadcast_to(self.step(), (count,)),
        )
        bits = _MANTISSA[dtype]
        if dtype == "float64":
            low = self.astype(self.xp.right_shift(y, 64 - bits), dtype) * 2.0**-bits
            return self.reshape(self.astype(x, dtype) * 2.0**-32 + low, lengths)
        high = self.astype(self.xp.right_shift(x, 32 - bits), dtype)
        return self.reshape(high * 2.0**-bits, lengths)

    def random_normal(
        self, shape: int | Sequence[int], seed: int | None = None, dtype: str = "float32"
    ) -> Value:
        """Standard normal numbers, seeded as ``random_uniform`` is.

        Computed in float64 from uniform numbers of float32, or of float64 for float64 itself, and
        rounded: what the last digits of a logarithm or a cosine are doesn't matter then, but for
        one number in 10⁸. Raises DTypeError unless the dtype is a float.

        Source: Box, Muller, "A Note on the Generation of Random Normal Deviates", 1958.
        """
        _require_float(dtype)
        lengths = lengths_of(shape)
        require_constant(*lengths)
        count = math.prod(lengths)
        kept = "float64" if dtype == "float64" else "float32"
        uniform = self.astype(self.random_uniform((2, (count + 1) // 2), seed, kept), "float64")
        radius = self.xp.sqrt(-2.0 * self.xp.log(1.0 - uniform[0]))
        angle = (2.0 * math.pi) * uniform[1]
        ends = (radius * self.xp.cos(angle), radius * self.xp.sin(angle))
        both = self.xp.concat([self.astype(end, kept) for end in ends])
        return self.astype(self.reshape(both[:count], lengths), dtype)


def seed_of(owner: object) -> int:
    """The seed of what belongs to an owner and has none of its own."""
    return zlib.crc32(str(owner).encode())


def _require_float(dtype: str) -> None:
    if not is_float(dtype):
        raise DTypeError(f"Random numbers are floats, not {dtype}.", next_step="Cast them.")
