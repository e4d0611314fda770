"""Diagrams in files: ``load`` and ``save``, and ``loads`` and ``dumps`` for texts.

The format is in ``writing`` and ``reading``, its limits are ``MAX_CHARACTERS``, ``MAX_DEPTH``,
``MAX_BLOCKS``, ``MAX_WIRES`` and ``MAX_BENDS``. Arrays of more than ``MAX_INLINE`` elements lie in
a safetensors file beside the diagram.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from blocks.errors import FileError
from runtime.diagram.files.migrations import Notice, unheard
from runtime.diagram.files.parsing import MAX_CHARACTERS
from runtime.diagram.files.reading import read
from runtime.diagram.files.tensors import TensorFile, content_of, file_name
from runtime.diagram.files.writing import large_arrays, write

if TYPE_CHECKING:
    from runtime.diagram.model import Diagram

SUFFIX = ".gradwire.json"
"""What the names of diagram files end with."""

Pulse: TypeAlias = Callable[[float], object]
"""Is told the share that is done, 0 … 1. What it raises ends the work, and nothing has changed."""

_PIECE = 1 << 22
"""Bytes that are written between two pulses."""
_TENSORS_LINE = re.compile(rb'^ *"tensors": "([^"\\/:]+)"', re.MULTILINE)
_DIGEST = re.compile(r"\.[0-9a-f]{16}\.safetensors")


def loads(text: str) -> Diagram:
    """The diagram that a text describes; raises FileError with line and column."""
    return read(text)


def dumps(diagram: Diagram) -> str:
    """The canonical text of a diagram, with all arrays written out; raises FileError."""
    return write(diagram)


def _unwatched(share: float) -> None:
    """The pulse of work that nobody watches."""


def load(path: str | Path, pulse: Pulse = _unwatched, notice: Notice = unheard) -> Diagram:
    """Read a diagram's file; raises FileError with line and column.

    ``notice`` takes a text that tells what was changed in an older file to keep its meaning.
    """
    path = Path(path)
    folder = Path(os.path.realpath(path)).parent
    with _told(path, "read"):
        size = path.stat().st_size
        if size > MAX_CHARACTERS:
            raise FileError(
                "The file is too large.",
                path=str(path),
                expected=f"at most {MAX_CHARACTERS:,} bytes",
                got=f"{size:,}",
            )
        data = path.read_bytes()
    pulse(0.1)
    text = _decoded(data, path)
    return read(text, str(path), lambda name: TensorFile(folder / name), pulse, notice)


def save(diagram: Diagram, path: str | Path, pulse: Pulse = _unwatched) -> None:
    """Write a diagram's file, wholly or not at all, and its large arrays beside it.

    An existing file keeps its permissions; a link is followed. Arrays of an earlier save are
    removed unless another diagram in the folder uses them. Raises FileError; what was there
    before is then still there.
    """
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
            _put(target.with_name(name), content, lambda share: pulse(0.2 + 0.8 * share))
        try:
            pulse(1.0)
            _replace(target, text)
        except BaseException:
            if name is not None and name != before:
                _discard(target, name)
            raise
        if before is not None and before != name:
            _discard(target, before)


def _stem(path: Path) -> str:
    return path.name.removesuffix(SUFFIX) if path.name.endswith(SUFFIX) else path.stem


@contextmanager
def _told(path: Path, verb: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
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


def _put(path: Path, content: bytes, pulse: Pulse) -> None:
    """Write a file whose name tells its content, unless it is there."""
    if not (path.is_file() and path.read_bytes() == content):
        _replace(path, content, pulse)


def _replace(path: Path, content: bytes, pulse: Pulse = _unwatched) -> None:
    """Write beside the file, and take its place only when all is on disk."""
    mode = _mode(path)
    temporary = path.with_name(f".gradwire-{secrets.token_hex(8)}.tmp")
    binary = getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | binary, 0o666)
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
    """Permissions of an existing file; raises PermissionError where it must not be written."""
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None
    if not os.access(path, os.W_OK):
        raise PermissionError(13, "the file is read-only", str(path))
    return mode


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _tensors_of(path: Path) -> str | None:
    """The file of arrays that the diagram at ``path`` names now, without parsing it."""
    with suppress(OSError):
        found = _TENSORS_LINE.search(path.read_bytes())
        if found:
            return found[1].decode("utf-8", "replace")
    return None


def _discard(diagram: Path, name: str) -> None:
    """Remove a file of arrays that a save of this diagram made and none in its folder names."""
    stem = _stem(diagram)
    if not (name.startswith(stem) and _DIGEST.fullmatch(name, len(stem))):
        return
    with suppress(OSError):
        others = (other.read_bytes() for other in diagram.parent.glob("*.json"))
        if not any(name.encode() in content for content in others):
            diagram.with_name(name).unlink()
