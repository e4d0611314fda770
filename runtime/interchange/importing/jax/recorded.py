"""Recorded blocks for what no block computes, up to where its numbers are ones that blocks carry.

An equation is recorded with all that leads to it from numbers of blocks, such as the transform that
an absolute value is of. JAX itself gives the values of the run, what gradient arrives in it, and
the vector-Jacobian products.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import reason_of
from gradwire.blocks.library.recorded import MAX_PORTS, Recorded
from gradwire.blocks.values import DTYPES, Tensor
from gradwire.runtime.calculus.measuring import measured
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.jax.jaxprs import (
    LazyBroadcast,
    OpaqueOutput,
    Operand,
    RecordedEquation,
    array_of,
    block_dtype,
    called,
    dtype_of,
    evaluate,
    has_stop,
    held,
    is_float,
    is_literal,
    live_equations,
    open_program,
    runs,
    staged,
)
from gradwire.runtime.interchange.importing.jax.places import origin

if TYPE_CHECKING:
    from jax import Array as JaxArray

    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.jax.jaxprs import (
        Atom,
        ClosedJaxpr,
        Equation,
        Function,
        Jaxpr,
    )
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


Place: TypeAlias = tuple[int, ...]
"""An equation: its identity, behind those of the calls around it."""


def arriving(
    program: ClosedJaxpr,
    arrays: Sequence[JaxArray],
    loss: int,
    places: Mapping[Place, Sequence[int]],
) -> dict[Place, dict[int, JaxArray]]:
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
            if is_float(atoms[place][i].aval.dtype)
        }
        for place, outputs in places.items()
    }

    def lost(added: Mapping[Place, Mapping[int, JaxArray]]) -> JaxArray:
        return _run(program, arrays, (), places, added)[loss].reshape(())

    found: dict[Place, dict[int, JaxArray]] = jax.grad(lost)(zeros)
    return found


def _atoms(
    program: ClosedJaxpr | Jaxpr, places: Mapping[Place, object], around: Place = ()
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
    inputs: Sequence[JaxArray],
    around: Place,
    places: Mapping[Place, Sequence[int]],
    added: Mapping[Place, Mapping[int, JaxArray]],
) -> list[JaxArray]:
    jaxpr = open_program(program)
    values: dict[Atom, JaxArray] = dict(
        zip(jaxpr.constvars, getattr(program, "consts", ()), strict=True)
    )
    values.update(zip(jaxpr.invars, inputs, strict=True))

    def read(atom: Atom) -> JaxArray:
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


def _is_around(place: Place, places: Mapping[Place, object]) -> bool:
    return any(other[: len(place)] == place for other in places)


_NO_DERIVATIVE = (TypeError, ValueError, NotImplementedError)
"""What JAX raises where it has no derivative."""
_NAMED = 3
"""Equations whose names make up that of a block."""


@dataclass(eq=False)
class JaxRegion:
    """One Recorded block: an equation and what leads to it."""

    place: Place
    """Where the equation is."""
    function: Function
    """From the numbers of the inputs to those of the outputs."""
    given: Sequence[Array]
    outputs: Sequence[int]
    """The equation's outputs that the block gives."""
    parameters: dict[str, Any]
    made: Staged
    first: int = 0
    """The number of the block's first input that the function takes."""
    arrays: dict[str, Array] = field(default_factory=dict)


class JaxRegions:
    """The Recorded blocks of one capture."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._all: list[JaxRegion] = []

    def put_up(
        self,
        place: Place,
        equation: Equation,
        inputs: Sequence[Operand],
        forward: Staged | None = None,
        name: str = "",
    ) -> list[Operand]:
        """The outputs of an equation, as they are in this run.

        The value of a single output may be what ``forward`` computes, in any run. Raises
        UnsupportedError where the numbers of a run are not known, as in a loop.
        """
        piece = RecordedEquation(equation, tuple(inputs))
        atoms = equation.outvars
        carried = [i for i, atom in enumerate(atoms) if _is_carried(atom)]
        outputs: list[Operand] = [OpaqueOutput(piece, i) for i in range(len(atoms))]
        if not carried:
            return outputs
        pieces = list(_pieces(piece))
        for each in pieces:
            if has_stop(each.equation) or runs(each.equation, "while"):
                raise UnsupportedError(equation.primitive.name, "no block computes it")
        leaves = self._leaves(pieces)
        if not leaves:
            for i, value in zip(carried, self._function(piece, carried, leaves)(), strict=True):
                outputs[i] = held(self._stage, value)
            return outputs
        if max(len(leaves), len(carried)) >= MAX_PORTS:
            why = f"no block computes it, and it has more than {MAX_PORTS} inputs or outputs"
            raise UnsupportedError(equation.primitive.name, why)
        given = [self._numbers(x, dtype, equation) for x, dtype in leaves.items()]
        function = self._function(piece, carried, leaves)
        first = [] if forward is None else [forward]
        region = self._region(
            JaxRegion(place, function, given, carried, {}, next(iter(leaves)), len(first)),
            name or _named(pieces),
            [*first, *leaves],
            [atoms[i] for i in carried],
        )
        made = self._stage.blocks(
            "Recorded", *first, *leaves, name=name or _named(pieces), **region.parameters
        )
        region.made = made[0]
        self._all.append(region)
        what = "values and gradients" if forward is None else "gradients"
        text = f"{region.parameters['operation']} has no rules: its {what} are those of this run."
        self._stage.remark("note", text, made[0])
        for i, value in zip(carried, made, strict=True):
            outputs[i] = staged(value)
        return outputs

    def finish(self, program: ClosedJaxpr, arrays: Sequence[JaxArray], loss: int | None) -> None:
        """Complete the blocks by what the gradient of the program's loss sends through them.

        Where JAX has no derivative, as of callbacks, none is recorded.
        """
        if loss is None or not self._all:
            return
        places = {region.place: region.outputs for region in self._all}
        try:
            found = arriving(program, arrays, loss, places)
        except _NO_DERIVATIVE:
            return
        for region in self._all:
            try:
                _complete(region, found[region.place])
            except _NO_DERIVATIVE:
                continue
            source = region.made.source
            assert source is not None
            block = Recorded(**region.parameters, losses=1)
            source.block = block.model_copy(update={"written": source.block.written})

    def _leaves(self, pieces: Sequence[RecordedEquation]) -> dict[Staged, str]:
        """The values of blocks that pieces read, with JAX's dtype of each."""
        found: dict[Staged, str] = {}
        for piece in pieces:
            for x, atom in zip(piece.inputs, piece.equation.invars, strict=True):
                if isinstance(x, LazyBroadcast) and not x.is_constant:
                    found.setdefault(x.wide(self._stage), dtype_of(atom))
        return found

    def _numbers(self, x: Staged, dtype: str, equation: Equation) -> JaxArray:
        from jax import numpy as jnp

        known = self._stage.example(x)
        if known is None:
            why = "no block computes it, and its numbers are not known when the diagram is made"
            raise UnsupportedError(equation.primitive.name, why)
        return jnp.asarray(known, dtype)

    def _function(
        self, last: RecordedEquation, outputs: Sequence[int], leaves: Mapping[Staged, str]
    ) -> Function:
        """Some outputs of the last piece, from the numbers of the leaves."""
        from jax import numpy as jnp

        def results(
            piece: RecordedEquation,
            given: Mapping[Staged, JaxArray],
            done: dict[RecordedEquation, list[JaxArray]],
        ) -> list[JaxArray]:
            if piece not in done:
                numbers = []
                for x, atom in zip(piece.inputs, piece.equation.invars, strict=True):
                    if isinstance(x, OpaqueOutput):
                        numbers.append(results(x.piece, given, done)[x.index])
                    elif isinstance(x, LazyBroadcast) and x.wide(self._stage) in given:
                        numbers.append(given[x.wide(self._stage)])
                    elif isinstance(x, LazyBroadcast):
                        numbers.append(jnp.asarray(array_of(x), dtype_of(atom)))
                    else:
                        numbers.append(x.array)
                done[piece] = evaluate(piece.equation, numbers)
            return done[piece]

        def function(*arrays: JaxArray) -> list[JaxArray]:
            found = results(last, dict(zip(leaves, arrays, strict=True)), {})
            return [found[i] for i in outputs]

        return function

    def _region(
        self, region: JaxRegion, name: str, inputs: Sequence[Staged], outputs: Sequence[Atom]
    ) -> JaxRegion:
        """The region with all that is known before gradients come."""
        floats = [i + region.first for i, x in enumerate(region.given) if is_float(x.dtype)]
        seen = [_seen(self._stage.example(x)) for x in inputs]
        arrays = {"seen": np.array(seen, np.float64)}
        if not region.first:
            try:
                values = region.function(*region.given)
            except (*_NO_DERIVATIVE, RuntimeError) as error:
                raise UnsupportedError(name, reason_of(error)) from error
            pairs = zip(values, outputs, strict=True)
            arrays |= {f"value {j}": _numbers(x, atom) for j, (x, atom) in enumerate(pairs)}
        region.arrays = arrays
        region.parameters = {
            "operation": name,
            "takes": tuple((x.dtype, x.shape) for x in inputs),
            "gives": tuple((block_dtype(dtype_of(x)), tuple(x.aval.shape)) for x in outputs),
            "depends": tuple(tuple(floats if is_float(x.aval.dtype) else ()) for x in outputs),
            "keeps_value": bool(region.first),
            "arrays": {key: Tensor(array) for key, array in arrays.items()},
        }
        return region


def _complete(region: JaxRegion, arrived: Mapping[int, JaxArray]) -> None:
    """Note what arrived at outputs, by their numbers in the block, and what that becomes."""
    import jax

    floats = [i for i, x in enumerate(region.given) if is_float(x.dtype)]
    outputs = sorted(arrived)

    def of_floats(*numbers: JaxArray) -> list[JaxArray]:
        every = list(region.given)
        for place, x in zip(floats, numbers, strict=True):
            every[place] = x
        found = region.function(*every)
        return [found[j] for j in outputs]

    if not floats or not outputs:
        return
    back = jax.vjp(of_floats, *(region.given[i] for i in floats))[1]
    gives, takes = region.parameters["gives"], region.parameters["takes"]
    together = back([arrived[j] for j in outputs])
    alone = [back([arrived[k] * (k == j) for k in outputs]) for j in outputs]
    if not _add_up(alone, together):  # a rule that is not linear: all counts as the first one's
        alone = [together, *(tuple(map(np.zeros_like, together)) for _ in outputs[1:])]
    for j, products in zip(outputs, alone, strict=True):
        region.arrays[f"arrived 0 {j}"] = np.asarray(arrived[j]).astype(gives[j][0])
        for i, product in zip(floats, products, strict=True):
            slot = i + region.first
            region.arrays[f"product 0 {j} {slot}"] = np.asarray(product).astype(takes[slot][0])
    region.parameters["arrays"] = {key: Tensor(array) for key, array in region.arrays.items()}


def _add_up(parts: Sequence[Sequence[JaxArray]], whole: Sequence[JaxArray]) -> bool:
    """Whether arrays are the sums of others, apart from rounding."""
    sums = [sum(np.asarray(x, np.float64) for x in each) for each in zip(*parts, strict=True)]
    return all(
        np.allclose(a, b, rtol=1e-3, atol=1e-3 * float(np.abs(a).max(initial=0)), equal_nan=True)
        for a, b in zip(sums, whole, strict=True)
    )


def _pieces(last: RecordedEquation) -> Iterator[RecordedEquation]:
    """All that leads to a piece from values of blocks, each before what reads it."""
    pending, done = [last], set[RecordedEquation]()
    while pending:
        piece = pending[-1]
        before = [
            x.piece for x in piece.inputs if isinstance(x, OpaqueOutput) and x.piece not in done
        ]
        if before:
            pending += before
        else:
            pending.pop()
            if piece not in done:
                done.add(piece)
                yield piece


def _named(pieces: Sequence[RecordedEquation]) -> str:
    """What a region is called: its equations, without conversions, or what it calls."""
    names = [_name(piece.equation) for piece in pieces]
    shown = dict.fromkeys(name for name in names if name != "convert_element_type")
    return "_".join(list(shown or names)[:_NAMED])


def _name(equation: Equation) -> str:
    if equation.primitive.name.startswith("custom_"):
        return origin(open_program(called(equation)))[0]
    return str(equation.params.get("name") or equation.primitive.name)


def _is_carried(atom: Atom) -> bool:
    return dtype_of(atom) in DTYPES or dtype_of(atom) == "bfloat16"


def _numbers(array: JaxArray, atom: Atom) -> Array:
    return np.asarray(array).astype(block_dtype(dtype_of(atom)))


def _seen(array: Array | None) -> tuple[float, ...]:
    """By what an input is known again."""
    assert array is not None
    found = measured(array)
    return float(found.elements), found.size, found.projection, *map(float, found.wild)
