"""Gradient flow right after a program has measured its own run, where its numbers are no news.

They take no run of the engine then: structure says all there is to say. The engine runs once
something else is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, cached_property
from typing import TYPE_CHECKING

from gradwire.blocks.block import Source
from gradwire.blocks.importing.kinds import is_clip
from gradwire.blocks.values import Tensor
from gradwire.runtime.diagram.paths import InstancePath, PortPath
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.session.run import LazyResults
from gradwire.runtime.flow.numbers.magnitudes import ArraySize, LossScale
from gradwire.runtime.flow.numbers.origins import Values, has_nan, is_finite
from gradwire.runtime.flow.numbers.rules import BY_ROUNDING, THRESHOLDS, Thresholds, classify
from gradwire.runtime.flow.observed import Cancel, ObservedFlow
from gradwire.runtime.flow.observing import run_losses
from gradwire.runtime.flow.structure.invariances import invariance
from gradwire.runtime.flow.structure.neighbours import neighbours_of
from gradwire.runtime.flow.words.states import PASSING, State, Verdict

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.measurements import Measurements, Short
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.analyse import Flow
    from gradwire.runtime.flow.numbers.origins import Origin

_EXPLAINED = BY_ROUNDING | {State.ZERO}
"""States of a gradient that an invariance explains."""
_SEED = LossScale(1.0, 1.0)
"""The gradient that leaves a single loss is 1."""
_SLACK = 1e-3
"""By how much sizes may mislead about what cancels, as a share."""


def measurements_of(session: Session) -> Measurements | None:
    """What the program of a session's diagram measured, as far as it holds for the session."""
    known = session.diagram.measured
    if known is None or session.has_own_numbers or not known.hold_for(session.diagram):
        return None
    return known


def measured_flow(
    session: Session, flow: Flow, thresholds: Thresholds = THRESHOLDS
) -> ObservedFlow | None:
    """The flow of a session by what its program measured; None where that is not known, or
    something about the numbers is worth saying.
    """
    known = measurements_of(session)
    if known is None or flow.losses != (known.loss,) or not _are_quiet(flow, known, thresholds):
        return None
    return MeasuredFlow(session, flow, thresholds)


def compared(session: Session) -> Session:
    """The session, or one whose diagram has been compared with what its program measured."""
    known = measurements_of(session)
    if known is None:
        return session
    diagram = replace(session.diagram, comparison=known.comparison, measured=None)
    return Session(diagram, partial=session.partial, engine=session.engine)


class MeasuredFlow(ObservedFlow):
    """An observed flow about whose numbers nothing is worth saying."""

    def __init__(self, session: Session, flow: Flow, thresholds: Thresholds) -> None:
        made = cache(lambda: run_losses(session, flow) or {})
        super().__init__(flow, LazyResults(made, {}, made), thresholds, session.diagram)

    def states(self, loss: str | None = None) -> Mapping[str, State]:
        """The states of all wires, by path."""
        return self.flow.states(loss)

    def variable(self, name: str, loss: str | None = None) -> Verdict:
        """Why a variable gets a gradient or not."""
        return self.flow.variable(name, loss)

    def value(self, name: InstancePath) -> Array | None:
        """The numbers of a variable."""
        value = getattr(self.program.block(name), "value", None)
        return value.array if isinstance(value, Tensor) else None

    @property
    def has_each(self) -> bool:
        """Whether each loss has been run."""
        return True

    @cached_property
    def origins(self) -> tuple[Origin, ...]:
        """No blocks at which values become non-finite."""
        return ()

    def cancels(self, loss: str | None = None) -> dict[PortPath, Cancel]:
        """No ports at which contributions cancel."""
        return {}


def _are_quiet(flow: Flow, known: Measurements, thresholds: Thresholds) -> bool:
    """Whether numbers leave nothing to say that structure does not."""
    if flow.program.failed or flow.program.blocked:
        return False
    on_the_way = {classify(_size(x), _SEED, thresholds) for x in known.arriving}
    least = thresholds.cancels * (1.0 + _SLACK)
    return (
        on_the_way.isdisjoint({State.NONFINITE, State.EXPLODING})
        and not any(total < least * largest for total, largest in known.sums)
        and not any(_may_be_beyond(each.block) for each in flow.program.instances.values())
        and all(_is_quiet(flow, name, known, thresholds) for name in flow.program.trainable)
        and _values(flow.program, known.values).are_quiet((known.loss,))
    )


def _may_be_beyond(block: Block) -> bool:
    """Whether a block has limits beyond which all its numbers may be: sizes don't show that."""
    return is_clip(block) and block.min is not None and block.max is not None


def _is_quiet(flow: Flow, name: str, known: Measurements, thresholds: Thresholds) -> bool:
    """Whether the gradient of a variable is as structure has it, and neither small nor large."""
    gradient = known.gradients.get(name)
    if gradient is None or flow.variable(name).state not in PASSING:
        return gradient is None and flow.variable(name).state not in PASSING
    state = classify(_size(gradient), _SEED, thresholds)
    if state.row.complaint is None:
        return True
    ahead = neighbours_of(flow.program).readers(InstancePath(name))
    carrying = [wire for wire in ahead if flow.state(wire) in PASSING]
    return state in _EXPLAINED and bool(invariance(flow.program, flow.losses, carrying))


def _size(known: Short) -> ArraySize:
    is_zero = not known.size and not any(known.wild)
    zeros = known.elements if is_zero else 0
    return ArraySize(known.size, zeros, known.elements, not any(known.wild), False)


def _values(program: Program, known: Mapping[str, Short]) -> Values:
    """The values of a run as far as they are not finite."""
    wild, nans = set(), set()
    for port, found in known.items():
        if any(found.wild):
            wild.add(program.flat.source(PortPath(port)))
        if found.wild[0]:
            nans.add(program.flat.source(PortPath(port)))
    for path, instance in program.instances.items():
        value = getattr(instance.block, "value", None)
        if not (isinstance(instance.block, Source) and isinstance(value, Tensor)):
            continue
        if path not in program.trainable and not is_finite(value.array):
            wild.add(path.port("out"))
            if has_nan(value.array):
                nans.add(path.port("out"))
    return Values(program, {}, (frozenset(wild), frozenset(nans)))
