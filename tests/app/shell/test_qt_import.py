"""PySide6 is imported as ever, in less time: what it compiles is kept."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_START = """
import builtins, sys
compiled, usual = [], compile
def noted(source, filename, *rest, **more):
    compiled.append(str(filename))
    return usual(source, filename, *rest, **more)
builtins.compile = noted
from gradwire.app.shell import qt_import
qt_import.load()
assert builtins.compile is noted
ours = [name for name in compiled if name.startswith("shibokensupport/")]
print(len(ours), end=" ")
"""
_SIGNATURES = """
from PySide6.QtCore import QPointF, Qt
from PySide6.support.signature import get_signature
print(get_signature(QPointF), get_signature(QPointF.dotProduct), QPointF.isNull.__doc__)
print(list(Qt.Axis), Qt.Axis.XAxis)
try:
    QPointF("a")
except TypeError as error:
    print(error)
"""


def started(code: str, cache: object, *, start: str = _START) -> str:
    of_all_systems = ("XDG_CACHE_HOME", "HOME", "WIN_PD_OVERRIDE_LOCAL_APPDATA")
    places = dict.fromkeys(of_all_systems, str(cache))
    environment = {**os.environ, **places, "GRADWIRE_KEEP_CODE": "1"}
    command = [sys.executable, "-c", start + code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.night
def test_what_was_compiled_once_is_not_compiled_again(tmp_path):
    first, second = (int(started("", tmp_path)) for _ in range(2))
    assert first > 10 and second == 1  # the line that stands for the module of stubs


@pytest.mark.night
def test_signatures_and_errors_are_those_of_pyside(tmp_path):
    usual = started(_SIGNATURES, tmp_path, start="")
    assert "QPointF" in usual
    for _ in range(2):
        assert started(_SIGNATURES, tmp_path).split(" ", 1)[1] == usual


@pytest.mark.night
@pytest.mark.parametrize("name", ["generate_pyi", "Formatter"])
def test_the_module_that_writes_stubs_is_there_when_it_is_asked_for(name, tmp_path):
    ask = f"""
import re
from PySide6.support.signature.lib import pyi_generator
before = sorted(vars(pyi_generator))
assert {name!r} not in before and not hasattr(pyi_generator, "__path__")
print(getattr(pyi_generator, {name!r}).__module__, hasattr(pyi_generator, "missing"))
"""
    for _ in range(2):
        said = started(ask, tmp_path).split(" ", 1)[1]
        assert said == "shibokensupport.signature.lib.pyi_generator False\n"


def test_what_was_changed_in_the_cache_is_not_run(tmp_path):
    started("", tmp_path)
    kept = list(tmp_path.rglob("gradwire/machine_code/*"))
    assert kept
    for path in kept:
        path.write_bytes(path.read_bytes()[:-1] + b"!")
    assert int(started("", tmp_path)) > 10
