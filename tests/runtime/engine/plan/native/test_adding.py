"""Rows that machine code adds at places that repeat: the bits of numpy."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.passes.lookups import adder


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [0, 1, 3, 4, 12, 64, 100])
@pytest.mark.parametrize("count", [0, 1, 500])
def test_rows_are_added_in_their_order(dtype: str, width: int, count: int) -> None:
    pytest.importorskip("llvmlite")
    rng = np.random.default_rng(count + width)
    places = np.minimum(rng.zipf(1.3, count) - 1, 99)
    found = (100 * rng.standard_normal((100, width))).astype(dtype)
    rows = (100 * rng.standard_normal((width, count))).astype(dtype).T  # with gaps
    wanted = found.copy()
    np.add.at(wanted, places, rows)
    add = adder(dtype, width)
    assert add is not None
    add(found, places, rows)
    assert found.tobytes() == wanted.tobytes()


def test_what_has_no_code_is_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert adder("float16", 64) is None
    assert adder("int64", 64) is None
    monkeypatch.setattr(machine, "installed", lambda: False)
    assert adder("float32", 64) is None
