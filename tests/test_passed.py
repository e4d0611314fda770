"""A suite in two runs: the second runs all that has not passed in the first, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MIXED = """
import os
import pytest

def test_plain(): pass

def test_plain_too():
    if "PEER" not in os.environ: pytest.skip("no peer")

def test_that_fails():
    assert "PEER" in os.environ

@pytest.fixture
def peer():
    if "PEER" not in os.environ: pytest.skip("no peer")

def test_with_peer(peer): pass

EACH = ["of two\\nlines", "∇", "a::b", *(["new"] if "PEER" in os.environ else ())]

@pytest.mark.parametrize("x", EACH)
def test_each(x): pass
"""
ALONE = """
import os
import pytest
if "PEER" not in os.environ: pytest.skip("no peer", allow_module_level=True)

def test_alone(): pass
"""


@pytest.fixture
def suite(tmp_path):
    """``suite(*options, PEER="1")`` runs a small suite and gives what pytest prints of it."""
    (tmp_path / "test_mixed.py").write_text(MIXED, encoding="utf-8")
    (tmp_path / "peers").mkdir()
    (tmp_path / "peers" / "test_mixed.py").write_text(ALONE, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    outer = {"PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_TESTRUNUID"}
    environment = {k: v for k, v in os.environ.items() if k not in outer}

    def run(*options: str, **more: str) -> str:
        command = [sys.executable, "-m", "pytest", "-p", "tests.passed", "-v", *options]
        for_all = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run(
            command, cwd=tmp_path, env=environment | for_all | more, capture_output=True, text=True
        )
        return done.stdout

    return run


@pytest.mark.night
@pytest.mark.parametrize("workers", [0, 2])
def test_the_second_run_has_what_the_first_one_lacks(suite, tmp_path_factory, workers):
    noted = tmp_path_factory.mktemp("elsewhere") / "passed"
    by = ("-p", "xdist", f"-n{workers}", "--dist=loadfile") if workers else ()
    first = suite(f"--passed-to={noted}", *by)
    assert "4 passed" in first and "1 failed" in first
    assert len(noted.read_text(encoding="utf-8").splitlines()) == 4
    second = suite(f"--but-passed={noted}", *by, PEER="1")
    ran = {
        next(word for word in line.split() if "::" in word)
        for line in second.splitlines()
        if "PASSED" in line
    }
    names = ("plain_too", "that_fails", "with_peer", "each[new]")
    assert ran == {"peers/test_mixed.py::test_alone", *(f"test_mixed.py::test_{x}" for x in names)}


def test_a_run_without_a_list_of_what_passed_fails(suite, tmp_path):
    assert "FileNotFoundError" in suite(f"--but-passed={tmp_path / 'missing'}")
