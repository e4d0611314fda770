"""The contracts that ``check`` and ``doctor`` apply to a diagram, and their outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gradwire.blocks.errors import FileError, GradwireError
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import Contract, Outcome, contracts_of, needs_run, observe
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.measured import compared
from gradwire.runtime.flow.tools.contracts import EXAMPLE, beside, read_contracts
from gradwire.runtime.programs.naming import check_named, in_paths
from gradwire.runtime.programs.projects import TABLE, project_at
from gradwire.runtime.programs.subjects import captured_subject


def contracts_for(session: Session, file: Path, given: Sequence[Path]) -> list[Contract]:
    """Contracts of the diagram, and those of the files given, or else of the one beside it and of
    the project's ``pyproject.toml``.

    Raises FileError.
    """
    own = contracts_of(session.diagram)
    if given:
        return [*own, *(contract for path in given for contract in read_contracts(path))]
    if captured_subject(file) is None:
        own = contracts_of(session.diagram, file)
    return [*own, *_of_project(file)]


def contracts_in_paths(contracts: Sequence[Contract], file: Path) -> list[Contract]:
    """Contracts by paths alone: patterns of those about a program's model may be its own names."""
    names = parameters_of(file)
    return [found for contract in contracts for found in in_paths(contract, names)]


def parameters_of(file: Path) -> Mapping[str, str]:
    """The paths of a program's model's parameters, by its names for them; none of a diagram's."""
    captured = captured_subject(file)
    return {} if captured is None else captured.imported.parameters


def require_contracts(session: Session, file: Path) -> None:
    """Raise FileError if there are no contracts: in the diagram, beside it, in the project."""
    if session.diagram.contracts or _of_project(file):
        return
    if captured_subject(file) is not None:
        raise FileError(
            f"No contract is about {file}.",
            next_step=f'State some in pyproject.toml: [{TABLE}] "{file}" = ["{EXAMPLE}"].',
        )
    if not beside(file).exists():
        read_contracts(beside(file), file.parent)


def outcomes_of(session: Session, contracts: Sequence[Contract], file: Path) -> list[Outcome]:
    """The outcomes of contracts; the diagram is run if they are about numbers."""
    observed = None
    if needs_run(contracts):
        try:
            observed = observe(compared(session))
        except GradwireError:
            observed = None  # the outcomes say that there was no run
    training = session.diagram.training
    return check_named(contracts, observed, analyse(session.program), training, parameters_of(file))


def _of_project(file: Path) -> Sequence[Contract]:
    project = project_at(file.parent)
    return () if project is None else project.about(file)
