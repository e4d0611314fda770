"""Contracts files for ``check`` and ``doctor``, and what holding a diagram to them gave."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from blocks.errors import FileError, GradwireError
from runtime.engine import Session
from runtime.flow import Contract, Outcome, analyse, hold, needs_run, observe, parse_contracts

SUFFIX = ".contracts"


def beside(file: Path) -> Path:
    """The contracts file of a diagram: ``m.contracts`` beside ``m.gradwire.json``."""
    name = file.name.removesuffix(".json").removesuffix(".gradwire")
    return file.with_name(name + SUFFIX)


def read_contracts(path: Path) -> list[Contract]:
    """The contracts of a file; raises FileError."""
    try:
        return parse_contracts(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(
            f"The contracts can't be read: {error}.",
            path=str(path),
            next_step="Write one contract a line, such as flows(loss -> encoder/*).",
        ) from None


def hold_to(session: Session, contracts: Sequence[Contract]) -> list[Outcome]:
    """Hold a session's diagram to contracts; it is run where they ask about numbers."""
    reading = None
    if needs_run(contracts):
        try:
            reading = observe(session)
        except GradwireError:
            reading = None  # the contracts say that there was no run
    return hold(contracts, reading, analyse(session.program))
