"""Whether a window can open here; checked before Qt starts, because Qt aborts if it cannot."""

from __future__ import annotations

import ctypes
import os
import platform
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from gradwire.runtime import extras

UNSEEN = frozenset({"offscreen", "minimal", "minimalegl"})
"""Qt platforms that show nothing to anybody."""
INSTALL = {
    "debian": "sudo apt install libdbus-1-3 libegl1 libfontconfig1 libgl1 libglib2.0-0"
    " libwayland-client0 libwayland-cursor0 libx11-xcb1 libxcb-cursor0 libxcb-icccm4 libxcb-image0"
    " libxcb-keysyms1 libxcb-randr0 libxcb-render-util0 libxcb-shape0 libxcb-xkb1"
    " libxkbcommon-x11-0",
    "fedora": "sudo dnf install dbus-libs fontconfig glib2 libX11-xcb libglvnd-egl libglvnd-glx"
    " libwayland-client libwayland-cursor libxkbcommon-x11 xcb-util-cursor xcb-util-image"
    " xcb-util-keysyms xcb-util-renderutil xcb-util-wm",
}
"""The command that installs every system library that Qt needs, by family of distributions."""


def why_no_window(*, unseen: bool = False) -> str | None:
    """Why the editor can't open a window, in a sentence; None where it can.

    ``unseen`` also accepts a platform without a screen that was asked for by name in
    ``QT_QPA_PLATFORM``.
    """
    qt = extras.place("PySide6")
    if qt is None:
        how = extras.command("PySide6")
        return f"The editor needs PySide6, which is not installed ({how})."
    libraries = qt.parent / "Qt"
    chosen = os.environ.get("QT_QPA_PLATFORM", "").partition(":")[0].partition(";")[0]
    if chosen in UNSEEN and not unseen:
        return f"QT_QPA_PLATFORM={chosen} shows no window."
    if not sys.platform.startswith("linux"):
        return None  # it always has a screen
    if chosen not in ("", "xcb") or (not chosen and _wayland_answers(os.environ)):
        return _missing_library(libraries / "lib" / "libQt6Gui.so.6")
    display = os.environ.get("DISPLAY", "")
    if not display:
        return "There is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)."
    if not _x11_answers(display):
        return f"The display {display!r} does not answer."
    return _missing_library(libraries / "plugins" / "platforms" / "libqxcb.so")


def _wayland_answers(environment: Mapping[str, str]) -> bool:
    name = environment.get("WAYLAND_DISPLAY")
    if not name:
        return False
    return _listens(os.path.join(environment.get("XDG_RUNTIME_DIR", ""), name))


def _x11_answers(display: str) -> bool:
    """``:0``, ``:0.1``, ``unix:0`` on this machine, ``host:10.0`` on another."""
    host, colon, number = display.rpartition(":")
    number = number.partition(".")[0]
    if not colon or not number.isdigit():
        return False
    if host.rpartition("/")[2] in ("", "unix"):
        path = f"/tmp/.X11-unix/X{number}"
        return _listens(path) or _listens(f"\0{path}")
    return _connects(socket.AF_INET, (host.strip("[]"), 6000 + int(number)))


def _listens(path: str) -> bool:
    """Whether a display answers at a socket of this machine; Windows has none."""
    return sys.platform != "win32" and _connects(socket.AF_UNIX, path)


def _connects(family: socket.AddressFamily, address: str | tuple[str, int]) -> bool:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.settimeout(2.0)
            probe.connect(address)
    except OSError:
        return False
    return True


def _missing_library(part: Path) -> str | None:
    """What a part of Qt lacks on this system, found by loading it as Qt would."""
    if not part.exists():
        return None
    try:
        ctypes.CDLL(str(part))
    except OSError as error:
        return f"A system library that Qt needs is missing: {error}.{_how_to_install()}"
    return None


def _how_to_install() -> str:
    """The command that installs all of them on this system; empty where it is not known."""
    try:
        system = platform.freedesktop_os_release()
    except OSError:
        return ""
    families = [system.get("ID", ""), *system.get("ID_LIKE", "").split()]
    command = next((INSTALL[family] for family in families if family in INSTALL), None)
    return f" To install all of them: {command}" if command else ""
