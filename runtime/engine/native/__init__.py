"""Machine code for elementwise regions and matrix products, by llvmlite: the ``fast`` extra."""

from runtime.engine.native.loops import Kernel, Operand, Operation, Recipe, compiled
from runtime.engine.native.machine import installed
from runtime.engine.native.operations import known
from runtime.engine.native.products import Product

__all__ = ["Kernel", "Operand", "Operation", "Product", "Recipe", "compiled", "installed", "known"]
