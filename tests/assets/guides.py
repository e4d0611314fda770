"""Carries out a page of *Extending Gradwire* in a copy of the sources: what a page tells a reader
to write is written, what it tells them to run is run.

Code that begins with ``# folder/module.py`` is that file. A ``diff`` begins in the same way; its
lines that begin with a blank or with ``-`` stand in the file once, and become those that begin with
a blank or with ``+``. Under ``# folder/`` the file is the only one there in which they stand.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.assets.examples import MANUAL, ROOT, fences, shell_lines

if TYPE_CHECKING:
    from pathlib import Path

GUIDES = sorted((MANUAL / "extend").glob("*.md"))
_COPIED = ("app", "runtime", "blocks", "tests", "assets", ".types", "pyproject.toml")
_PLACE = re.compile(r"# ([\w./-]+)\n")


def copy_sources(folder: Path) -> None:
    """Copy what a guide may change, and what its commands need."""
    for name in _COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("*.pyc")
            )
        else:
            shutil.copy(ROOT / name, folder / name)


def write_edits(guide: Path, folder: Path) -> list[str]:
    """Make the edits of a guide in a copy; the files that were written."""
    written = []
    for fence in fences(guide.read_text(encoding="utf-8")):
        named = _PLACE.match(fence.text)
        if named is None:
            assert fence.language != "diff", f"{guide.name}: a diff does not say of which file"
            continue
        place, text = named[1], fence.text[named.end() :]
        if fence.language == "python":
            assert not (folder / place).exists(), f"{guide.name}: {place} exists"
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(text.lstrip("\n"), encoding="utf-8")
        elif fence.language == "diff":
            place = str(_apply(text, folder / place).relative_to(folder))
        else:
            continue
        written.append(place)
    return written


def _apply(diff: str, place: Path) -> Path:
    lines = diff.splitlines(keepends=True)
    before = "".join(line[1:] or "\n" for line in lines if not line.startswith("+"))
    after = "".join(line[1:] or "\n" for line in lines if not line.startswith("-"))
    texts = {
        path: path.read_text(encoding="utf-8")
        for path in ([place] if place.is_file() else place.rglob("*.py"))
    }
    found = [path for path, text in texts.items() if before in text]
    assert [texts[path].count(before) for path in found] == [1], (
        f"These lines do not stand once in {place}, but in {found}:\n{before}"
    )
    found[0].write_text(texts[found[0]].replace(before, after), encoding="utf-8")
    return found[0]


def run_commands(guide: Path, folder: Path) -> str:
    """Run the lines of shell of a guide in a copy; what they print. Raises AssertionError for one
    that fails, with its output.
    """
    printed = ""
    for line in shell_lines(guide):
        command = line.replace("python ", f"{sys.executable} ", 1)
        done = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            env=_environment(folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        printed += done.stdout
        assert done.returncode == 0, f"{line}\n{done.stdout}"
    return printed


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST")}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join([str(folder / "runtime" / "public"), str(folder)]),
        "QT_QPA_PLATFORM": "offscreen",
    }
