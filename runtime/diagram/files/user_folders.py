"""Gradwire's own folders of a user, which may not exist yet; None if nothing says where they are.

Their places never change, for what is in them must be found again.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path


def cache_folder() -> Path | None:
    """The folder for what can be made again."""
    return _folder("user_cache_path", "Caches")


def data_folder() -> Path | None:
    """The folder for what the user would miss."""
    return _folder("user_data_path", "Application Support")


def _folder(name: str, on_macos: str) -> Path | None:
    """A property of ``PlatformDirs``, but on macOS a folder in ``~/Library``."""
    with suppress(OSError, RuntimeError, ValueError):  # where the system knows no such folder
        if sys.platform == "darwin":  # platformdirs would move it to where XDG variables say
            home = Path.home()
            return home / "Library" / on_macos / "gradwire" if home.is_absolute() else None
        from platformdirs import PlatformDirs  # takes long to import

        dirs = PlatformDirs("gradwire", appauthor=False, roaming=True, opinion=False)
        found: Path = getattr(dirs, name)
        return found
    return None
