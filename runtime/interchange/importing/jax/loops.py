"""Loops and choices: scan, while and cond. What JAX knows of each step needs no blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.jax.jaxprs import (
    Held,
    LazyBroadcast,
    Operand,
    array_of,
    dtype_of,
    evaluate,
    function_of,
    has_stop,
    held,
    is_literal,
    open_program,
    staged,
)
from gradwire.runtime.interchange.importing.jax.operations import select
from gradwire.runtime.interchange.importing.jax.places import origin

if TYPE_CHECKING:
    from jax import Array as JaxArray

    from gradwire.runtime.interchange.importing.jax.jaxprs import Atom, ClosedJaxpr, Equation, Jaxpr
    from gradwire.runtime.interchange.importing.jax.walking import ProgramWalk, Structure
    from gradwire.runtime.interchange.importing.staged import Staged

_State: TypeAlias = "tuple[JaxArray, tuple[JaxArray, ...]]"
"""How many steps a while loop has run, and what it carries."""
FEW_STEPS = 4
"""Loops of at most so many steps become the blocks of each step."""
MAX_STEPS = 10_000


@dataclass(frozen=True, eq=False)
class KnownPart:
    """The values in a loop that depend on no input and no variable."""

    atoms: set[Atom] = field(default_factory=set)
    """All of them; those that are the same in every step are left to the stage."""
    stacked: Mapping[Atom, JaxArray] = field(default_factory=dict)
    """Those that the rest of the loop reads, for all steps along axis 0."""
    last: Mapping[int, JaxArray] = field(default_factory=dict)
    """What is carried out of the last step, by its number among what is carried."""


NOTHING_KNOWN = KnownPart()


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop over elements, as of ``lax.scan``."""

    program: ClosedJaxpr
    consts: Sequence[Operand]
    carry: Sequence[Operand]
    over: Sequence[Operand]
    steps: int
    reverse: bool = False

    @cached_property
    def known(self) -> KnownPart:
        """What needs no blocks, since JAX knows it in each step."""
        return _known_part(self)

    @property
    def is_short(self) -> bool:
        """Whether it becomes the blocks of each step."""
        inputs = open_program(self.program).invars[len(self.consts) :]
        pairs = zip(inputs, [*self.carry, *self.over], strict=True)
        unknown = [x for atom, x in pairs if atom not in self.known.atoms]
        return self.steps <= FEW_STEPS or any(isinstance(x, Held) for x in unknown)

    @property
    def outputs(self) -> range:
        """The numbers of the outputs that are stacked."""
        return range(len(open_program(self.program).outvars) - len(self.carry))


def _known_part(loop: Loop) -> KnownPart:
    """What JAX knows of each step, which it runs."""
    jaxpr = open_program(loop.program)
    first, count = len(loop.consts), len(loop.carry)
    arrays = [array_of(x) for x in [*loop.consts, *loop.carry, *loop.over]]
    known = _known_inputs(jaxpr, [array is not None for array in arrays], first, count)
    atoms = _known_atoms(jaxpr, known)
    constant = _known_atoms(jaxpr, [ok and i < first for i, ok in enumerate(known)])
    read = [atom for atom in _read_by_others(jaxpr, atoms) if atom not in constant]
    carried = [i for i in range(count) if known[first + i]]
    elements = [i for i in range(first + count, len(known)) if known[i]]
    if not loop.steps or not (carried or elements):
        return NOTHING_KNOWN

    from jax import lax

    def step(
        state: Sequence[JaxArray], element: Sequence[JaxArray]
    ) -> tuple[list[JaxArray], list[JaxArray]]:
        given = {i: array for i, array in enumerate(arrays[:first]) if known[i]}
        given |= {first + i: x for i, x in zip(carried, state, strict=True)}
        given |= dict(zip(elements, element, strict=True))
        values = _evaluated(loop.program, {jaxpr.invars[i]: x for i, x in given.items()}, atoms)
        following = [_read(values, jaxpr.outvars[i]) for i in carried]
        return following, [values[atom] for atom in read]

    from jax import numpy as jnp

    initial = [_typed(jaxpr.invars[first + i], arrays[first + i]) for i in carried]
    rows = [jnp.asarray(arrays[i]) for i in elements]
    last, found = lax.scan(step, initial, rows, loop.steps, loop.reverse)
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
    program: ClosedJaxpr, given: Mapping[Atom, JaxArray], atoms: set[Atom]
) -> dict[Atom, JaxArray]:
    jaxpr = open_program(program)
    values = dict(zip(jaxpr.constvars, getattr(program, "consts", ()), strict=True)) | dict(given)
    for equation in jaxpr.eqns:
        if atoms.issuperset(equation.outvars) and equation.outvars:
            inputs = [_read(values, atom) for atom in equation.invars]
            values.update(zip(equation.outvars, evaluate(equation, inputs), strict=True))
    return values


def _read(values: Mapping[Atom, JaxArray], atom: Atom) -> JaxArray:
    return atom.val if is_literal(atom) else values[atom]


def _typed(atom: Atom, array: JaxArray) -> JaxArray:
    from jax import numpy as jnp

    dtype = atom.aval.dtype
    return array if array.dtype == dtype else jnp.asarray(array, dtype)


def scan(walk: ProgramWalk, equation: Equation, inputs: list[Operand]) -> list[Operand]:
    """A Scan block, or the blocks of each step where they are few."""
    params = equation.params
    if "ft_in" in params:  # since JAX 0.11: trees of what is constant, carried, and iterated over
        consts, carry, _ = map(len, params["ft_in"].unpack())
    else:
        consts, carry = params["num_consts"], params["num_carry"]
    given = inputs[:consts], inputs[consts : consts + carry], inputs[consts + carry :]
    return _run(walk, Loop(params["jaxpr"], *given, params["length"], params["reverse"]))


def while_loop(walk: ProgramWalk, equation: Equation, inputs: list[Operand]) -> list[Operand]:
    """A loop of as many steps as the example needs."""
    params = equation.params
    first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    carry = inputs[second:]
    steps = _steps(walk, equation, inputs[:first], inputs[first:second], carry)
    return _run(walk, Loop(params["body_jaxpr"], inputs[first:second], carry, [], steps))


def cond(walk: ProgramWalk, equation: Equation, inputs: list[Operand]) -> list[Operand]:
    """The branch that a known index chooses; else all of them, and a choice of their results."""
    which, values = inputs[0], inputs[1:]
    branches = equation.params["branches"]
    known = array_of(which)
    if known is not None:
        return walk.run(branches[int(np.clip(int(known), 0, len(branches) - 1))], values)
    walk.stage.remark(
        "note", f"All {len(branches)} branches of a cond are computed, and one result is chosen."
    )
    results = []
    for number, branch in enumerate(branches):
        with walk.inside([f"branch {number}"]):
            results.append(walk.run(branch, values))
    index = walk.wire(which, equation).wide(walk.stage)
    several = [
        [walk.wire(x, equation).wide(walk.stage) for x in each]
        for each in zip(*results, strict=True)
    ]
    return [staged(select(walk.stage, {}, index, *each)) for each in several]


def platform_index(walk: ProgramWalk, equation: Equation, inputs: list[Operand]) -> list[Operand]:
    """The index of the branch that a CPU takes."""
    platforms = equation.params["platforms"]
    chosen = next(i for i, names in enumerate(platforms) if names is None or "cpu" in names)
    return [held(walk.stage, np.asarray(chosen, np.int32))]


def _run(walk: ProgramWalk, loop: Loop) -> list[Operand]:
    return _unrolled(walk, loop) if loop.is_short else _scanned(walk, loop)


def _unrolled(walk: ProgramWalk, loop: Loop) -> list[Operand]:
    """The blocks of each step, as calls of one page."""
    stage, count = walk.stage, len(loop.carry)
    if loop.steps > MAX_STEPS:
        raise UnsupportedError("scan", f"it has more than {MAX_STEPS:,} steps, which hold keys")
    carry, rows = list(loop.carry), {}
    order = range(loop.steps)[:: -1 if loop.reverse else 1]
    for step in order:
        given = {atom: held(stage, x[step]) for atom, x in loop.known.stacked.items()}
        elements = [_element(walk, x, step) for x in loop.over]
        with walk.inside([_name(loop.program)]):
            results = walk.run(loop.program, [*loop.consts, *carry, *elements], loop.known, given)
        carry, rows[step] = results[:count], results[count:]
    if loop.steps > 1:
        stage.remark("unrolled", f"A loop of {loop.steps} steps became the blocks of each step.")
    stacked = [_stacked(walk, [rows[step][i] for step in sorted(rows)]) for i in loop.outputs]
    return [*carry, *stacked]


def _element(walk: ProgramWalk, x: Operand, step: int) -> Operand:
    known = array_of(x)
    if known is not None:
        return held(walk.stage, known[step])
    assert isinstance(x, LazyBroadcast)
    return staged(walk.stage.select(x.wide(walk.stage), 0, step))


def _stacked(walk: ProgramWalk, parts: Sequence[Operand]) -> Operand:
    arrays = [array_of(part) for part in parts]
    if all(array is not None for array in arrays):
        from jax import numpy as jnp

        return held(walk.stage, jnp.stack(arrays))
    values = [part.wide(walk.stage) for part in parts if isinstance(part, LazyBroadcast)]
    return staged(walk.stage.block("Stack", *values, axis=0))


def _scanned(walk: ProgramWalk, loop: Loop) -> list[Operand]:
    """A Scan block. What is known in each step comes in as elements."""
    stage, jaxpr, count = walk.stage, open_program(loop.program), len(loop.carry)
    inputs = jaxpr.invars[len(loop.consts) :]
    carry: dict[str, Staged] = {}
    over: dict[str, Staged] = {}
    places: dict[Atom, str] = {}
    keys: list[Atom] = []
    for index, (atom, x) in enumerate(zip(inputs, [*loop.carry, *loop.over], strict=True)):
        if atom not in loop.known.atoms:
            group, name = (carry, f"carry{index}") if index < count else (over, f"x{index - count}")
            assert isinstance(x, LazyBroadcast)
            group[name] = x.wide(stage)
            places[atom] = name
    for index, (atom, array) in enumerate(loop.known.stacked.items()):
        x = held(stage, array)
        if isinstance(x, LazyBroadcast):
            over[f"known{index}"] = x.wide(stage)
            places[atom] = f"known{index}"
        else:
            keys.append(atom)
    kept = [i for i in range(count) if f"carry{i}" in carry]
    shown = [i for i in loop.outputs if jaxpr.outvars[count + i] not in loop.known.stacked]

    def body(inside: Mapping[str, Staged]) -> tuple[dict[str, Staged], dict[str, Staged]]:
        given: dict[Atom, Operand] = dict.fromkeys(keys, Held(None))
        given |= {atom: staged(inside[name]) for atom, name in places.items()}
        blank: list[Operand] = [given.get(atom, Held(None)) for atom in inputs]
        with walk.body():
            results = walk.run(loop.program, [*loop.consts, *blank], loop.known, given)
            values = [x.wide(stage) if isinstance(x, LazyBroadcast) else None for x in results]
        carried = {f"carry{i}": values[i] for i in kept}
        stacked = {f"y{i}": values[count + i] for i in shown}
        # Known values are neither kept nor shown, so none of these is None.
        return carried, stacked  # type: ignore[return-value]

    found = stage.scan(_name(loop.program), loop.steps, body, carry, over, loop.reverse)
    last = [
        staged(found[f"carry{i}"]) if i in kept else held(stage, loop.known.last[i])
        for i in range(count)
    ]
    all_of = [
        staged(found[f"y{i}"])
        if i in shown
        else held(stage, loop.known.stacked[jaxpr.outvars[count + i]])
        for i in loop.outputs
    ]
    return [*last, *all_of]


def _name(program: ClosedJaxpr) -> str:
    """The name of the user's function that is the body."""
    name, _ = origin(open_program(program))
    return name if name.isidentifier() and not name.startswith("_") else "loop"


def _steps(
    walk: ProgramWalk,
    equation: Equation,
    cond_consts: Sequence[Operand],
    body_consts: Sequence[Operand],
    carry: Sequence[Operand],
) -> int:
    """How often a while loop runs, for the example where that depends on inputs."""
    from jax import lax

    test, body = (function_of(equation.params[key]) for key in ("cond_jaxpr", "body_jaxpr"))
    relevant = _deciding(equation, len(cond_consts), len(body_consts))
    needed = iter(relevant)
    values = [
        _numbers(walk, x, atom) if next(needed) else np.zeros(atom.aval.shape, dtype_of(atom))
        for x, atom in zip([*cond_consts, *body_consts, *carry], equation.invars, strict=True)
    ]
    first, second = len(cond_consts), len(cond_consts) + len(body_consts)

    def goes_on(state: _State) -> JaxArray:
        return test(*values[:first], *state[1])[0] & (state[0] <= MAX_STEPS)

    def step(state: _State) -> _State:
        return state[0] + 1, tuple(body(*values[first:second], *state[1]))

    steps = int(lax.while_loop(goes_on, step, (0, tuple(values[second:])))[0])
    if steps > MAX_STEPS:
        raise UnsupportedError("while", f"it runs more than {MAX_STEPS:,} steps")
    return steps


def _numbers(walk: ProgramWalk, x: Operand, atom: Atom) -> JaxArray | None:
    known = array_of(x)
    if known is not None or not isinstance(x, LazyBroadcast):
        return known
    narrow = walk.stage.numbers(x.narrow, "The number of steps of a while loop")
    return np.broadcast_to(narrow, x.shape).astype(dtype_of(atom))


def _deciding(equation: Equation, cond_consts: int, body_consts: int) -> list[bool]:
    """Which inputs of a while loop decide how long it runs."""
    test = open_program(equation.params["cond_jaxpr"])
    body = open_program(equation.params["body_jaxpr"])
    by_test = inputs_behind(test, set(test.outvars))
    wanted = {i - cond_consts for i in by_test if i >= cond_consts}
    while True:
        behind = inputs_behind(body, {body.outvars[i] for i in wanted})
        carried = wanted | {i - body_consts for i in behind if i >= body_consts}
        if carried == wanted:
            break
        wanted = carried
    count = len(equation.invars) - cond_consts - body_consts
    return [
        *(i in by_test for i in range(cond_consts)),
        *(i in behind for i in range(body_consts)),
        *(i in wanted for i in range(count)),
    ]


LOOPS: dict[str, Structure] = {
    "cond": cond,
    "platform_index": platform_index,
    "scan": scan,
    "while": while_loop,
}
