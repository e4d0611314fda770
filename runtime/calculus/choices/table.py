"""The table of choices: where systems give different numbers, and what is chosen here.

Its rows are in ``choices.json``. The point of a row is one of ``POINTS``, by its ``at`` where the
row says it in words of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from gradwire.runtime.calculus.choices.choice import Choice, Convention
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
