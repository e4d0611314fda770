"""Rules that users wrote for derivatives: ``jax.custom_jvp`` and ``jax.custom_vjp``.

A rule is tried at a few points. One that is the derivative of the operations needs nothing. One
that passes the gradient on unchanged, scaled, reversed or clipped becomes the block that does so.
Others that are linear in the gradient are imported as they are: the value of the function, and the
gradient of ``J(stop(x)) @ x`` with the J that the rule gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.jax.jaxprs import (
    LazyBroadcast,
    Operand,
    array_of,
    dtype_of,
    evaluate,
    function_of,
    is_float,
    open_program,
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
    from gradwire.runtime.interchange.importing.jax.walking import ProgramWalk
    from gradwire.runtime.interchange.importing.staged import Staged


WITHIN = 1e-3
"""Relative difference below which two gradients are one: rules differ by more than rounding."""
SIZES = (0.01, 1.0, 1000.0)
"""Of the gradients that rules are tried with."""


@dataclass(frozen=True, eq=False)
class Probe:
    """A function with a rule of its own, and points to try it at: an array for each input."""

    equation: Equation
    program: ClosedJaxpr | Jaxpr
    points: Sequence[Sequence[JaxArray]]

    @property
    def floats(self) -> list[int]:
        """The numbers of the inputs that may get gradient."""
        return [i for i, atom in enumerate(self.equation.invars) if is_float(atom.aval.dtype)]

    @property
    def is_derivative(self) -> bool:
        """Whether the rule is what the operations of the function give."""
        plain = function_of(self.program)
        for point in self.points:
            for size in SIZES:
                ruled, derived = (self.gradients(f, point, size) for f in (self._ruled, plain))
                if not all(_alike(a, b) for a, b in zip(ruled, derived, strict=True)):
                    return False
        return True

    @property
    def is_identity(self) -> bool:
        """Whether the value is the input itself."""
        (index,) = self.floats[:1] or (0,)
        return all(
            np.array_equal(self._ruled(*point)[0], point[index], equal_nan=True)
            for point in self.points
        )

    def scale(self) -> float | None:
        """The number that the rule multiplies a gradient by, wherever and whatever it is."""
        found: list[float] = []
        for point in self.points:
            for size in SIZES:
                (gradient,) = self.gradients(self._ruled, point, size)
                found += (gradient / self.given(point, size)[0]).ravel().tolist()
        first = found[0] if found else 0.0
        return first if np.allclose(found, first, rtol=WITHIN, atol=WITHIN) else None

    def limit(self) -> tuple[float, str] | None:
        """The limit that the rule clips a gradient to, and whether by value or by norm."""
        point = self.points[0]
        (given,) = self.given(point, SIZES[-1])
        (clipped,) = self.gradients(self._ruled, point, SIZES[-1])
        most = float(np.abs(clipped).max(initial=0))
        length, whole = float(np.linalg.norm(clipped)), float(np.linalg.norm(given))
        for limit, by, expected in (
            (most, "value", np.clip(given, -most, most)),
            (length, "norm", given * (length / whole)),
        ):
            if 0 < limit and _alike(clipped, expected) and self._passes(point, limit / 100):
                return limit, by
        return None

    def gradients(self, function: Function, point: Sequence[JaxArray], size: float) -> list[Array]:
        """What the float inputs get for gradients of about that size."""
        back = self.back(function, point)
        return [np.asarray(x) for x in back(*self.given(point, size))]

    def back(
        self, function: Function, point: Sequence[JaxArray]
    ) -> Callable[..., tuple[JaxArray, ...]]:
        """From gradients of the float outputs to those of the float inputs."""
        import jax

        back = jax.vjp(self.of_floats(function, point), *(point[i] for i in self.floats))[1]
        return lambda *given: tuple(back(list(given)))

    def of_floats(self, function: Function, point: Sequence[JaxArray]) -> Function:
        """The float outputs as a function of the float inputs alone."""

        def outputs(*arrays: JaxArray) -> list[JaxArray]:
            every = list(point)
            for index, array in zip(self.floats, arrays, strict=True):
                every[index] = array
            pairs = zip(function(*every), self.equation.outvars, strict=True)
            return [x for x, atom in pairs if is_float(atom.aval.dtype)]

        return outputs

    def given(self, point: Sequence[JaxArray], size: float) -> list[Array]:
        """Gradients of the float outputs, the same at every call."""
        draw = np.random.default_rng(1)
        return [
            (size * draw.standard_normal(atom.aval.shape)).astype(dtype_of(atom))
            for atom in self.equation.outvars
            if is_float(atom.aval.dtype)
        ]

    def _ruled(self, *arrays: JaxArray) -> list[JaxArray]:
        return evaluate(self.equation, arrays)

    def tangents(self, by_jvp: bool) -> ClosedJaxpr:
        """The program that gives ``J(x) @ t`` for all inputs x and float inputs t.

        Raises an error of JAX where a rule for gradients is not linear in them.
        """
        import jax

        def program(point: Sequence[JaxArray], tangents: Sequence[JaxArray]) -> object:
            if by_jvp:
                primals = [point[i] for i in self.floats]
                return jax.jvp(self.of_floats(self._ruled, point), primals, list(tangents))[1]
            outputs = [x for x in self.equation.outvars if is_float(x.aval.dtype)]
            like = [jax.ShapeDtypeStruct(x.aval.shape, x.aval.dtype) for x in outputs]
            transposed = jax.linear_transpose(self.back(self._ruled, point), *like)
            return transposed(tuple(tangents))

        point = list(self.points[0])
        made: ClosedJaxpr = jax.make_jaxpr(program)(point, [point[i] for i in self.floats])
        return made

    def _passes(self, point: Sequence[JaxArray], size: float) -> bool:
        (gradient,) = self.gradients(self._ruled, point, size / 10)
        return _alike(gradient, self.given(point, size / 10)[0])


def _alike(a: Array, b: Array) -> bool:
    """Whether two gradients agree where both are finite."""
    both = np.isfinite(a) & np.isfinite(b)
    scale = float(np.abs(b[both]).max(initial=0))
    return bool(np.allclose(a[both], b[both], rtol=WITHIN, atol=WITHIN * scale))


_NO_TRANSPOSE = (AssertionError, NotImplementedError, TypeError, ValueError)
"""What JAX raises for a rule that is not linear in the gradient."""


def with_rule(
    walk: ProgramWalk, equation: Equation, program: ClosedJaxpr | Jaxpr, inputs: list[Operand]
) -> list[Operand]:
    """The outputs of a function with a rule of its own, and with the gradient that it says."""
    outputs = walk.run(program, inputs)
    wires = [x for x in inputs if isinstance(x, LazyBroadcast)]
    if len(wires) != len(inputs) or not any(is_float(atom.aval.dtype) for atom in equation.outvars):
        return outputs
    probe = Probe(equation, program, _points(walk, equation, wires))
    if not probe.floats or probe.is_derivative:
        return outputs
    found = origin(open_program(program))[0]
    name = found if found.isidentifier() else "own_rule"
    values = [walk.wire(x, equation).wide(walk.stage) for x in outputs]
    sources = [wires[i].wide(walk.stage) for i in probe.floats]
    if len(sources) == len(values) == 1 and sources[0].shape == values[0].shape:
        block = _block(walk, probe, name, values[0], sources[0])
        if block is not None:
            return [staged(block)]
    return _as_it_is(walk, probe, name, values, wires)


def _points(
    walk: ProgramWalk, equation: Equation, inputs: list[LazyBroadcast]
) -> list[list[JaxArray]]:
    """The example, where its numbers are known, and two other points."""
    draw = np.random.default_rng(0)
    examples = [_example(walk, x) for x in inputs]
    points = []
    for shift in (0.0, 0.5, -0.5):
        point = []
        for atom, example in zip(equation.invars, examples, strict=True):
            base = _drawn(draw, atom) if example is None else example
            moved = base + shift * _drawn(draw, atom) if is_float(atom.aval.dtype) else base
            point.append(np.asarray(moved, dtype_of(atom)))
        points.append(point)
    return points


def _example(walk: ProgramWalk, x: LazyBroadcast) -> JaxArray | None:
    known = array_of(x)
    found = walk.stage.example(x.narrow) if known is None else known
    return None if found is None else np.broadcast_to(found, x.shape)


def _drawn(draw: np.random.Generator, atom: Atom) -> Array:
    return (
        draw.standard_normal(atom.aval.shape)
        if is_float(atom.aval.dtype)
        else np.zeros(atom.aval.shape)
    )


def _block(walk: ProgramWalk, probe: Probe, name: str, value: Staged, x: Staged) -> Staged | None:
    """The block that passes gradient as the rule does, where it scales, stops or clips it."""
    stage, scale, identity = walk.stage, probe.scale(), probe.is_identity
    if scale == 0:
        stopped = stage.block("StopGradient", value, name=name)
        stage.remark("cut", f"The rule of {name} passes no gradient.", stopped)
        return stopped
    if scale is None:
        limit = probe.limit() if identity else None
        if limit is None:
            return None
        return stage.block("GradientClip", x, name=name, limit=_round(limit[0]), by=limit[1])
    if scale < 0:
        scaled = stage.block("GradientReversal", x, name=name, scale=_round(-scale))
    elif _round(scale) != 1:
        scaled = stage.block("GradientScale", x, name=name, scale=_round(scale))
    else:
        scaled = x
    return scaled if identity else stage.block("StraightThrough", value, scaled, name=name)


def _round(number: float) -> float:
    """A number without the digits that float32 does not have."""
    return float(f"{number:.6g}")


def _as_it_is(
    walk: ProgramWalk, probe: Probe, name: str, values: list[Staged], given: list[LazyBroadcast]
) -> list[Operand]:
    inputs = [x.wide(walk.stage) for x in given]
    stage, atoms = walk.stage, probe.equation.outvars
    by_jvp = probe.equation.primitive.name == "custom_jvp_call"
    try:
        program = probe.tangents(by_jvp)
    except _NO_TRANSPOSE as error:
        if len(values) == 1:
            return walk.with_recorded_gradient(probe.equation, given, values[0], name)
        why = str(error).partition("\n")[0][:200]
        raise UnsupportedError(name, f"of its rule JAX has no derivative: {why}") from error
    fixed = [stage.block("StopGradient", x, name=f"{name} at") if x.is_float else x for x in inputs]
    moving = [inputs[i] for i in probe.floats]
    with walk.without_rules():
        tangents = iter(walk.run(program, [staged(x) for x in [*fixed, *moving]]))
    outputs: list[Operand] = []
    for value, atom in zip(values, atoms, strict=True):
        if is_float(atom.aval.dtype):
            tangent = walk.wire(next(tangents), probe.equation).wide(stage)
            value = stage.block("StraightThrough", value, tangent, name=name)
        outputs.append(staged(value))
    stage.remark("note", f"{name} has its own rule for first derivatives, not for second ones.")
    return outputs
