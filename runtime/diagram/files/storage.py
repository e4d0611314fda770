"""Loads and saves diagrams: ``load`` and ``save`` for files, ``loads`` and ``dumps`` for text.

The format is in ``writing`` and ``reading``, its limits are ``MAX_CHARACTERS``, ``MAX_DEPTH``,
``MAX_BLOCKS``, ``MAX_WIRES`` and ``MAX_BENDS``. Arrays of more than ``MAX_INLINE`` elements lie in
a safetensors file beside the diagram.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from blocks.errors import FileError
from runtime.diagram.files.migrations import Notice, unheard
from runtime.diagram.files.parsing import MAX_CHARACTERS
from runtime.diagram.files.reading import read
from runtime.diagram.files.regular import open_regular, read_regular
from runtime.diagram.files.tensors import UNFIT, TensorFile, content_of, file_name
from runtime.diagram.files.writing import large_arrays, write

if TYPE_CHECKING:
    from runtime.diagram.model import Diagram

SUFFIX = ".gradwire.json"
"""Suffix of the names of diagram files."""

Pulse: TypeAlias = Callable[[float], object]
"""Is told the share that is done, 0 … 1. What it raises ends the work, and nothing has changed."""

_PIECE = 1 << 22
"""Bytes that are written between two pulses."""
_END = 1 << 16
"""Bytes at either end of a file in which the name of its arrays stands."""
_ABANDONED = 3600.0
"""Seconds after which nobody writes to a temporary file any more."""
_TENSORS_LINE = re.compile(rb'^ *"tensors": ("(?:[^"\\]|\\.)*+")', re.MULTILINE)
_DIGEST = re.compile(r"\.[0-9a-f]{16}\.safetensors")


def loads(text: str) -> Diagram:
    """The diagram that a text describes; raises FileError with line and column."""
    return read(text)


def dumps(diagram: Diagram) -> str:
    """The canonical text of a diagram, with all arrays written out; raises FileError."""
    return write(diagram)


def _unwatched(share: float) -> None:
    """A pulse for work whose progress nobody watches."""


def load(path: str | Path, pulse: Pulse = _unwatched, notice: Notice = unheard) -> Diagram:
    """Read a diagram's file; raises FileError with line and column.

    ``notice`` takes a text that tells what was changed in an older file to keep its meaning.
    """
    path = Path(path)
    with _told(path, "read"):
        folder = Path(os.path.realpath(path)).parent
        data = read_regular(path, MAX_CHARACTERS)
    pulse(0.1)
    text = _decoded(data, path)
    return read(text, str(path), lambda name: TensorFile(folder / name), pulse, notice)


def save(diagram: Diagram, path: str | Path, pulse: Pulse = _unwatched) -> None:
    """Write a diagram's file, wholly or not at all, and its large arrays beside it.

    An existing file keeps its permissions; a link is followed. Arrays of an earlier save are
    removed unless another diagram in the folder uses them. Raises FileError; what was there
    before is then still there.
    """
    path = Path(path)
    with _told(path, "write"):
        target = Path(os.path.realpath(path))
    arrays = large_arrays(diagram)
    content = content_of(arrays) if arrays else None
    pulse(0.1)
    name = None if content is None else file_name(_stem(target), content)
    text = write(diagram, name).encode()
    with _told(target, "write"):
        before = _tensors_of(target)
        pulse(0.2)
        if name is not None and content is not None:
            _put(
                target.with_name(name),
                content,
                lambda share: pulse(0.2 + 0.8 * share),
                _mode(target),
            )
        try:
            pulse(1.0)
            _replace(target, text)
        except BaseException:
            if name is not None and name != before:
                _discard(target, name)
            raise
        if before is not None and before != name:
            _discard(target, before)
        _sweep(target.parent)


def _stem(path: Path) -> str:
    """What the names of a diagram's files of arrays begin with; ``_`` for what none may hold."""
    stem = path.name.removesuffix(SUFFIX) if path.name.endswith(SUFFIX) else path.stem
    return UNFIT.sub("_", stem)


@contextmanager
def _told(path: Path, verb: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError for a path that no system can have
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise FileError(f"Can't {verb} the file: {reason}.", path=str(path)) from error


def _decoded(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        raise FileError(
            "Not a text in UTF-8.",
            path=str(path),
            line=before.count(b"\n") + 1,
            column=error.start - before.rfind(b"\n"),
        ) from None


def _put(path: Path, content: bytes, pulse: Pulse, mode: int | None) -> None:
    """Write a file whose name has a hash of its content, unless it exists; set permissions."""
    if not (path.is_file() and path.read_bytes() == content):
        _replace(path, content, pulse, mode)
    elif mode is not None and stat.S_IMODE(path.stat().st_mode) != mode:
        path.chmod(mode)


def _replace(
    path: Path, content: bytes, pulse: Pulse = _unwatched, mode: int | None = None
) -> None:
    """Write beside the file, and replace it only when everything is on disk.

    It keeps the permissions of the old file unless ``mode`` is given.
    """
    mode = _mode(path) if mode is None else mode
    temporary = path.with_name(f".gradwire-{secrets.token_hex(8)}.tmp")
    binary = getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(
            temporary,
            os.O_WRONLY | os.O_CREAT | os.O_EXCL | binary,
            0o666 if mode is None else 0o600,
        )
        with open(descriptor, "wb") as file:
            for start in range(0, len(content), _PIECE):
                pulse(start / len(content))
                file.write(memoryview(content)[start : start + _PIECE])
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            temporary.chmod(mode)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _mode(path: Path) -> int | None:
    """Permissions of an existing file; raises PermissionError if it must not be written."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None
    if not os.access(path, os.W_OK):
        raise PermissionError(13, "the file is read-only", str(path))
    return mode


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a power cut, if the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _tensors_of(path: Path) -> str | None:
    """The file of arrays that the diagram at ``path`` names now, without parsing it."""
    with suppress(OSError, FileError, ValueError):
        with open_regular(path) as file:
            found = _TENSORS_LINE.search(file.read(_END))
        return None if found is None else str(json.loads(found[1]))
    return None


def _discard(diagram: Path, name: str) -> None:
    """Remove a file of arrays that a save of this diagram made and none in its folder names."""
    stem = _stem(diagram)
    if not (name.startswith(stem) and _DIGEST.fullmatch(name, len(stem))):
        return
    with suppress(OSError):
        if not any(_may_name(other, name) for other in diagram.parent.glob("*.json")):
            diagram.with_name(name).unlink()


def _may_name(path: Path, tensors: str) -> bool:
    """Whether a diagram uses that file of arrays, as far as its first and last lines show.

    The field stands before the pages, or after them in a file that another program wrote. Where
    the pages begin too late to be seen, it may.
    """
    try:
        with open_regular(path) as file:
            head = file.read(_END)
            file.seek(max(len(head), os.fstat(file.fileno()).st_size - _END))
            tail = file.read(_END)
    except FileError:
        return False
    written = json.dumps(tensors, ensure_ascii=False)[1:-1].encode()
    seen = written in head or written in tail or json.dumps(tensors)[1:-1].encode() in head + tail
    return seen or (bool(tail) and b'"pages"' not in head)


def _sweep(folder: Path) -> None:
    """Remove what processes that were killed while they saved have left, in the course of time."""
    now = time.time()
    with suppress(OSError):
        for left in folder.glob(".gradwire-*.tmp"):
            about = left.lstat()
            if stat.S_ISREG(about.st_mode) and now - about.st_mtime > _ABANDONED:
                left.unlink()
