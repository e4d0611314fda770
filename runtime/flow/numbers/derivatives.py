"""Why the value of a Gradient block is not finite: which slope within what it differentiates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.block import Source
from gradwire.blocks.errors import GradwireError
from gradwire.blocks.values import Array
from gradwire.runtime.flow.numbers.isolated import IsolatedBlock
from gradwire.runtime.flow.structure.neighbours import neighbours_of

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import InstancePath
    from gradwire.runtime.engine.program import Program

Inputs = Callable[["InstancePath"], Mapping[str, Array]]
"""The arrays that a block reads, by port."""
_TRIED = 64
"""Blocks whose slopes are looked at."""


def steep_block(program: Program, inputs: Inputs, gradient: InstancePath) -> InstancePath | None:
    """The block nearest to ``of`` of a Gradient block whose slope is not finite, though its value
    is; None if none is found.
    """
    near = neighbours_of(program)
    ends = near.sources(gradient)
    if "of" not in ends or "wrt" not in ends:
        return None
    found = {ends["of"].block: None}
    pending = [ends["of"].block]
    while pending and len(found) <= _TRIED:
        at = pending.pop(0)
        if at == ends["wrt"].block or isinstance(program.block(at), Source):
            continue
        passing = _slopes(program, at, inputs(at))
        if any(slope is not None and not np.isfinite(slope).all() for slope in passing.values()):
            return at
        sources = (port.block for name, port in near.sources(at).items() if _passes(passing, name))
        further = [block for block in sources if block not in found]
        found |= dict.fromkeys(further)
        pending += further
    return None


def _slopes(
    program: Program, at: InstancePath, inputs: Mapping[str, Array]
) -> Mapping[str, Array | None]:
    """What comes back to each input of a block where ones arrive; empty if that can't be run."""
    wired = {port: array for port, array in inputs.items() if port in program.instances[at].wires}
    ports = program.block(at).output_names()
    try:
        isolated = IsolatedBlock(program.block(at), wired)
        ones = {port: np.ones_like(a) for port, a in isolated.outputs({}, [*ports]).items()}
        return isolated.gradients(ones)
    except GradwireError:
        return {}


def _passes(slopes: Mapping[str, Array | None], port: str) -> bool:
    """Whether gradient may come back to an input: it does, or that is not known."""
    return slopes.get(port) is not None if port in slopes else True
