"""Suggests the block for a data file that a user has chosen: its format, and its ports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.blocks.errors import FileError
from gradwire.blocks.names import FreshNames, is_port
from gradwire.runtime.data.files.csv_file import Reader, number, reading
from gradwire.runtime.data.files.opening import headers
from gradwire.runtime.diagram.files.regular import open_regular
from gradwire.runtime.diagram.files.storage import system_errors

if TYPE_CHECKING:
    import numpy as np

    from gradwire.blocks.library.data import Dataset

KINDS: Mapping[str, str] = {
    ".csv": "csv", ".tsv": "csv", ".npy": "npy", ".npz": "npz", ".safetensors": "safetensors",
}  # fmt: skip
"""Formats of data files, by suffix."""
TARGETS = ("y", "target", "label", "labels", "class", "species", "output")
"""Names of columns that are likely to be what a network is to say."""

_LOOKED_AT = 20_000
"""Rows of a table whose types and texts are looked at."""
_MOST_LABELS = 100
"""Different texts up to which a column has labels."""


def kind_of(path: Path) -> str | None:
    """The format of a data file by its suffix; None for other files."""
    return KINDS.get(path.suffix.lower())


def suggested(path: Path, folder: Path | None) -> Dataset:
    """A block for a data file, with ports for its columns; raises FileError.

    The path is relative to ``folder`` if the file lies in it. Of a table the first rows are read:
    its last column, or one with a name of ``TARGETS``, is y, and the other numbers are x. The
    arrays of other formats are ports by name, as far as they have as many rows as the first.
    """
    kind = kind_of(path)
    if kind is None:
        raise FileError(
            "This is no data file.", path=str(path), expected=", ".join(KINDS), got=path.suffix
        )
    if kind == "csv":
        with reading(path) as reader:
            columns = _of_table(reader)
    else:
        with system_errors(path, "read"), open_regular(path) as file:
            arrays = headers(file, path, kind)
        rows = next(iter(arrays.values())).shape[0] if arrays else 0
        fitting = {name: one for name, one in arrays.items() if one.shape[0] == rows}
        found = {name: {"dtype": _dtype(header.dtype)} for name, header in fitting.items()}
        columns = dict(_ports(found.items(), FreshNames()))
    with system_errors(path, "read"):
        real, home = path.resolve(), None if folder is None else folder.resolve()
    inside = home is not None and real.is_relative_to(home)
    shown = real.relative_to(home).as_posix() if inside and home is not None else str(real)
    from gradwire.blocks.library.data import Dataset  # most programs need none

    return Dataset(source=kind, path=shown, columns=columns)


def _of_table(reader: Reader) -> dict[str, object]:
    rows = [row for _, row in reader.some(_LOOKED_AT)]
    fields = {name: [row[i] for row in rows] for i, name in enumerate(reader.names)}
    numeric = [name for name, texts in fields.items() if all(number(t) is not None for t in texts)]
    labels = {
        name: sorted({text.strip() for text in texts})
        for name, texts in fields.items()
        if name not in numeric
    }
    known = [name for name in reader.names if name in numeric or len(labels[name]) <= _MOST_LABELS]
    likely = [name for name in known if name.casefold() in TARGETS]
    target = next(reversed(likely or known[1:]), None)
    columns: dict[str, object] = {}
    features = [name for name in numeric if name != target]
    if features:
        columns["x"] = {"of": features}
    fresh = FreshNames(("y", *columns))
    for name in known:
        if name == target and name in numeric:
            columns["y"] = {"of": [name], "dtype": _whole(fields[name])}
        elif name == target:
            columns["y"] = {"of": [name], "dtype": "int64", "labels": labels[name]}
        elif name in labels:
            column = {"of": [name], "dtype": "int64", "labels": labels[name]}
            columns.update(_ports([(name, column)], fresh))
    return columns


def _whole(texts: Sequence[str]) -> str:
    return "int64" if all((number(text) or 0.0).is_integer() for text in texts) else "float32"


def _dtype(dtype: np.dtype[np.generic]) -> str:
    return {"f": "float32", "b": "bool"}.get(dtype.kind, "int64")


def _ports(
    columns: Iterable[tuple[str, Mapping[str, object]]], fresh: FreshNames
) -> Iterator[tuple[str, dict[str, object]]]:
    """Each column with a name that a port may have, and that no other has."""
    for name, column in columns:
        port = "".join("_" if c in "./:" or not c.isprintable() else c for c in name).strip()[:40]
        port = fresh.like(port if port and is_port(port) else "column")
        yield port, {**column, **({} if port == name else {"of": [name]})}
