"""Several devices compute what one does, and exchange no more than gradients."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("jax")


@pytest.fixture(scope="module")
def trained() -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.runtime.engine.jax.several"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.night
@pytest.mark.parametrize("name", ["four", "divided"])
def test_the_losses_are_those_of_one_device(trained: dict[str, Any], name: str) -> None:
    assert trained[name]["losses"] == pytest.approx(trained["one"]["losses"], rel=1e-12)


@pytest.mark.night
def test_a_step_that_divides_the_batch_exchanges_gradients_once(trained: dict[str, Any]) -> None:
    assert trained["four"]["exchanges"] == {
        "all-reduce": 1, "all-gather": 0, "reduce-scatter": 0, "all-to-all": 0,
        "collective-permute": 0,
    }  # fmt: skip
    assert not any(trained["one"]["exchanges"].values())


def test_large_weights_can_be_divided_too(trained: dict[str, Any]) -> None:
    assert trained["divided"]["w1"] == "P(None, 'batch')"
    assert trained["four"]["w1"] == "P()"
