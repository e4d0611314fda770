"""Equations that call programs, or that no table of operations has."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.registry import registry
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.jax.jaxprs import (
    CALLS,
    DRAWING,
    Held,
    LazyBroadcast,
    Operand,
    array_of,
    called,
    evaluate,
    held,
    open_program,
    staged,
)
from gradwire.runtime.interchange.importing.jax.loops import LOOPS
from gradwire.runtime.interchange.importing.jax.operations import OF_LIBRARY
from gradwire.runtime.interchange.importing.jax.places import (
    is_library_function,
    is_of_jax,
    origin,
    stabilised_function,
)
from gradwire.runtime.interchange.importing.jax.rules import with_rule
from gradwire.runtime.interchange.importing.staged import Staged

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.jax.jaxprs import ClosedJaxpr, Equation, Jaxpr
    from gradwire.runtime.interchange.importing.jax.walking import ProgramWalk, Structure


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


def _on_one_device(walk: ProgramWalk, equation: Equation, inputs: list[Operand]) -> list[Operand]:
    """The program of the only device, which sees all of each array."""
    if equation.params["mesh"].size != 1:
        raise UnsupportedError("shard_map", "it runs on several devices")
    return walk.run(called(equation), inputs)


def _device_sum(walk: ProgramWalk, equation: Equation, inputs: list[Operand]) -> list[Operand]:
    """The sum over devices, here one, and over axes that ``vmap`` has named."""
    axes = tuple(axis for axis in equation.params["axes"] if isinstance(axis, int))
    if equation.params.get("axis_index_groups") is not None:
        raise UnsupportedError(equation.primitive.name, "it is within groups")
    if not axes:
        return inputs
    wide = [walk.wire(x, equation).wide(walk.stage) for x in inputs]
    return [staged(walk.stage.block("Sum", x, axis=axes)) for x in wide]


def _own_part(walk: ProgramWalk, equation: Equation, inputs: list[Operand]) -> list[Operand]:
    """What one device gets of itself, an axis of one more or less."""
    named = equation.params.get("axes", equation.params.get("axis_name"))
    if any(isinstance(axis, int) for axis in np.atleast_1d(np.array(named, object))):
        raise UnsupportedError(equation.primitive.name, "it is along an axis of an array")
    shapes = [tuple(atom.aval.shape) for atom in equation.outvars]
    wide = [walk.wire(x, equation).wide(walk.stage) for x in inputs]
    return [staged(walk.stage.reshape(x, s)) for x, s in zip(wide, shapes, strict=True)]


def _index(walk: ProgramWalk, equation: Equation, inputs: list[Operand]) -> list[Operand]:
    return [held(walk.stage, np.zeros((), np.int32))]


DEVICES: dict[str, Structure] = {
    "shard_map": _on_one_device,
    **dict.fromkeys(("psum", "psum_invariant", "psum2"), _device_sum),
    **dict.fromkeys(
        ("all_gather", "all_gather_invariant", "all_to_all", "ppermute", "reduce_scatter"),
        _own_part,
    ),
    "axis_index": _index,
}
"""Equations of ``shard_map`` and its kin."""


def call(walk: ProgramWalk, equation: Equation, inputs: list[Operand]) -> list[Operand]:
    """A function of the user's own becomes a page, one of a library its blocks."""
    program = called(equation)
    known = library_block(walk, equation, program, inputs)
    if known is not None:
        return known
    name = str(equation.params.get("name") or "")
    named = name and name != "<lambda>"
    own = named and not is_library_function(open_program(program))
    one = walk.stage.operation(name) if named and not own else nullcontext()
    with walk.inside([name] if own else []), one:
        return walk.run(program, inputs)


def custom(walk: ProgramWalk, equation: Equation, inputs: list[Operand]) -> list[Operand]:
    """A function with a rule for its derivative."""
    program = called(equation)
    own = library_block(walk, equation, program, inputs)
    if own is not None and equation.primitive.name == "custom_jvp_call":
        return own
    if not walk.follows_rules:
        return call(walk, equation, inputs)
    name = origin(open_program(program))[0]
    is_library = is_library_function(open_program(program))
    with walk.inside([] if is_library or not name.isidentifier() else [name]):
        return with_rule(walk, equation, program, inputs)


def stop(walk: ProgramWalk, equation: Equation, inputs: list[Operand]) -> list[Operand]:
    """The user's stop of gradient, or one of JAX's library for numerical stability."""
    wire = walk.wire(inputs[0], equation)
    function = stabilised_function(equation)
    name = f"{function}_stability" if function else "stop_gradient"
    stopped = walk.stage.block("StopGradient", wire.narrow, name=name)
    if function:
        text = f"{function} of JAX stops a part that cancels out, for numerical stability."
        walk.stage.remark("note", text, stopped)
    else:
        walk.stage.remark("cut", "stop_gradient stops the gradient here.", stopped)
    return [LazyBroadcast(stopped, wire.shape)]


def same(walk: ProgramWalk, equation: Equation, inputs: list[Operand]) -> list[Operand]:
    """The inputs themselves."""
    return inputs


def from_key(walk: ProgramWalk, equation: Equation, inputs: list[Operand]) -> list[Operand]:
    """Random numbers, from a key that is an input: those of the example."""
    known = [
        x.array if isinstance(x, Held) else _numbers(walk, walk.wire(x, equation)) for x in inputs
    ]
    return [held(walk.stage, array) for array in evaluate(equation, known)]


def _numbers(walk: ProgramWalk, x: LazyBroadcast) -> Array:
    return np.broadcast_to(walk.stage.numbers(x.narrow, "Random numbers of a key"), x.shape)


STRUCTURES: dict[str, Structure] = {
    **dict.fromkeys((*DRAWING, "random_wrap", "random_seed", "random_fold_in"), from_key),
    **LOOPS,
    **DEVICES,
    **dict.fromkeys(CALLS, call),
    "custom_jvp_call": custom,
    "custom_vjp_call": custom,
    "custom_vjp_call_jaxpr": custom,
    "device_put": same,
    "optimization_barrier": same,
    "stop_gradient": stop,
}
