"""Equations that call programs: jit and its kin, which become pages where users wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.interchange.importing.jax.jaxprs import open_program
from runtime.interchange.importing.jax.places import is_library_function

if TYPE_CHECKING:
    from runtime.interchange.importing.jax.jaxprs import ClosedJaxpr, Equation, Jaxpr
    from runtime.interchange.importing.jax.operands import Operand
    from runtime.interchange.importing.jax.walking import Structure, Walk

_PROGRAMS = ("jaxpr", "call_jaxpr", "fun_jaxpr")


def program(equation: Equation) -> ClosedJaxpr | Jaxpr:
    """The program that an equation calls."""
    found: ClosedJaxpr | Jaxpr = next(
        equation.params[key] for key in _PROGRAMS if key in equation.params
    )
    return found


def call(walk: Walk, equation: Equation, inputs: list[Operand]) -> list[Operand]:
    """A function of the user's own becomes a page, one of a library its blocks."""
    called = program(equation)
    name = str(equation.params.get("name") or "")
    own = name and name != "<lambda>" and not is_library_function(open_program(called))
    with walk.inside([name] if own else []):
        return walk.run(called, inputs)


def same(walk: Walk, equation: Equation, inputs: list[Operand]) -> list[Operand]:
    """The inputs themselves."""
    return inputs


CALLS: dict[str, Structure] = {
    "checkpoint": call,
    "closed_call": call,
    "core_call": call,
    "custom_jvp_call": call,
    "custom_vjp_call": call,
    "custom_vjp_call_jaxpr": call,
    "jit": call,
    "optimization_barrier": same,
    "pjit": call,
    "remat": call,
    "remat2": call,
}
