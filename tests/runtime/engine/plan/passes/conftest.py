"""A pass that is tried on few tasks is the pass itself, whatever was imported before."""

from __future__ import annotations

import pytest

from gradwire.runtime.engine.plan.passes import late


@pytest.fixture(autouse=True)
def imports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pass is imported, however little a plan has for it."""
    monkeypatch.setattr(late, "FEW", 0)
