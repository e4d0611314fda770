"""What is exported: the arrays of a diagram, its losses, and the recipe by which it is trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.block import Source
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import Location, RunError
from gradwire.runtime.data.rows import Stream
from gradwire.runtime.interchange.export.rows import ExportError
from gradwire.runtime.training.recipe import Recipe, resolve

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.engine import Session
    from gradwire.runtime.engine.program import Program


@dataclass(frozen=True, eq=False)
class ExportContent:
    """The parts of a diagram that source is made from."""

    program: Program
    title: str
    parameters: Mapping[str, Array]
    """The variables, frozen ones among them, by path."""
    inputs: Mapping[str, Array | None]
    """What is fed, with the batch of this step for data sets; None without a value."""
    constants: Mapping[str, Array]
    """Constants and the literals of inputs, by path."""
    heads: tuple[PortPath, ...]
    trainable: tuple[str, ...]
    recipe: Recipe | None

    @property
    def known(self) -> dict[Value, Array]:
        """The numbers of scalar literals, by leaf."""
        leaves = self.program.leaves
        return {
            leaves[path].value: array.astype(leaves[path].value.dtype)
            for path, array in self.constants.items()
            if not array.ndim and not isinstance(leaves[path].source, Source)
        }


def content_of(session: Session) -> ExportContent:
    """The content of a session's diagram, with the session's values.

    Long Scans are loops, unless the recipe names a step. Raises ExportError where an array has no
    value, and RunError for a recipe that is wrong.
    """
    program, recipe = _program(session)
    values = session.values
    parameters: dict[str, Array] = {}
    inputs: dict[str, Array | None] = {}
    constants: dict[str, Array] = {}
    for path, leaf in program.leaves.items():
        source = leaf.source
        if isinstance(source, Stream):
            inputs[path] = source.batch(session.step_number, session.phase)
        elif not isinstance(source, Source):
            constants[path] = np.asarray(source.array)
        elif source.kind == "variable":
            parameters[path] = values[path]
        else:
            data = source.data(leaf.value.shape, path)
            if source.kind == "input":
                inputs[path] = None if data is None else np.asarray(data)
            elif data is not None:
                constants[path] = np.asarray(data)
            else:
                raise ExportError(
                    f"{path} has no value that could be written.",
                    location=Location(block=path),
                    next_step="Give it a value.",
                )
    return ExportContent(
        program,
        session.diagram.title,
        parameters,
        inputs,
        constants,
        tuple(session.losses),
        tuple(path for path in program.trainable if path in program.leaves),
        recipe,
    )


def _program(session: Session) -> tuple[Program, Recipe | None]:
    training = session.diagram.training
    program = session.shortest
    if training is None or not training.optimisers:
        return program, None
    try:
        return program, resolve(training, program)
    except RunError:  # it may name what only the steps of a loop have
        return session.program, resolve(training, session.program)
