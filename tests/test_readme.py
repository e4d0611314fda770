"""README.md does what it says: its examples are run, it is short, its two commands stand in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.assets.examples import ROOT, run_python, shell_lines

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
COMMANDS = [line for line in shell_lines(README) if line.startswith("gradwire")]


def test_the_python_example_prints_what_it_says():
    ((expected, printed),) = run_python(README)[1]
    assert printed == expected


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """Runs a line of shell beside a copy of the assets, with ``gradwire`` from this checkout."""
    place = tmp_path_factory.mktemp("readme")
    (place / "assets").symlink_to(ROOT / "assets")
    (place / "bin").mkdir()
    command = place / "bin" / "gradwire"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gradwire.runtime.cli "$@"\n')
    command.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }

    def run(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", line], cwd=place, env=environment, capture_output=True, text=True
        )

    return run


@pytest.mark.parametrize("line", COMMANDS, ids=lambda line: line.partition("#")[0].strip())
def test_a_command_of_the_example_runs(shell, line):
    done = shell(line)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_it_is_short_and_says_what_it_is_at_once():
    assert len(TEXT.split()) <= 1000
    assert len(TEXT.partition("![")[0].strip().splitlines()) <= 5


def test_its_moving_picture_moves_and_is_small():
    (name,) = re.findall(r"!\[[^]]+\]\(([^)]+\.gif)\)", TEXT)
    picture = (ROOT / name).read_bytes()
    assert picture.startswith(b"GIF89a") and picture.count(b"\x21\xf9\x04") > 10
    assert len(picture) <= 2_000_000


def test_the_two_commands_are_one_line_each():
    install, test = (line for line in shell_lines(README) if line.startswith("python3 -m venv"))
    assert install.endswith("gradwire demo")
    assert test.endswith("-m pytest")
