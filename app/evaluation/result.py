"""What a run made of a diagram, as to all losses or to one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.evaluation.badges import NONE, Badges, badges_of
from runtime.flow import ObservedFlow, State, Thresholds, Verdict

if TYPE_CHECKING:
    from blocks.trees import Tree
    from runtime.diagram import Diagnostic, Diagram
    from runtime.diagram.paths import PortPath

Array: TypeAlias = NDArray[np.generic]
MOST_APART = 4
"""Losses whose lanes are shown side by side; there is no room for more."""
SHOWING_ZEROS = frozenset(state for state in State if "{zeros}" in state.row.label)
"""States whose lanes are labelled with the share of zeros."""


def _no_verdict(name: str, loss: str | None = None) -> Verdict | None:
    return None


@dataclass(frozen=True)
class Result:
    """What a run made of ``diagram``. Keys are instance paths (``enc/mul1.out``).

    A wire is named by its target port, a variable by its block. Where something could not be
    computed its key is absent; where no path leads to a loss its gradient is None.
    """

    diagram: Diagram
    values: Mapping[str, Array] = field(default_factory=dict)
    gradients: Mapping[str, Array | None] = field(default_factory=dict)
    states: Mapping[str, State] = field(default_factory=dict)
    norms: Mapping[str, float | None] = field(default_factory=dict)
    """Root mean square of each wire's contribution, over all losses."""
    diagnostics: tuple[Diagnostic, ...] = ()
    verdict: Callable[..., Verdict | None] = _no_verdict
    """Of a wire: ``verdict(wire, loss=None)``; None for the loss means all of them."""
    error: str | None = None
    """What stopped the run, when it could not be done at all."""
    contributions: Mapping[str, Array | None] = field(default_factory=dict)
    ports: Mapping[PortPath, Any] = field(default_factory=dict)
    """By port what is known without a run: ``.shape`` and ``.dtype``."""
    trees: Mapping[str, Tree] = field(default_factory=dict)
    """By port that gives a tree: its array leaves are the names of ports."""
    wire_trees: Mapping[str, Tree] = field(default_factory=dict)
    """By wire that carries a tree, likewise: its array leaves are the names of wires."""
    losses: tuple[PortPath, ...] = ()
    variable: Callable[..., Verdict | None] = _no_verdict
    """Of a variable: ``variable(name, loss=None)``."""
    zeros: Mapping[str, float] = field(default_factory=dict)
    """By wire that is PARTIAL, the share of its elements that are 0."""
    loss: str | None = None
    """What it is about: one loss, or all of them together."""
    flow: ObservedFlow | None = None
    """The run as it is explained, per loss."""
    badges: Badges = NONE
    apart: tuple[Result, ...] = ()
    """The same about the first losses one by one, where their lanes are shown side by side."""

    def of(self, loss: str | None) -> Result:
        """The same about one loss alone; about all together for None or one it does not know."""
        flow = self.flow
        if flow is None or loss not in self.losses:
            return self
        about = replace(
            self,
            loss=loss,
            verdict=partial(_about, flow.verdict, loss),
            variable=partial(_about, flow.variable, loss),
        )
        return _sized(about, flow, loss)

    @property
    def is_by_loss(self) -> bool:
        """There are several losses, and each was run by itself, too."""
        flow = self.flow
        return flow is not None and len(self.losses) > 1 and all(map(flow.run, self.losses))

    @property
    def is_lossless(self) -> bool:
        """No block of the diagram is a loss: that its wires have no gradient is no trouble."""
        pages = self.diagram.pages.values()
        has_head = any(type(block).head for page in pages for block in page.blocks.values())
        return not (self.losses or self.loss or has_head)

    def agrees_with(self, other: Result) -> bool:
        """Both show the same numbers about the same losses; only layout and badges may differ."""
        return (
            self.values is other.values
            and self.flow is other.flow
            and self.loss == other.loss
            and len(self.apart) == len(other.apart)
        )

    def side_by_side(self) -> Result:
        """The same with the lanes of losses side by side, where each was run by itself."""
        shown = self.losses[:MOST_APART] if self.is_by_loss else ()
        return replace(self, loss=None, apart=tuple(self.of(loss) for loss in shown))

    def after(self, flow: ObservedFlow, badges: Badges) -> Result:
        """The same diagram with the states and gradients of a trial on it, ``flow``."""
        told = replace(
            self, flow=flow, verdict=flow.verdict, variable=flow.variable, badges=badges,
            loss=None, apart=(),
        )  # fmt: skip
        tried = _sized(told, flow)
        return tried.side_by_side() if self.apart else tried.of(self.loss)

    def judged(self, thresholds: Thresholds) -> Result:
        """The same numbers told by other thresholds."""
        if self.flow is None:
            return self
        return numbered(
            self, ObservedFlow(self.flow.flow, self.flow.runs, thresholds, self.diagram)
        )


def _about(
    tell: Callable[..., Verdict], chosen: str, name: str, loss: str | None = None
) -> Verdict:
    return tell(name, loss or chosen)


def numbered(result: Result, flow: ObservedFlow) -> Result:
    """The result of the run that ``flow`` tells of, as to all losses.

    What is told of one loss is worked out here too, so that no window has to wait for it.
    """
    for loss in flow.losses:
        flow.states(loss)
    told = replace(
        result,
        flow=flow,
        verdict=flow.verdict,
        variable=flow.variable,
        badges=badges_of(flow),
    )
    return _sized(told, flow)


def _sized(result: Result, flow: ObservedFlow, loss: str | None = None) -> Result:
    """The result with states and numbers of one loss, or of all."""
    states, run = flow.states(loss), flow.run(loss)
    if run is None:
        return replace(result, states=states, norms={}, contributions={}, zeros={})
    shares = {
        wire: 1.0 - np.count_nonzero(amount) / amount.size
        for wire, amount in run.contributions.items()
        if amount is not None and states.get(wire) in SHOWING_ZEROS
    }
    return replace(
        result,
        states=states,
        zeros=shares,
        gradients=run.gradients,
        norms=run.norms,
        contributions=run.contributions,
    )
