"""Where the user's programs keep what they can make again."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path | None:
    """Gradwire's folder in the user's cache, which may not exist yet; None if nothing says where
    that is.
    """
    if sys.platform == "win32":
        given = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        given = os.path.expanduser("~/Library/Caches")
    else:
        given = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(given) / "gradwire" if given and os.path.isabs(given) else None
