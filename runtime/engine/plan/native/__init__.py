"""Machine code for elementwise arithmetic and convolution, by llvmlite: the ``fast`` extra."""

from typing import TYPE_CHECKING

from gradwire.blocks import imported_on_use

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.native.functions.powers import is_simple
    from gradwire.runtime.engine.plan.native.loops import (
        Kernel,
        Operand,
        Operation,
        Recipe,
        compiled,
    )
    from gradwire.runtime.engine.plan.native.machine import address, installed
    from gradwire.runtime.engine.plan.native.operations import compiles, native_name
    from gradwire.runtime.engine.plan.native.straight import compiled_straight, compiles_straight

__all__ = [
    "Kernel",
    "Operand",
    "Operation",
    "Recipe",
    "address",
    "compiled",
    "compiled_straight",
    "compiles",
    "compiles_straight",
    "installed",
    "is_simple",
    "native_name",
]

__getattr__ = imported_on_use(
    __name__,
    {
        "functions.powers": "is_simple",
        "loops": "Kernel Operand Operation Recipe compiled",
        "machine": "address installed",
        "operations": "compiles native_name",
        "straight": "compiled_straight compiles_straight",
    },
)
