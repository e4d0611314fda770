"""Reads and writes arrays, generates them by a rule, and replaces parts of them. Without Qt."""

from __future__ import annotations

import io
import os
import re
import secrets
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from types import EllipsisType, MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.blocks.errors import FileError
from gradwire.runtime.data import MAX_MEMBERS, require_few
from gradwire.runtime.diagram import open_regular, read_regular
from gradwire.runtime.engine.plan.memory import machine_bytes

if TYPE_CHECKING:
    from gradwire.blocks.values import Array

Index: TypeAlias = tuple[int | slice | EllipsisType, ...]

RULES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "zeros": (),
        "ones": (),
        "constant": ("value",),
        "normal": ("mean", "deviation", "seed"),
        "uniform": ("minimum", "maximum", "seed"),
        "linspace": ("first", "last"),
        "identity": (),
    }
)
"""Rules that generate an array, with the names of their parameters."""
DEFAULTS: Mapping[str, float] = MappingProxyType(
    {"value": 1, "mean": 0, "deviation": 1, "minimum": 0, "maximum": 1, "first": 0, "last": 1,
     "seed": 0}
)  # fmt: skip
MAX_ELEMENTS = 2**31
"""Largest number of elements that a rule generates."""
MAX_TEXT = 2**28
"""Bytes of a file of rows."""
_LOOKED_AT = 100
"""Words of a first line by which a row of numbers is told from a header."""
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": None}
_AXIS = re.compile(r"(-?\d+)?(:)?(-?\d+)?(?::(-?\d+))?")


def read(path: Path) -> dict[str, Array]:
    """Read the arrays of a file by name; an only array is named after the file.

    Supports ``.npy``, ``.npz`` and ``.safetensors``, and rows of numbers as text in ``.csv``,
    ``.tsv`` and ``.txt``, whose first line may be a header. Raises FileError.
    """
    ending = path.suffix.lower()
    try:
        if ending in (".npy", ".npz"):
            with open_regular(path) as file:
                if file.peek(2).startswith(b"PK"):  # as numpy tells them apart
                    require_few(file, path, MAX_MEMBERS)
                    file.seek(0)
                else:
                    _require_room(os.fstat(file.fileno()).st_size)
                found = np.load(file, allow_pickle=False)
                if isinstance(found, np.ndarray):
                    return {path.stem: found}
                _require_room(sum(info.file_size for info in found.zip.infolist()))
                return {name: found[name] for name in found.files}
        if ending == ".safetensors":
            from safetensors.numpy import load

            return dict(load(read_regular(path, machine_bytes() // 2)))
        if ending in _SEPARATORS:
            return {path.stem: _read_rows(path, _SEPARATORS[ending])}
    except FileError as error:
        error.path = str(path)
        raise
    except MemoryError:
        raise FileError("There is not enough memory for the array.", path=str(path)) from None
    except Exception as error:  # each reader raises what it likes
        raise FileError(f"Can't read an array: {error}.", path=str(path)) from error
    raise FileError(
        f"Can't read arrays from {ending or 'such'} files.",
        path=str(path),
        expected=".npy, .npz, .safetensors, .csv, .tsv or .txt",
    )


def write(path: Path, array: Array) -> None:
    """Write ``.npy``, or rows of numbers as ``.csv`` or ``.tsv``; all of it or nothing.

    Raises FileError.
    """
    ending = path.suffix.lower()
    if ending != ".npy" and (ending not in _SEPARATORS or array.ndim > 2):
        raise FileError(
            f"Can't write an array with {array.ndim} axes to {ending or 'such'} files.",
            path=str(path),
            expected=".npy; .csv or .tsv for at most two axes",
        )
    beside = path.with_name(f".gradwire-{secrets.token_hex(8)}.tmp")
    try:
        with open(beside, "wb") as file:
            if ending == ".npy":
                np.save(file, array, allow_pickle=False)
            else:
                form = "%d" if array.dtype.kind in "biu" else f"%.{_digits(array)}g"
                between = _SEPARATORS[ending] or " "
                np.savetxt(file, np.atleast_2d(array), form, between)
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        reason = error.strerror or str(error)
        raise FileError(f"Can't write the file: {reason}.", path=str(path)) from error


def parse_shape(text: str) -> tuple[int, ...]:
    """Parse a shape such as ``2, 3`` or ``2 × 3``; empty text for a scalar. Raises ValueError."""
    words = re.split(r"[\s,×x]+", text.strip().strip("()[]").strip(", "))
    if words == [""]:
        return ()
    if not all(word.isdecimal() for word in words):
        raise ValueError("A shape consists of whole numbers, such as 2, 3.")
    shape = tuple(map(int, words))
    if np.prod(shape, dtype=float) > MAX_ELEMENTS:
        raise ValueError(f"At most {MAX_ELEMENTS:,} elements.")
    return shape


def generate(kind: str, shape: tuple[int, ...], dtype: str, numbers: Mapping[str, float]) -> Array:
    """Generate an array by one of :data:`RULES`. Raises ValueError for invalid parameters."""
    given = {**DEFAULTS, **numbers}
    count = int(np.prod(shape, dtype=np.int64))
    random = np.random.default_rng(abs(int(given["seed"])))
    if kind == "identity":
        if len(shape) != 2:
            raise ValueError("An identity matrix needs two axes.")
        return np.eye(*shape).astype(dtype)
    if kind == "normal":
        if given["deviation"] < 0:
            raise ValueError("The standard deviation must not be negative.")
        return random.normal(given["mean"], given["deviation"], shape).astype(dtype)
    if kind == "uniform":
        if given["maximum"] < given["minimum"]:
            raise ValueError("The maximum is less than the minimum.")
        return random.uniform(given["minimum"], given["maximum"], shape).astype(dtype)
    if kind == "linspace":
        return np.linspace(given["first"], given["last"], count).reshape(shape).astype(dtype)
    constants = {"zeros": 0.0, "ones": 1.0, "constant": given["value"]}
    return np.full(shape, constants[kind]).astype(dtype)


def parse_index(text: str, shape: tuple[int, ...]) -> Index:
    """Parse an index such as ``0:3, :, -1``; empty text for everything. Raises ValueError."""
    words = [word.strip() for word in text.strip().strip("[]").split(",") if word.strip()]
    parts = [_parse_axis(word) for word in words]
    axes = len(parts) - parts.count(Ellipsis)
    if parts.count(Ellipsis) > 1 or axes > len(shape):
        raise ValueError(f"The array has only {len(shape)} axes.")
    ahead = parts.index(Ellipsis) if Ellipsis in parts else len(parts)
    lengths = (*shape[:ahead], 0, *shape[len(shape) - axes + ahead :])
    for part, length in zip(parts, lengths, strict=False):
        if isinstance(part, int) and not -length <= part < length:
            raise ValueError(f"{part} is out of range: the axis has length {length}.")
    return tuple(parts)


def with_part(array: Array, index: Index, part: object) -> Array:
    """A copy of ``array`` with the part at ``index`` replaced."""
    changed = array.copy()
    changed[index] = part
    return changed


def _require_room(size: int, most: int | None = None) -> None:
    """Raise FileError for arrays that are too large together, before any of them is read."""
    most = machine_bytes() // 2 if most is None else most
    if size > most:
        raise FileError(
            "The arrays are too large together.",
            expected=f"at most {most:,} bytes",
            got=f"{size:,}",
        )


def _read_rows(path: Path, separator: str | None) -> Array:
    with open_regular(path) as file:
        _require_room(os.fstat(file.fileno()).st_size, MAX_TEXT)
        lines = filter(str.strip, io.TextIOWrapper(file, "utf-8-sig"))
        first = next(lines, "")
        numbers = chain([first] if _is_row(first, separator) else [], lines)
        found = np.loadtxt(numbers, delimiter=separator, ndmin=2)
    return found[0] if found.shape[0] == 1 else found[:, 0] if found.shape[1] == 1 else found


def _is_row(line: str, separator: str | None) -> bool:
    try:
        [float(word) for word in line.split(separator, _LOOKED_AT)[:_LOOKED_AT]]
    except ValueError:
        return False
    return True


def _digits(array: Array) -> int:
    """Significant digits that distinguish any two numbers of the dtype."""
    return {"float16": 5, "float32": 9}.get(array.dtype.name, 17)


def _parse_axis(word: str) -> int | slice | EllipsisType:
    if word == "...":
        return Ellipsis
    found = _AXIS.fullmatch(word)
    if found is None:
        raise ValueError(f"{word!r} is not a valid index. Use 3, 0:5, : or ...")
    start, colon, stop, step = found.groups()
    if not colon:
        return int(word)
    if step is not None and int(step) == 0:
        raise ValueError("A step must not be zero.")
    return slice(*(None if n is None else int(n) for n in (start, stop, step)))
