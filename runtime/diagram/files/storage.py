"""Loads and saves diagrams: ``load`` and ``save`` for files, ``loads`` and ``dumps`` for text.

``writing`` and ``reading`` define the format; its limits are ``MAX_CHARACTERS``, ``MAX_DEPTH``,
``MAX_BLOCKS``, ``MAX_WIRES``, ``MAX_BENDS`` and ``MAX_STRETCHES``. Arrays of more
than ``MAX_INLINE`` elements are stored in a safetensors file in the diagram's folder: its array
file.
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
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from gradwire.blocks.arguments import explained
from gradwire.blocks.errors import FileError
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.diagram.files.data_paths import home_of, moved
from gradwire.runtime.diagram.files.migrations import Notice, ignore_notice
from gradwire.runtime.diagram.files.parsing import MAX_CHARACTERS, check_limits
from gradwire.runtime.diagram.files.reading import read
from gradwire.runtime.diagram.files.regular import (
    kind_of,
    open_regular,
    read_regular,
    resolved,
)
from gradwire.runtime.diagram.files.tensors import (
    FORBIDDEN,
    AvailableArrays,
    TensorFile,
    content_of,
    file_name,
    is_file_name,
)
from gradwire.runtime.diagram.files.writing import large_arrays, write
from gradwire.runtime.limits import require_at_most

if TYPE_CHECKING:
    from gradwire.runtime.diagram.model import Diagram

SUFFIX = ".gradwire.json"
"""Suffix of the names of diagram files."""

Pulse: TypeAlias = Callable[[float], object]
"""Called with the fraction of the work done, 0 … 1. An exception that it raises cancels the work,
which then has no effect."""

_CHUNK = 1 << 22
"""Bytes written between two pulses."""
_END = 1 << 16
"""Bytes at either end of a diagram file that are searched for the name of its array file."""
_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.5)
"""Seconds before each further attempt at a file that is held open elsewhere."""
_HELD = (5, 32)
"""Errors of Windows: access is denied, and a file is used by another process."""
_ABANDONED = 3600.0
"""Age in seconds from which a temporary file counts as abandoned."""
_TENSORS = re.compile(rb'"tensors"\s*+:\s*+("(?:[^"\\]|\\.)*+")')
_DIGEST = re.compile(r"\.[0-9a-f]{16}\.safetensors")


@explained
def loads(text: str) -> Diagram:
    """Read a diagram from text; raises FileError with line and column."""
    return read(text)


@explained
def dumps(diagram: Diagram) -> str:
    """The canonical text of a diagram, with all arrays inline; raises FileError."""
    return write(diagram)


def _ignore_pulse(done: float) -> None:
    """A ``Pulse`` that does nothing."""


@explained
def load(path: str | Path, pulse: Pulse = _ignore_pulse, notice: Notice = ignore_notice) -> Diagram:
    """Load a diagram file; raises FileError with line and column.

    ``notice`` is called with what was changed to migrate an older file.
    """
    path = Path(path)
    with system_errors(path, "read"):
        folder = home_of(path)
    text = text_of(path)
    pulse(0.1)
    found = read(text, str(path), lambda name: TensorFile(folder / name), pulse, notice)
    return replace(found, folder=folder)


def load_version(path: Path, folder: Path, notice: Notice = ignore_notice) -> Diagram:
    """Load a copy of a diagram file that was made elsewhere, such as git's of an older version.

    Arrays are read from the copy's folder or from ``folder``. ``notice`` is called if they are in
    neither, and zeros stand for them. Raises FileError.
    """
    opened: list[AvailableArrays] = []

    def open_arrays(name: str) -> TensorFile:
        places = (path.parent / name, folder / name)
        found = next((place for place in places if place.exists()), places[1])
        opened.append(AvailableArrays(found))
        return opened[-1]

    diagram = read(text_of(path), str(path), open_arrays, _ignore_pulse, notice)
    if any(arrays.missing for arrays in opened):
        notice(f"The large arrays of {path} are not at hand and were not compared.")
    return diagram


@explained
def save(diagram: Diagram, path: str | Path, pulse: Pulse = _ignore_pulse) -> None:
    """Save a diagram atomically, with its large arrays in an array file in the same folder.

    An existing file keeps its permissions; a link is followed. The array file of an earlier save
    is removed unless another diagram in the folder uses it. Relative paths of data files are
    written so that they lead from there to the same files. Raises FileError and leaves the old
    files unchanged.
    """
    path = Path(path)
    with system_errors(path, "write"):
        target = resolved(path)
    diagram = moved(diagram, target.parent)
    arrays = large_arrays(diagram)
    content = content_of(arrays) if arrays else None
    pulse(0.1)
    name = None if content is None else file_name(_stem(target), content)
    data = _written(diagram, name, target)
    with system_errors(target, "write"):
        before = _tensors_of(target)
        pulse(0.2)
        if name is not None and content is not None:
            _write_arrays(
                target.with_name(name),
                content,
                lambda done: pulse(0.2 + 0.8 * done),
                _mode(target),
            )
        try:
            pulse(1.0)
            replace_file(target, data)
        except BaseException:
            if name is not None and name != before:
                _discard(target, name)
            raise
        if before is not None and before != name:
            _discard(target, before)
        _sweep(target.parent)


def _written(diagram: Diagram, tensors: str | None, path: Path) -> bytes:
    """The content of the diagram's file; raises FileError for one that could not be loaded."""
    text = write(diagram, tensors)
    check_limits(text, str(path))
    data = text.encode()
    require_at_most(
        "The file would be too large.", len(data), MAX_CHARACTERS, "bytes", path=str(path)
    )
    return data


def _stem(path: Path) -> str:
    """Prefix of the names of a diagram's array files; ``_`` replaces forbidden characters."""
    stem = path.name.removesuffix(SUFFIX) if path.name.endswith(SUFFIX) else path.stem
    return FORBIDDEN.sub("_", stem)


@contextmanager
def system_errors(path: Path, verb: str) -> Iterator[None]:
    """Raise errors of the operating system as FileErrors."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError for a path that is invalid everywhere
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise FileError(
            f"Can't {verb} the file: {reason}.", path=str(path), next_step=_near(path, error)
        ) from error


def _near(path: Path, error: Exception) -> str | None:
    """What to do about a file that is held open elsewhere, or that does not exist: files of similar
    names, or the example.
    """
    if getattr(error, "winerror", None) in _HELD:
        return "Another program holds it open: close it there, or write to another file."
    if not isinstance(error, FileNotFoundError):
        return None
    if not path.parent.is_dir():
        return f"There is no folder {path.parent} either."
    with suppress(OSError):
        names = (other.name for other in path.parent.glob("*.json"))
        if near := did_you_mean(path.name, names, cutoff=0.5):
            return near
    return "`gradwire demo` shows an example."


def text_of(path: Path) -> str:
    """The content of a file as text; raises FileError."""
    with system_errors(path, "read"):
        data = read_regular(path, MAX_CHARACTERS)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        raise FileError(
            "The file is not UTF-8 text.",
            path=str(path),
            line=before.count(b"\n") + 1,
            column=error.start - before.rfind(b"\n"),
        ) from None


def _write_arrays(path: Path, content: bytes, pulse: Pulse, mode: int | None) -> None:
    """Write an array file unless it exists with this content, and set its permissions."""
    if not _holds(path, content):
        replace_file(path, content, pulse, mode)
    elif mode is not None and stat.S_IMODE(path.stat().st_mode) != mode:
        path.chmod(mode)


def _holds(path: Path, content: bytes) -> bool:
    """Whether there is a regular file with this content."""
    with suppress(OSError, FileError):
        return read_regular(path, len(content)) == content
    return False


def replace_file(
    path: Path, content: bytes, pulse: Pulse = _ignore_pulse, mode: int | None = None
) -> None:
    """Write a file by way of a temporary one, renamed to ``path`` when everything is on disk.

    Keeps the permissions of an existing file unless ``mode`` is given.
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
            for start in range(0, len(content), _CHUNK):
                pulse(start / len(content))
                file.write(memoryview(content)[start : start + _CHUNK])
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            temporary.chmod(mode)
        _rename(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _rename(temporary: Path, path: Path) -> None:
    """Put a file in the place of another one.

    Windows refuses that while another program holds the other one open, which one that looks for
    viruses or indexes does for a moment.
    """
    for pause in _PAUSES:
        try:
            os.replace(temporary, path)
            return
        except PermissionError as error:
            if getattr(error, "winerror", None) not in _HELD:
                raise
            time.sleep(pause)
    os.replace(temporary, path)


def _mode(path: Path) -> int | None:
    """Permissions of an existing file, or None.

    Raises PermissionError if it is read-only, FileError if it is a pipe, a device or a folder.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise FileError(
            "Can't write the file: there is something else of that name.",
            path=str(path),
            expected="a regular file, or none",
            got=kind_of(mode),
        )
    if not os.access(path, os.W_OK):
        raise PermissionError(13, "the file is read-only", str(path))
    return stat.S_IMODE(mode)


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut, if the system supports it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def tensors_named(text: bytes) -> str | None:
    """Name of the array file that the text of a diagram states, found without parsing the text;
    None if it states none, or what can't be the name of one.
    """
    with suppress(ValueError):
        if (found := _TENSORS.search(text)) and is_file_name(name := json.loads(found[1])):
            return str(name)
    return None


def _tensors_of(path: Path) -> str | None:
    """The same for the diagram file at ``path``."""
    with suppress(OSError, FileError), open_regular(path) as file:
        return tensors_named(file.read(_END))
    return None


def _discard(diagram: Path, name: str) -> None:
    """Remove an array file that an earlier save of this diagram wrote, unless it is in use."""
    stem = _stem(diagram)
    if not (name.startswith(stem) and _DIGEST.fullmatch(name, len(stem))):
        return
    with suppress(OSError):
        if not any(_may_use(other, name) for other in diagram.parent.glob("*.json")):
            diagram.with_name(name).unlink()


def _may_use(path: Path, tensors: str) -> bool:
    """Whether a diagram file may use this array file, judging by its first and last bytes.

    The field precedes the pages; another program may have written it after them. If the pages
    begin too late to be seen, the answer is yes.
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
    """Remove old temporary files left by processes that were killed while saving."""
    now = time.time()
    with suppress(OSError):
        for left in folder.glob(".gradwire-*.tmp"):
            about = left.lstat()
            if stat.S_ISREG(about.st_mode) and now - about.st_mtime > _ABANDONED:
                left.unlink()
