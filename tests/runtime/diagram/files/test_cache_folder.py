"""The user's cache folder: where the environment says, and nowhere else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.runtime.diagram.files.cache_folder import cache_folder

if TYPE_CHECKING:
    import pytest

VARIABLE = {"win32": "LOCALAPPDATA", "darwin": "HOME"}.get(sys.platform, "XDG_CACHE_HOME")


def test_it_is_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    found = cache_folder()
    assert found is not None
    assert found.is_relative_to(tmp_path)
    assert found.name == "gradwire"


def test_a_relative_path_is_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "somewhere")
    assert cache_folder() is None
