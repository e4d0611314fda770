"""Pages of a class: their files, which are written together, and their content."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradwire.blocks.errors import FileError, RunError
from gradwire.runtime.diagram import load
from gradwire.runtime.publish.exercises import exercise_files, names_in, read_names, write_together
from gradwire.runtime.publish.living.lesson import Exercise
from gradwire.runtime.publish.living.publishing import ExercisePages, publish
from tests.examples.gallery import path

LESSON = path("fan_out").parents[1] / "lessons" / "02_fan_out_adds.gradwire.json"


@pytest.mark.night
def test_pages_of_a_class_are_those_that_publish_writes():
    lesson = load(LESSON)
    pages = ExercisePages(lesson)
    assert pages.page(Exercise(seed=7)) == publish(lesson, seed=7)
    both = ("Ada", "Émilie")
    assert pages.page(Exercise(learners=both)) == publish(lesson, learners=both)
    with pytest.raises(RunError, match="in the list twice"):
        pages.page(Exercise(learners=("Ada", "Ada")))
    with pytest.raises(RunError, match="don't vary by a seed"):
        ExercisePages(load(path("fan_out")))


def test_each_learner_has_a_file_of_their_own():
    names = ("Ada", "../é/..", "ada", "?", "x" * 200, *map(str, range(5)))
    files = exercise_files(Path("out/fan.html"), names)
    assert [file.name for file in files][:5] == [
        "fan-01-Ada.html", "fan-02-é.html", "fan-03-ada.html", "fan-04.html",
        f"fan-05-{'x' * 40}.html",
    ]  # fmt: skip
    assert {file.parent for file in files} == {Path("out")}
    assert list(files.values()) == [Exercise(seed) for seed in range(1, 11)]
    assert [file.name for file in exercise_files(Path("a.htm"), count=2)] == ["a-1.htm", "a-2.htm"]


def test_lists_of_names(tmp_path):
    assert names_in("Ada\r\n\n  Émilie \n") == ("Ada", "Émilie")
    file = tmp_path / "class.txt"
    file.write_bytes(b"\xef\xbb\xbfAda\nGrace\n")
    assert read_names(file) == ("Ada", "Grace")
    for content, complaint in ((b"\n \n", "no names"), (b"\xff", "can't be read")):
        file.write_bytes(content)
        with pytest.raises(FileError, match=complaint):
            read_names(file)
    file.unlink()
    file.mkdir()
    with pytest.raises(FileError, match="got a folder"):
        read_names(file)


def contents(folder):
    return {file.name: file.read_text() if file.is_file() else None for file in folder.iterdir()}


def test_files_are_written_all_or_none(tmp_path):
    first, second, third = (tmp_path / f"{n}.html" for n in "123")
    pages = {first: lambda: "one", second: lambda: "two", third: lambda: "three"}
    shares = []
    write_together(pages, shares.append)
    written = {"1.html": "one", "2.html": "two", "3.html": "three"}
    assert contents(tmp_path) == written and shares == [0.0, 1 / 3, 2 / 3, 1.0]

    def fails():
        raise RunError("No.")

    with pytest.raises(RunError):
        write_together({first: lambda: "new", second: fails}, shares.append)
    assert contents(tmp_path) == written


def test_cancelling_writes_nothing(tmp_path):
    class Stop(Exception):
        pass

    def pulse(share):
        if share >= 0.5:
            raise Stop

    with pytest.raises(Stop):
        write_together({tmp_path / n: lambda: "x" for n in ("1", "2", "3")}, pulse)
    assert contents(tmp_path) == {}


def test_what_was_replaced_comes_back_if_a_later_file_cannot_be_placed(tmp_path):
    old, new, folder = tmp_path / "old.html", tmp_path / "new.html", tmp_path / "folder.html"
    old.write_text("kept")
    (folder / "inside").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        write_together({each: lambda: "x" for each in (old, new, folder)}, lambda share: None)
    assert contents(tmp_path) == {"old.html": "kept", "folder.html": None}
    assert (folder / "inside").is_dir()
