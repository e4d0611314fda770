"""Recognises TensorFlow's files by their content."""

from __future__ import annotations

import re
from pathlib import Path

SAVED_MODEL = "saved_model.pb"
_NODE, _NAME, _OPERATOR = 0x0A, 0x0A, 0x12
"""Tags of a graph's nodes, and of a node's name and operator: the first fields of each."""
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_META_GRAPH = 0x12


def is_saved_model(head: bytes, path: Path) -> bool:
    """Whether a path is the folder of a SavedModel, or the file of its graphs."""
    if path.is_dir():
        return (path / SAVED_MODEL).is_file()
    graph = _field(head, 2, _META_GRAPH) if head[:1] == b"\x08" else None  # behind the version
    return graph is not None and head[graph[0] : graph[0] + 1] in (b"\x0a", b"\x12")


def is_graph_def(head: bytes, path: Path) -> bool:
    """Whether a file that begins with ``head`` is a graph, whose first field is a node."""
    node = _field(head, 0, _NODE)
    name = None if node is None else _field(head, node[0], _NAME)
    operator = None if name is None else _field(head, sum(name), _OPERATOR)
    if operator is None:
        return False
    start, length = operator
    return _WORD.fullmatch(head[start : start + length]) is not None


def _field(data: bytes, at: int, tag: int) -> tuple[int, int] | None:
    """Where the content of a field with this tag begins, and its length."""
    if at >= len(data) or data[at] != tag:
        return None
    length = shift = 0
    for place in range(at + 1, min(at + 6, len(data))):
        length |= (data[place] & 0x7F) << shift
        shift += 7
        if data[place] < 0x80:
            return place + 1, length
    return None
