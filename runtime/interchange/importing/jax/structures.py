"""Equations that call programs: jit and its kin, which become pages where users wrote them."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.interchange.importing.jax.functions import library_block
from gradwire.runtime.interchange.importing.jax.jaxprs import (
    CALLS,
    DRAWING,
    called,
    evaluate,
    open_program,
)
from gradwire.runtime.interchange.importing.jax.loops import LOOPS
from gradwire.runtime.interchange.importing.jax.operands import Held, LazyBroadcast, Operand, held
from gradwire.runtime.interchange.importing.jax.operations.devices import DEVICES
from gradwire.runtime.interchange.importing.jax.places import (
    is_library_function,
    origin,
    stabilised_function,
)
from gradwire.runtime.interchange.importing.jax.rules import with_rule

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.jax.jaxprs import Equation
    from gradwire.runtime.interchange.importing.jax.walking import ProgramWalk, Structure


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


def _numbers(walk: ProgramWalk, x: LazyBroadcast) -> Any:
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
