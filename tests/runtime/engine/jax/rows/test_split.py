"""Rows keep an axis split that is split over devices: nothing is gathered."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("jax")


@pytest.mark.night
def test_a_batch_that_is_split_over_devices_stays_split():
    command = [sys.executable, "-m", "tests.runtime.engine.jax.rows.splitting"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    first, *exchanged = done.stdout.splitlines()
    assert first == "True 40"
    assert exchanged == []
