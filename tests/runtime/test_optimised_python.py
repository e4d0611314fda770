"""The command where Python leaves out assertions (-O), and docstrings as well (-OO)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "assets" / "diagrams" / "gan.gradwire.json"


def told(*arguments: str) -> str:
    """What the command writes, by a Python with these options."""
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.night
@pytest.mark.parametrize("option", ["-O", "-OO"])
@pytest.mark.parametrize("command", [["run", str(EXAMPLE)], ["blocks"], ["blocks", "Conv2D"]])
def test_it_says_the_same(option, command):
    plain = told("-m", "gradwire", *command)
    assert told(option, "-m", "gradwire", *command) == plain
