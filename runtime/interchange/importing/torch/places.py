"""Places in the user's own source: the innermost frames outside of torch."""

from __future__ import annotations

import re
from typing import NamedTuple

from gradwire.runtime.interchange.importing.scopes import file_name

_FRAME = re.compile(r'File "([^"\n]{1,1000})", line (\d{1,9}), in [^\n]*(?:\n[ \t]*([^\n]*))?')
_TORCH = re.compile(r"[\\/](?:site|dist)-packages[\\/](?:torch|torch_geometric)[\\/]")
_LONGEST = 100


class ProgramLine(NamedTuple):
    """A line of a program."""

    line: str = ""
    """``model.py:42``"""
    code: str = ""

    @property
    def written(self) -> str:
        """The line, and what it says: ``model.py:42: z = mu.detach()``."""
        return f"{self.line}: {self.code[:_LONGEST]}" if self.code else self.line


NOWHERE = ProgramLine()


def place_of(file: str, line: int, code: str = "") -> ProgramLine:
    """A place by the last part of its file's name, or by the cell of a notebook."""
    return ProgramLine(f"{file_name(file)}:{line}", code.strip())


def is_torch(file: str) -> bool:
    """Whether a file belongs to torch, or is code that it wrote."""
    return file.startswith("<eval_with_key>") or _TORCH.search(file) is not None


def in_trace(trace: str) -> ProgramLine:
    """The innermost frame of the user's in a stack trace, as exported programs keep it."""
    found = NOWHERE
    for file, line, code in _FRAME.findall(trace):
        if not is_torch(file):
            found = place_of(file, int(line), code)
    return found
