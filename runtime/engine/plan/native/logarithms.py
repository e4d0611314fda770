"""Natural logarithms of float64 by the C library, called from machine code."""

from __future__ import annotations

from functools import cache

from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.loops import Kernel

LOGARITHMS = ("log", "numbers")
"""The frame of ``logarithms``: the addresses of the function and of float64 side by side."""

_TEXT = """
define void @logarithms(ptr %frame, i64 %unused, i64 %start, i64 %stop) {
  %log = load ptr, ptr %frame
  %numbers.at = getelementptr i64, ptr %frame, i64 1
  %numbers = load ptr, ptr %numbers.at
  br label %more
more:
  %i = phi i64 [%start, %0], [%after, %go]
  %is.more = icmp slt i64 %i, %stop
  br i1 %is.more, label %go, label %done
go:
  %at = getelementptr double, ptr %numbers, i64 %i
  %x = load double, ptr %at
  %y = call double %log(double %x)
  store double %y, ptr %at
  %after = add i64 %i, 1
  br label %more
done:
  ret void
}
"""


@cache
def logarithms() -> Kernel:
    """``x[i] = log x[i]``; ``call(frame, 0, start, stop)`` for the numbers from start to stop."""
    return Kernel(*machine.function(_TEXT, "logarithms"))
