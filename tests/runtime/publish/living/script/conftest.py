"""One browser of each kind for all tests of pages, and every page published once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.runtime.publish.living.script.browsers import Browser
from tests.runtime.publish.living.script.pages import Pages


@pytest.fixture(scope="session", params=["chromium", "firefox"])
def browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    found = Browser(request.param)
    yield found
    found.close()


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    return Pages(tmp_path_factory.mktemp("pages"))
