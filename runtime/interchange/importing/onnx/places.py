"""What names and metadata say: modules, lines of the program, and what Gradwire itself wrote."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gradwire.blocks.errors import FileError
from gradwire.runtime.interchange.importing.scopes import ModuleCall
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from onnx import NodeProto, StringStringEntryProto

    from gradwire.runtime.interchange.importing.scopes import Part
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged

STOP, SURROGATE, CLIP, LOSS = (
    f"gradwire.{key}" for key in ("stop_gradient", "surrogate", "clip_gradient", "loss")
)
ROLE = "gradwire.role"
"""What a stored tensor was: variable, frozen, input or constant."""
MAX_SETTINGS = 1000
"""Characters of the settings of a block."""
Find: TypeAlias = "Callable[[str], Staged]"
"""Gives the value that a name stands for."""
MAX_LEVELS = 40
"""Modules inside one another; what a name says below is left out."""
_MAX_TEXT = 20_000
_DIGITS = 6
_LINE = re.compile(r'File "([^"\n]{1,1000})", line (\d{1,9})')
_OLD_LINE = re.compile(r"^([^\s()]{1,1000})\((\d{1,9})\):", re.MULTILINE)
_QUOTED = re.compile(r"'([^'\n]{0,1000})'")
_SLASHES = re.compile(r"[/\\]")
_OUTPUT = re.compile(r"(?:_output_|:)\d+\Z")
_NUMBERED = re.compile(r"[_.:]?\d*\Z")


class OnnxPlace(NamedTuple):
    """Where a node belongs."""

    module: tuple[str, ...]
    """The module around it."""
    name: str
    """What it is called there; empty where that is no more than its operator."""
    written: str
    """The line of the program that it is from, ``model.py:42``; empty where none is known."""


def place_of(node: NodeProto) -> OnnxPlace:
    """Where a node belongs, by its name and by what PyTorch or Gradwire wrote about it."""
    entries = node.metadata_props
    known = {entry.key: entry.value for entry in entries} if entries else {}
    return OnnxPlace(_module(node, known), _own_name(node, known), _written_at(node, known))


def module_of(node: NodeProto) -> tuple[str, ...]:
    """The module around a node."""
    return place_of(node).module


def _module(node: NodeProto, known: Mapping[str, str]) -> tuple[str, ...]:
    """The scopes that PyTorch wrote, or what the name of a node is behind."""
    scopes = known.get("pkg.torch.onnx.name_scopes")
    if scopes:
        names = _QUOTED.findall(scopes[:_MAX_TEXT])
        return split(names[-2]) if len(names) > 1 else ()
    module = _full_name(node).rpartition("/")[0]
    return split(module) if module else ()


def _full_name(node: NodeProto) -> str:
    """The name of a node; that of its output, for one without where that has modules in it."""
    output = str(node.output[0]) if node.output else ""
    return _OUTPUT.sub("", output) if not node.name and "/" in output else str(node.name)


def split(name: str) -> tuple[str, ...]:
    """The parts of a module's name: ``/encoder/layers.0``, ``encoder.layers.0``.

    PyTorch has the name of a Sequential twice, ``/net/net.0``; once is enough.
    """
    parts: list[str] = []
    around = ""
    for level in name[:_MAX_TEXT].split("/"):
        own = level.removeprefix(f"{around}.")
        parts += [part for part in own.split(".") if part.strip()]
        around = level
    return tuple(parts[:MAX_LEVELS])


def modules_of(names: Iterable[str]) -> set[tuple[str, ...]]:
    """The modules that parameters of these names belong to, and those around them."""
    found: set[tuple[str, ...]] = set()
    for name in names:
        module = split(name)[:-1]
        while module and module not in found:
            found.add(module)
            module = module[:-1]
    return found


def calls_of(module: Iterable[str], known: Container[tuple[str, ...]]) -> tuple[Part, ...]:
    """A module with its later calls, which PyTorch numbers: ``encoder_1`` is the second one."""
    parts: list[Part] = []
    plain: tuple[str, ...] = ()
    for part in module:
        stem, _, number = part.rpartition("_")
        later = number.isascii() and number.isdigit() and len(number) < _DIGITS
        if later and (*plain, part) not in known and (*plain, stem) in known:
            parts.append(ModuleCall(stem, int(number) + 1))
            plain = (*plain, stem)
        else:
            parts.append(part)
            plain = (*plain, part)
    return tuple(parts)


def _own_name(node: NodeProto, known: Mapping[str, str]) -> str:
    """Of the nodes that Gradwire made of a block, the one that gives its output has its name."""
    block = known.get("gradwire.block", "").rpartition("/")[2]
    if block:
        return block if node.output[0].partition(".")[0].rpartition("/")[2] == block else ""
    name = _full_name(node).rpartition("/")[2]
    stem = _NUMBERED.sub("", name).lower()
    operator = node.op_type.lower()
    plain = stem in (operator, f"{operator}node", "n", "") or name.startswith("node_")
    return "" if plain or "::" in name else name


def _written_at(node: NodeProto, known: Mapping[str, str]) -> str:
    trace = known.get("pkg.torch.onnx.stack_trace") or node.doc_string
    if not trace:
        return ""
    trace = trace[-_MAX_TEXT:]
    lines = _LINE.findall(trace)
    if lines:
        path, line = lines[-1]
    else:
        found = _OLD_LINE.search(trace)
        if found is None:
            return ""
        path, line = found.groups()
    file = _SLASHES.split(path)[-1]
    return f"{file}:{line}"


def marks_of(entries: Iterable[StringStringEntryProto]) -> dict[str, str]:
    """The metadata that Gradwire wrote, by key."""
    return {entry.key: entry.value for entry in entries if entry.key.startswith("gradwire.")}


def marked(stage: Stage, node: NodeProto, x: Staged, find: Find) -> Staged | None:
    """The block that an Identity stands for; None where nothing marks it."""
    marks = marks_of(node.metadata_props)
    if STOP in marks:
        return put("StopGradient", x)
    if SURROGATE in marks:
        return put("StraightThrough", x, find(marks[SURROGATE]))
    if CLIP in marks:
        return put("GradientClip", x, **_settings(marks[CLIP]))
    if LOSS in marks:
        name = node.output[0].removesuffix(".out")
        return stage.loss(x, name, **_settings(marks[LOSS]))
    return None


def _settings(text: str) -> Mapping[str, object]:
    """Parameters of a block, whose own check finds those that are wrong."""
    try:
        found = json.loads(text) if len(text) <= MAX_SETTINGS else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or any(isinstance(x, list | dict) for x in found.values()):
        raise FileError("The settings of a gradient or loss in the model are no JSON object.")
    return found
