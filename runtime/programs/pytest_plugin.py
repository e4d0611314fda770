"""The plug-in of pytest: fixtures for assertions about gradients, and contracts as tests.

    def test_the_encoder_is_trained(gradients):
        gradients(model, batch).flows("loss -> encoder/*").blocked("loss -> target/*")

``pytest --gradwire`` adds a test for each contract in ``[tool.gradwire.contracts]`` of
``pyproject.toml``. A suite that uses neither pays for importing this module alone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gradwire.runtime.flow import Contract
    from gradwire.runtime.programs.assertions import Gradients


@pytest.fixture
def gradients() -> Callable[..., Gradients]:
    """``gradients(model, batch).flows("loss -> encoder/*")``; see ``gradwire.testing``."""
    from gradwire.runtime.programs.assertions import gradients

    return gradients


@pytest.fixture
def assert_all_trained() -> Callable[..., None]:
    """``assert_all_trained(model, batch)``; see ``gradwire.testing``."""
    from gradwire.runtime.programs.assertions import assert_all_trained

    return assert_all_trained


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that adds tests."""
    parser.getgroup("gradwire", "gradient flow").addoption(
        "--gradwire",
        action="store_true",
        help="also check the contracts in [tool.gradwire.contracts] of pyproject.toml, a test each",
    )


def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Add a test for each contract of the project."""
    if not session.config.getoption("--gradwire"):
        return
    from gradwire.runtime.programs.projects import project_at

    project = project_at(session.config.rootpath)
    if project is None:
        raise pytest.UsageError(
            "--gradwire: no pyproject.toml here states contracts in [tool.gradwire.contracts]"
        )
    file = _ProjectFile.from_parent(session, path=project.file)
    for subject, contracts in project.contracts.items():
        items += [_ContractItem.make(file, subject, contract) for contract in contracts]


class _ProjectFile(pytest.File):
    def collect(self) -> list[pytest.Item]:
        return []


class _ContractItem(pytest.Item):
    subject: str
    contract: Contract

    @classmethod
    def make(cls, file: pytest.File, subject: str, contract: Contract) -> _ContractItem:
        item = cls.from_parent(file, name=f"{subject} {contract}")
        item.subject, item.contract = subject, contract
        return item

    def runtest(self) -> None:
        __tracebackhide__ = True
        from gradwire.runtime.programs.subjects import gradients_of

        gradients_of(str(self.path.parent / self.subject)).keep(self.contract)

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None
    ) -> Any:
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.name
