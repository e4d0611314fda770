"""What a StopGradient would change where a loss trains by a target or an advantage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from numpy import typing as npt

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.flow.structure.misuses import moving_targets, weights_of_logarithms
from gradwire.runtime.flow.tools.whatif import WhatIf
from gradwire.runtime.flow.words import sentences
from gradwire.runtime.flow.words.formatting import size

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import WirePath
    from gradwire.runtime.engine import Session
    from gradwire.runtime.flow.observed import ObservedFlow

NAMED = 2
"""Variables whose gradients are named with and without a stop."""


def leaks(
    session: Session,
    observed: ObservedFlow,
    feeds: Mapping[str, npt.ArrayLike] | None = None,
    most: int = 4,
) -> Iterator[tuple[WirePath, str]]:
    """The wires by which advantages and targets are trained, with a sentence that says what a
    StopGradient there would change; at most ``most`` of each.
    """
    trial = WhatIf(session, observed.losses, feeds=feeds)
    for wire, difference in islice(weights_of_logarithms(observed.flow), most):
        said = (
            f"The gradient goes through {difference} too, which is multiplied by a logarithm. If "
            f"it is an advantage, put a StopGradient on {wire}"
        )
        if changed := _changes(trial, wire):
            yield wire, f"{said}: with it {changed}."
    for target, prediction in islice(moving_targets(observed.flow), most):
        said = (
            f"The gradient reaches {target} as well as {prediction}. If the target is meant as "
            f"given, put a StopGradient on {target}"
        )
        if changed := _changes(trial, target):
            yield target, f"{said}: with it {changed}."


def _changes(trial: WhatIf, wire: WirePath) -> str:
    """``∂loss/∂w is rms 0.5 instead of rms 2.00``, for the first variables that it changes."""
    try:
        found = trial.cut(wire).compare()
    except GradwireError:
        return ""
    changes = [
        f"∂{loss.block}/∂{name} is {size(d.after)} instead of {size(d.before)}"
        for loss in found.before.losses
        for name, d in found.variables(loss).items()
        if d.changed
    ]
    return sentences.names(changes[:NAMED]) if changes else ""
