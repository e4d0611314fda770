"""What a StopGradient would leave of gradients that add up to exactly 0, found by running it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from blocks.errors import GradwireError
from runtime.flow.tools.interventions import CutWire
from runtime.flow.tools.repairs import trial
from runtime.flow.words.formatting import size

if TYPE_CHECKING:
    from runtime.engine import Session
    from runtime.flow.observed import ObservedFlow

MOST = 3
"""Wires on which a stop is tried, at most."""


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
        if gradient is not None and np.any(gradient):
            found.append(f"on {wire}: {size(gradient)}")
    return f"With a StopGradient {'; '.join(found)}." if found else ""
