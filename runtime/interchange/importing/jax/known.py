"""What a loop computes from known numbers alone: counters, keys and random numbers of each step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.interchange.importing.jax.jaxprs import (
    evaluate,
    has_stop,
    is_literal,
    open_program,
)
from gradwire.runtime.interchange.importing.jax.operands import array_of

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.jax.jaxprs import Atom, ClosedJaxpr, Jaxpr
    from gradwire.runtime.interchange.importing.jax.operands import Operand


@dataclass(frozen=True, eq=False)
class KnownPart:
    """The values in a loop that depend on no input and no variable."""

    atoms: set[Atom] = field(default_factory=set)
    """All of them; those that are the same in every step are left to the stage."""
    stacked: Mapping[Atom, Any] = field(default_factory=dict)
    """Those that the rest of the loop reads, for all steps along axis 0."""
    last: Mapping[int, Any] = field(default_factory=dict)
    """What is carried out of the last step, by its number among what is carried."""


NOTHING_KNOWN = KnownPart()


def known_part(
    program: ClosedJaxpr,
    consts: Sequence[Operand],
    carry: Sequence[Operand],
    over: Sequence[Operand],
    steps: int,
    reverse: bool,
) -> KnownPart:
    """Run by JAX what is known in each step of a loop."""
    jaxpr = open_program(program)
    first, count = len(consts), len(carry)
    arrays = [array_of(x) for x in [*consts, *carry, *over]]
    known = _known_inputs(jaxpr, [array is not None for array in arrays], first, count)
    atoms = _known_atoms(jaxpr, known)
    constant = _known_atoms(jaxpr, [ok and i < first for i, ok in enumerate(known)])
    read = [atom for atom in _read_by_others(jaxpr, atoms) if atom not in constant]
    carried = [i for i in range(count) if known[first + i]]
    elements = [i for i in range(first + count, len(known)) if known[i]]
    if not steps or not (carried or elements):
        return NOTHING_KNOWN

    from jax import lax

    def step(state: Any, element: Any) -> Any:
        given = {i: array for i, array in enumerate(arrays[:first]) if known[i]}
        given |= {first + i: x for i, x in zip(carried, state, strict=True)}
        given |= dict(zip(elements, element, strict=True))
        values = _evaluated(program, {jaxpr.invars[i]: x for i, x in given.items()}, atoms)
        following = [_read(values, jaxpr.outvars[i]) for i in carried]
        return following, [values[atom] for atom in read]

    from jax import numpy as jnp

    initial = [_typed(jaxpr.invars[first + i], arrays[first + i]) for i in carried]
    rows = [arrays[i] for i in elements]
    last, found = lax.scan(step, initial, [jnp.asarray(r) for r in rows], steps, reverse)
    stacked = dict(zip(read, found, strict=True))
    return KnownPart(atoms - constant, stacked, dict(zip(carried, last, strict=True)))


def inputs_behind(jaxpr: Jaxpr, wanted: set[Atom]) -> set[int]:
    """The numbers of the inputs that some values of a program depend on."""
    needed = set(wanted)
    for equation in reversed(jaxpr.eqns):
        if needed.intersection(equation.outvars):
            needed.update(atom for atom in equation.invars if not is_literal(atom))
    return {i for i, atom in enumerate(jaxpr.invars) if atom in needed}


def _known_inputs(jaxpr: Jaxpr, given: Sequence[bool], first: int, count: int) -> list[bool]:
    """Which inputs are known in every step: what is carried must stay known."""
    known = list(given)
    while True:
        atoms = _known_atoms(jaxpr, known)
        stays = [is_literal(atom) or atom in atoms for atom in jaxpr.outvars[:count]]
        found = [
            ok and (not first <= i < first + count or stays[i - first])
            for i, ok in enumerate(known)
        ]
        if found == known:
            return known
        known = found


def _known_atoms(jaxpr: Jaxpr, known: Sequence[bool]) -> set[Atom]:
    """The values that depend on known inputs alone."""
    atoms = set(jaxpr.constvars)
    atoms.update(atom for atom, ok in zip(jaxpr.invars, known, strict=True) if ok)
    for equation in jaxpr.eqns:
        plain = all(is_literal(atom) or atom in atoms for atom in equation.invars)
        if plain and not has_stop(equation):
            atoms.update(equation.outvars)
    return atoms


def _read_by_others(jaxpr: Jaxpr, atoms: set[Atom]) -> list[Atom]:
    """The known values that equations of others read, or that are results, each once."""
    readers: list[Iterable[Atom]] = [
        equation.invars for equation in jaxpr.eqns if not atoms.issuperset(equation.outvars)
    ]
    every = [atom for inputs in [*readers, jaxpr.outvars] for atom in inputs]
    return list(dict.fromkeys(x for x in every if not is_literal(x) and x in atoms))


def _evaluated(
    program: ClosedJaxpr, given: Mapping[Atom, Any], atoms: set[Atom]
) -> dict[Atom, Any]:
    jaxpr = open_program(program)
    values = dict(zip(jaxpr.constvars, getattr(program, "consts", ()), strict=True)) | dict(given)
    for equation in jaxpr.eqns:
        if atoms.issuperset(equation.outvars) and equation.outvars:
            inputs = [_read(values, atom) for atom in equation.invars]
            values.update(zip(equation.outvars, evaluate(equation, inputs), strict=True))
    return values


def _read(values: Mapping[Atom, Any], atom: Any) -> Any:
    return atom.val if is_literal(atom) else values[atom]


def _typed(atom: Atom, array: Any) -> Any:
    from jax import numpy as jnp

    dtype: Any = atom.aval.dtype
    return array if array.dtype == dtype else jnp.asarray(array, dtype)
