"""The compiler is optional, loaded late, and compiles alike regions once."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

from gradwire.runtime.engine.compiler.regions import compiled_region
from gradwire.runtime.engine.plan.native import Operation, machine
from tests.runtime.engine.plan.native.loops import loop

llvmlite = pytest.importorskip("llvmlite")

RECIPE = loop(Operation("square", "float32", (0,)))


@pytest.mark.parametrize(
    ("version", "there"),
    [("0.44.0", False), ("0.45.0", True), ("0.50.1rc1", True), ("1.0", True), ("odd", False)],
)
def test_an_old_compiler_is_none(
    version: str, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llvmlite, "__version__", version)
    assert machine.installed.__wrapped__() is there


def test_without_the_extra_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    assert not machine.installed.__wrapped__()


def test_the_compiler_is_not_loaded_before_it_is_used() -> None:
    code = (
        "import sys; from gradwire.runtime.engine.plan.passes import select_passes\n"
        "select_passes(True)\n"
        "print('llvmlite.binding' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_equal_recipes_share_a_kernel() -> None:
    again = loop(Operation("square", "float32", (0,)))
    assert compiled_region(RECIPE) is compiled_region(again)


@pytest.mark.night
def test_kernels_come_and_go() -> None:
    """Code that nobody can call any more is freed, and the next is compiled all the same."""
    x = np.arange(5, dtype=np.float32)
    for depth in range(1, 5):
        operations = tuple(Operation("square", "float32", (i,)) for i in range(depth))
        out = np.empty_like(x)
        frame = np.array([x.ctypes.data, 0, out.ctypes.data, 0])
        compiled_region(loop(*operations))(frame.ctypes.data, x.size, 0, 1)
        np.testing.assert_array_equal(out, x ** (2**depth))
        compiled_region.cache_clear()
        gc.collect()


def test_threads_may_compile_at_once() -> None:
    """Each calls what it compiled, though only one of equal kernels is kept for the next."""
    recipes = [
        loop(*(Operation("square", "float64", (0,)),) * n, dtypes=("float64",)) for n in (3, 4)
    ]
    code = (
        "import threading, numpy as np\n"
        "from gradwire.runtime.engine.compiler.regions import MemoryPlace, Recipe\n"
        "from gradwire.runtime.engine.compiler.regions import compiled_region\n"
        "from gradwire.runtime.engine.plan.native import Operation\n"
        "x = np.arange(5.0)\n"
        "start = threading.Barrier(4)\n"
        "def work(out, recipe):\n"
        "    frame = np.array([x.ctypes.data, 0, out.ctypes.data, 0])\n"
        "    start.wait()\n"
        "    compiled_region(recipe)(frame.ctypes.data, 5, 0, 1)\n"
        f"recipes = {recipes} * 2\n"
        "outs = [np.zeros(5) for _ in recipes]\n"
        "some = [threading.Thread(target=work, args=each) for each in zip(outs, recipes)]\n"
        "for thread in some: thread.start()\n"
        "for thread in some: thread.join()\n"
        "print(all(np.array_equal(out, x * x) for out in outs))\n"
    )
    environment = os.environ | {"GRADWIRE_KEEP_CODE": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment
    )
    assert done.stdout.strip() == "True", (done.returncode, done.stderr)
