"""Machine code for elementwise arithmetic, by llvmlite, which is optional: the ``fast`` extra."""

from runtime.engine.plan.native.loops import Kernel, Operand, Operation, Recipe, compiled
from runtime.engine.plan.native.machine import installed
from runtime.engine.plan.native.operations import known

__all__ = ["Kernel", "Operand", "Operation", "Recipe", "compiled", "installed", "known"]
