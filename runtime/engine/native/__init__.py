"""Machine code for elementwise arithmetic, by llvmlite, which is optional: the ``fast`` extra."""

from runtime.engine.native.loops import Kernel, Operand, Operation, Recipe, compiled
from runtime.engine.native.machine import installed
from runtime.engine.native.operations import known

__all__ = ["Kernel", "Operand", "Operation", "Recipe", "compiled", "installed", "known"]
