"""How the form of a training reads and changes the record of a recipe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.diagram import Training
    from gradwire.runtime.training import FieldPath


def patterns_in(text: str) -> tuple[str, ...]:
    """The patterns in a text, between commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def free_name(name: str, taken: Sequence[str]) -> str:
    """A name like this one that is not taken."""
    number = 1
    while (found := name if number == 1 else f"{name}{number}") in taken:
        number += 1
    return found


def put(record: dict[str, Any], path: FieldPath, value: Any) -> None:
    """Set a value in a recipe's record. Another kind has its own options."""
    here: Any = record
    for part in path[:-2] if path[-1] in ("kind", "by") else path[:-1]:
        here = here[part]
    if path[-1] == "kind":
        here[path[-2]] = {"kind": value}
    elif path[-1] == "by":
        before = here["clip"] or {"limit": 1.0}
        here["clip"] = None if value is None else {**before, "by": value}
    else:
        here[path[-1]] = value


def shape_of(training: Training | None) -> Any:
    """What the rows of a form depend on."""
    if training is None:
        return None
    return (
        [
            (
                rule.method.kind,
                rule.schedule.kind,
                rule.clip is None,
                rule.accumulate > 1,
                len(rule.groups),
            )
            for rule in training.optimisers
        ],
        len(training.averages),
    )
