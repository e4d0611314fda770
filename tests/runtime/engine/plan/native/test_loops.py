"""Loops along several axes at once: whatever their lengths are, LLVM vectorises them."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.runtime.engine.plan.native import (
    Operand,
    Operation,
    Recipe,
    address,
    compiled,
    machine,
)
from gradwire.runtime.engine.plan.native.loops import text

llvm = pytest.importorskip("llvmlite.binding")


def sum_with_rows_of(lengths: tuple[int, ...], is_read: tuple[bool, ...]) -> Recipe:
    """A sum of an array and one that is repeated along some axes, the last axis first."""
    axes, step = [], 1
    for length, reads in zip(lengths, is_read, strict=True):
        axes.append((length, step if reads else 0))
        step *= length if reads else 1
    operands = Operand("float32", 1), Operand("float32", 0, tuple(axes))
    return Recipe(operands, (Operation("add", "float32", (0, 1)),), (2,))


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("lengths", [(20, 9), (32, 8), (16, 16), (8, 3, 4), (2, 100), (7, 8, 9)])
def test_any_lengths_are_vectorised(lengths: tuple[int, ...]) -> None:
    for is_read in ((True, False, True), (False, True, False)):
        recipe = sum_with_rows_of(lengths, is_read[: len(lengths)])
        llvm.initialize_native_target()
        module = llvm.parse_assembly(text(recipe))
        machine.optimise(module, machine.target_machine(2), ())
        assert f"<{machine.lanes()} x float>" in str(module)
        count = int(np.prod(lengths))
        x = np.arange(count, dtype=np.float32)
        some = [n if reads else 1 for n, reads in zip(lengths, is_read, strict=False)]
        rows = 1000 * np.arange(np.prod(some), dtype=np.float32)
        out = np.zeros(count, np.float32)
        frame = np.array([(address(array), 0) for array in (x, rows, out)])
        compiled(recipe).call(address(frame), count, 0, 1)
        shape = lengths[::-1]
        expected = x.reshape(shape) + rows.reshape(some[::-1])
        np.testing.assert_array_equal(out.reshape(shape), expected)
