"""A training that is killed at any moment goes on, and ends as if nothing had happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")


MEMORY = Path("/dev/shm")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory where there is one: a process that is killed leaves what the system has of
    its files, written to the disk or not, so that nobody need wait for the disk.
    """
    place = MEMORY if os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as made:
        yield Path(made)


def killing(*arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.runtime.training.killing", *arguments],
        capture_output=True, text=True, check=False, timeout=600,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "GRADWIRE_FAST": "0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.night
def test_killed_a_hundred_times_at_random(folder: Path) -> None:
    found = killing("random", str(folder), "5", "100")
    assert found["same"], found
    assert found["kills"] >= 100


@pytest.mark.night
def test_killed_at_every_call_that_changes_a_file(folder: Path) -> None:
    found = killing("points", str(folder))
    assert found["same"], found
    assert found["kills"] >= 50
