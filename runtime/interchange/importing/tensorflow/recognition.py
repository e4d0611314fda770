"""Recognises TensorFlow's files by their content."""

from __future__ import annotations

import re
from pathlib import Path

from gradwire.runtime.interchange.importing.wire import BYTES, field_at

SAVED_MODEL = "saved_model.pb"
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")


def is_saved_model(head: bytes, path: Path) -> bool:
    """Whether a path is the folder of a SavedModel, or the file of its graphs."""
    if path.is_dir():
        return (path / SAVED_MODEL).is_file()
    graph = _content(head, 2, 2) if head[:1] == b"\x08" else None  # behind the version
    return graph is not None and head[graph[0] : graph[0] + 1] in (b"\x0a", b"\x12")


def is_graph_def(head: bytes, path: Path) -> bool:
    """Whether a file that begins with ``head`` is a graph: a node with its name and operator."""
    node = _content(head, 0, 1)
    name = None if node is None else _content(head, node[0], 1)
    operator = None if name is None else _content(head, name[1], 2)
    return operator is not None and _WORD.fullmatch(head[slice(*operator)]) is not None


def _content(data: bytes, at: int, number: int) -> tuple[int, int] | None:
    """Where the content of a field with this number begins and ends; None for another field."""
    try:
        found, kind, start, end = field_at(data, at)
    except ValueError:
        return None
    return (start, end) if (found, kind) == (number, BYTES) else None
