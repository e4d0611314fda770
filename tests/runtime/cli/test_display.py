"""Whether a window can open, found without starting Qt."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from gradwire.runtime.cli.display import INSTALL, why_no_window


@pytest.fixture(autouse=True)
def nowhere(monkeypatch):
    """A Linux machine without a display, and no platform asked for."""
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)


def test_no_display():
    assert "neither DISPLAY nor WAYLAND_DISPLAY" in (why_no_window() or "")


@pytest.mark.parametrize("display", [":4711", "unix:4711", "localhost:4711.0", "nonsense", ":x"])
def test_a_display_that_does_not_answer(monkeypatch, display):
    monkeypatch.setenv("DISPLAY", display)
    assert "does not answer" in (why_no_window() or "")


def test_a_platform_without_a_screen_must_be_wanted(monkeypatch):
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen:fonts=x")
    assert "offscreen" in (why_no_window() or "")
    assert why_no_window(unseen=True) is None


def test_another_platform_asked_for_by_name_is_trusted(monkeypatch):
    monkeypatch.setenv("QT_QPA_PLATFORM", "vnc")
    assert why_no_window() is None


def test_without_pyside(monkeypatch):
    monkeypatch.setattr("gradwire.runtime.extras.find_spec", lambda name: None)
    assert 'pip install "gradwire[app]"' in (why_no_window() or "")


def test_a_wayland_socket_that_answers(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("WAYLAND_DISPLAY", "w0")
    assert why_no_window() is not None
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fspath(tmp_path / "w0"))
        server.listen()
        assert why_no_window() is None


@pytest.fixture
def refused(monkeypatch):
    """What was loaded of a Qt that lacks a library, on a system with a display."""
    loaded = []

    def refuse(path: str) -> None:
        loaded.append(path)
        raise OSError("libxcb-cursor.so.0: cannot open shared object file")

    monkeypatch.setattr("gradwire.runtime.cli.display._x11_answers", lambda display: True)
    monkeypatch.setattr("ctypes.CDLL", refuse)
    monkeypatch.setenv("DISPLAY", ":0")
    return loaded


@pytest.mark.parametrize(
    ("system", "told"),
    [
        ({"ID": "debian"}, INSTALL["debian"]),
        ({"ID": "linuxmint", "ID_LIKE": "ubuntu debian"}, INSTALL["debian"]),
        ({"ID": "rocky", "ID_LIKE": "rhel centos fedora"}, INSTALL["fedora"]),
        ({"ID": "gentoo"}, None),
        (None, None),
    ],
)
def test_a_display_that_answers_but_a_library_is_missing(monkeypatch, refused, system, told):
    def release() -> dict[str, str]:
        if system is None:
            raise OSError("no os-release file")
        return system

    monkeypatch.setattr("platform.freedesktop_os_release", release)
    reason = why_no_window() or ""
    assert "libxcb-cursor.so.0" in reason
    assert reason.endswith(f" To install all of them: {told}" if told else "shared object file.")


@pytest.mark.parametrize(
    ("platform", "part"), [("", "libqxcb.so"), ("offscreen", "libQt6Gui.so.6")]
)
def test_what_is_looked_at_is_what_qt_would_load(monkeypatch, refused, platform, part):
    monkeypatch.setenv("QT_QPA_PLATFORM", platform)
    assert "is missing" in (why_no_window(unseen=True) or "")
    assert [Path(each).name for each in refused] == [part]


def test_the_manual_gives_the_line_for_debian():
    page = (Path(__file__).parents[3] / "assets/manual/install.md").read_text(encoding="utf-8")
    assert INSTALL["debian"] in " ".join(page.replace("\\\n", " ").split())
