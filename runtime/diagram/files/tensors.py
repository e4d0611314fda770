"""Stores the large arrays of a diagram in its array file, a ``.safetensors`` file.

Its name contains a digest of its content, so a crash can't mix up a diagram and its arrays: new
arrays are on disk under a new name before the diagram refers to it.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.errors import FileError
from gradwire.blocks.values import Tensor
from gradwire.runtime.diagram.files.regular import open_regular

if TYPE_CHECKING:
    from collections.abc import Mapping
    from io import BufferedReader

    from gradwire.blocks.values import Array

MAX_INLINE = 1024
"""Maximum number of elements of an array that is stored in the diagram's own file."""
SUFFIX = ".safetensors"

FORBIDDEN = re.compile(r'^\.|[/\\:"\x00-\x1f\x7f\ud800-\udfff]')
"""What an array file's name must not contain: it would leave the folder or hide the file."""

_DIGEST = re.compile(r"\.([0-9a-f]{16})" + re.escape(SUFFIX))
_KNOWN = (
    "BOOL", "I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64", "F16", "F32", "F64",
)  # fmt: skip
"""The dtypes of arrays, as array files name them."""
_FIELDS = {"tensor", "dtype", "shape"}


def reference(key: str, array: Array) -> dict[str, object]:
    """The reference in a diagram to an array in its array file."""
    return {"tensor": key, "dtype": array.dtype.name, "shape": list(array.shape)}


def is_reference(value: object) -> bool:
    """Whether a JSON value is a reference to an array."""
    return isinstance(value, dict) and set(value) == _FIELDS


def is_file_name(name: object) -> bool:
    """Whether this is the name of an array file in the folder of its diagram."""
    return isinstance(name, str) and name.endswith(SUFFIX) and not FORBIDDEN.search(name)


def content_of(arrays: Mapping[str, Array]) -> bytes:
    """The bytes of a safetensors file; the same arrays give the same bytes."""
    from safetensors.numpy import save

    return save({key: np.ascontiguousarray(array) for key, array in arrays.items()})


def file_name(stem: str, content: bytes) -> str:
    """``mlp.0123456789abcdef.safetensors``."""
    return f"{stem}.{hashlib.sha256(content).hexdigest()[:16]}{SUFFIX}"


class TensorFile:
    """The arrays in an array file, each read once, when it is first needed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read: dict[str, Tensor] = {}
        self._known: tuple[int, ...] | None = None

    def get(self, ref: Mapping[str, object]) -> Tensor:
        """The array for a reference; raises FileError if it is missing or doesn't match."""
        key = str(ref["tensor"])
        if key not in self._read:
            self._read[key] = Tensor(self._load(key))
        tensor = self._read[key]
        if (tensor.dtype, list(tensor.shape)) != (ref["dtype"], ref["shape"]):
            raise FileError(
                f"The array {key!r} in {self._path.name} doesn't match the diagram.",
                expected=f"{ref['dtype']} of shape {ref['shape']}",
                got=f"{tensor.dtype} of shape {list(tensor.shape)}",
            )
        return tensor

    def _load(self, key: str) -> Array:
        from safetensors import SafetensorError, safe_open

        try:
            with (
                open_regular(self._path, self._path.parent) as file,
                safe_open(self._checked(file), framework="numpy") as stored,
            ):
                dtype = stored.get_slice(key).get_dtype()
                if dtype not in _KNOWN:
                    raise FileError(
                        f"The array {key!r} in {self._path.name} has the dtype {dtype}, which "
                        "Gradwire has not.",
                        expected="one of " + ", ".join(_KNOWN),
                    )
                array: Array = stored.get_tensor(key)
        except FileNotFoundError:
            raise FileError(
                f"The diagram's array file {self._path.name} is missing.",
                next_step="Keep both files in one folder.",
            ) from None
        except (SafetensorError, OSError, TypeError, ValueError) as error:  # ValueError: surrogates
            raise FileError(f"Can't read {key!r} from {self._path.name}: {error}.") from error
        except MemoryError:
            raise FileError(
                f"There is not enough memory for {key!r} of {self._path.name}."
            ) from None
        return array

    def _checked(self, file: BufferedReader) -> Path:
        """A path that leads to this very file, whatever lies under its name by now; raises
        FileError if its content does not have the digest in the name, if there is one.
        """
        status = os.fstat(file.fileno())
        known = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
        if known != self._known:
            stated = _DIGEST.search(self._path.name)
            digest = hashlib.file_digest(file, "sha256").hexdigest()[:16] if stated else ""
            if stated and stated[1] != digest:
                raise FileError(
                    f"The array file {self._path.name} is damaged: its content has changed since "
                    "it was saved.",
                    next_step="Restore it from a backup.",
                )
            self._known = known
        opened = Path(f"/dev/fd/{file.fileno()}")
        return opened if opened.exists() else self._path


class AvailableArrays(TensorFile):
    """An array file that may be missing: zeros stand for its arrays, and ``missing`` is set."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.missing = False

    def get(self, ref: Mapping[str, Any]) -> Tensor:
        """The array for a reference, or zeros; raises FileError for a reference that is wrong."""
        if self._path.exists():
            return super().get(ref)
        self.missing = True
        try:
            return Tensor(np.broadcast_to(np.zeros((), str(ref["dtype"])), ref["shape"]))
        except (TypeError, ValueError, MemoryError) as error:
            raise FileError(f"The reference to {ref['tensor']!r} is wrong: {error}.") from error
