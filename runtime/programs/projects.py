"""What a project states beside its code, in ``pyproject.toml``.

    [tool.gradwire.contracts]
    "model.py:make" = ["flows(loss -> encoder/*)", "blocked(loss -> target/*)"]
    "diagrams/vae.gradwire.json" = ["finite(* -> *)"]

Names are relative to the folder of that file.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram.files.regular import answered, read_regular
from gradwire.runtime.flow import Contract, parse_contracts
from gradwire.runtime.flow.tools.contracts import EXAMPLE

FILE = "pyproject.toml"
TABLE = "tool.gradwire.contracts"
_MOST_BYTES = 1 << 20
"""Size of a project's file, at most."""


@dataclass(frozen=True, eq=False)
class Project:
    """The contracts of a project, by what they are about: a diagram's file, or a reference."""

    file: Path
    contracts: Mapping[str, Sequence[Contract]]

    def about(self, subject: str | Path) -> Sequence[Contract]:
        """The contracts about a file or a reference, which may be relative to any folder."""
        wanted = os.path.normcase(os.path.abspath(subject))
        for name, stated in self.contracts.items():
            if os.path.normcase(os.path.abspath(self.file.parent / name)) == wanted:
                return stated
        return ()


def project_at(folder: Path) -> Project | None:
    """The project that a folder belongs to, if it states contracts; raises FileError."""
    for place in (folder.absolute(), *folder.absolute().parents):
        file = place / FILE
        if answered(file, file.is_file):
            return _read(file)
    return None


def _read(file: Path) -> Project | None:
    try:
        text = read_regular(file, _MOST_BYTES).decode("utf-8")
        if "gradwire" not in text:  # whatever it says is no matter of ours
            return None
        document = tomllib.loads(text)
    except OSError as error:
        raise FileError(f"It can't be read: {error.strerror}.", path=str(file)) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FileError(f"This is not TOML: {error}.", path=str(file)) from None
    table: Any = document
    for part in TABLE.split("."):
        table = table.get(part, {}) if isinstance(table, dict) else {}
    if not table:
        return None
    return Project(file, {name: _contracts(file, name, lines) for name, lines in table.items()})


def _contracts(file: Path, name: str, lines: object) -> list[Contract]:
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise FileError(
            f"[{TABLE}] {name} is not a list of contracts.",
            path=str(file),
            expected=f'a list of texts, such as ["{EXAMPLE}"]',
        )
    try:
        return parse_contracts("\n".join(lines))
    except FileError as error:
        raise FileError(
            f"[{TABLE}] {name}: line {error.line} of the list is not a contract.",
            path=str(file),
            expected=error.expected,
            got=error.got,
        ) from None
