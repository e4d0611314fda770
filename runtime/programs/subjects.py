"""Diagrams of what a text names: a diagram's file, or a reference to what a program makes."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.runtime.diagram.files.migrations import Notice, ignore_notice
from gradwire.runtime.diagram.files.regular import answered
from gradwire.runtime.diagram.files.storage import load
from gradwire.runtime.interchange.importing.imported import Imported
from gradwire.runtime.programs.references import Captured, capture_reference, parse_reference

if TYPE_CHECKING:
    from gradwire.runtime.programs.assertions import Gradients


def captured_subject(subject: str | Path) -> Captured | None:
    """What a reference makes, captured once in this process; None for what is no reference.

    Raises FileError.
    """
    reference = parse_reference(str(subject))
    if reference is None or answered(Path(subject), Path(subject).exists):
        return None
    return _captured(str(subject))


@lru_cache(maxsize=8)
def _captured(subject: str) -> Captured:
    reference = parse_reference(subject)
    assert reference is not None
    return capture_reference(reference)


def imported_subject(subject: str | Path, notice: Notice = ignore_notice) -> Imported:
    """The diagram of a subject, with the names of its parameters if it is a program's.

    ``notice`` is that of ``load``. Raises FileError.
    """
    captured = captured_subject(subject)
    return Imported(load(subject, notice=notice)) if captured is None else captured.imported


def gradients_of(subject: str | Path) -> Gradients:
    """What the gradients of a subject do, to assert about; raises FileError."""
    from gradwire.runtime.programs.assertions import Gradients  # most commands assert nothing

    return Gradients(imported_subject(subject))
