"""What Gradwire itself writes into the metadata of a model: stops, losses and settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from gradwire.blocks.errors import FileError
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from onnx import NodeProto, StringStringEntryProto

    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged

STOP, SURROGATE, CLIP, LOSS = (
    f"gradwire.{key}" for key in ("stop_gradient", "surrogate", "clip_gradient", "loss")
)
ROLE = "gradwire.role"
"""What a stored tensor was: variable, frozen, input or constant."""
_MAX_TEXT = 1000
Find: TypeAlias = "Callable[[str], Staged]"
"""Gives the value that a name stands for."""


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
        found = json.loads(text) if len(text) <= _MAX_TEXT else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or any(isinstance(x, list | dict) for x in found.values()):
        raise FileError("The settings of a gradient or loss in the model are no JSON object.")
    return found
