"""The gradient past limits that make it 0, found by running the repaired diagram."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from gradwire.blocks.errors import GradwireError
from gradwire.blocks.importing.kinds import is_clip
from gradwire.runtime.flow.structure.neighbours import neighbours_of
from gradwire.runtime.flow.tools.interventions import Bridge
from gradwire.runtime.flow.tools.repairs import told, trial
from gradwire.runtime.flow.words import sentences
from gradwire.runtime.flow.words.states import State

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import WirePath
    from gradwire.runtime.engine import Session
    from gradwire.runtime.flow.observed import ObservedFlow
    from gradwire.runtime.flow.words.states import Verdict


def past_limits(
    session: Session,
    observed: ObservedFlow,
    variable: str,
    feeds: Mapping[str, ArrayLike] | None = None,
) -> str:
    """``Straight through clip1: 2.00.`` where a Clip makes the gradient of a variable 0; empty
    elsewhere, and where it would be 0 or not finite.
    """
    program, near = session.program, neighbours_of(session.program)
    clips = [at for at in observed.zeroed_by(variable) if is_clip(program.block(at))]
    steps = tuple(
        Bridge(clip.port("out"), near.sources(clip)["x"], wire)
        for clip in clips
        for wire in near.readers(clip)
        if not wire.leaf
    )
    if not steps:
        return ""
    try:
        repaired, _ = trial(session, steps)
        gradient, text = told(repaired, observed.losses, variable, feeds)
    except GradwireError:
        return ""
    if gradient is None or not np.any(gradient) or not np.isfinite(gradient).all():
        return ""
    return f"Straight through {sentences.names(clips)}: {text}."


def beyond(observed: ObservedFlow, blamed: Container[str]) -> Iterator[tuple[WirePath, Verdict]]:
    """The wires into Clip blocks with two limits, and all numbers beyond, that bring nothing back
    to what is trained, where a gradient arrives; without blocks that are ``blamed`` already.
    """
    flow, program = observed.flow, observed.program
    for path, instance in program.instances.items():
        block, wire = instance.block, path.wire("x")
        if not is_clip(block) or block.min is None or block.max is None or path in blamed:
            continue
        if wire not in program.wire_sources or not flow.trained_upstream(wire):
            continue
        arriving = observed.arriving(path.port("out"))
        verdict = observed.verdict(wire)
        if verdict.state is State.ZERO and arriving is not None and np.any(arriving):
            yield wire, verdict
