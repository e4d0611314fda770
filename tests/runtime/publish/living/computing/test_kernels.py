"""The page's kernels against the runtime's, one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradwire.runtime.publish.living.computing.kernels import KERNELS
from tests.runtime.calculus.test_primitives import table
from tests.runtime.publish.living.computing.primitives import EXACT, compared
from tests.runtime.publish.living.node import NODE

WITHOUT = {"leaf", "constant", "reshape", "wire", "stop_gradient", "surrogate", "loss_head",
           "clip_gradient"}  # fmt: skip
"""Primitives that compute nothing forward."""
LARGEST = {"float64": 1e-13, "float32": 4.0}
"""Relative in float64, in units of the last place in float32."""


def test_every_primitive_has_a_kernel() -> None:
    assert {primitive.name for primitive in table()} - WITHOUT == KERNELS


@pytest.mark.night
@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_every_kernel_computes_what_the_runtime_does(tmp_path: Path) -> None:
    found = compared(tmp_path)
    assert {each.name for each in found} == KERNELS
    wrong = [
        f"{each.name} {each.value.dtype}{list(each.value.shape)}: {each.error}"
        for each in found
        if each.error > (0.0 if each.name in EXACT else LARGEST.get(each.value.dtype, 0.0))
    ]
    assert wrong == []
