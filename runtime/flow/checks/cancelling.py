"""What to do about gradients that add up to exactly 0, found by running the diagram."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.flow.structure.neighbours import neighbours_of
from gradwire.runtime.flow.tools.interventions import CutWire
from gradwire.runtime.flow.tools.repairs import told, trial
from gradwire.runtime.flow.words.formatting import cosine, number
from gradwire.runtime.flow.words.sentences import names

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.engine import Session
    from gradwire.runtime.flow.observed import ObservedFlow

_SELECTIVE = ("Clip", "Gather", "Max", "Maximum", "Min", "Minimum", "PickAlong", "Relu",
              "TakeAlong", "Where")  # fmt: skip
MOST = 3
"""Wires on which a stop is tried, at most."""
STEPS = (1e-3, 1e-2, 1e-1)
"""Steps down a gradient, as a share of the variable's largest number."""
TOLERANCE = 1e-5
"""By how much a loss may change by rounding alone, as a share of it."""


def stops_that_help(
    session: Session,
    observed: ObservedFlow,
    variable: str,
    feeds: Mapping[str, ArrayLike] | None = None,
) -> str:
    """``With a StopGradient on mul1.a: 0.63; on sub1.b: −0.63.`` where what comes back to a
    variable by these wires cancels; empty elsewhere. A stop with which a step down the gradient
    would raise the losses is left out; where a step leaves them as they are, as they do not depend
    on the variable, the numbers say which way it goes.
    """
    found: dict[str, tuple[Array, str]] = {}
    for wire in observed.cancelling(variable)[:MOST]:
        try:
            stopped, _ = trial(session, (CutWire(wire),))
            gradient, text = told(stopped, observed.losses, variable, feeds)
            if gradient is None or not np.any(gradient) or not np.isfinite(gradient).all():
                continue
            if not _rises(session, observed.losses, variable, gradient, feeds):
                found[wire] = gradient, text
        except GradwireError:  # as where the variable comes to what is known for one run alone
            continue
    first = next((gradient for gradient, _ in found.values()), None)
    parts = (f"on {w}: {text}{_against(first, each)}" for w, (each, text) in found.items())
    return f"With a StopGradient {'; '.join(parts)}." if found else ""


def _against(first: Array | None, gradient: Array) -> str:
    """That a gradient of several numbers goes the other way than the first."""
    angle = cosine(first, gradient)
    if angle is None or angle >= 0 or gradient.size == 1:
        return ""
    return f", the other way (cosine {number(angle)})"


def _rises(
    session: Session,
    losses: Sequence[PortPath],
    variable: str,
    gradient: Array,
    feeds: Mapping[str, ArrayLike] | None,
) -> bool:
    """Whether the sum of the losses rises by a step of a variable down a gradient: the least one
    that changes it by more than rounding.
    """
    value = session.values[variable]
    unit = gradient / np.max(np.abs(gradient)) * (1.0 + np.max(np.abs(value)))
    moved, _ = trial(session, ())

    def total(step: float) -> float:
        moved.set(variable, (value - step * unit).astype(value.dtype))
        values = moved.run(feeds=feeds, ports=losses).values
        return float(sum(values[loss].sum(dtype=np.float64) for loss in losses))

    before = total(0.0)
    changes = (total(step) - before for step in STEPS)
    clear = (change for change in changes if abs(change) > TOLERANCE * abs(before))
    return next(clear, 0.0) > 0


def mean_of_one(observed: ObservedFlow, variable: str) -> str:
    """``mean1 is of one element, which sub1 takes away from itself: 0 is left.`` where that is on
    the way of a variable, as in a norm by hand of a batch of one; empty elsewhere.
    """
    program = observed.program
    near = neighbours_of(program)
    for path in near.after(InstancePath(variable)):
        sources = near.sources(path) if near.kind(path) == "Sub" else {}
        if set(sources) != {"a", "b"}:
            continue
        mean = near.origin(sources["b"])
        given = near.sources(mean).get("x") if near.kind(mean) == "Mean" else None
        if given is None or near.origin(given) != near.origin(sources["a"]):
            continue
        ports = (given, sources["a"], mean.port("out"))
        if len({math.prod(program.ports[port].shape) for port in ports}) == 1:
            return (
                f"{mean} is of one element, which {path} takes away from itself: 0 is left, "
                "whatever it was. Give it more elements, such as a larger batch."
            )
    return ""


def no_effect(
    session: Session,
    observed: ObservedFlow,
    variable: str,
    feeds: Mapping[str, ArrayLike] | None = None,
) -> str:
    """``Moving b leaves loss as it is: b can be left out.`` where a variable has no gradient
    because it has no effect, as the bias before a mean that is taken away; empty elsewhere, where
    another cure is known, and behind a block that selects: with other numbers it may take others.
    """
    if observed.variable(variable).cure or not observed.adds_up_to_zero(variable):
        return ""
    near = neighbours_of(session.program)
    ahead = near.after(InstancePath(variable))
    if any(near.kind(block) in _SELECTIVE for block in ahead):
        return ""
    if not has_no_effect(session, observed, variable, feeds):
        return ""
    losses = names([loss.block for loss in observed.losses])
    return f"Moving {variable} leaves {losses} as it is: {variable} can be left out."


def has_no_effect(
    session: Session,
    observed: ObservedFlow,
    variable: str,
    feeds: Mapping[str, ArrayLike] | None = None,
) -> bool:
    """Whether the losses stay as they are where a variable moves. All other variables are moved
    first, as what holds at their present values may pass.
    """
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
        return False
    before, after = ([values[loss] for loss in observed.losses] for values in runs)
    return all(np.allclose(*pair, rtol=TOLERANCE) for pair in zip(before, after, strict=True))
