"""Opens a data file as a table of columns, by its format."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.blocks.errors import FileError
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.data.columns import Arrays, DataTable
from gradwire.runtime.data.files.archives import npz_arrays, npz_headers, safetensors_headers
from gradwire.runtime.data.files.csv_file import CsvTable, Watch
from gradwire.runtime.data.files.npy import Header, mapped, read_header
from gradwire.runtime.diagram.files.regular import open_regular
from gradwire.runtime.diagram.files.storage import system_errors

if TYPE_CHECKING:
    from io import BufferedReader

    from gradwire.blocks.library.data import Dataset
    from gradwire.blocks.values import Array

ONLY = "x"
"""Name of the array of an npy file."""
_PART = re.compile(r"(.+)\[(\d{1,9})(?::(\d{1,9}))?\]", re.DOTALL)


def headers(file: BufferedReader, path: Path, kind: str) -> dict[str, Header]:
    """The arrays of a file by name, without reading them; raises FileError."""
    if kind == "npy":
        return {ONLY: read_header(file, str(path))}
    return (npz_headers if kind == "npz" else safetensors_headers)(file, path)


def open_table(block: Dataset, path: Path, watch: Watch) -> DataTable:
    """The columns of a file that a block uses; raises FileError."""
    wanted: dict[str, bool] = {}
    for port, column in block.provided.items():
        for name in column.of or (port,):
            if wanted.setdefault(name, bool(column.labels)) != bool(column.labels):
                raise FileError(
                    f"Column {name!r:.80} is read as labels by one port and as numbers by another.",
                    path=str(path),
                )
    if not wanted:
        raise FileError(
            "No column is chosen.", path=str(path), next_step="Choose columns in the Inspector."
        )
    if block.source == "csv":
        return CsvTable(path, wanted, watch)
    with system_errors(path, "read"), open_regular(path) as file:
        return Arrays(_arrays(file, path, block.source, wanted), f"{path}: ")


def _arrays(file: BufferedReader, path: Path, kind: str, wanted: Iterable[str]) -> dict[str, Array]:
    """The wanted columns; ``x[3]`` and ``x[0:3]`` are parts of the rows of x."""
    known = headers(file, path, kind)
    parts = {name: None if name in known else _PART.fullmatch(name) for name in wanted}
    bases = {name: name if part is None else part[1] for name, part in parts.items()}
    missing = next((base for base in bases.values() if base not in known), None)
    if missing is not None:
        raise FileError(
            f"There is no array {missing!r:.80}.",
            path=str(path),
            expected="one of " + ", ".join(list(known)[:20]),
            next_step=did_you_mean(missing, known),
        )
    names = dict.fromkeys(bases.values())
    if kind == "npz":
        whole = npz_arrays(file, path, names)
    else:
        whole = {name: mapped(file, known[name], str(path), path.name) for name in names}
    found = {
        name: whole[bases[name]] if part is None else _part(whole[bases[name]], part, name, path)
        for name, part in parts.items()
    }
    lengths = {name: len(array) for name, array in found.items()}
    if len(set(lengths.values())) > 1:
        text = ", ".join(f"{name} {length:,}" for name, length in list(lengths.items())[:8])
        raise FileError("The arrays have different numbers of rows.", path=str(path), got=text)
    return found


def _part(array: Array, part: re.Match[str], name: str, path: Path) -> Array:
    first, last = int(part[2]), None if part[3] is None else int(part[3])
    width = array.shape[1] if array.ndim > 1 else 0
    if first >= width or (last is not None and not first < last <= width):
        raise FileError(
            f"There is no part {name!r:.80}.",
            path=str(path),
            expected=f"numbers below {width}" if width else "an array of two axes",
        )
    return array[:, first] if last is None else array[:, first:last]
