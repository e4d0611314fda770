"""Functions for registers of AVX-512, as they are compiled for a machine that has these."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gradwire.runtime.engine.compiler.regions import Regions
from gradwire.runtime.engine.plan.native import Operation, machine
from gradwire.runtime.engine.plan.native.avx512 import FAR, NEAR_BITS, SHIFT, tanh_table
from tests.runtime.engine.plan.native.loops import loop

Array = NDArray[Any]

llvm = pytest.importorskip("llvmlite.binding")


def module(*functions: str) -> str:
    operations = tuple(Operation(name, "float32", (i,)) for i, name in enumerate(functions))
    return Regions(loop(*operations)).text()


def test_a_machine_without_them_calls_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "lanes", lambda: 8)
    assert "avx512" not in module("tanh", "sigmoid", "exp")


@pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64"), reason="LLVM knows this machine alone"
)
def test_a_machine_with_them_looks_up_and_does_not_divide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "lanes", lambda: 16)
    machine.target_machine(2)  # or none is known
    target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
    compiler = target.create_target_machine(cpu="skylake-avx512", opt=2)
    found = compiler.emit_assembly(llvm.parse_assembly(module("tanh", "sigmoid", "exp")))
    for name in ("vpermps", "vpermt2ps", "vscalefps", "vrcp14ps"):
        assert name in found
    assert "vdivps" not in found
    assert "call" not in found


def tanh(x: Array) -> Array:
    """The function for x ≥ 0 by its table, in float64 otherwise."""
    centres, values, coefficients = tanh_table()
    size = np.minimum(x.astype(np.float32), np.float32(FAR))
    at = np.maximum(size.view(np.int32), NEAR_BITS) >> SHIFT & 31
    away = size.astype(np.float64) - centres[at]
    slope = np.zeros(x.shape)
    for row in coefficients[::-1]:
        slope = slope * away + row[at]
    return values[at] + away * slope


def test_pieces_are_near_everywhere() -> None:
    x = np.concatenate([np.geomspace(1e-30, 1e-2, 1000), np.linspace(0.01, 12, 200_001)])
    exact = np.tanh(x.astype(np.float32).astype(np.float64))
    assert np.all(np.abs(tanh(x) - exact) < 4e-8 * exact)


def test_neighbours_meet() -> None:
    """At the border of two intervals both polynomials have nearly the same value."""
    borders = np.float32(2.0) ** np.arange(-3, 3)
    below, above = tanh(np.nextafter(borders, np.float32(0))), tanh(borders)
    assert np.all(np.abs(above - below) < 1e-7)
