"""Contracts in ``pyproject.toml``."""

from __future__ import annotations

import pytest

from gradwire.blocks.errors import FileError
from gradwire.runtime.programs.projects import project_at

LINE = "[tool.gradwire.contracts]\n"


def write(folder, text):
    (folder / "pyproject.toml").write_text(text, "utf-8")


def test_they_are_found_from_any_folder_below(tmp_path, monkeypatch):
    write(tmp_path, f'{LINE}"net/model.py:make" = ["flows(loss -> w)", "# a comment"]\n')
    (tmp_path / "net").mkdir()
    project = project_at(tmp_path / "net")
    monkeypatch.chdir(tmp_path / "net")
    assert [str(c) for c in project.about("model.py:make")] == ["flows(loss -> w)"]
    assert project.about("other.py:make") == ()


@pytest.mark.parametrize(
    "text", ["", "[project]\nname = 'x'\n", "[tool.gradwire]\n", "this is not TOML"]
)
def test_other_files_are_no_matter(tmp_path, text):
    write(tmp_path, text)
    assert project_at(tmp_path) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{LINE}a = 3\n", "a is not a list of contracts"),
        (f"{LINE}a = [3]\n", "a is not a list of contracts"),
        (f'{LINE}a = ["flows(loss -> w)", "flow"]\n', "a: line 2 of the list is not a contract"),
        ("[tool.gradwire", "This is not TOML"),
        ("# gradwire \udcff", "This is not TOML"),
    ],
)
def test_what_is_wrong_is_said_with_the_file(tmp_path, text, message):
    (tmp_path / "pyproject.toml").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(FileError, match=f"pyproject.toml: .*{message}"):
        project_at(tmp_path)
