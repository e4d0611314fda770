"""Golden numbers depend on no positions."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="module")
def without_positions(unarranged: None) -> None:
    """Diagrams are built without a layout."""
