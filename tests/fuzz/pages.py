"""Random diagrams as living pages: node computes what the runtime does, with all stops switched."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import RunError
from gradwire.runtime.publish.living.data import living_data
from gradwire.runtime.publish.living.publishing import publish
from tests.fuzz.drawing import drawn
from tests.fuzz.runner import Program
from tests.runtime.flow.grafts import graft
from tests.runtime.publish.living.node import NODE, compared
from tests.runtime.publish.living.oracle import work_of

if TYPE_CHECKING:
    from random import Random

    from gradwire.runtime.diagram import Diagram

MOST_SETTINGS = 16
NEAR = {True: 1e-9, False: 2e-3}
"""How far numbers may be apart, by whether all that is computed is float64."""


def _subject(rng: Random) -> Diagram:
    """A diagram, now and then with a tree."""
    if rng.random() < 0.3:
        grafted = graft(rng.randrange(2**40))
        if grafted is not None:
            return grafted.treed
    return drawn(rng, gradients=rng.random() < 0.4)


def page_case(rng: Random) -> str:
    """A diagram is refused with a reason, or its page is right in all that it shows."""
    diagram = _subject(rng)
    with np.errstate(all="ignore"):
        try:
            living = living_data(diagram)
        except RunError as error:
            return f"refused: {' '.join(error.what.split()[-3:])}"
        publish(diagram)
        if NODE is None:
            return "not compared: node is missing"
        work = work_of(living, trials=2, most=MOST_SETTINGS)
    with tempfile.TemporaryDirectory() as folder:
        found = compared(Path(folder), work)
    assert found["none"] == 0 and found["structure"] == 0, found["wrong"]
    is_double = all(op.value.dtype != "float32" for tape in living.tapes for op in tape.ops)
    assert found["worst"] <= NEAR[is_double], found["where"]
    return "compared"


PROGRAMS = (
    Program("pages", "a living page computes what the runtime does, or is refused", page_case),
)
