"""Sets large arrays to 0 by machine code that writes past the caches.

It is beside the compiler, which writes no streams: without it, a step of an embedding
of 50,000 rows takes 1.4 times as long.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.engine.plan.allocation import LINE
from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.assembly import Assembly

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.engine.plan.native.kernels import Kernel


LARGE = 8 << 20
"""Bytes from which an array had better not go through the caches: writing there reads first what is
overwritten, and little of it is left when the array has been written.
"""

CLEAR = ("out",)
"""The frame of ``clear``: an address, int64."""


def clear(out: Array) -> None:
    """Set all elements to 0: by numpy where the array is small or has gaps, or without compiler."""
    if out.nbytes < LARGE or not out.flags.c_contiguous or not machine.installed():
        out.fill(0)
        return
    flat = out.reshape(-1).view(np.uint8)
    first = -machine.address(flat) % LINE
    lines = (flat.size - first) // LINE
    flat[:first] = 0
    flat[first + lines * LINE :] = 0
    frame = machine.frame(CLEAR, out=flat[first:])
    _kernel(machine.lanes())(machine.address(frame), 0, 0, lines)


@cache
def _kernel(lanes: int) -> Kernel:
    """Sets the lines from start to stop to 0; ``out`` begins with a line."""
    w = Assembly("clear", "float32", lanes, CLEAR)
    zeros = w.constant(0.0)
    with w.loop("line", "%start", "%stop") as line:
        place = w.add("%out", w.multiply(line, LINE))
        for away in range(0, LINE, lanes * w.bytes):
            w.stream(zeros, w.add(place, away))
    w.wait()
    return machine.function(w.text(), "clear")
