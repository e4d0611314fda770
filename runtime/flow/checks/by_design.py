"""Gradients that are 0 or small by design, or small beside nothing: no reason for a complaint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from gradwire.blocks.errors import GradwireError
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.engine.norms import rms
from gradwire.runtime.flow.checks.cancelling import has_no_effect
from gradwire.runtime.flow.structure.misuses import PREDICTIONS
from gradwire.runtime.flow.structure.neighbours import neighbours_of
from gradwire.runtime.flow.tools.repairs import trial
from gradwire.runtime.flow.words import phrases, value_sentences
from gradwire.runtime.flow.words.states import State, Verdict

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.engine import Session
    from gradwire.runtime.flow.observed import ObservedFlow

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
