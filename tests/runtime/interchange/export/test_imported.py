"""Models of PyTorch that were captured, as source again: the same numbers and Nones."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
from tests.interchange.exports import apart, captured
from tests.interchange.torch_models import NAMES

SLOW = {"ResNet-18"}
"""Models that only the table of ``python -m tests.interchange`` has."""


@pytest.mark.sampled(one_in=11)
@pytest.mark.parametrize("name", [name for name in NAMES if name not in SLOW])
def test_a_captured_model_is_the_same_as_source(name):
    diagram = captured(name)
    for system in ("numpy", "torch"):
        found = apart(diagram, system)
        assert found.agrees, (system, found)
