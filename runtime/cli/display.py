"""Whether a window can open here; checked before Qt starts, because Qt aborts if it cannot."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

UNSEEN = frozenset({"offscreen", "minimal", "minimalegl"})
"""Qt platforms that show nothing to anybody."""


def why_no_window(*, unseen: bool = False) -> str | None:
    """Why the editor can't open a window, in a sentence; None where it can.

    ``unseen`` also accepts a platform without a screen that was asked for by name in
    ``QT_QPA_PLATFORM``.
    """
    qt = importlib.util.find_spec("PySide6")
    if qt is None or qt.origin is None:
        return 'The editor needs PySide6, which is not installed (pip install "gradwire[app]").'
    platform = os.environ.get("QT_QPA_PLATFORM", "").partition(":")[0].partition(";")[0]
    if platform in UNSEEN:
        return None if unseen else f"QT_QPA_PLATFORM={platform} shows no window."
    if platform not in ("", "xcb") or not sys.platform.startswith("linux"):
        return None  # a platform asked for by name, or one that always has a screen
    if not platform and _wayland_answers(os.environ):
        return None
    display = os.environ.get("DISPLAY", "")
    if not display:
        return "There is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)."
    if not _x11_answers(display):
        return f"The display {display!r} does not answer."
    return _missing_library(Path(qt.origin).parent)


def _wayland_answers(environment: Mapping[str, str]) -> bool:
    name = environment.get("WAYLAND_DISPLAY")
    if not name:
        return False
    return _connects(socket.AF_UNIX, os.path.join(environment.get("XDG_RUNTIME_DIR", ""), name))


def _x11_answers(display: str) -> bool:
    """``:0``, ``:0.1``, ``unix:0`` on this machine, ``host:10.0`` on another."""
    host, colon, number = display.rpartition(":")
    number = number.partition(".")[0]
    if not colon or not number.isdigit():
        return False
    if host.rpartition("/")[2] in ("", "unix"):
        path = f"/tmp/.X11-unix/X{number}"
        return _connects(socket.AF_UNIX, path) or _connects(socket.AF_UNIX, f"\0{path}")
    return _connects(socket.AF_INET, (host.strip("[]"), 6000 + int(number)))


def _connects(family: socket.AddressFamily, address: str | tuple[str, int]) -> bool:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.settimeout(2.0)
            probe.connect(address)
    except OSError:
        return False
    return True


def _missing_library(pyside: Path) -> str | None:
    """What Qt's X11 platform lacks on this system, found by loading it as Qt would."""
    plugin = pyside / "Qt" / "plugins" / "platforms" / "libqxcb.so"
    if not plugin.exists():
        return None
    try:
        ctypes.CDLL(str(plugin))
    except OSError as error:
        return f"A system library that Qt needs is missing: {error}."
    return None
