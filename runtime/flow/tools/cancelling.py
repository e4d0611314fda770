"""What to do about gradients that add up to exactly 0, found by running the diagram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.flow.structure.neighbours import neighbours_of
from gradwire.runtime.flow.tools.interventions import CutWire
from gradwire.runtime.flow.tools.repairs import trial
from gradwire.runtime.flow.words.formatting import size
from gradwire.runtime.flow.words.sentences import names

if TYPE_CHECKING:
    from gradwire.runtime.engine import Session
    from gradwire.runtime.flow.observed import ObservedFlow

_SELECTIVE = ("Clip", "Gather", "Max", "Maximum", "Min", "Minimum", "PickAlong", "Relu",
              "TakeAlong", "Where")  # fmt: skip
MOST = 3
"""Wires on which a stop is tried, at most."""
TOLERANCE = 1e-5
"""By how much a loss may change by rounding alone, as a share of it."""


def stops_that_help(
    session: Session,
    observed: ObservedFlow,
    variable: str,
    feeds: Mapping[str, ArrayLike] | None = None,
) -> str:
    """``With a StopGradient on mul1.a: 0.63; on sub1.b: −0.63.`` where what comes back to a
    variable by these wires cancels; empty elsewhere.
    """
    found = []
    for wire in observed.cancelling(variable)[:MOST]:
        try:
            stopped, _ = trial(session, (CutWire(wire),))
            run = stopped.backward(
                observed.losses, feeds=feeds, contributions=False, wrt=[variable]
            )
        except GradwireError:
            continue
        gradient = run.gradients[variable]
        if gradient is not None and np.any(gradient) and np.isfinite(gradient).all():
            found.append(f"on {wire}: {size(gradient)}")
    return f"With a StopGradient {'; '.join(found)}." if found else ""


def no_effect(
    session: Session,
    observed: ObservedFlow,
    variable: str,
    feeds: Mapping[str, ArrayLike] | None = None,
) -> str:
    """``Moving b leaves loss as it is: b can be left out.`` where a variable has no gradient
    because it has no effect, as the bias before a mean that is taken away; empty elsewhere, where
    another cure is known, and behind a block that selects: with other numbers it may take others.
    The other variables are moved as well, as what holds at their present values may pass.
    """
    if observed.variable(variable).cure or not observed.adds_up_to_zero(variable):
        return ""
    near = neighbours_of(session.program)
    ahead = near.after(InstancePath(variable))
    if any(near.kind(block) in _SELECTIVE for block in ahead):
        return ""
    draw = np.random.default_rng(0)
    kept, moved = (trial(session, ())[0] for _ in range(2))
    for name in session.program.trainable:
        value = session.values[name]
        step = draw.uniform(0.5, 1.0, value.shape) * (1.0 + np.abs(value))
        shifted = (value + step).astype(value.dtype)
        moved.set(name, shifted)
        if name != variable:
            kept.set(name, shifted)
    try:
        runs = [s.run(feeds=feeds, ports=observed.losses).values for s in (kept, moved)]
    except GradwireError:
        return ""
    before, after = ([values[loss] for loss in observed.losses] for values in runs)
    if not all(np.allclose(*pair, rtol=TOLERANCE) for pair in zip(before, after, strict=True)):
        return ""
    losses = names([loss.block for loss in observed.losses])
    return f"Moving {variable} leaves {losses} as it is: {variable} can be left out."
