"""What a StopGradient would change where a loss trains by a target or an advantage."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy import typing as npt
from numpy.typing import ArrayLike

from gradwire.blocks.errors import GradwireError
from gradwire.blocks.importing.kinds import is_clip
from gradwire.runtime.flow.structure.invariances import constant_totals
from gradwire.runtime.flow.structure.misuses import moving_targets, weights_of_logarithms
from gradwire.runtime.flow.structure.neighbours import neighbours_of
from gradwire.runtime.flow.structure.singles import UNAFFECTED, single
from gradwire.runtime.flow.tools.findings import CONSTANT, SINGLE, Finding
from gradwire.runtime.flow.tools.interventions import Bridge
from gradwire.runtime.flow.tools.repairs import told, trial
from gradwire.runtime.flow.tools.whatif import WhatIf
from gradwire.runtime.flow.words import sentences, value_sentences
from gradwire.runtime.flow.words.formatting import size
from gradwire.runtime.flow.words.states import PASSING, State

if TYPE_CHECKING:
    from gradwire.runtime.diagram.paths import WirePath
    from gradwire.runtime.engine import Session
    from gradwire.runtime.flow.observed import ObservedFlow
    from gradwire.runtime.flow.words.states import Verdict


# Blocks that compare numbers where there is just one, or whose total alone is read: what is before
# them learns nothing.


def alone(observed: ObservedFlow, known: Collection[str] = ()) -> Iterator[Finding]:
    """A finding for each such block that gradient passes by its structure, but for those ``known``
    to be at fault.
    """
    program, near = observed.program, neighbours_of(observed.program)
    totals = constant_totals(program, observed.losses)
    for path, instance in program.instances.items():
        if path in known:
            continue
        sources = near.sources(path)
        shapes = {n: program.ports[s].shape for n, s in sources.items() if s in program.ports}
        found = single(instance.block, shapes)
        wires = (path.wire(name) for name in shapes if name not in UNAFFECTED)
        if not (found or path in totals):
            continue
        if not any(observed.flow.state(wire) in PASSING for wire in wires):
            continue
        if found:
            yield Finding(SINGLE, path, f"{path} {found.reason}. {found.cure}", culprit=path)
        else:
            text = value_sentences.CONSTANT_TOTAL.format(totals[path])
            yield Finding(CONSTANT, path, f"{text[0].upper()}{text[1:]}", culprit=path)


# The gradient past limits that make it 0, found by running the repaired diagram.


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
