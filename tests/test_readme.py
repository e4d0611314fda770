"""README.md does what it says: its examples are run, its paths exist."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QKeySequence

from app.canvas.input.keys import KEYS
from app.canvas.input.mouse_help import MOUSE
from app.shell.actions import TABLE
from blocks import registry
from runtime.build import block, build, variable
from runtime.engine import Session

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def fenced(language: str, heading: str) -> list[str]:
    """The code blocks of one language in the section under a heading."""
    section = README.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


COMMANDS = fenced("sh", "From the command line")[0].splitlines()


@pytest.mark.parametrize("heading", ["From Python", "Trees on wires"])
def test_a_python_example_prints_what_it_says(heading):
    (code,) = fenced("python", heading)
    (expected,) = fenced("text", heading)
    assert len(code.strip().splitlines()) <= 10
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == expected


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """Runs a line of shell beside a copy of the assets, with ``gradwire`` from this checkout."""
    place = tmp_path_factory.mktemp("readme")
    (place / "assets").symlink_to(ROOT / "assets")
    (place / "bin").mkdir()
    command = place / "bin" / "gradwire"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m runtime.cli "$@"\n')
    command.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }

    def run(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", line], cwd=place, env=environment, capture_output=True, text=True
        )

    run.place = place
    return run


@pytest.mark.parametrize("line", COMMANDS, ids=lambda line: line.partition("#")[0].strip())
def test_a_command_of_the_example_runs(shell, line):
    done = shell(line)
    assert done.returncode == 0, done.stderr
    target = line.partition("#")[0].partition(">")[2].strip()
    if target:
        assert json.loads((shell.place / target).read_text(encoding="utf-8"))
    else:
        assert done.stdout


def test_the_command_line_example_has_ten_lines():
    assert len(COMMANDS) == 10


def test_a_block_is_added_as_it_says(monkeypatch):
    (code,) = fenced("python", "Add a block")
    defined: dict[str, type] = {"__name__": "readme_block"}  # type: ignore[dict-item]
    exec(compile(code, "README.md", "exec"), defined)
    cube = defined["Cube"]
    classes = {**registry().classes, "Cube": cube}
    monkeypatch.setattr(registry(), "_classes", classes)
    x = variable("x", [2.0, -1.0], dtype="float64")
    session = Session(build(block("Cube", x, scale=2.0)))
    port = next(p for p in session.program.ports if p.startswith("cube"))
    run = session.backward([port], out_gradients={port: [1.0, 1.0]})
    np.testing.assert_allclose(run.values[port], [16.0, -2.0])
    np.testing.assert_allclose(run.gradients["x"], [24.0, 6.0])


@pytest.mark.parametrize("path", re.findall(r"\]\(([^)#:]+)\)", README))
def test_what_it_links_to_is_there(path):
    assert (ROOT / path).is_file()


def test_the_map_shows_the_rooms_there_are():
    (drawn,) = fenced("text", "The map of the house")
    for room in re.findall(r"^ *([a-z]+)/ ", drawn, re.MULTILINE):
        assert any((ROOT / floor / room).is_dir() for floor in ("", "blocks", "runtime"))
    for package in sorted((ROOT / "runtime").iterdir()):
        if (package / "__init__.py").exists():
            assert f"  {package.name}/" in drawn


def test_the_keys_of_the_editor_are_its_keys(qapp):
    section = README.partition("## The editor")[2].partition("\n## ")[0]
    named = re.findall(r"`((?:Ctrl\+|Alt\+|Shift\+)*(?:[A-Z]|F\d+|Tab|Space|Enter|Up))`", section)
    assert len(named) >= 10
    keys = {key for row in KEYS for key in (*row.keys, *re.findall(r"\w+", row.shown))}
    keys |= {word for way in MOUSE for word in re.findall(r"[\w+]+", way.mouse + " " + way.keys)}
    for row in TABLE:
        if row.shortcut is not None:
            keys.add(QKeySequence(row.shortcut).toString())
    assert {"Enter" if key == "Return" else key for key in keys}.issuperset(named)


def test_the_two_commands_are_one_line_each():
    install, test = (lines.strip() for lines in fenced("sh", "Install and run"))
    assert "\n" not in install and install.endswith("gradwire demo")
    assert "\n" not in test and test.endswith("-m pytest")
