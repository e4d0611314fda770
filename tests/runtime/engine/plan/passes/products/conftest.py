"""Products of machine code as on processors with other registers."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator

import pytest

from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.native.products import form
from gradwire.runtime.engine.plan.native.products.product import product

TILING = importlib.import_module("gradwire.runtime.engine.plan.passes.products.multiplication")


@pytest.fixture(params=["short", "long"])
def vectors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Code is written for registers of 8 float32, or of 16; the compiler makes do with others."""
    found: str = request.param
    monkeypatch.setattr(machine, "lanes", lambda: {"short": 8, "long": 16}[found])
    monkeypatch.setattr(machine, "fuses", lambda: True)
    return found


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Cuts products into chunks of at most so many terms, blocks of two tiles, and few panels."""

    def cut_into(terms: int) -> None:
        for name in ("SHORT", "LONG"):
            rows = getattr(TILING, name).rows
            packed = {"SHORT": rows, "LONG": 16}[name]
            cutting = TILING.Cutting(rows, terms, 2 * packed * terms * 4)
            monkeypatch.setattr(TILING, name, cutting)

    product.cache_clear()
    monkeypatch.setattr(form, "FEW_BESIDE", 2)
    monkeypatch.setattr(form, "MANY_BESIDE", 3)
    yield cut_into
    product.cache_clear()
