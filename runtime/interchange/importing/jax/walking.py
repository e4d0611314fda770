"""Walks a jaxpr, equation by equation, and stages blocks for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.runtime.engine.interruption import until_cancelled
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.jax.calls import DEVICES, STRUCTURES
from gradwire.runtime.interchange.importing.jax.jaxprs import (
    CALLS,
    LazyBroadcast,
    Literal,
    OpaqueOutput,
    Operand,
    array_of,
    block_dtype,
    draws,
    dtype_of,
    evaluate,
    has_stop,
    held,
    live_equations,
    open_program,
    staged,
)
from gradwire.runtime.interchange.importing.jax.loops import NOTHING_KNOWN
from gradwire.runtime.interchange.importing.jax.operations import ELEMENTWISE, LAZY, WHOLE
from gradwire.runtime.interchange.importing.jax.patterns import recognised
from gradwire.runtime.interchange.importing.jax.places import CallCounter, modules, written

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.interchange.importing.jax.jaxprs import Atom, ClosedJaxpr, Equation, Jaxpr
    from gradwire.runtime.interchange.importing.jax.loops import KnownPart
    from gradwire.runtime.interchange.importing.jax.recorded import JaxRegions, Place
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged

MAX_EQUATIONS = 200_000
Structure: TypeAlias = "Callable[[ProgramWalk, Equation, list[Operand]], list[Operand]]"
"""Imports an equation that runs programs, or that has a rule of its own."""


class JaxprFrame:
    """The values of one jaxpr."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._values: dict[Atom, Operand] = {}

    def read(self, atom: Atom) -> Operand:
        """The value of a variable or literal."""
        if isinstance(atom, Literal):
            return held(self._stage, np.asarray(atom.val, dtype_of(atom)))
        return self._values[atom]

    def write(self, atoms: Iterable[Atom], values: Iterable[Operand]) -> None:
        """Give variables their values."""
        self._values.update(zip(atoms, values, strict=True))


class ProgramWalk:
    """One import of a program and of all that it calls."""

    def __init__(self, stage: Stage, regions: JaxRegions | None = None) -> None:
        self.stage = stage
        self._calls = CallCounter()
        self._here: list[str] = []
        """The modules around the equation that is being walked."""
        self._count = 0
        self.regions: JaxRegions | None = regions
        """Where what no block computes is recorded; None where it can't be."""
        self._own: JaxRegions | None = None
        """The same for the equation that is being walked as a whole."""
        self._place: Place = ()
        """The equation that is being walked, behind those that call it."""
        self.follows_rules = True
        """Whether the users' own rules for derivatives count, and not those of operations."""

    def run(
        self,
        program: ClosedJaxpr | Jaxpr,
        inputs: Sequence[Operand],
        known: KnownPart = NOTHING_KNOWN,
        step: Mapping[Atom, Operand] = MappingProxyType({}),
    ) -> list[Operand]:
        """The outputs of a program for these inputs.

        As a step of a loop, without the equations of what is known there; ``step`` has the values
        that the others read.
        """
        jaxpr = open_program(program)
        frame, around = JaxprFrame(self.stage), self._here
        frame.write(jaxpr.constvars, [held(self.stage, x) for x in getattr(program, "consts", ())])
        frame.write(jaxpr.invars, inputs)
        frame.write(step.keys(), step.values())
        for equation in until_cancelled(live_equations(jaxpr)):
            if known.atoms.issuperset(equation.outvars):
                continue
            self._count_one()
            self._here = [*around, *modules(equation)]
            path = self._calls.enter(self._here)
            with self.stage.at(path, written(equation) or None):
                inputs = [frame.read(atom) for atom in equation.invars]
                outputs = self._placed(equation, inputs)
            frame.write(equation.outvars, outputs)
        return [frame.read(atom) for atom in jaxpr.outvars]

    @contextmanager
    def inside(self, names: Sequence[str]) -> Iterator[None]:
        """Walk what follows as a new call of a module."""
        before = self._here
        self._calls.enter(before)
        self._here = [*before, *names]
        try:
            yield
        finally:
            self._here = before
            self._calls.enter(before)

    @contextmanager
    def _changed(self, **changes: object) -> Iterator[None]:
        before = {name: getattr(self, name) for name in changes}
        vars(self).update(changes)
        try:
            yield
        finally:
            vars(self).update(before)

    def without_rules(self) -> AbstractContextManager[None]:
        """Walk what follows, to which no gradient comes, by its operations alone."""
        return self._changed(follows_rules=False)

    def unrecorded(self) -> AbstractContextManager[None]:
        """Walk what follows, of which nothing is recorded by itself."""
        return self._changed(regions=None, _own=self.regions)

    def body(self) -> AbstractContextManager[None]:
        """Walk what follows in the body of a loop, where modules count from the loop."""
        return self._changed(_here=[], _calls=CallCounter())

    def with_recorded_gradient(
        self, equation: Equation, inputs: Sequence[Operand], value: Staged, name: str
    ) -> list[Operand]:
        """The output of an equation that is being walked as a whole: its value is computed, its
        gradient that of this run. Raises UnsupportedError where it can't be recorded.
        """
        if self._own is None:
            raise UnsupportedError(name, "its rule for gradients is not linear in them")
        return self._own.put_up(self._place, equation, inputs, value, name)

    def _count_one(self) -> None:
        self._count += 1
        self.stage.shown.move(self._count, "operations")
        if self._count > MAX_EQUATIONS:
            raise UnsupportedError("A program", f"it has more than {MAX_EQUATIONS:,} equations")

    def _placed(self, equation: Equation, inputs: list[Operand]) -> list[Operand]:
        """The outputs of an equation; what can't be imported gets its place in the program."""
        around, self._place = self._place, (*self._place, id(equation))
        try:
            return self._recorded_or_made(equation, inputs)
        except UnsupportedError as error:
            if error.written or not written(equation):
                raise
            raise UnsupportedError(error.operation, error.why, written=written(equation)) from None
        finally:
            self._place = around

    def _recorded_or_made(self, equation: Equation, inputs: list[Operand]) -> list[Operand]:
        """The outputs of an equation in blocks, or as they are in this run if none compute it."""
        try:
            return self._equation(equation, inputs)
        except UnsupportedError as error:
            if self.regions is None:
                raise
            try:
                return self.regions.put_up(self._place, equation, inputs)
            except UnsupportedError:
                raise error from None

    def _equation(self, equation: Equation, inputs: list[Operand]) -> list[Operand]:
        name = equation.primitive.name
        outputs = self._computed(equation, inputs)
        if outputs is not None:
            return outputs
        if name in CALLS:
            return STRUCTURES[name](self, equation, inputs)
        if any(isinstance(x, OpaqueOutput) for x in inputs):
            raise UnsupportedError(name, "no block carries complex numbers")
        if name in STRUCTURES:
            with self.unrecorded():
                return STRUCTURES[name](self, equation, inputs)
        wires = [self.wire(x, equation) for x in inputs]
        shapes = [atom.aval.shape for atom in equation.outvars]
        if name in LAZY:
            return [LAZY[name](self.stage, equation.params, *wires)]
        if name in ELEMENTWISE:
            made = ELEMENTWISE[name](self.stage, equation.params, *(x.narrow for x in wires))
            narrow = recognised(self.stage, made)
            return [LazyBroadcast(self._fitting(equation, 0, narrow, shapes[0]), shapes[0])]
        if name not in WHOLE:
            raise UnsupportedError(name, "no block computes it")
        with self.stage.operation(name):
            found = WHOLE[name](self.stage, equation.params, *(x.wide(self.stage) for x in wires))
        several = [found] if not isinstance(found, list | tuple) else found
        exact = [self._fitting(equation, i, x, shapes[i]) for i, x in enumerate(several)]
        assert [x.shape for x in exact] == shapes[: len(exact)], name
        return [staged(x) for x in exact]

    def _computed(self, equation: Equation, inputs: list[Operand]) -> list[Operand] | None:
        """What JAX makes of numbers that are known, where blocks need not do it."""
        known = [array_of(x) for x in inputs]
        name = equation.primitive.name
        plain = name in WHOLE or name in ELEMENTWISE or name in LAZY
        if name in DEVICES or any(array is None for array in known) or has_stop(equation):
            return None
        if plain and all(isinstance(x, LazyBroadcast) for x in inputs):
            return None  # the stage folds it
        if draws(equation):
            text = "Random numbers are constants: those that its key draws in this run."
            self.stage.remark("specialised", text)
        return [held(self.stage, array) for array in evaluate(equation, known)]

    def wire(self, x: Operand, equation: Equation) -> LazyBroadcast:
        """The operand of an equation of blocks."""
        if isinstance(x, LazyBroadcast):
            return x
        dtype = "complex numbers" if isinstance(x, OpaqueOutput) else x.array.dtype
        raise UnsupportedError(equation.primitive.name, f"no block carries {dtype}")

    def _fitting(self, equation: Equation, index: int, x: Staged, shape: Shape) -> Staged:
        """An output with the dtype that JAX has; its shape broadcasts to JAX's."""
        assert np.broadcast_shapes(x.shape, shape) == shape, equation.primitive.name
        return self.stage.cast(x, block_dtype(dtype_of(equation.outvars[index])))
