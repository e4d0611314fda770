"""Writes symbols and parameters as MXNet does."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

CODES = {"float32": 0, "float64": 1, "float16": 2, "uint8": 3, "int32": 4, "int8": 5, "int64": 6}
V1, V2, V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA


class SymbolWriter:
    """A symbol under construction; nodes are numbers."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []

    def argument(self, name: str, **attributes: str) -> int:
        return self.node("null", name, [], attributes)

    def node(
        self,
        operator: str,
        name: str,
        inputs: Sequence[int | tuple[int, int]],
        attributes: Mapping[str, Any] | None = None,
        key: str = "attrs",
    ) -> int:
        entries = [[*x, 0] if isinstance(x, tuple) else [x, 0, 0] for x in inputs]
        record = {"op": operator, "name": name, "inputs": entries}
        if attributes:
            record[key] = {k: str(value) for k, value in attributes.items()}
        self.nodes.append(record)
        return len(self.nodes) - 1

    def layer(self, operator: str, name: str, x: int, **attributes: Any) -> int:
        """A node with a weight and a bias called like it."""
        parameters = [self.argument(f"{name}_{end}") for end in ("weight", "bias")]
        return self.node(operator, name, [x, *parameters], attributes)

    def document(self, *heads: int) -> dict[str, Any]:
        arguments = [i for i, node in enumerate(self.nodes) if node["op"] == "null"]
        return {
            "nodes": self.nodes,
            "arg_nodes": arguments,
            "node_row_ptr": list(range(len(self.nodes) + 1)),
            "heads": [[head, 0, 0] for head in heads],
            "attrs": {"mxnet_version": ["int", 10901]},
        }

    def save(self, folder: Path, *heads: int, name: str = "net") -> Path:
        return save(folder, self.document(*heads), name)


def save(folder: Path, document: Any, name: str = "net") -> Path:
    path = folder / f"{name}-symbol.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def array_bytes(array: NDArray[Any], version: int = V2) -> bytes:
    shape = array.shape
    if version in (V1, V2, V3):
        head = struct.pack("<I", version)
        head += struct.pack("<i", 0) if version != V1 else b""
        head += struct.pack(f"<i{len(shape)}q", len(shape), *shape)
    else:
        head = struct.pack(f"<I{len(shape)}I", len(shape), *shape)
    code = CODES[array.dtype.name]
    return head + struct.pack("<iii", 1, 0, code) + np.ascontiguousarray(array).tobytes()


def parameter_bytes(arrays: Mapping[str, NDArray[Any]], version: int = V2) -> bytes:
    names = [f"arg:{name}".encode() for name in arrays]
    data = struct.pack("<QQQ", 0x112, 0, len(arrays))
    data += b"".join(array_bytes(array, version) for array in arrays.values())
    data += struct.pack("<Q", len(names))
    return data + b"".join(struct.pack("<Q", len(name)) + name for name in names)
