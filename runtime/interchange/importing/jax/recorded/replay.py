"""Runs a program again in JAX, to see what gradient arrives at some equations of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from gradwire.runtime.interchange.importing.jax.jaxprs import (
    called,
    dtype_of,
    evaluate,
    is_literal,
    live_equations,
    open_program,
)
from gradwire.runtime.interchange.importing.jax.probing import is_float

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.jax.jaxprs import Atom, ClosedJaxpr, Jaxpr

Place: TypeAlias = tuple[int, ...]
"""An equation: its identity, behind those of the calls around it."""


def arriving(
    program: ClosedJaxpr,
    arrays: Sequence[Any],
    loss: int,
    places: Mapping[Place, Sequence[int]],
) -> dict[Place, dict[int, Any]]:
    """What gradient of an output comes to equations, by the numbers of their outputs in the list.

    They are those of zeros that are added to the equations' float outputs.
    """
    import jax
    from jax import numpy as jnp

    atoms = dict(_atoms(program, places))
    zeros = {
        place: {
            j: jnp.zeros(atoms[place][i].aval.shape, dtype_of(atoms[place][i]))
            for j, i in enumerate(outputs)
            if is_float(atoms[place][i])
        }
        for place, outputs in places.items()
    }

    def lost(added: Any) -> Any:
        return _run(program, arrays, (), places, added)[loss].reshape(())

    found: dict[Place, dict[int, Any]] = jax.grad(lost)(zeros)
    return found


def _atoms(
    program: ClosedJaxpr | Jaxpr, places: Mapping[Place, Any], around: Place = ()
) -> Iterator[tuple[Place, Sequence[Atom]]]:
    """The outputs of the equations at places."""
    for equation in live_equations(open_program(program)):
        place = (*around, id(equation))
        if place in places:
            yield place, equation.outvars
        elif _is_around(place, places):
            yield from _atoms(called(equation), places, place)


def _run(
    program: ClosedJaxpr | Jaxpr,
    inputs: Sequence[Any],
    around: Place,
    places: Mapping[Place, Sequence[int]],
    added: Mapping[Place, Mapping[int, Any]],
) -> list[Any]:
    jaxpr = open_program(program)
    values: dict[Atom, Any] = dict(
        zip(jaxpr.constvars, getattr(program, "consts", ()), strict=True)
    )
    values.update(zip(jaxpr.invars, inputs, strict=True))

    def read(atom: Any) -> Any:
        return atom.val if is_literal(atom) else values[atom]

    for equation in live_equations(jaxpr):
        place = (*around, id(equation))
        given = [read(atom) for atom in equation.invars]
        if place not in places and _is_around(place, places):
            results = _run(called(equation), given, place, places, added)
        else:
            results = evaluate(equation, given)
        for j, number in added.get(place, {}).items():
            results[places[place][j]] += number
        values.update(zip(equation.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _is_around(place: Place, places: Mapping[Place, Any]) -> bool:
    return any(other[: len(place)] == place for other in places)
