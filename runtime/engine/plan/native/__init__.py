"""Machine code for elementwise arithmetic, by llvmlite, which is optional: the ``fast`` extra."""

from runtime.engine.plan.native.loops import Kernel, Operand, Operation, Recipe, compiled
from runtime.engine.plan.native.machine import installed
from runtime.engine.plan.native.operations import known
from runtime.engine.plan.native.straight import compiled_straight, known_straight

__all__ = [
    "Kernel",
    "Operand",
    "Operation",
    "Recipe",
    "compiled",
    "compiled_straight",
    "installed",
    "known",
    "known_straight",
]
