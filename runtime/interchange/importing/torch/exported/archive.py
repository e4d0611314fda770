"""Exported programs, ``.pt2``: a zip of JSON and raw numbers, read without torch.

The loader of torch itself unpickles sample inputs, and a pickle may run anything; here nothing is
unpickled, and no member is read before its size is known to be in bounds.
"""

from __future__ import annotations

import json
import math
import re
import zipfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import FileError
from gradwire.blocks.limits import MAX_AXES
from gradwire.runtime.data.files.zips import open_zip
from gradwire.runtime.diagram.files.regular import open_regular
from gradwire.runtime.interchange.importing.torch.operators.table import BFLOAT16, DTYPES
from gradwire.runtime.interchange.importing.torch.recognition import MAX_MEMBERS, MODEL

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.torch.types import JSON, Record

MAX_FILE = 2 * 2**30
"""Bytes of a file, and of all that it unpacks to."""
MAX_JSON = 64 * 2**20
"""Bytes of one JSON text."""
MAX_DEPTH = 100
"""Nesting of one JSON text."""
SCHEMA = 8
"""The major version of the schema that is read; its minor versions only add to it."""
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')


class Archive:
    """The members of an exported program, by their names below its folder.

    Raises FileError for files that are none, are of another version, or are not what they claim.
    """

    def __init__(self, path: Path) -> None:
        self._error = partial(FileError, path=str(path))
        self._configs: dict[str, dict[str, JSON]] = {}
        self._room = MAX_FILE
        """Bytes that the tensors may still take: a few stored numbers can be repeated at will."""
        with ExitStack() as opened:
            try:
                file = opened.enter_context(open_regular(path))
                self._zip = opened.enter_context(open_zip(file, path, MAX_MEMBERS))
            # zipfile has no base class for what damaged files raise; the third is for compressions.
            except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError) as error:
                raise self._error(f"The file can't be opened: {error}") from error
            self._members = self._checked_members()
            self.program = self._program()
            self._opened = opened.pop_all()

    def close(self) -> None:
        """Close the file."""
        self._opened.close()

    def _checked_members(self) -> dict[str, zipfile.ZipInfo]:
        infos = self._zip.infolist()
        if sum(info.file_size for info in infos) > MAX_FILE:
            raise self._error(
                "The archive unpacks to too much.", expected=f"at most {MAX_FILE:,} bytes"
            )
        roots = [i.filename[: -len(MODEL)] for i in infos if i.filename.endswith("/" + MODEL)]
        if len(roots) != 1:
            raise self._error(
                "This is no exported program of PyTorch.",
                expected=f"one {MODEL} in the archive",
                got=f"{len(roots)}",
                next_step="Save the model with torch.export.save.",
            )
        (root,) = roots
        return {i.filename.removeprefix(root): i for i in infos if i.filename.startswith(root)}

    def _bytes(self, name: str, most: int = MAX_FILE) -> bytes:
        info = self._members.get(name)
        if info is None:
            raise self._error(f"The archive has no {name!r}.")
        if info.file_size > most:
            raise self._error(
                f"{name} is too large.",
                expected=f"at most {most:,} bytes",
                got=f"{info.file_size:,}",
            )
        try:
            with self._zip.open(info) as stream:
                data = stream.read(info.file_size + 1)
        except (
            OSError,
            zipfile.BadZipFile,
            NotImplementedError,
            RuntimeError,
            ValueError,
        ) as error:
            raise self._error(f"{name} can't be read: {error}") from error
        except Exception as error:  # zlib, lzma and bz2 have errors of their own
            raise self._error(f"{name} can't be unpacked: {error}") from error
        if len(data) != info.file_size:
            raise self._error(f"{name} doesn't have the size that the archive states.")
        return data

    def _json(self, name: str) -> JSON:
        text = self._bytes(name, MAX_JSON)
        if _depth(text) > MAX_DEPTH:
            raise self._error(f"{name} is nested too deeply.", expected=f"at most {MAX_DEPTH}")
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._error(f"{name} is no JSON: {error}") from error

    def _program(self) -> dict[str, JSON]:
        program = self._json(MODEL)
        version = program.get("schema_version") if isinstance(program, dict) else None
        major = version.get("major") if isinstance(version, dict) else None
        if major != SCHEMA:
            raise self._error(
                "The exported program has another version of the schema.",
                expected=f"{SCHEMA}.x, which torch 2.6 and later write",
                got=f"{major}",
                next_step="Export the model again with a newer torch.",
            )
        assert isinstance(program, dict)
        return program

    def _config(self, kind: str) -> Record:
        if kind not in self._configs:
            name = f"data/{kind}/model_{kind}_config.json"
            if name not in self._members and f"data/{kind}/model.pt" in self._members:
                raise self._error(
                    "The tensors of the exported program are pickled, as older versions of PyTorch "
                    "save them, and a pickle may run anything.",
                    next_step="Export the model again with a newer torch.",
                )
            found = self._json(name) if name in self._members else {"config": {}}
            config = found.get("config") if isinstance(found, dict) else None
            if not isinstance(config, dict):
                raise self._error(f"{name} has no list of tensors.")
            self._configs[kind] = config
        return self._configs[kind]

    def tensor(self, name: str, kind: str = "weights") -> tuple[Array, bool]:
        """A stored tensor, and whether it is trained. ``kind`` is weights or constants."""
        entry = self._config(kind).get(name)
        if entry is None and kind == "weights":  # buffers that are not persistent
            return self.tensor(name, "constants")
        if not isinstance(entry, dict) or not isinstance(entry.get("tensor_meta"), dict):
            raise self._error(f"The archive has no tensor {name!r}.")
        if entry.get("use_pickle"):
            raise self._error(
                f"The tensor {name!r} is pickled, and a pickle may run anything.",
                next_step="Move the model to the CPU before it is exported.",
            )
        meta, place = entry["tensor_meta"], entry.get("path_name")
        if not isinstance(place, str):
            raise self._error(f"The tensor {name!r} is stored nowhere.")
        data = self._bytes(f"data/{kind}/{place}")
        return self._viewed(name, data, meta), meta.get("requires_grad") is True

    def storage(self, name: str) -> tuple[str, ...]:
        """What identifies the numbers of a stored weight: the same for tied ones."""
        kind = "weights" if name in self._config("weights") else "constants"
        entry = self._config(kind)[name]
        return (kind, entry["path_name"], json.dumps(entry["tensor_meta"], sort_keys=True))

    def _viewed(self, name: str, data: bytes, meta: Record) -> Array:
        """The numbers of a tensor, none of them from outside of what is stored."""
        code = meta.get("dtype")
        dtype = self._dtype(name, code)
        raw = np.dtype("<u2" if code == BFLOAT16 else dtype).newbyteorder("<")
        item = raw.itemsize
        sizes = [self.whole(n) for n in _sequence(meta.get("sizes"))]
        strides = [self.whole(n) for n in _sequence(meta.get("strides"))]
        offset = self.whole(meta.get("storage_offset"))
        last = offset + sum((n - 1) * step for n, step in zip(sizes, strides, strict=False))
        count = math.prod(sizes)
        self._room -= count * item
        if len(sizes) != len(strides) or len(sizes) > MAX_AXES or self._room < 0:
            raise self._error(f"The tensor {name!r} has no possible shape.", got=f"{sizes}"[:80])
        if not count:
            return np.zeros(sizes, dtype)
        if (last + 1) * item > len(data):
            raise self._error(
                f"The tensor {name!r} reaches beyond what is stored of it.",
                expected=f"at least {(last + 1) * item:,} bytes",
                got=f"{len(data):,}",
            )
        flat = np.frombuffer(data, raw, count=len(data) // item)[offset:]
        steps = [step * item for step in strides]
        seen = np.lib.stride_tricks.as_strided(flat, sizes, steps, writeable=False)
        if code == BFLOAT16:  # the upper half of a float32
            return (seen.astype(np.uint32) << 16).view(np.float32)
        return np.array(seen, dtype)

    def _dtype(self, name: str, code: JSON) -> str:
        found = DTYPES.get(code) if isinstance(code, int) else None
        if found is None:
            raise self._error(f"The tensor {name!r} has a dtype that no block has.", got=f"{code}")
        return found

    def whole(self, size: JSON) -> int:
        """A length, or what an expression of lengths was when the program was exported."""
        value = size.get("as_int") if isinstance(size, dict) else size
        if value is None and isinstance(size, dict):
            hint = (size.get("as_expr") or {}).get("hint") or {}
            value = hint.get("as_int")
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**48:
            raise self._error("A length is no whole number.", got=f"{value}"[:80])
        return value


def _sequence(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else [None]


def _depth(text: bytes) -> int:
    """How deeply JSON is nested, found without parsing it."""
    codes = np.frombuffer(_STRING.sub(b"", text), np.uint8)
    steps = np.isin(codes, [0x5B, 0x7B]).astype(np.int8) - np.isin(codes, [0x5D, 0x7D])
    return int(np.max(np.cumsum(steps, dtype=np.int64), initial=0))
