"""Functions of JAX's own library that are one block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradwire.blocks.registry import registry
from gradwire.runtime.interchange.importing.jax.jaxprs import open_program
from gradwire.runtime.interchange.importing.jax.operands import (
    LazyBroadcast,
    Operand,
    array_of,
    staged,
)
from gradwire.runtime.interchange.importing.jax.operations.matrices import OF_LIBRARY
from gradwire.runtime.interchange.importing.jax.places import is_of_jax, origin
from gradwire.runtime.interchange.importing.staged import Staged

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.jax.jaxprs import ClosedJaxpr, Equation, Jaxpr
    from gradwire.runtime.interchange.importing.jax.walking import ProgramWalk

_ACTIVATIONS = {
    "log_sigmoid": "LogSigmoid",
    "mish": "Mish",
    "relu": "Relu",
    "relu6": "Relu6",
    "selu": "Selu",
    "silu": "Silu",
    "softplus": "Softplus",
}
_WITH_NUMBER = {"elu": ("Elu", "alpha"), "leaky_relu": ("LeakyRelu", "slope")}
"""Functions of x and of a number, a parameter of the block with the same default."""


def library_block(
    walk: ProgramWalk, equation: Equation, called: ClosedJaxpr | Jaxpr, inputs: list[Operand]
) -> list[Operand] | None:
    """The outputs of a function of JAX's library as one block; None where there is none."""
    name, file = origin(open_program(called))
    if not is_of_jax(file) or not all(isinstance(x, LazyBroadcast) for x in inputs):
        return None
    wires = [x for x in inputs if isinstance(x, LazyBroadcast)]
    if (
        len(equation.outvars) == 1
        and wires[:1]
        and wires[0].shape == equation.outvars[0].aval.shape
    ):
        activation = _activation(walk, name, wires)
        if activation is not None:
            return [activation]
    if name not in OF_LIBRARY:
        return None
    found = OF_LIBRARY[name](walk.stage, {}, *(x.wide(walk.stage) for x in wires))
    return [staged(x) for x in ([found] if isinstance(found, Staged) else found)]


def _activation(walk: ProgramWalk, name: str, wires: list[LazyBroadcast]) -> LazyBroadcast | None:
    x, *others = wires
    kind = _ACTIVATIONS.get(name, "")
    given: dict[str, Any] = {}
    if name in _WITH_NUMBER:
        kind, parameter = _WITH_NUMBER[name]
        number = array_of(others.pop()) if others else None
        if number is not None and number.size == 1:
            given = {parameter: float(number.reshape(()))}
        elif len(wires) == 2:
            return None
    if others or registry().find(kind) is None:
        return None
    return LazyBroadcast(walk.stage.block(kind, x.narrow, **given), x.shape)
