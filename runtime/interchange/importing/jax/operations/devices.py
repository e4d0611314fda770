"""What devices exchange: of a single device, nothing; of one axis of an array, a sum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.jax.jaxprs import called
from gradwire.runtime.interchange.importing.jax.operands import held, staged

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.jax.jaxprs import Equation
    from gradwire.runtime.interchange.importing.jax.operands import Operand
    from gradwire.runtime.interchange.importing.jax.walking import ProgramWalk, Structure


def _on_one_device(walk: ProgramWalk, equation: Equation, inputs: list[Operand]) -> list[Operand]:
    """The program of the only device, which sees all of each array."""
    if equation.params["mesh"].size != 1:
        raise UnsupportedError("shard_map", "it runs on several devices")
    return walk.run(called(equation), inputs)


def _sum(walk: ProgramWalk, equation: Equation, inputs: list[Operand]) -> list[Operand]:
    """The sum over devices, here one, and over axes that ``vmap`` has named."""
    axes = tuple(axis for axis in equation.params["axes"] if isinstance(axis, int))
    if equation.params.get("axis_index_groups") is not None:
        raise UnsupportedError(equation.primitive.name, "it is within groups")
    if not axes:
        return inputs
    wide = [walk.wire(x, equation).wide(walk.stage) for x in inputs]
    return [staged(walk.stage.block("Sum", x, axis=axes)) for x in wide]


def _same(walk: ProgramWalk, equation: Equation, inputs: list[Operand]) -> list[Operand]:
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
    **dict.fromkeys(("psum", "psum_invariant", "psum2"), _sum),
    **dict.fromkeys(
        ("all_gather", "all_gather_invariant", "all_to_all", "ppermute", "reduce_scatter"), _same
    ),
    "axis_index": _index,
}
"""Equations of ``shard_map`` and its kin."""
