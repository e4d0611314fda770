"""The formats that can be imported, recognised by what is in a file and not by its name."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.runtime import extras
from gradwire.runtime.data.files.zips import directory
from gradwire.runtime.diagram.files.regular import answered, open_regular
from gradwire.runtime.diagram.files.storage import system_errors
from gradwire.runtime.gc_pause import uncollected

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.imported import Imported
    from gradwire.runtime.interchange.importing.options import ImportOptions

MAX_BYTES = 2 << 30
"""The largest file that is read."""
_HEAD = 1 << 16
"""Bytes of a file that are looked at to recognise it."""
_ROOM = "gradwire.runtime.interchange.importing"


@dataclass(frozen=True)
class Format:
    """One kind of file, and the module and functions that know it.

    ``recognise(head, path)`` gets the first bytes, none for a folder; ``read(path, options)`` gives
    what was imported.
    """

    title: str
    endings: tuple[str, ...]
    """The usual endings, for dialogs."""
    recognise: str
    read: str
    needs: tuple[str, ...] = ()
    """Optional packages that it is read with."""

    def is_in(self, head: bytes, path: Path) -> bool:
        """Whether a file or folder has this format."""
        return bool(_named(self.recognise)(head, path))

    def imported(self, path: Path, options: ImportOptions) -> Imported:
        """Import a file; raises GradwireError."""
        for package in self.needs:
            extras.require(package, f"Reading {self.title} files", FileError, path=str(path))
        found: Imported = _named(self.read)(path, options)
        return found


def _named(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(f"{_ROOM}.{module}"), function)
    return found


FORMATS: tuple[Format, ...] = (
    Format("ONNX", (".onnx",), "onnx.recognition:is_onnx", "onnx.importing:import_onnx",
           ("google.protobuf", "onnx")),
    Format("PyTorch", (".pt2",), "torch.recognition:is_pt2", "torch.exported.program:import_pt2"),
    Format("Keras", (".keras",), "keras.recognition:is_keras", "keras.importer:import_keras",
           ("h5py",)),
    Format("TensorFlow SavedModel", (".pb",), "tensorflow.recognition:is_saved_model",
           "tensorflow.importer:import_saved_model", ("google.protobuf",)),
    Format("TensorFlow graph", (".pb",), "tensorflow.recognition:is_graph_def",
           "tensorflow.importer:import_graph_def", ("google.protobuf",)),
    Format("MXNet", (".json",), "mxnet.recognition:is_mxnet", "mxnet.importer:import_mxnet"),
)  # fmt: skip
"""All formats. One that may begin like another comes after it."""


def names_in_zip(head: bytes, path: Path) -> bytes:
    """The directory of a zip file, with the names in it; empty for what is none."""
    try:
        with open_regular(path) as file:
            return directory(file) if head.startswith(b"PK") else b""
    except (FileError, OSError, zipfile.BadZipFile):
        return b""


def format_of(path: Path) -> Format:
    """The format of a file or folder; raises FileError where it has none that is known."""
    with system_errors(path, "read"):
        size, head = (0, b"") if answered(path, path.is_dir) else _size_and_head(path)
    if size > MAX_BYTES:
        raise FileError(
            "The file is too large.",
            path=str(path),
            expected=f"at most {MAX_BYTES >> 30} GiB",
            got=f"{size / (1 << 30):.1f} GiB",
        )
    found = next((known for known in FORMATS if known.is_in(head, path)), None)
    if found is not None:
        return found
    raise FileError(
        "This is no model that can be imported.",
        path=str(path),
        expected=f"one of {', '.join(known.title for known in FORMATS)}",
        next_step="Save the model in one of these formats, or capture it from Python.",
    )


def is_model(path: Path) -> bool:
    """Whether a file or folder has a format that can be imported; False where it can't be read."""
    try:
        format_of(path)
    except FileError:
        return False
    return True


def endings() -> tuple[str, ...]:
    """The usual endings of all formats, in order, each once."""
    return tuple(dict.fromkeys(ending for known in FORMATS for ending in known.endings))


def _size_and_head(path: Path) -> tuple[int, bytes]:
    with open_regular(path) as file:
        return os.fstat(file.fileno()).st_size, file.read(_HEAD)


@uncollected()
def import_here(path: Path, options: ImportOptions) -> Imported:
    """Import a file in this process, without limits on memory and time; raises GradwireError."""
    return format_of(path).imported(path, options)
