"""The result of running a diagram, for all losses together or for one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import partial
from operator import is_
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gradwire.app.evaluation.badges import NONE, Badges, badges_of
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.flow import ObservedFlow, State, Thresholds, Verdict, number, size, wild
from gradwire.runtime.flow.words import sentences

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.blocks.trees import Tree
    from gradwire.runtime.diagram import Diagnostic, Diagram, InstancePath, PortPath, WirePath
    from gradwire.runtime.lessons import Trial
    from gradwire.runtime.views import Picture

Array: TypeAlias = NDArray[np.generic]
MAX_SIDE_BY_SIDE = 4
"""Losses whose lanes fit side by side."""
SHOWING_ZEROS = frozenset(state for state in State if "{zeros}" in state.row.label)
"""States whose lanes are labelled with the share of zeros."""


def _no_verdict(name: str, loss: str | None = None) -> Verdict | None:
    return None


@dataclass(frozen=True, eq=False)
class EvaluationResult:
    """The result of running ``diagram``. Keys are instance paths (``enc/mul1.out``).

    A wire is named by its target port, a variable by its block. What could not be computed has no
    key; a gradient is None where no path leads to a loss.
    """

    diagram: Diagram
    values: Mapping[str, Array] = field(default_factory=dict)
    gradients: Mapping[str, Array | None] = field(default_factory=dict)
    states: Mapping[str, State] = field(default_factory=dict)
    norms: Mapping[str, float | None] = field(default_factory=dict)
    """Root mean square of each wire's contribution."""
    diagnostics: tuple[Diagnostic, ...] = ()
    verdict: Callable[..., Verdict | None] = _no_verdict
    """The verdict on a wire: ``verdict(wire, loss=None)``, where None means all losses."""
    error: str | None = None
    """Why nothing could be run, if so."""
    contributions: Mapping[str, Array | None] = field(default_factory=dict)
    ports: Mapping[PortPath, Any] = field(default_factory=dict)
    """What is known of each port without a run: ``.shape`` and ``.dtype``."""
    trees: Mapping[str, Tree] = field(default_factory=dict)
    """Trees by port; their array leaves are names of ports."""
    wire_trees: Mapping[str, Tree] = field(default_factory=dict)
    """Trees by wire; their array leaves are names of wires."""
    losses: tuple[PortPath, ...] = ()
    variable: Callable[..., Verdict | None] = _no_verdict
    """The verdict on a variable: ``variable(name, loss=None)``."""
    zeros: Mapping[str, float] = field(default_factory=dict)
    """The share of zeros in each wire whose state shows it, such as PARTIAL."""
    loss: str | None = None
    """The loss that the result is about; None for all together."""
    flow: ObservedFlow | None = None
    """The analysed runs, by loss."""
    trials: Mapping[Trial, ObservedFlow] = field(default_factory=dict)
    """The analysed runs of what notes ask about, by what was tried."""
    badges: Badges = NONE
    pictures: Mapping[InstancePath, Picture] = field(default_factory=dict)
    """What views show."""
    step_number: int = 0
    """The training step for which Random and Dataset blocks have drawn."""
    is_partial: bool = False
    """Whether only a part of it is shown: what has no key is not known yet, or hidden."""
    hidden: frozenset[str] = frozenset()
    """What is concealed from a learner: of ``concealment.NUMBERS``."""
    apart: tuple[EvaluationResult, ...] = ()
    """The results for the first losses one by one, if their lanes are shown side by side."""

    def of(self, loss: str | None) -> EvaluationResult:
        """The result for one loss; for all together if the loss is None or unknown."""
        flow = self.flow
        if flow is None or loss not in self.losses:
            return self
        about = replace(
            self,
            loss=loss,
            verdict=partial(_about, flow.verdict, loss),
            variable=partial(_about, flow.variable, loss),
        )
        return _with_numbers(about, flow, loss)

    @property
    def shown(self) -> frozenset[WirePath]:
        """The wires into views, which no lane belongs to."""
        return frozenset() if self.flow is None else self.flow.flow.program.shown

    def wild(self, key: str) -> str:
        """``NaN``, ``∞``, ``−∞`` or ``±∞``: what a wire brings back, where that is not finite; the
        first if it is not known.
        """
        array, norm = self.contributions.get(key), self.norms.get(key)
        if array is not None:
            return wild(array)
        return "NaN" if norm is None or math.isfinite(norm) else number(norm)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables in order, also of those whose gradient is not known yet."""
        run = None if self.flow is None else self.flow.run(self.loss)
        return tuple(self.gradients if run is None else run.gradients)

    @property
    def is_by_loss(self) -> bool:
        """Whether there are several losses and each was also run on its own."""
        flow = self.flow
        return flow is not None and len(self.losses) > 1 and all(map(flow.run, self.losses))

    @property
    def is_lossless(self) -> bool:
        """Whether the diagram has no loss, so that a wire without a gradient is no problem."""
        return not (self.losses or self.loss or _has_head(self.diagram))

    def agrees_with(self, other: EvaluationResult) -> bool:
        """Whether both have the same numbers for the same losses; layout and badges may differ."""
        return (
            self.values is other.values
            and self.flow is other.flow
            and self.loss == other.loss
            and self.hidden == other.hidden
            and (not self.hidden or self.states == other.states)
            and len(self.apart) == len(other.apart)
        )

    def by_loss(self, verdict: Callable[..., Verdict | None], key: str) -> str:
        """What ``verdict`` says of a wire or a variable for each loss, where they differ.

        Empty unless the result is about several losses that were each run, and all of it is known.
        """
        if self.is_partial or self.loss is not None or not self.is_by_loss:
            return ""
        found = {loss.short: verdict(key, loss) for loss in self.losses}
        states = {name: about.state for name, about in found.items() if about is not None}
        return sentences.by_loss(states)

    def amount(self, wire: str) -> str:
        """What a wire brings back: the value of a scalar, else ``rms 0.52``; empty for nothing.

        A wire with a tree has a size, but no array.
        """
        array, norm = self.contributions.get(wire), self.norms.get(wire)
        if array is None:
            return "" if norm is None else f"rms {number(norm)}"
        return size(array)

    def side_by_side(self) -> EvaluationResult:
        """The result with lanes of losses side by side, if each was run on its own."""
        shown = self.losses[:MAX_SIDE_BY_SIDE] if self.is_by_loss else ()
        return replace(self, loss=None, apart=tuple(self.of(loss) for loss in shown))

    def after(self, flow: ObservedFlow, badges: Badges) -> EvaluationResult:
        """The result with the states and gradients of ``flow``, a trial on the same diagram."""
        trial = replace(
            self, flow=flow, verdict=flow.verdict, variable=flow.variable, badges=badges,
            loss=None, apart=(),
        )  # fmt: skip
        trial = _with_numbers(trial, flow)
        return trial.side_by_side() if self.apart else trial.of(self.loss)

    def prepare_losses(self, superseded: Callable[[], bool]) -> None:
        """Compute what single losses bring back, unless ``superseded``: so that the window need not
        wait where it is to show one of them.
        """
        flow = self.flow
        for loss in () if flow is None else flow.losses:
            if flow is not None and not superseded():
                _with_numbers(self, flow, loss)

    def judged(self, thresholds: Thresholds) -> EvaluationResult:
        """The same numbers, judged by other thresholds."""
        if self.flow is None:
            return self
        return numbered(
            self, ObservedFlow(self.flow.flow, self.flow.runs, thresholds, self.diagram)
        )


_recent: list[tuple[list[Mapping[str, Block]], bool]] = []
"""The blocks of diagrams that were looked at last, and whether one marks a loss."""


def _has_head(diagram: Diagram) -> bool:
    """Whether a block marks a loss; found out once for diagrams that differ in layout alone."""
    blocks = [page.blocks for page in diagram.pages.values()]
    for known, found in list(_recent):
        if len(known) == len(blocks) and all(map(is_, known, blocks)):
            return found
    found = any(type(block).head for each in blocks for block in each.values())
    _recent[:] = [(blocks, found), *_recent[:1]]
    return found


def _about(
    verdict: Callable[..., Verdict], chosen: str, name: str, loss: str | None = None
) -> Verdict:
    return verdict(name, loss or chosen)


def numbered(result: EvaluationResult, flow: ObservedFlow) -> EvaluationResult:
    """The result with the states and numbers of ``flow``, for all losses together."""
    result = replace(
        result, flow=flow, verdict=flow.verdict, variable=flow.variable, badges=badges_of(flow)
    )
    return _with_numbers(result, flow)


def _with_numbers(
    result: EvaluationResult, flow: ObservedFlow, loss: str | None = None
) -> EvaluationResult:
    """The result with the states and numbers of one loss, or of all."""
    states, run = flow.states(loss), flow.run(loss)
    if run is None:
        return replace(result, states=states, norms={}, contributions={}, zeros={})
    return replace(
        result,
        states=states,
        zeros=flow.zero_shares(SHOWING_ZEROS, loss),
        gradients=run.gradients,
        norms=flow.norms(loss),
        contributions=run.contributions,
    )
