"""The user's folders on each system: where they have always been."""

from __future__ import annotations

import sys
from pathlib import Path

import platformdirs
import pytest
from platformdirs import unix, windows

from gradwire.runtime.diagram.files.user_folders import cache_folder, data_folder

XDG = ("XDG_CACHE_HOME", "XDG_DATA_HOME")


@pytest.fixture
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another system, with a user whose home is /home/me."""
    name, dirs = request.param
    monkeypatch.setattr(sys, "platform", name)
    monkeypatch.setattr(platformdirs, "PlatformDirs", dirs)
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, "/home/me")
    for variable in XDG:
        monkeypatch.delenv(variable, raising=False)


LINUX = pytest.mark.parametrize("system", [("linux", unix.Unix)], indirect=True)
MACOS = pytest.mark.parametrize("system", [("darwin", None)], indirect=True)
WINDOWS = pytest.mark.parametrize("system", [("win32", windows.Windows)], indirect=True)


@LINUX
@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("given", [None, "", "relative"])
def test_linux_has_hidden_folders_at_home(
    given: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in XDG if given is not None else ():
        monkeypatch.setenv(variable, str(given))
    assert cache_folder() == Path("/home/me/.cache/gradwire")
    assert data_folder() == Path("/home/me/.local/share/gradwire")


@LINUX
@pytest.mark.usefixtures("system")
def test_linux_has_folders_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/made/again")
    monkeypatch.setenv("XDG_DATA_HOME", "/kept")
    assert cache_folder() == Path("/made/again/gradwire")
    assert data_folder() == Path("/kept/gradwire")


@MACOS
@pytest.mark.usefixtures("system")
def test_macos_has_folders_in_the_library_whatever_else_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in XDG:
        monkeypatch.setenv(variable, "/elsewhere")
    assert cache_folder() == Path("/home/me/Library/Caches/gradwire")
    assert data_folder() == Path("/home/me/Library/Application Support/gradwire")


@WINDOWS
@pytest.mark.usefixtures("system")
def test_windows_has_folders_in_appdata(monkeypatch: pytest.MonkeyPatch) -> None:
    places = {"CSIDL_LOCAL_APPDATA": "/me/AppData/Local", "CSIDL_APPDATA": "/me/AppData/Roaming"}
    monkeypatch.setattr(windows, "get_win_folder", places.__getitem__)
    assert cache_folder() == Path("/me/AppData/Local/gradwire")
    assert data_folder() == Path("/me/AppData/Roaming/gradwire")


def missing(name: str) -> str:
    raise ValueError(f"{name} is not known")


@WINDOWS
@pytest.mark.usefixtures("system")
def test_windows_may_know_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "get_win_folder", missing)
    assert cache_folder() is data_folder() is None


@LINUX
@pytest.mark.usefixtures("system")
def test_a_user_of_linux_may_have_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    assert cache_folder() is data_folder() is None


@MACOS
@pytest.mark.usefixtures("system")
def test_a_relative_home_on_macos_is_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, "somewhere")
    assert cache_folder() is data_folder() is None


def test_this_system_has_both() -> None:
    for found in (cache_folder(), data_folder()):
        assert found is not None and found.is_absolute() and found.name == "gradwire"
