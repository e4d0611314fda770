"""Diagrams whose file moves to another folder still find their data."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gradwire as gw
from gradwire.blocks.errors import FileError
from gradwire.blocks.library.data import Dataset
from gradwire.runtime.data.files import access, gathering
from gradwire.runtime.data.files.gathering import with_data_inside
from gradwire.runtime.diagram import AddBlock, Diagram, apply, load, save
from gradwire.runtime.diagram.files.data_paths import moved


def reading(path: str, folder: Path | None, columns: str = "x") -> Diagram:
    """A diagram in a folder with a Dataset of a table."""
    block = Dataset(source="csv", path=path, columns={columns: {}}, shuffle=False)
    return replace(apply(Diagram(), AddBlock("data", block)).after, folder=folder)


def path_of(diagram: Diagram) -> str:
    block = diagram.main.blocks["data"]
    assert isinstance(block, Dataset)
    return block.path


def values(file: Path) -> list[float]:
    """What the data set of a diagram's file gives."""
    found: list[float] = gw.Session(load(file)).run(ports=["data.x"]).values["data.x"].tolist()
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with tables, and a folder beside it; nothing is allowed."""
    for folder in ("project/tables", "project/saved", "else"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "project/tables/a.csv").write_text("x\n1\n2\n")
    return tmp_path / "project"


@pytest.fixture(autouse=True)
def _nothing_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "_allowed", set())


def test_a_file_in_another_folder_has_paths_that_lead_to_the_same_data(project: Path) -> None:
    diagram = reading("tables/a.csv", project)
    save(diagram, project / "d.gradwire.json")
    save(diagram, project / "tables" / "d.gradwire.json")
    save(diagram, project / "saved" / "d.gradwire.json")
    paths = [path_of(load(project / at / "d.gradwire.json")) for at in ("", "tables", "saved")]
    assert paths == ["tables/a.csv", "a.csv", "../tables/a.csv"]
    assert values(project / "d.gradwire.json") == values(project / "tables/d.gradwire.json")
    back = moved(load(project / "saved" / "d.gradwire.json"), project)
    assert path_of(back) == "tables/a.csv"


def test_absolute_paths_and_diagrams_without_a_folder_stay_as_they_are(project: Path) -> None:
    for path in (str(project / "tables/a.csv"), r"C:\tables\a.csv"):
        assert path_of(moved(reading(path, project), project / "saved")) == path
    without = moved(reading("a.csv", None), project)
    assert (path_of(without), without.folder) == ("a.csv", project)
    unrelated = Diagram(folder=project)
    assert moved(unrelated, project) is unrelated


def test_moving_allows_only_what_could_be_read_before(project: Path) -> None:
    secret = project.parent / "secret.csv"
    secret.write_text("x\n7\n")
    elsewhere = project.parent / "else"
    access.keep_allowed(reading("../secret.csv", project), elsewhere)
    with pytest.raises(FileError, match="outside"):
        access.located("../secret.csv", elsewhere)
    access.keep_allowed(reading("tables/a.csv", project), elsewhere)
    assert access.located("../project/tables/a.csv", elsewhere).name == "a.csv"
    with pytest.raises(FileError, match="outside"):
        access.located("../secret.csv", elsewhere)


def test_gathered_data_opens_where_nothing_is_allowed(project: Path) -> None:
    target = project.parent / "else" / "d.gradwire.json"
    gathered = with_data_inside(reading("tables/a.csv", project), target.parent)
    save(gathered, target)
    assert path_of(load(target)) == "data/a.csv"
    assert values(target) == [1, 2]
    assert os.path.samefile(target.parent / "data/a.csv", project / "tables/a.csv")


def test_gathering_leaves_data_that_is_inside(project: Path) -> None:
    gathered = with_data_inside(reading("a.csv", project / "tables"), project)
    assert path_of(gathered) == "tables/a.csv"
    assert not (project / "data").exists()


def test_gathering_overwrites_nothing_and_uses_what_is_there(project: Path) -> None:
    data = project.parent / "else" / "data"
    data.mkdir()
    (data / "a.csv").write_text("of the user")
    for _ in range(2):
        gathered = with_data_inside(reading("tables/a.csv", project), data.parent)
        assert path_of(gathered) == "data/a-2.csv"
    assert (data / "a.csv").read_text() == "of the user"
    assert sorted(os.listdir(data)) == ["a-2.csv", "a.csv"]


def test_gathering_copies_where_no_link_can_be_made(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(gathering.os, "link", refuse)
    elsewhere = project.parent / "else"
    with_data_inside(reading("tables/a.csv", project), elsewhere)
    assert (elsewhere / "data/a.csv").read_text() == "x\n1\n2\n"
    assert (elsewhere / "data/a.csv").stat().st_nlink == 1


@pytest.mark.parametrize("path", ["../secret.csv", "tables/missing.csv"])
def test_what_can_not_be_read_is_not_gathered(project: Path, path: str) -> None:
    (project.parent / "secret.csv").write_text("x\n7\n")
    elsewhere = project.parent / "else"
    gathered = with_data_inside(reading(path, project), elsewhere)
    assert path_of(gathered) == os.path.relpath(project / path, elsewhere)
    assert not (elsewhere / "data").exists()


def test_data_is_not_gathered_through_a_link(project: Path) -> None:
    elsewhere = project.parent / "else"
    (elsewhere / "data").symlink_to(project / "saved")
    with pytest.raises(FileError, match="is a link"):
        with_data_inside(reading("tables/a.csv", project), elsewhere)
    assert not os.listdir(project / "saved")


def test_a_session_reads_again_once_the_diagram_has_a_folder(project: Path) -> None:
    """The path stays the same text, but means a file now."""
    session = gw.Session(reading("tables/a.csv", None))
    assert any("no folder yet" in found.what for found in session.diagnostics)
    session.update(reading("tables/a.csv", project))
    assert np.array_equal(session.run(ports=["data.x"]).values["data.x"], [1, 2])
