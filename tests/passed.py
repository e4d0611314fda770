"""A suite in two runs: the first notes which tests have passed, the second runs all others.

``python -m pytest -p tests.passed --passed-to=FILE`` notes; with ``--but-passed=FILE`` every test
is collected, and those that are noted there are left out. What passed before is not run again,
and what was skipped, failed, was not found or did not exist then runs.

``=`` must stand before FILE: pytest looks for its settings beside every other word that is a path.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


class Notes:
    """A line in a file for each test that passes, written at once: a run that is ended has its
    own too.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", buffering=1)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            print(report.nodeid, file=self._file)

    def pytest_unconfigure(self) -> None:
        self._file.close()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("passed", "a suite in two runs")
    group.addoption("--passed-to", type=Path, metavar="FILE", help="note tests that pass in FILE")
    group.addoption("--but-passed", type=Path, metavar="FILE", help="leave out tests of FILE")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("passed_to")
    if path and not hasattr(config, "workerinput"):  # workers tell the process that started them
        config.pluginmanager.register(Notes(path))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    path = config.getoption("but_passed")
    if path:
        passed = set(path.read_text(encoding="utf-8").splitlines())
        config.hook.pytest_deselected(items=[x for x in items if x.nodeid in passed])
        items[:] = [x for x in items if x.nodeid not in passed]
