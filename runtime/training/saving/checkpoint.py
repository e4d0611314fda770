"""Checkpoints: the whole state of a training on disk, from which it goes on bit by bit.

A checkpoint is a JSON file and a safetensors file, whose name contains the digest of its content.
Both are written under another name, flushed to disk and renamed, arrays first: a checkpoint exists
when its JSON file does, and is complete then, whenever the process is killed. The two last ones are
kept.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram.files.regular import answered, read_regular
from gradwire.runtime.diagram.files.storage import replace_file, system_errors
from gradwire.runtime.diagram.files.tensors import SUFFIX
from gradwire.runtime.engine.plan.memory import machine_bytes

if TYPE_CHECKING:
    from gradwire.blocks.values import Array


KEPT = 2
"""Checkpoints that are kept."""
MAX_JSON = 1 << 26
"""Bytes of the JSON file of a checkpoint, at most."""
_FORMAT = "gradwire-checkpoint"
_VERSION = 1
_MOST_FILES = 100_000
_NAME = re.compile(r"checkpoint-([0-9]{9,10})\.json")
_ARRAYS = re.compile(r"checkpoint-[0-9]{9,10}\.[0-9a-f]{16}\.safetensors")
_TEMPORARY = re.compile(r"\.gradwire-[0-9a-f]{16}\.tmp")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_DTYPES = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
)


@dataclass(frozen=True, eq=False)
class TrainerState:
    """Everything that decides how a training goes on: arrays by name, and plain JSON."""

    iterations: int
    arrays: Mapping[str, Array]
    about: Mapping[str, Any]

    @property
    def rounds(self) -> int:
        """An old name of ``iterations``, which files have."""
        return self.iterations

    @property
    def nbytes(self) -> int:
        """The memory of its arrays, in bytes."""
        return sum(array.nbytes for array in self.arrays.values())


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A checkpoint that was read. ``notes`` tell of later ones that could not be."""

    path: Path
    state: TrainerState
    notes: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)
    """What was stored besides the state."""


class _Damaged(Exception):
    """Why a checkpoint can't be used."""


def save_checkpoint(
    folder: str | Path, state: TrainerState, extra: Mapping[str, object] | None = None
) -> Path:
    """Write a checkpoint into a folder, which is made if need be; returns its JSON file.

    Nobody else may write checkpoints there. Older ones are removed, but for the last before it, and
    so are later ones, of a training that was taken up at an earlier iteration. ``extra`` is plain
    JSON to store besides. Raises FileError and leaves what is there unchanged.
    """
    from safetensors.numpy import save

    folder = Path(folder)
    arrays = {name: np.asarray(array, order="C") for name, array in state.arrays.items()}
    content = save(arrays)
    digest = hashlib.sha256(content).hexdigest()
    body = {
        "format": _FORMAT,
        "version": _VERSION,
        "rounds": state.iterations,  # the old name, by which readers know it
        "about": dict(state.about),
        "extra": dict(extra or {}),
        "arrays": {
            "sha256": digest,
            "bytes": len(content),
            "entries": {name: [a.dtype.name, list(a.shape)] for name, a in arrays.items()},
        },
    }
    text = json.dumps({**body, "sha256": _digest_of(body)}, indent=1, allow_nan=False)
    path = folder / f"checkpoint-{state.iterations:09d}.json"
    with system_errors(folder, "write"):
        folder.mkdir(parents=True, exist_ok=True)
        _remove_later(folder, state.iterations)
        name = _arrays_name(path, digest)
        replace_file(path.with_name(name), content)
        replace_file(path, text.encode())
        tidy(folder, name)
    return path


def load_checkpoint(folder: str | Path) -> Checkpoint:
    """The last checkpoint in a folder that is complete and undamaged.

    ``notes`` say if later ones had to be left out, and why. Raises FileError if there is none.
    """
    folder = Path(folder)
    with system_errors(folder, "read"):
        found = _checkpoints(folder)
    if not found:
        raise FileError("There is no checkpoint in this folder.", path=str(folder))
    notes: list[str] = []
    for iterations, path in found:
        try:
            state, extra = _read(path, iterations)
        except (_Damaged, FileError) as error:
            why = error.what if isinstance(error, FileError) else str(error)
            notes.append(f"{path.name} can't be used: {why.rstrip('.')}.")
        except OSError as error:
            notes.append(f"{path.name} can't be read: {error.strerror}.")
        else:
            return Checkpoint(path, state, tuple(notes), extra)
    raise FileError(
        "No checkpoint in this folder can be used. " + " ".join(notes), path=str(folder)
    )


def has_checkpoint(folder: Path) -> bool:
    """Whether there is something in a folder that is called a checkpoint."""
    with suppress(OSError):
        return bool(_checkpoints(folder))
    return False


def _checkpoints(folder: Path) -> list[tuple[int, Path]]:
    """The JSON files of checkpoints with their iterations, the last first."""
    found = []
    listed = answered(folder, lambda: [*islice(folder.iterdir(), _MOST_FILES + 1)])
    for number, path in enumerate(listed):
        if number == _MOST_FILES:
            raise FileError("There are too many files in this folder.", path=str(folder))
        if match := _NAME.fullmatch(path.name):
            found.append((int(match[1]), path))
    return sorted(found, reverse=True)


def _read(path: Path, iterations: int) -> tuple[TrainerState, dict[str, object]]:
    """The state in a checkpoint, every part of which is checked; raises _Damaged."""
    body = _parsed(read_regular(path, MAX_JSON))
    stated = body.pop("sha256", None)
    if body.get("format") != _FORMAT:
        raise _Damaged("it is not a checkpoint of Gradwire")
    if body.get("version") != _VERSION:
        raise _Damaged(f"its version is {body.get('version')!r}, not {_VERSION}")
    if stated != _digest_of(body):
        raise _Damaged("its content has changed since it was written")
    about, extra, arrays = (body.get(key) for key in ("about", "extra", "arrays"))
    if body.get("rounds") != iterations or isinstance(body.get("rounds"), bool):
        raise _Damaged(f"its name says iteration {iterations}, its content {body.get('rounds')!r}")
    if not (isinstance(about, dict) and isinstance(extra, dict) and isinstance(arrays, dict)):
        raise _Damaged("parts of it are missing")
    return TrainerState(iterations, _read_arrays(path, arrays), about), extra


def _parsed(data: bytes) -> dict[str, object]:
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        raise _Damaged("it is not JSON, or cut off") from None
    if not isinstance(body, dict):
        raise _Damaged("it is not a JSON object")
    return body


def _read_arrays(path: Path, stated: dict[str, object]) -> dict[str, Array]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    digest, size, entries = (stated.get(key) for key in ("sha256", "bytes", "entries"))
    if not (isinstance(digest, str) and _DIGEST.fullmatch(digest)):
        raise _Damaged("the digest of its arrays is missing")
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= machine_bytes():
        raise _Damaged("its arrays do not fit into the memory")
    wanted = _entries(entries, size)
    file = path.with_name(_arrays_name(path, digest))
    try:
        data = read_regular(file, size, file.parent)
    except FileNotFoundError:
        raise _Damaged(f"its arrays, {file.name}, are missing") from None
    except MemoryError:
        raise _Damaged("there is not enough memory for its arrays") from None
    if len(data) != size or hashlib.sha256(data).hexdigest() != digest:
        raise _Damaged(f"its arrays, {file.name}, have changed since they were written")
    try:
        arrays = load(data)
    except (SafetensorError, KeyError, TypeError, ValueError, MemoryError) as error:
        raise _Damaged(f"its arrays can't be read: {error}") from None
    if {name: (a.dtype.name, a.shape) for name, a in arrays.items()} != wanted:
        raise _Damaged("it states other arrays than it has")
    return {name: arrays[name] for name in wanted}


def _entries(entries: object, size: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The dtypes and shapes that a checkpoint states, by name of the array."""
    if not isinstance(entries, dict):
        raise _Damaged("the list of its arrays is missing")
    found = {}
    for name, entry in entries.items():
        match entry:
            case [str() as dtype, list() as shape] if dtype in _DTYPES and all(
                type(n) is int and 0 <= n <= size for n in shape
            ):
                if math.prod(shape) * np.dtype(dtype).itemsize > size:
                    raise _Damaged(f"its array {name!r} is larger than its file")
                found[name] = dtype, tuple(shape)
            case _:
                raise _Damaged(f"it says nothing sensible about its array {name!r}")
    return found


def _digest_of(body: Mapping[str, object]) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _arrays_name(path: Path, digest: str) -> str:
    return f"{path.stem}.{digest[:16]}{SUFFIX}"


def _remove_later(folder: Path, iterations: int) -> None:
    for later, path in _checkpoints(folder):
        if later > iterations:
            path.unlink()


def tidy(folder: Path, written: str = "") -> None:
    """Remove all but the last checkpoints, and what killed processes left behind.

    ``written`` is the name of the arrays of the checkpoint that was just written.
    """
    found = _checkpoints(folder)
    for _, path in found[KEPT:]:
        path.unlink(missing_ok=True)
    kept = {path.stem for _, path in found[:KEPT]} - {written.partition(".")[0]}
    for path in list(folder.iterdir()):
        stem = path.name.partition(".")[0]
        orphan = _ARRAYS.fullmatch(path.name) and stem not in kept and path.name != written
        if orphan or _TEMPORARY.fullmatch(path.name):
            path.unlink(missing_ok=True)
