"""Keras: models that it saved, with the losses and gradients that it found."""

from __future__ import annotations

from collections.abc import Iterator

from gradwire.runtime.engine import Session
from tests.interchange.rows import Row
from tests.runtime.interchange.importing.keras.fixtures import (
    INPUTS,
    closest,
    gradients,
    imported,
)
from tests.runtime.interchange.importing.tensorflow.fixtures import Archive, difference


def rows() -> Iterator[Row]:
    """A row for each model."""
    archive = Archive("keras.npz")
    for name in INPUTS:
        case, made = archive.case(name), imported(name)
        done = Session(made.diagram).backward()
        loss = difference(done.values[made.outputs["loss"]], case["loss"])
        worst = max(
            closest(done.gradients[made.parameters[parameter]], wanted)
            for parameter, wanted in gradients(case).items()
        )
        detail = f"loss within {loss:.1g}, gradients within {worst:.1g}"
        yield Row(name, loss <= 1e-5 and worst <= 1e-4, detail)
