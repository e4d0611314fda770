"""What commands say about recipes for training: their problems, with lines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.blocks.errors import Location
from gradwire.runtime.cli.places import placed
from gradwire.runtime.diagram.checks.diagnostics import Diagnostic

if TYPE_CHECKING:
    from gradwire.runtime.engine import Session
    from gradwire.runtime.publish.problems import Problem

_CODE = "training"


def training_problems(session: Session, file: Path) -> list[Problem]:
    """Everything wrong with the recipe of a diagram, and what is worth saying about it.

    A trained variable that no optimiser owns is a warning.
    """
    training, program = session.diagram.training, session.rolled
    if training is None:
        return []
    from gradwire.runtime.flow.tools.contracts import unowned, unowned_sentence
    from gradwire.runtime.training.recipe import examine  # few diagrams have a recipe

    found = []
    remarks = examine(training, program)
    if remarks and program.flat.loops:  # they may be about what only the steps have
        program = session.program
        remarks = examine(training, program)
    for remark in remarks:
        diagnostic = Diagnostic.from_error(remark.error, _CODE)
        severity = diagnostic.severity if remark.is_error else "warning"
        found.append((replace(diagnostic, severity=severity), ("training", *remark.field)))
    for name in unowned(program, (), (), training):
        said = Diagnostic("warning", Location(block=name), unowned_sentence(name), code=_CODE)
        found.append((said, ("training",)))
    return placed(found, file)
