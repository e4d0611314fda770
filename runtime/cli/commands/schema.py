"""``gradwire schema``: the JSON Schema of diagram files."""

from __future__ import annotations

from gradwire.runtime.cli.output import print_json
from gradwire.runtime.diagram import json_schema


def schema() -> None:
    """Write the JSON Schema of diagram files."""
    print_json(json_schema())
