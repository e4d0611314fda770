"""Progress: kept, joined, and never lost with a damaged file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gradwire.blocks.errors import FileError
from gradwire.runtime.lessons.course.progress import (
    MAX_LESSONS,
    LessonProgress,
    ProgressFile,
    user_file,
)


@pytest.fixture
def kept(tmp_path: Path) -> ProgressFile:
    return ProgressFile(tmp_path / "deep" / "progress.json")


def test_what_was_reached_once_stays(kept: ProgressFile) -> None:
    assert kept.of("a") is None
    assert kept.put("a", LessonProgress("Stops", True, 12, 20, 6)) is None
    kept.put("a", LessonProgress("Stops", False, 8, 20, 3))
    assert kept.of("a") == LessonProgress("Stops", True, 12, 20, 3)
    assert ProgressFile(kept.path).read() == {"a": LessonProgress("Stops", True, 12, 20, 3)}
    assert [each.name for each in kept.path.parent.iterdir()] == ["progress.json"]


def test_another_version_of_a_lesson_is_known_by_its_title(kept: ProgressFile) -> None:
    kept.put("a", LessonProgress("Stops", True, 12, 20, 6))
    assert kept.of("b", "Stops") == LessonProgress("Stops", True, 12, 20, 6)
    assert kept.of("b", "Other") is kept.of("b") is None


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"gradwire_progress": 2, "lessons": {}}',
        b'{"gradwire_progress": 1}',
        b'{"gradwire_progress": 1, "lessons": {"a": {"title": "x"}}}',
        b'{"gradwire_progress": 1, "lessons": {"a": 1}}',
    ],
)
def test_a_damaged_file_is_kept_aside(kept: ProgressFile, damage: bytes) -> None:
    kept.path.parent.mkdir()
    for number in (1, 2):
        kept.path.write_bytes(damage)
        with pytest.raises(FileError):
            kept.read()
        assert kept.of("a") is None
        aside = kept.put("a", LessonProgress("Stops"))
        assert aside is not None and aside.name == f"progress.json.damaged-{number}"
        assert aside.read_bytes() == damage
        assert kept.of("a") == LessonProgress("Stops")


def test_a_file_that_can_not_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError):
        ProgressFile(tmp_path / "file" / "progress.json").put("a", LessonProgress("Stops"))


def test_the_oldest_is_forgotten(kept: ProgressFile, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_LESSONS > 100
    monkeypatch.setattr("gradwire.runtime.lessons.course.progress.MAX_LESSONS", 2)
    for digest in "abac":
        kept.put(digest, LessonProgress("Stops"))
    assert list(kept.read()) == ["a", "c"]


def test_the_user_has_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADWIRE_PROGRESS", os.path.join("some", "where.json"))
    assert user_file() == Path("some") / "where.json"
    monkeypatch.delenv("GRADWIRE_PROGRESS")
    for folder, found in ((Path("/own"), Path("/own")), (None, Path("~/.local/share/gradwire"))):
        monkeypatch.setattr(
            "gradwire.runtime.lessons.course.progress.data_folder", lambda folder=folder: folder
        )
        assert user_file() == found / "progress.json"
