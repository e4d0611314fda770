"""What ``check`` and ``doctor`` hold a diagram to, and what holding it gave."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from blocks.errors import GradwireError
from runtime.engine import Session
from runtime.flow import (
    Contract,
    Outcome,
    analyse,
    check_contracts,
    contracts_of,
    needs_run,
    observe,
)
from runtime.flow.tools.contracts import beside, read_contracts


def asked_of(session: Session, file: Path, given: Sequence[Path]) -> list[Contract]:
    """What the diagram states, and what the files given do, or else the one beside it.

    Raises FileError.
    """
    if not given:
        return contracts_of(session.diagram, file)
    own = contracts_of(session.diagram)
    return [*own, *(contract for path in given for contract in read_contracts(path))]


def require_some(session: Session, file: Path) -> None:
    """Raises FileError where nothing is stated, in the diagram or beside it."""
    if not (session.diagram.contracts or beside(file).exists()):
        read_contracts(beside(file))


def hold_to(session: Session, contracts: Sequence[Contract]) -> list[Outcome]:
    """Hold a session's diagram to contracts; it is run where they ask about numbers."""
    observed = None
    if needs_run(contracts):
        try:
            observed = observe(session)
        except GradwireError:
            observed = None  # the contracts say that there was no run
    return check_contracts(contracts, observed, analyse(session.program))
