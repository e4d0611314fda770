"""Gradients that are 0 or small by design, or small beside nothing: no reason for a complaint."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.engine.norms import rms
from gradwire.runtime.flow.structure.misuses import PREDICTIONS
from gradwire.runtime.flow.structure.neighbours import neighbours_of
from gradwire.runtime.flow.tools.interventions import CutWire
from gradwire.runtime.flow.tools.repairs import told, trial
from gradwire.runtime.flow.words import phrases, value_sentences
from gradwire.runtime.flow.words.formatting import cosine, number
from gradwire.runtime.flow.words.sentences import names
from gradwire.runtime.flow.words.states import State, Verdict

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.engine import Session
    from gradwire.runtime.flow.observed import ObservedFlow


# What to do about gradients that add up to exactly 0, found by running the diagram.

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


Kind: TypeAlias = "tuple[str, str, int]"
"""The type and the input of the block that a variable is for, and its number of axes."""
_LOSSES = {*PREDICTIONS, "LogSoftmax"}
_ROUNDING = 32.0
"""What is left of numbers that cancel, in machine epsilons of their sizes, at most."""
_SHARE = 1e-4
"""Share of the largest gradient of its kind from which on one is not too small."""
_STARTS = 1e-2
"""Largest number of a trained factor that starts small, as a layer scale does."""


class ByDesign:
    """What of the gradients of an observed flow is as the program means it."""

    def __init__(
        self, session: Session, observed: ObservedFlow, feeds: Mapping[str, ArrayLike] | None
    ) -> None:
        self._session = session
        self._observed = observed
        self._feeds = feeds
        self._near = neighbours_of(observed.program)

    def covers(self, name: str, verdict: Verdict) -> bool:
        """Whether that a variable's gradient is 0 or too small is no reason for a complaint.

        Either no loss changes with it at all; or it passes once a factor of 0, or near it, moves,
        which is trained and gets a gradient; or the gradients beside it and behind it show that
        nothing vanishes on the way.
        """
        if verdict.state is State.ZERO:
            return (
                bool(self._observed.invariance(name))
                or value_sentences.passes_later(verdict.cure)
                or self.cancels(name)
            )
        return verdict.state is State.VANISHING and (
            self.cancels(name)
            or self._passes_by(name, verdict)
            or self._meets_its_target(name)
            or self._starts_small(name)
        )

    # ---- no effect ----------------------------------------------------------------------------

    def cancels(self, name: str) -> bool:
        """Whether a variable is a layer's bias, and what comes back to it cancels in any case."""
        wires = list(self._near.beyond(InstancePath(name)))
        if {wire.port for wire in wires} != {"bias"} or not self._is_rounding(name):
            return False
        return has_no_effect(self._session, self._observed, name, self._feeds)

    def _is_rounding(self, name: str) -> bool:
        """Whether a gradient is no larger than the rounding of what is added up in it."""
        gradient = self._observed.gradient(name)
        if gradient is None or not gradient.size:
            return False
        added = 0.0
        for wire in self._near.readers(InstancePath(name)):
            arriving = self._observed.arriving(
                self._observed.program.wire_targets[wire].port("out")
            )
            if arriving is not None:
                added += float(np.abs(np.asarray(arriving)).sum()) / gradient.size
        return rms(gradient) <= _ROUNDING * float(np.finfo(gradient.dtype).eps) * added

    # ---- small --------------------------------------------------------------------------------

    def _passes_by(self, name: str, verdict: Verdict) -> bool:
        """Whether gradient comes to what is further from the loss, or in like places, as it should:
        then it is small by the weights of this branch alone, as training begins.
        """
        is_known = verdict.cure in ("", value_sentences.SMALL_WEIGHTS)
        if not (is_known or value_sentences.grows(verdict.cure)):
            return False
        return self._is_of_its_kind(name) or any(map(self._is_fine, self._behind(name)))

    def _behind(self, name: str) -> Iterator[str]:
        """The trained variables that what a variable is applied to depends on."""
        for wire in self._near.beyond(InstancePath(name)):
            for path in self._near.before(wire.block):
                if path in self._trained and path != name:
                    yield path

    def _is_fine(self, name: str) -> bool:
        return self._observed.variable(name).state in (State.CARRIES, State.PARTIAL)

    def _starts_small(self, name: str) -> bool:
        """Whether it is not small once trained factors that start small have grown, as a layer
        scale or the weights of a last layer; they must get gradient.
        """
        grown = self._grown.get(name)
        if grown is None:
            return False
        limits = self._observed.thresholds
        return rms(grown) >= max(limits.vanishing, limits.vanishing_relative)

    @cached_property
    def _grown(self) -> Mapping[str, Array]:
        """The gradients with all factors grown to 1 that start small."""
        moved, _ = trial(self._session, ())
        for name in self._trained:
            value = np.asarray(self._session.values[name])
            peak = float(np.max(np.abs(value), initial=0.0))
            if 0.0 < peak <= _STARTS and self._is_factor(name) and self._is_moving(name):
                moved.set(name, value / peak)
        try:
            run = moved.backward(
                self._observed.losses, feeds=self._feeds, contributions=False, accumulate=False
            )
        except GradwireError:
            return {}
        return {name: np.asarray(g) for name, g in run.gradients.items() if g is not None}

    def _is_factor(self, name: str) -> bool:
        return all(
            self._near.kind(wire.block) in phrases.FACTORS and wire.port != "bias"
            for wire in self._near.beyond(InstancePath(name))
        )

    def _is_moving(self, name: str) -> bool:
        return self._is_fine(name) or self._is_of_its_kind(name)

    def _meets_its_target(self, name: str) -> bool:
        """Whether little comes from the loss itself, as it is near its least or a mean of many, and
        no less from there on.
        """
        gradient = self._observed.gradient(name)
        for block in self._observed.culprits(name):
            if gradient is None or self._near.kind(block) not in _LOSSES:
                continue
            for source in self._near.sources(block).values():
                sent = self._observed.arriving(source)
                least = self._observed.thresholds.vanishing_relative
                if sent is not None and rms(gradient) >= least * rms(np.asarray(sent)):
                    return True
        return False

    @cached_property
    def _trained(self) -> set[InstancePath]:
        return {InstancePath(name) for name in self._observed.program.trainable}

    def _is_of_its_kind(self, name: str) -> bool:
        """Whether the largest gradient of its kind is not too small, and this one is not far from
        it.
        """
        kind = self._kind(name)
        largest, of = self._largest.get(kind, (0.0, name)) if kind else (0.0, name)
        gradient = self._observed.gradient(name)
        if of == name or gradient is None or rms(gradient) < _SHARE * largest:
            return False
        return self._is_fine(of)

    @cached_property
    def _largest(self) -> Mapping[Kind, tuple[float, str]]:
        """The largest gradient of each kind, with the variable that gets it."""
        found: dict[Kind, tuple[float, str]] = {}
        for name in self._observed.program.trainable:
            kind, gradient = self._kind(name), self._observed.gradient(name)
            if kind and gradient is not None and gradient.size:
                found[kind] = max(found.get(kind, (0.0, name)), (rms(gradient), name))
        return found

    def _kind(self, name: str) -> Kind | None:
        wire = next(self._near.beyond(InstancePath(name)), None)
        if wire is None:
            return None
        shape = self._observed.program.leaves[InstancePath(name)].value.shape
        return self._near.kind(wire.block), wire.port, len(shape)
