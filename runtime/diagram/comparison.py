"""What comparing a diagram with the program that it comes from has shown, as the file keeps it.

A comparison holds for what was compared: for the blocks and wires that the losses depend on, and
for the numbers of that run. Fingerprints say what these were; see ``runtime.engine.fingerprints``.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    Strict,
    StringConstraints,
    WithJsonSchema,
)

from gradwire.runtime.diagram.document_types import Characters, Number, Place, Places, Record

MAX_DISAGREEMENTS = 4_096
MAX_LINE = 400
"""Characters of a reason, a cause or a system's name."""
MAX_TEXT = 2_000
"""Characters of what is said of a misstep."""
MAX_MISSTEPS = 64
_NAMED = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def _number(value: object) -> Any:
    """A number of a file, where those that are not finite have names."""
    return _NAMED.get(value, value) if isinstance(value, str) else value


def _named(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


Line: TypeAlias = Annotated[Characters, StringConstraints(max_length=MAX_LINE)]
Fingerprint: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{0,64}$")]
Count: TypeAlias = Annotated[int, Strict(), Field(ge=0)]
Size: TypeAlias = Annotated[
    float,
    Strict(),
    BeforeValidator(_number),
    PlainSerializer(_named, when_used="json"),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"enum": [*_NAMED]}]}),
]
"""A number that need not be finite."""


class Disagreement(Record):
    """A value, or a gradient of a loss, that the program has otherwise.

    Sizes are root mean squares; of a single element, its number. None is no gradient.
    """

    what: Literal["gradient", "value"] = "gradient"
    of: Place
    """The port of the loss."""
    at: Place
    """The port that has the value, or at which the gradient arrives."""
    theirs: Size | None
    """The size in the program."""
    ours: Size | None
    """The size in the diagram."""
    apart: Number | None = None
    """How far apart they are, relative to the program's; None where only one is finite, or None."""
    single: Annotated[bool, Strict()] = False
    """Whether it is a single number."""
    since: Place = ""
    """The port at which gradients, from the loss on, or values, to the loss, first differ; empty
    where that is not known."""
    cause: Line = ""
    """What is there, and where the program has it: ``mask_hook (train.py:31)``."""


class Misstep(Record):
    """Something that the program does wrongly around its gradients, and that no block shows."""

    text: Annotated[Characters, StringConstraints(max_length=MAX_TEXT)]
    """Sentences that say what, where, and what to do instead."""
    written: Line = ""
    """Where the program has it, ``train.py:31``."""
    raises: Annotated[bool, Strict()] = False
    """Whether the framework raises an error for it."""


class Comparison(Record):
    """How the values and gradients of a diagram compare with those of another system."""

    system: Line = "PyTorch"
    losses: Places = ()
    """The ports of the losses whose gradients were compared."""
    gradients: Count = 0
    """How many were compared."""
    absent: Count = 0
    """How many of them are None."""
    apart: Number = 0.0
    """The largest relative difference among what agrees."""
    numbers: Annotated[bool, Strict()] = True
    """Whether numbers were compared, and not only which gradients are None."""
    unchecked: Line = ""
    """Why nothing was compared; empty if it was."""
    disagreements: Annotated[tuple[Disagreement, ...], Field(max_length=MAX_DISAGREEMENTS)] = ()
    missteps: Annotated[tuple[Misstep, ...], Field(max_length=MAX_MISSTEPS)] = ()
    """What the run did wrongly besides."""
    structure: Fingerprint = ""
    """That of the blocks and wires that the losses depend on."""
    values: Fingerprint = ""
    """That of the numbers in them; empty where the comparison holds for any."""

    def to_record(self) -> dict[str, object]:
        """The JSON form, without fields that have their default values."""
        return self.model_dump(mode="json", exclude_defaults=True)
