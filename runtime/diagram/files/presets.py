"""Presets: named parameters of a type of block, in one JSON file of the user.

``{"gradwire presets": 1, "presets": {"Scale": {"half": {"factor": 0.5}}}}``
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gradwire.blocks.block import Opaque
from gradwire.blocks.errors import FileError, ParameterError
from gradwire.blocks.library.pages import Page
from gradwire.blocks.nearest import did_you_mean
from gradwire.blocks.values import Tensor
from gradwire.runtime.diagram.files.fields import limit, only_fields, read_object, shown
from gradwire.runtime.diagram.files.parsing import Flaw, parse
from gradwire.runtime.diagram.files.records import changed_block
from gradwire.runtime.diagram.files.regular import read_regular
from gradwire.runtime.diagram.files.storage import replace_file, system_errors
from gradwire.runtime.diagram.files.writing import json_finite
from gradwire.runtime.limits import require_at_most

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradwire.blocks.block import Block

FIELD = "gradwire presets"
"""The field of the file that contains its version."""
VERSION = 1
MAX_BYTES = 1_000_000
"""Size of the largest file that is read or written."""
MAX_PRESETS = 200
"""Presets of one type of block."""
MAX_NAME = 80
"""Characters of a preset's name."""
MAX_ELEMENTS = 100
"""Elements of the largest array that a preset keeps."""

_Presets: TypeAlias = dict[str, dict[str, dict[str, object]]]
"""Parameters by type, name of the preset, and name of the parameter."""


class PresetName(NamedTuple):
    """The type of the blocks that a preset is for, and its name, which is any plain text."""

    type_name: str
    name: str


class Presets:
    """The presets in the file ``path``, which need not exist.

    The file is read again when it has changed, so that several editors can share it. Each method
    raises FileError if it can't be read; a file with an error is never overwritten.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: tuple[tuple[int, int, int], _Presets] | None = None

    def names(self) -> list[PresetName]:
        """All presets, by type and name."""
        return sorted(
            PresetName(type_name, name)
            for type_name, presets in self._presets().items()
            for name in presets
        )

    def values(self, preset: PresetName) -> dict[str, object]:
        """The parameters of a preset, as JSON; raises FileError also if there is none."""
        presets = self._presets().get(preset.type_name, {})
        if preset.name not in presets:
            raise FileError(
                f"{preset.type_name} has no preset “{preset.name}”.",
                path=str(self.path),
                next_step=did_you_mean(preset.name, presets),
            )
        return presets[preset.name]

    def put(self, preset: PresetName, values: Mapping[str, object]) -> None:
        """Store a preset, in place of another of the same name."""
        presets = self._presets()
        of_type = presets.get(preset.type_name, {})
        self._write(presets | {preset.type_name: of_type | {preset.name: dict(values)}})

    def remove(self, preset: PresetName) -> None:
        """Remove a preset, if there is one."""
        presets = self._presets()
        of_type = dict(presets.get(preset.type_name, {}))
        if of_type.pop(preset.name, None) is not None:
            self._write(presets | {preset.type_name: of_type})

    def rename(self, preset: PresetName, name: str) -> None:
        """Give a preset another name; raises FileError if there is none, or one of that name."""
        values = self.values(preset)
        presets = self._presets()
        if name in presets[preset.type_name]:
            raise FileError(
                f"{preset.type_name} has a preset “{name}” already.",
                path=str(self.path),
                next_step="Choose another name, or delete that one before.",
            )
        of_type = {n: v for n, v in presets[preset.type_name].items() if n != preset.name}
        self._write(presets | {preset.type_name: of_type | {name: values}})

    def _presets(self) -> _Presets:
        with system_errors(self.path, "read"):
            try:
                status = self.path.stat()
            except (FileNotFoundError, NotADirectoryError):
                return {}
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if self._read is None or self._read[0] != stamp:
                self._read = stamp, _parsed(read_regular(self.path, MAX_BYTES), str(self.path))
        return self._read[1]

    def _write(self, presets: _Presets) -> None:
        presets = {type_name: of_type for type_name, of_type in presets.items() if of_type}
        document = json_finite({FIELD: VERSION, "presets": presets})
        data = (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode()
        what = "The presets would be too large."
        require_at_most(what, len(data), MAX_BYTES, "bytes", path=str(self.path))
        _parsed(data, str(self.path))  # whatever is written can be read
        with system_errors(self.path, "write"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(Path(os.path.realpath(self.path)), data)
        self._read = None


def preset_type(block: Block) -> str:
    """The type of a block that can have presets; empty for one that can't.

    A use of a page names a page of its file, and an unknown block has no known parameters.
    """
    can = type(block).parameter_names() and not isinstance(block, Opaque | Page)
    return block.type_name() if can else ""


def preset_values(block: Block) -> tuple[dict[str, object], tuple[str, ...]]:
    """All parameters of a block as JSON, and the names of those left out as too large."""
    names = type(block).parameter_names()
    large = tuple(
        name
        for name in names
        if isinstance(value := getattr(block, name), Tensor) and value.array.size > MAX_ELEMENTS
    )
    return block.model_dump(mode="json", include=set(names) - set(large)), large


def with_preset(block: Block, values: Mapping[str, object]) -> Block:
    """A copy of a block with the parameters of a preset; raises ParameterError.

    Parameters alone are set: a preset can neither drive an input nor bypass the block.
    """
    known = type(block).parameter_names()
    for name in values:
        if name not in known:
            raise ParameterError(
                f"{block.type_name()} has no parameter {shown(name)}.",
                next_step=did_you_mean(name, known),
            )
    return changed_block(block, values)


def _parsed(data: bytes, source: str) -> _Presets:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError("The file is not UTF-8 text.", path=source) from None
    document = parse(text, source)
    try:
        return _checked(document)
    except Flaw as flaw:
        raise flaw.in_text(text, source) from None


def _checked(document: object) -> _Presets:
    record = read_object(document, ())
    if record.get(FIELD) != VERSION:
        raise Flaw((FIELD,), "This is no file of presets that this version can read.")
    only_fields(record, (FIELD, "presets"), ())
    presets: _Presets = {}
    for type_name, value in read_object(record.get("presets", {}), ("presets",)).items():
        path = ("presets", type_name)
        of_type, of_name = read_object(value, path), presets.setdefault(type_name, {})
        limit(len(of_type), MAX_PRESETS, "presets", path)
        for name, values in of_type.items():
            if not (0 < len(name) <= MAX_NAME and name.isprintable() and name == name.strip()):
                raise Flaw(
                    (*path, name),
                    f"{shown(name)} can't be the name of a preset.",
                    expected=f"1 to {MAX_NAME} printable characters, without spaces around them",
                )
            of_name[name] = read_object(values, (*path, name))
    return presets
