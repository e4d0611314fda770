"""Tests are about the package that is meant: the installed one at night, else the checkout's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradwire.runtime import interpreters

PLACE = Path(os.environ.get("GRADWIRE_PLACE") or Path(__file__).parents[1])
FLOORS = ("app", "assets", "blocks", "runtime")
CODE = f"""
from importlib import import_module
names = ["gradwire"] + ["gradwire." + floor for floor in {FLOORS!r}]
found = [import_module(name).__file__ for name in names]
"""


def require_meant(found: list[str]) -> None:
    assert len(found) == 1 + len(FLOORS)
    assert all(PLACE in Path(file).resolve().parents for file in found), found


def test_here():
    names: dict[str, list[str]] = {}
    exec(CODE, names)
    require_meant(names["found"])


@pytest.mark.parametrize("options", [[], ["-P"]])
def test_in_an_interpreter_that_a_test_starts(tmp_path, options):
    command = [sys.executable, *options, "-c", f"{CODE}print(*found, sep='\\n')"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    require_meant(done.stdout.splitlines())


def test_in_an_interpreter_that_the_program_starts(tmp_path, monkeypatch):
    main = "\ndef main(): print(*found, sep='\\n')\n"
    (tmp_path / "say_where.py").write_text(CODE + main)
    monkeypatch.syspath_prepend(tmp_path)
    child = interpreters.start("say_where")
    answer, _ = child.communicate()
    require_meant(answer.decode().splitlines())
