"""Opens the rows of Dataset blocks, each once for all sessions that use them."""

from __future__ import annotations

import json
from collections import deque
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from gradwire.blocks.errors import FileError
from gradwire.runtime.data.columns import Arrays, DataTable
from gradwire.runtime.data.files.access import located
from gradwire.runtime.data.rows import DataRows
from gradwire.runtime.diagram.files.regular import answered
from gradwire.runtime.diagram.files.storage import system_errors

if TYPE_CHECKING:
    from gradwire.blocks.library.data import Dataset
    from gradwire.runtime.data.files.csv_file import Watch

_DRAWN = ("source", "count", "classes", "noise", "turns", "seed")
"""The parameters that the rows of a generator depend on."""
_READ = ("source", "path", "columns")
"""The parameters that the table of a file depends on."""

_open: WeakValueDictionary[str, DataRows] = WeakValueDictionary()
_tables: WeakValueDictionary[str, DataTable] = WeakValueDictionary()
_recent: deque[DataRows] = deque(maxlen=4)
"""Rows that stay open although nothing uses them now: an edit soon will."""


def open_rows(block: Dataset, folder: Path | None = None, watch: Watch = iter) -> DataRows:
    """The rows of a block of a diagram in ``folder``.

    A file that has changed is read again. ``watch`` may cancel the reading. Raises RunError,
    FileError or ShapeError if they can't be used.
    """
    path = located(block.path, folder) if block.is_file else None
    version = "" if path is None else _version(path)
    key = version + json.dumps(block.to_record())
    rows = _open.get(key)
    if rows is None:
        rows = _open[key] = DataRows(block, _table(block, path, version, watch))
    _recent.append(rows)
    return rows


def _version(path: Path) -> str:
    """Text that differs once the file is another one."""
    with system_errors(path, "read"):
        if not answered(path, path.exists):
            raise FileError(
                "The data file is missing.",
                path=str(path),
                next_step="Put it there, or choose another one in the Inspector.",
            )
        about = path.stat()
    return f"{path}\0{about.st_dev}\0{about.st_ino}\0{about.st_size}\0{about.st_mtime_ns}\0"


def _table(block: Dataset, path: Path | None, version: str, watch: Watch) -> DataTable:
    if path is None:
        drawn = {name: value for name in _DRAWN if (value := getattr(block, name)) is not None}
        return _generated(**drawn)
    record = block.to_record()
    key = version + json.dumps({name: record.get(name) for name in _READ})
    table: DataTable | None = _tables.get(key)
    if table is None:
        from gradwire.runtime.data.files.opening import open_table  # half of the time of an import

        table = _tables[key] = open_table(block, path, watch)
    return table


@lru_cache(maxsize=4)
def _generated(**parameters: Any) -> Arrays:
    from gradwire.blocks.library.data import Dataset  # most programs have none
    from gradwire.runtime.data.generators import generate

    return Arrays(generate(Dataset(**parameters)))
