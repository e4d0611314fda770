"""Which functions of registers a module calls, and what it then needs."""

from __future__ import annotations

import platform

import pytest

from gradwire.runtime.engine.plan.native import Operand, Operation, Recipe, machine
from gradwire.runtime.engine.plan.native.functions import avx512
from gradwire.runtime.engine.plan.native.loops import text

llvm = pytest.importorskip("llvmlite.binding")


def module(*functions: str) -> str:
    operations = tuple(Operation(name, "float32", (i,)) for i, name in enumerate(functions))
    return text(Recipe((Operand("float32", 1),), operations, (len(functions),)))


def test_a_machine_without_them_calls_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "lanes", lambda: 8)
    found = module("tanh", "erf")
    assert "avx512" not in found
    assert avx512.announced(found) == found
    assert avx512.libraries(found) == []


def test_a_machine_with_them_calls_each_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "lanes", lambda: 16)
    found = module("tanh", "exp", "tanh", "negative")
    calls = [found.count(f"@avx512.{name}.16(<16 x float> %") for name in ("tanh", "exp")]
    assert calls[0] == 2 * calls[1] > 0
    first, second = avx512.libraries(found)
    assert "@avx512.exp.16" in first
    assert "@avx512.tanh.16" in second
    assert avx512.announced(found).endswith(found)


@pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64"), reason="LLVM knows this machine alone"
)
def test_their_code_takes_the_place_of_the_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled for a processor that has them, whatever this one has."""
    monkeypatch.setattr(machine, "lanes", lambda: 16)
    machine.target_machine(2)  # or none is known
    target = llvm.Target.from_triple("x86_64-unknown-linux-gnu")
    found = module("tanh", "sigmoid")
    target_machine = target.create_target_machine(cpu="skylake-avx512")
    compiled = machine.ready(avx512.announced(found), avx512.libraries(found), target_machine)
    (region,) = [f for f in compiled.functions if f.name == "region"]
    assert "call" in str(region)
    assert "@avx512" not in str(region)
