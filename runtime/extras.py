"""Optional packages: the extra that brings each, and whether it is installed.

Ask here before an import of one of them. What is asked for but missing ends in one error, which
says what to install.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gradwire.blocks.errors import GradwireError, RunError

EXTRA_OF = {
    "PySide6": "app",
    "fontTools": "app",
    "markdown_it": "app",
    "pymupdf_fonts": "app",
    "pyqtgraph": "app",
    "ziamath": "app",
    "llvmlite": "fast",
    "threadpoolctl": "fast",
    "jax": "jax",
    "filelock": "jax",
    "google.protobuf": "interchange",
    "h5py": "interchange",
    "onnx": "interchange",
    "distributed": "cluster",
    "libcst": "fix",
    "mcp": "mcp",
}
"""The extra for each package, by the name that is imported."""


def place(package: str) -> Path | None:
    """The file that an import of a package runs first; None if it is not installed.

    Imports nothing but packages around it.
    """
    try:
        spec = find_spec(package)
    except ModuleNotFoundError:  # of a package around it
        return None
    # A folder that an old installation left behind has no such file.
    return None if spec is None or spec.origin is None else Path(spec.origin)


def installed(package: str) -> bool:
    """Whether a package is installed; see ``place``."""
    return place(package) is not None


def command(package: str) -> str:
    """The command that installs a package."""
    return f'pip install "gradwire[{EXTRA_OF[package]}]"'


def require(
    package: str, what: str, error: type[GradwireError] = RunError, *, note: str = "", **more: Any
) -> None:
    """Raise the error unless a package is installed: ``what`` needs it.

    ``note`` follows on how to install it; ``more`` is for the error.
    """
    if not installed(package):
        raise error(
            f"{what} needs {package}, which is not installed.",
            next_step=f"Install it: {command(package)}. {note}".rstrip(),
            **more,
        )
