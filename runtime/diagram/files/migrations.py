"""Files of older versions, brought up to date one version at a time.

A new version is one entry in ``STEPS`` and a golden file of the version before. A step takes the
parsed document of its version and returns that of the next; it may change the one it is given.

What may be left out is added without a new version: no file of before has it, so each means what
it did. The bends of wires came to the layout so; an older Gradwire refuses them by line and column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from blocks.block import Source
from blocks.registry import registry
from runtime.diagram.files.parsing import Flaw

Notice: TypeAlias = Callable[[str], object]
"""Takes a text for the user: what a step did to keep the meaning of the file."""
Step: TypeAlias = Callable[[dict[str, Any], Notice], dict[str, Any]]

FIELD = "gradwire"
"""The field of a document that holds its version."""
VERSION = 2
"""The version that is written."""
_NAMED = 6
"""Uses that a notice names, at most."""


def unheard(text: str) -> None:
    """The notice where nobody listens."""


def migrate(document: dict[str, Any], notice: Notice = unheard) -> dict[str, Any]:
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
        document = STEPS[step](document, notice) | {FIELD: step + 1}
    return document


def make_uses_independent(document: dict[str, Any], notice: Notice) -> dict[str, Any]:
    """From version 1, where every use of a page had variables of its own, to 2, where they share.

    Uses of a page with variables that has more than one use become independent.
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


def _kept_apart(uses: Sequence[tuple[str, str]]) -> str:
    named = [f"{name} on page {page}" for page, name in uses[:_NAMED]]
    if len(uses) > _NAMED:
        named.append(f"{len(uses) - _NAMED} more")
    return (
        "The file is of version 1, where each use of a page had variables of its own. To keep "
        f"its meaning, these uses are independent now: {', '.join(named)}. "
        "Uses that are not independent share their variables."
    )


def _with_variables(pages: Mapping[str, Mapping[str, dict[str, Any]]]) -> set[str]:
    """Pages that may have variables, in them or in the pages they use."""
    found: set[str] = set()

    def trains(block: dict[str, Any]) -> bool:
        if block.get("type") == "Page":
            return block.get("page") in found
        return _may_train(block.get("type"))

    while more := {n for n, b in pages.items() if n not in found and any(map(trains, b.values()))}:
        found |= more
    return found


def _may_train(type_name: object) -> bool:
    """Whether blocks of that type are variables; a type that is not installed may be one."""
    cls = registry().classes.get(str(type_name))
    return cls is None or (issubclass(cls, Source) and cls.kind == "variable")


def _blocks(page: object) -> dict[str, dict[str, Any]]:
    """The records of a page's blocks; what is no record is reported when it is read."""
    blocks = _mapping(_mapping(page).get("blocks"))
    return {name: block for name, block in blocks.items() if isinstance(block, dict)}


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


STEPS: dict[int, Step] = {1: make_uses_independent}
"""From each older version to the next."""
