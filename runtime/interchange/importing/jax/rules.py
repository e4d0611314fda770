"""Rules that users wrote for derivatives: ``jax.custom_jvp`` and ``jax.custom_vjp``.

A rule that is the derivative of the operations needs nothing. One that passes the gradient on
unchanged, scaled, reversed or clipped becomes the block that does so. Any other that is linear in
the gradient is imported as it is: the value of the function, and the gradient of ``J(stop(x)) @ x``
with the J that the rule gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.jax.jaxprs import dtype_of, open_program
from gradwire.runtime.interchange.importing.jax.operands import (
    LazyBroadcast,
    Operand,
    array_of,
    staged,
)
from gradwire.runtime.interchange.importing.jax.places import origin
from gradwire.runtime.interchange.importing.jax.probing import Probe, is_float

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.jax.jaxprs import Atom, ClosedJaxpr, Equation, Jaxpr
    from gradwire.runtime.interchange.importing.jax.walking import ProgramWalk
    from gradwire.runtime.interchange.importing.staged import Staged

_NO_TRANSPOSE = (AssertionError, NotImplementedError, TypeError, ValueError)
"""What JAX raises for a rule that is not linear in the gradient."""


def with_rule(
    walk: ProgramWalk, equation: Equation, program: ClosedJaxpr | Jaxpr, inputs: list[Operand]
) -> list[Operand]:
    """The outputs of a function with a rule of its own, and with the gradient that it says."""
    outputs = walk.run(program, inputs)
    wires = [x for x in inputs if isinstance(x, LazyBroadcast)]
    if len(wires) != len(inputs) or not any(is_float(atom) for atom in equation.outvars):
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


def _points(walk: ProgramWalk, equation: Equation, inputs: list[LazyBroadcast]) -> list[list[Any]]:
    """The example, where its numbers are known, and two other points."""
    draw = np.random.default_rng(0)
    examples = [_example(walk, x) for x in inputs]
    points = []
    for shift in (0.0, 0.5, -0.5):
        point = []
        for atom, example in zip(equation.invars, examples, strict=True):
            base = _drawn(draw, atom) if example is None else example
            moved = base + shift * _drawn(draw, atom) if is_float(atom) else base
            point.append(np.asarray(moved, dtype_of(atom)))
        points.append(point)
    return points


def _example(walk: ProgramWalk, x: LazyBroadcast) -> Any:
    known = array_of(x)
    found = walk.stage.example(x.narrow) if known is None else known
    return None if found is None else np.broadcast_to(found, x.shape)


def _drawn(draw: np.random.Generator, atom: Atom) -> Any:
    return draw.standard_normal(atom.aval.shape) if is_float(atom) else np.zeros(atom.aval.shape)


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
        if is_float(atom):
            tangent = walk.wire(next(tangents), probe.equation).wide(stage)
            value = stage.block("StraightThrough", value, tangent, name=name)
        outputs.append(staged(value))
    stage.remark("note", f"{name} has its own rule for first derivatives, not for second ones.")
    return outputs
