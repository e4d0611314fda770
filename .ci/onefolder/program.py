"""What the executables of a build start: the command, the editor, or a process for one of them."""

from __future__ import annotations

import locale
import os
import sys
from contextlib import suppress
from pathlib import Path

from gradwire.__main__ import editor, main
from gradwire.runtime.interpreters import serve_if_asked

EDITOR = "gradwire-editor"


def restore_library_path() -> None:
    """Other programs, such as a browser for the manual, look for libraries where they always do:
    the build's own are for this process, which has found them by now.
    """
    before = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
    if before is not None:
        os.environ["LD_LIBRARY_PATH"] = before
    else:
        os.environ.pop("LD_LIBRARY_PATH", None)


def use_utf8() -> None:
    """Take the locale C for C.UTF-8, as an interpreter does (PEP 538): Qt complains of C."""
    if locale.setlocale(locale.LC_CTYPE) == "C" and not os.environ.get("LC_ALL"):
        with suppress(locale.Error):
            locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
            os.environ["LC_CTYPE"] = "C.UTF-8"


def start() -> int:
    """Do what this executable is for, and return the exit code."""
    if sys.platform == "linux":
        restore_library_path()
        use_utf8()
    if serve_if_asked(sys.argv[1:]):
        return 0
    return editor() if Path(sys.executable).stem == EDITOR else main()


if __name__ == "__main__":
    sys.exit(start())
