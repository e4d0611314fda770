"""Opens a Keras file: a zip whose parts are read with their sizes checked first."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

from gradwire.blocks.errors import FileError
from gradwire.runtime.data.files.zips import open_zip
from gradwire.runtime.diagram.files.parsing import MAX_CHARACTERS, parse
from gradwire.runtime.diagram.files.regular import open_regular
from gradwire.runtime.diagram.files.storage import system_errors
from gradwire.runtime.interchange.importing.keras.recognition import CONFIG, WEIGHTS

MAX_WEIGHTS = 2 * 2**30
"""Bytes of the weights, at most."""
MAX_PARTS = 10_000
"""Parts of a zip file, at most."""
_MOST_DENSE = 100
"""How much larger a part may be than what is stored of it."""


def read_archive(path: Path) -> tuple[dict[str, Any], bytes]:
    """The configuration and the weights of a model, the latter as an HDF5 file.

    Raises FileError where one is missing, or larger than can be read.
    """
    try:
        with (
            system_errors(path, "read"),
            open_regular(path) as file,
            open_zip(file, path, MAX_PARTS) as archive,
        ):
            config = _part(archive, CONFIG, MAX_CHARACTERS, path)
            weights = _part(archive, WEIGHTS, MAX_WEIGHTS, path)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise FileError("The file is no zip that can be read.", path=str(path)) from error
    try:
        document = parse(config.decode("utf-8"), f"{path}/{CONFIG}")
    except UnicodeDecodeError as error:
        raise FileError("The configuration is not UTF-8 text.", path=str(path)) from error
    if not isinstance(document, dict):
        raise FileError("The configuration is no object.", path=str(path))
    return document, weights


def _part(archive: zipfile.ZipFile, name: str, most: int, path: Path) -> bytes:
    """A part, of which no more is unpacked than the directory of the zip promises."""
    try:
        info = archive.getinfo(name)
    except KeyError as error:
        raise FileError(f"The file has no part {name!r}.", path=str(path)) from error
    if info.file_size > min(most, _MOST_DENSE * max(info.compress_size, 1)):
        raise FileError(
            f"The part {name!r} is too large, or too much larger than what is stored of it.",
            path=str(path),
            got=f"{info.file_size:,} bytes from {info.compress_size:,}",
        )
    with archive.open(info) as part:
        data = part.read(info.file_size + 1)
    if len(data) != info.file_size:
        raise FileError(f"The part {name!r} is not as long as the zip says.", path=str(path))
    return data
