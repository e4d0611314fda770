"""The table of choices: where systems give different numbers, and what is chosen here.

Its rows are in ``choices.json``. The point of a row is one of ``POINTS``, by its ``at`` where the
row says it in words of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import Any

from gradwire.runtime.calculus.choices.choice import SYSTEMS, Choice, Convention
from gradwire.runtime.calculus.choices.points import POINTS


def _choice(blocks: Iterable[str], point: str, at: str = "", **rest: Any) -> Choice:
    return Choice(blocks=tuple(blocks), point=point, at=POINTS[at or point], **rest)


_ROWS = json.loads(files(__package__).joinpath("choices.json").read_text(encoding="utf-8"))
INTEGERS = tuple(_choice(**row) for row in _ROWS["integers"])
"""The rows of integers and booleans: their dtypes and values."""
CHOICES = (*(_choice(**r) for r in _ROWS["elementwise"] + _ROWS["reductions"]), *INTEGERS)
CONVENTIONS = tuple(Convention(**row) for row in _ROWS["conventions"])
SUBNORMAL = CONVENTIONS[-1]
OPTIMISERS = tuple(Convention(**row) for row in _ROWS["optimisers"])
"""The optimisers: they have PyTorch's form."""


# The table of choices as notes on blocks and as tables in Markdown.


def choices_of(block: str, system: str | None = None) -> Iterator[Choice]:
    """The rows of a block type; only those that name ``system``, if one is given."""
    for choice in CHOICES:
        if block in choice.blocks and (system is None or system in choice.elsewhere):
            yield choice


def notes(block: str) -> list[str]:
    """What a block's documentation says about other systems, a line a row."""
    return [
        f"{choice.quantity.capitalize()} at {choice.point}: {choice.here}; {_elsewhere(choice)}."
        for choice in choices_of(block)
        if not choice.extreme
    ]


def table(extreme: bool = False) -> str:
    """The choices as a table in Markdown; with ``extreme`` those of overflow and rounding."""
    lines = ["| block | quantity | point | here | elsewhere | why |", "|---|---|---|---|---|---|"]
    for choice in CHOICES:
        if choice.extreme == extreme:
            cells = (", ".join(choice.blocks), choice.quantity, choice.point, choice.here,
                     _elsewhere(choice), choice.why)  # fmt: skip
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def conventions(rows: Iterable[Convention] = CONVENTIONS) -> str:
    """Conventions as a table in Markdown; those of what is reported by default."""
    lines = ["| point | here | elsewhere |", "|---|---|---|"]
    lines += [f"| {row.point} | {row.here} | {row.elsewhere} |" for row in rows]
    return "\n".join(lines) + "\n"


def _elsewhere(choice: Choice) -> str:
    """``NaN in PyTorch, JAX and MXNet, 1 in TensorFlow``."""
    systems: dict[str, list[str]] = {}
    for system in SYSTEMS:
        if system in choice.elsewhere:
            systems.setdefault(choice.elsewhere[system], []).append(system)
    return ", ".join(f"{says} in {_listed(names)}" for says, names in systems.items())


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
