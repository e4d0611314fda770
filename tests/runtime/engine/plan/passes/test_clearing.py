"""Arrays that machine code sets to 0, and nothing beside them."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.runtime.engine.plan.native import machine
from gradwire.runtime.engine.plan.passes import lookups
from gradwire.runtime.engine.plan.passes.lookups import clear


@pytest.mark.sampled(one_in=11)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "bool"])
@pytest.mark.parametrize("start", [0, 1, 5, 16])
@pytest.mark.parametrize("count", [0, 1, 15, 16, 40, 1000])
def test_all_elements_are_0_and_no_other(
    dtype: str, start: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(lookups, "LARGE", 0)
    whole = np.ones(count + 40, dtype)
    clear(whole[start : start + count])
    assert not whole[start : start + count].any()
    assert whole[:start].all()
    assert whole[start + count :].all()


def test_a_large_array_of_any_shape_is_streamed() -> None:
    pytest.importorskip("llvmlite")
    whole = np.ones((5, lookups.LARGE // 16 + 3), np.float32)
    clear(whole)
    assert not whole.any()


@pytest.mark.parametrize("installed", [True, False])
def test_what_has_gaps_is_left_to_numpy(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "LARGE", 0)
    monkeypatch.setattr(machine, "installed", lambda: installed)
    whole = np.ones((50, 50), np.float32)
    clear(whole[:, ::2])
    assert not whole[:, ::2].any()
    assert whole[:, 1::2].all()
    if not installed:
        clear(whole)
        assert not whole.any()
