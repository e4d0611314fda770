"""A study: a diagram, variants of it, a number to measure, and what is claimed about it.

Only form is checked here. ``gradwire.runtime.training.studies.verdicts`` trains the variants, and
judges the claims.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, Strict

from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.diagram.document_types import MAX_ENTRIES, Characters, Number, Place, Record
from gradwire.runtime.diagram.files.fields import read_object
from gradwire.runtime.diagram.files.models import ModelReader
from gradwire.runtime.diagram.files.parsing import Flaw, parse
from gradwire.runtime.diagram.files.storage import text_of

MAX_SEEDS = 1000
"""Trainings of one variant."""
MAX_STEPS = 10_000_000
"""Iterations of one training."""
MAX_PASSES = 10_000
"""Passes that one number is the mean of."""
_MAX_TEXT = 4_000

Text: TypeAlias = Annotated[Characters, Field(max_length=_MAX_TEXT)]
Values: TypeAlias = Annotated[Mapping[Place, object], Field(max_length=MAX_ENTRIES)]


class Measure(Record):
    """The number that is compared: a port after training, as the mean of several passes."""

    port: Place
    """The port; of an array the mean of its elements counts."""
    called: Text = ""
    """What the number is, in a few words."""
    passes: Annotated[int, Strict(), Field(ge=1, le=MAX_PASSES)] = 1
    """Passes with new data and new random numbers each, whose mean is taken."""
    phase: Literal["training", "validation"] = "training"
    """Whether data sets provide rows that are trained on, or rows that never are."""


class Variant(Record):
    """What is different in one variant; an empty one is the diagram as it is."""

    set: Annotated[Mapping[Place, Values], Field(max_length=MAX_ENTRIES)] = Field(
        default_factory=dict
    )
    """Parameters, literals and own variables by block, such as ``{"stop": {"open": true}}``; a
    block of another page than main is ``page/block``."""
    training: Annotated[Mapping[Place, object], Field(max_length=MAX_ENTRIES)] = Field(
        default_factory=dict
    )
    """Fields of the recipe, each in place of the diagram's."""


class Claim(Record):
    """A statement about the numbers of one variant, which holds if it does for enough seeds.

    At least one of ``above``, ``below``, ``more_than`` and ``less_than`` is given; all that are
    given have to hold for a seed together. A training that diverged fulfils no claim.
    """

    variant: Place
    above: Number | None = None
    below: Number | None = None
    more_than: Place | None = None
    """Another variant, whose number for the same seed is less."""
    less_than: Place | None = None
    """Another variant, whose number for the same seed is more."""
    share: Annotated[Number, Field(ge=0, le=1)] = 0.9
    """Share of the seeds that it has to hold for."""

    @property
    def text(self) -> str:
        """The claim in words."""
        told = [
            f"{words} {value:g}" if isinstance(value, float) else f"{words} {value}"
            for words, value in (
                ("above", self.above),
                ("below", self.below),
                ("more than", self.more_than),
                ("less than", self.less_than),
            )
            if value is not None
        ]
        return f"{self.variant}: {' and '.join(told)}"


class Study(Record):
    """A diagram, its variants, what is measured, and what is claimed."""

    diagram: Place
    """Path of the diagram's file, relative to the folder of the study."""
    title: Text = ""
    steps: Annotated[int, Strict(), Field(ge=1, le=MAX_STEPS)] | None = None
    """Iterations of each training; null for as many as the recipe says."""
    seeds: Annotated[int, Strict(), Field(ge=1, le=MAX_SEEDS)] = 10
    """Trainings of each variant: seed 0 is the diagram as it is."""
    measure: Measure
    variants: Annotated[Mapping[Place, Variant], Field(min_length=1, max_length=MAX_ENTRIES)]
    claims: Annotated[tuple[Claim, ...], Field(max_length=MAX_ENTRIES)] = ()


STUDY = ModelReader(lambda: Study, "a study", {"claims": "claim"}, "", "")
"""Reads studies, and says what is wrong with them in words."""


def load_study(path: Path) -> Study:
    """The study in a file. Raises FileError with line and column."""
    text = text_of(path)
    try:
        study = STUDY.read(read_object(parse(text, str(path)), ()), ())
        _require_variants(study)
    except Flaw as flaw:
        raise flaw.in_text(text, str(path)) from None
    return study


def _require_variants(study: Study) -> None:
    """Raise Flaw if a claim is about a variant that is not there, or claims nothing."""
    known = list(study.variants)
    for number, claim in enumerate(study.claims):
        for key in ("variant", "more_than", "less_than"):
            name = getattr(claim, key)
            if name is not None and name not in known:
                raise Flaw(
                    ("claims", number, key),
                    f"There is no variant {name!r}.",
                    expected="one of " + ", ".join(known),
                    next_step=did_you_mean(name, known),
                )
        if claim.model_fields_set <= {"variant", "share"}:
            raise Flaw(
                ("claims", number),
                "The claim claims nothing.",
                expected="above, below, more_than or less_than",
            )
