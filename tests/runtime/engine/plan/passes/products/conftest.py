"""Products of machine code as on processors with other registers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gradwire.runtime.engine.plan.native import machine
from tests.runtime.engine.compiler.products import in_small_parts


@pytest.fixture(params=["short", "long"])
def vectors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Code is written for registers of 8 float32, or of 16; the compiler makes do with others."""
    found: str = request.param
    monkeypatch.setattr(machine, "lanes", lambda: {"short": 8, "long": 16}[found])
    monkeypatch.setattr(machine, "fuses", lambda: True)
    return found


@pytest.fixture
def cut() -> Iterator[None]:
    """Products are computed in parts of few terms, and blocks of few tiles."""
    with in_small_parts():
        yield
