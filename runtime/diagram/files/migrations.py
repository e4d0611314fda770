"""Files of older versions, brought up to date one version at a time.

A new version is one entry in ``STEPS`` and a golden file of the version before. A step takes the
parsed document of its version and returns that of the next; it may change the one it is given.

What may be left out is added without a new version: no file of before has it, so each means what
it did. The bends of wires came to the layout so; an older Gradwire refuses them by line and column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from runtime.diagram.files.parsing import Flaw

Step: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]

FIELD = "gradwire"
"""The field of a document that holds its version."""
VERSION = 1
"""The version that is written."""
STEPS: dict[int, Step] = {}
"""From each older version to the next."""


def migrate(document: dict[str, Any]) -> dict[str, Any]:
    """The document in the version that is written; raises Flaw where there is no way to it."""
    version = document.get(FIELD)
    if isinstance(version, bool) or not isinstance(version, int):
        raise Flaw(
            (FIELD,),
            "Not a Gradwire diagram: it names no version.",
            expected=f'"{FIELD}": {VERSION}',
            got="no such field" if FIELD not in document else repr(version)[:40],
        )
    if version > VERSION:
        raise Flaw(
            (FIELD,),
            f"The file is of version {version}, newer than this Gradwire.",
            expected=f"version {VERSION} or older",
            next_step="Update Gradwire to open it.",
        )
    for step in range(version, VERSION):
        if step not in STEPS:
            raise Flaw((FIELD,), f"There never was a version {step}.")
        document = STEPS[step](document) | {FIELD: step + 1}
    return document
