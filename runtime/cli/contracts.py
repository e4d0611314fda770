"""The contracts that ``check`` and ``doctor`` apply to a diagram, and their outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import (
    Contract,
    Outcome,
    check_contracts,
    contracts_of,
    needs_run,
    observe,
)
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.tools.contracts import beside, read_contracts


def contracts_for(session: Session, file: Path, given: Sequence[Path]) -> list[Contract]:
    """Contracts of the diagram, and those of the files given, or else of the one beside it.

    Raises FileError.
    """
    if not given:
        return contracts_of(session.diagram, file)
    own = contracts_of(session.diagram)
    return [*own, *(contract for path in given for contract in read_contracts(path))]


def require_contracts(session: Session, file: Path) -> None:
    """Raise FileError if there are no contracts, in the diagram or beside it."""
    if not (session.diagram.contracts or beside(file).exists()):
        read_contracts(beside(file), file.parent)


def outcomes_of(session: Session, contracts: Sequence[Contract]) -> list[Outcome]:
    """The outcomes of contracts; the diagram is run if they are about numbers."""
    observed = None
    if needs_run(contracts):
        try:
            observed = observe(session)
        except GradwireError:
            observed = None  # the outcomes say that there was no run
    return check_contracts(contracts, observed, analyse(session.program), session.diagram.training)
