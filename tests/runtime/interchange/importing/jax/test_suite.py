"""The functions of the table: all agree with JAX, in at least the ways that the table names."""

from __future__ import annotations

import pytest

pytest.importorskip("jax")
pytest.importorskip("flax")
pytest.importorskip("equinox")
from tests.interchange.jax import rows


@pytest.mark.night
def test_all_functions_agree_with_jax():
    found = list(rows())
    assert len(found) >= 16
    assert [row for row in found if not row.passed] == []
