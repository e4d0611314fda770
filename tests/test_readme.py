"""README.md does what it says: its commands are run, it is short, its set-up commands stand in it.

Its Python needs PyTorch, and is run with the pages of the manual that do (test_peer_pages.py).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.assets.examples import ROOT, fences, shell_lines

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
COMMANDS = [line for line in shell_lines(README) if line.startswith("gradwire")]


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


@pytest.mark.night
@pytest.mark.parametrize("line", COMMANDS, ids=lambda line: line.partition("#")[0].strip())
def test_a_command_of_the_example_runs(shell, line):
    done = shell(line)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_it_is_short_and_says_what_it_is_at_once():
    title, said, *_ = TEXT.split("\n\n")
    assert title == "# Gradwire" and len(said.splitlines()) <= 2
    assert len(TEXT.split()) <= 500


def test_a_model_of_the_readers_own_comes_first():
    first = next(fence for fence in fences(TEXT) if fence.language == "python")
    assert "gw.capture(" in first.text
    assert TEXT.index(first.text) < min(TEXT.index("gradwire demo"), TEXT.index(".gif"))


def test_its_moving_picture_moves_and_is_small():
    (name,) = re.findall(r"!\[[^]]+\]\(([^)]+\.gif)\)", TEXT)
    picture = (ROOT / name).read_bytes()
    assert picture.startswith(b"GIF89a") and picture.count(b"\x21\xf9\x04") > 10
    assert len(picture) <= 2_000_000


def test_every_line_of_shell_is_one_that_is_run():
    """The two that make an environment are run by ``.ci/run``, which looks for them so."""
    plain, install, *_, test = shell_lines(README)
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    patterns = re.findall(r"grep -m 1 -E '(.*)' README.md", script)
    assert [re.findall(each, TEXT, re.MULTILINE) for each in patterns] == [[install], [test]]
    assert {plain, install, test, *COMMANDS} == set(shell_lines(README))
    assert plain in install  # what the reader installs beside PyTorch is what .ci/run installs


def test_windows_is_told_the_same():
    posix = next(line for line in shell_lines(README) if line.endswith("demo"))
    (line,) = (line for line in TEXT.splitlines() if line.startswith("On Windows"))
    told = " && ".join(re.findall(r"`([^`]+)`", line))
    told = told.replace("py -m", "python3 -m").replace("\\Scripts\\", "/bin/")
    assert told == posix
