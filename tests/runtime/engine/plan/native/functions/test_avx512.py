"""Functions for registers of AVX-512, as they are compiled for a machine that has these."""

from __future__ import annotations

import platform

import pytest

from gradwire.runtime.engine.compiler.regions import Regions
from gradwire.runtime.engine.plan.native import Operation, machine
from tests.runtime.engine.plan.native.loops import loop

llvm = pytest.importorskip("llvmlite.binding")


def module(*functions: str) -> str:
    operations = tuple(Operation(name, "float32", (i,)) for i, name in enumerate(functions))
    return Regions(loop(*operations)).text()


def test_a_machine_without_them_calls_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "lanes", lambda: 8)
    assert "avx512" not in module("tanh", "erf", "log")


@pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64"), reason="LLVM knows this machine alone"
)
def test_a_machine_with_them_looks_up_and_does_not_divide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "lanes", lambda: 16)
    machine.target_machine(2)  # or none is known
    target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
    compiler = target.create_target_machine(cpu="skylake-avx512", opt=2)
    found = compiler.emit_assembly(llvm.parse_assembly(module("tanh", "sigmoid", "log", "exp")))
    for name in ("vpermps", "vpermt2ps", "vscalefps", "vrcp14ps", "vgetexpps", "vfixupimmps"):
        assert name in found
    assert "vdivps" not in found
    assert "call" not in found
