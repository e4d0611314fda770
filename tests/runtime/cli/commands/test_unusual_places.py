"""Folders and files with spaces and letters of any script, and files with Windows' line ends."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gradwire.runtime.build import build, loss, stop_gradient, variable
from gradwire.runtime.diagram import load, save

NAME = "Füße & 傾き 100 % (é)"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A diagram with an array in a file of its own, and with a recipe; the working folder."""
    folder = tmp_path / "Eigene Dateien – 図"
    folder.mkdir()
    monkeypatch.chdir(folder)
    w = variable("w", np.linspace(0.0, 1.0, 2000))
    path = folder / f"{NAME}.gradwire.json"
    save(build(loss((stop_gradient(3.0 * w) + w).sum())), path)
    text = path.read_bytes()
    assert b"\r" not in text and len(list(folder.iterdir())) == 2
    path.write_bytes(text.replace(b"\n", b"\r\n"))
    return path


COMMANDS = [
    ["run", "{0}", "--json"],
    ["flow", "{0}"],
    ["whatif", "{0}", "--freeze", "w"],
    ["doctor", "{0}"],
    ["timeline", "{0}"],
    ["quiz", "{0}"],
    ["check", "{0}"],
    ["bench", "{0}", "--seconds", "0.01"],
    ["diff", "{0}", "{0}"],
    ["picture", "{0}", "-o", "Bild é.svg"],
    ["publish", "{0}", "-o", "Seite 図.html"],
    ["export", "{0}", "--to", "numpy", "-o", "Quelle é.py"],
]


@pytest.mark.sampled(one_in=5)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("way", ["whole", "name"])
def test_a_command_takes_it(gradwire, place, command, way):
    given = place if way == "whole" else place.name
    done = gradwire(*(word.format(given) for word in command))
    assert (done.code, done.err) == (0, "")
    if "-o" in command:
        assert (place.parent / command[-1]).stat().st_size > 1000


def test_what_has_the_line_ends_of_windows_is_the_same_diagram(place):
    read = load(place)
    place.write_bytes(place.read_bytes().replace(b"\r\n", b"\n"))
    assert load(place) == read
    save(read, place)
    assert load(place) == read


def test_contracts_and_answers_are_read_with_either_line_ends(gradwire, place, lesson_files):
    contracts = place.with_name(f"{NAME}.contracts")
    contracts.write_bytes(b"blocked(loss -> w)\r\n")
    assert "broken" in gradwire("check", place, "--contracts").out.lower()
    lesson, answers = lesson_files
    graded = gradwire("grade", lesson, answers)
    for file in (lesson, answers):
        json.loads(file.read_text(encoding="utf-8"))
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert gradwire("grade", lesson, answers) == graded
