"""``gradwire schema``: the JSON Schema of diagram files."""

from __future__ import annotations

from runtime.cli.output import emit
from runtime.diagram import json_schema


def schema() -> None:
    """Write the JSON Schema of diagram files."""
    emit(json_schema())
