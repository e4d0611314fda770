"""Migrates documents from older versions of the file format, one version at a time.

A new version needs one entry in ``STEPS`` and a golden file of the previous version. A step takes
a parsed document of its version, which it may modify, and returns the document in the next one.

An optional field needs no new version, because existing files keep their meaning without it; the
bends of wires were added to the layout this way, their routes and styles of blocks to the page,
bookmarks to the diagram, and sliders to sources. An older Gradwire rejects the unknown field and
reports its line and column.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from gradwire.blocks.block import Source
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram.files.parsing import Flaw
from gradwire.runtime.diagram.names import OLDER_STATES

Notice: TypeAlias = Callable[[str], object]
"""Called with a message for the user that says what a step changed."""
Step: TypeAlias = Callable[[dict[str, Any], Notice], dict[str, Any]]

FIELD = "gradwire"
"""The field of a document that contains its version."""
VERSION = 3
"""The version that is written."""
_COMPARED = re.compile(
    r"""[=!]=\s*(["'])(?:{0})\1|(["'])(?:{0})\2\s*[=!]=""".format("|".join(OLDER_STATES))
)
"""An older name of a state in a condition, ``state("w.a") == "FLOOD"``."""
_OLDER = re.compile("|".join(OLDER_STATES))
_NAMED = 6
"""Maximum number of uses that a notice lists by name."""


def ignore_notice(text: str) -> None:
    """A ``Notice`` that discards the message."""


def migrate(document: dict[str, object], notice: Notice = ignore_notice) -> dict[str, object]:
    """Return the document in the current version; raises Flaw if its version is not supported."""
    version = document.get(FIELD)
    if isinstance(version, bool) or not isinstance(version, int):
        raise Flaw(
            (FIELD,),
            "Not a Gradwire diagram: it has no version.",
            expected=f'"{FIELD}": {VERSION}',
            got="no such field" if FIELD not in document else repr(version)[:40],
        )
    if version > VERSION:
        raise Flaw(
            (FIELD,),
            f"The file has version {version}, which is newer than this Gradwire supports.",
            expected=f"version {VERSION} or older",
            next_step="Update Gradwire to open it.",
        )
    for step in range(version, VERSION):
        if step not in STEPS:
            raise Flaw((FIELD,), f"There is no version {step}.")
        document = STEPS[step](document, notice) | {FIELD: step + 1}
    return document


def make_uses_independent(document: dict[str, Any], notice: Notice) -> dict[str, Any]:
    """Migrate from version 1, where each use of a page had its own variables, to version 2, where
    uses share them.

    If a page with variables has more than one use, its uses become independent.
    """
    pages = {name: _blocks(page) for name, page in _mapping(document.get("pages")).items()}
    uses = {
        (page, name): block
        for page, blocks in pages.items()
        for name, block in blocks.items()
        if block.get("type") == "Page" and isinstance(block.get("page"), str)
    }
    counts = Counter(use["page"] for use in uses.values())
    trained = _with_variables(pages)
    apart = {at: u for at, u in uses.items() if counts[u["page"]] > 1 and u["page"] in trained}
    for use in apart.values():
        use["independent"] = True
    if apart:
        notice(_kept_apart(list(apart)))
    return document


def rename_states(document: dict[str, object], _notice: Notice) -> dict[str, object]:
    """Migrate from version 2, whose states FAINT and FLOOD are VANISHING and EXPLODING from
    version 3 on, where lessons and notes compare a state; names by themselves are read as both.
    """
    for record in (document, *map(_mapping, _mapping(document.get("pages")).values())):
        record |= {key: _renamed(record[key]) for key in ("lesson", "notes") if key in record}
    return document


def _renamed(record: object) -> object:
    if isinstance(record, dict):
        return {key: _renamed(value) for key, value in record.items()}
    if isinstance(record, list):
        return [_renamed(value) for value in record]
    if isinstance(record, str):
        return _COMPARED.sub(lambda found: _OLDER.sub(_newer, found[0]), record)
    return record


def _newer(found: re.Match[str]) -> str:
    return OLDER_STATES[found[0]]


def _kept_apart(uses: Sequence[tuple[str, str]]) -> str:
    named = [f"{name} on page {page}" for page, name in uses[:_NAMED]]
    if len(uses) > _NAMED:
        named.append(f"{len(uses) - _NAMED} more")
    return (
        "The file has version 1, in which each use of a page had its own variables. To keep its "
        f"meaning, these uses are now independent: {', '.join(named)}. "
        "Uses that are not independent share their variables."
    )


def _with_variables(pages: Mapping[str, Mapping[str, dict[str, Any]]]) -> set[str]:
    """Names of pages that may have variables, directly or in the pages they use."""
    found: set[str] = set()

    def trains(block: dict[str, Any]) -> bool:
        if block.get("type") == "Page":
            return block.get("page") in found
        return _may_train(block.get("type"))

    while more := {n for n, b in pages.items() if n not in found and any(map(trains, b.values()))}:
        found |= more
    return found


def _may_train(type_name: object) -> bool:
    """Whether blocks of this type may be variables; True for a type that is not installed."""
    cls = registry().find(str(type_name))
    return cls is None or (issubclass(cls, Source) and cls.kind == "variable")


def _blocks(page: object) -> dict[str, dict[str, object]]:
    """The records of a page's blocks. Invalid entries are skipped; reading reports them later."""
    blocks = _mapping(_mapping(page).get("blocks"))
    return {name: block for name, block in blocks.items() if isinstance(block, dict)}


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


STEPS: dict[int, Step] = {1: make_uses_independent, 2: rename_states}
"""The migration from each older version to the next."""
