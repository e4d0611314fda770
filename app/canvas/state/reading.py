"""What the canvas shows besides the diagram: one evaluation, as the evaluator hands it over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

if TYPE_CHECKING:
    from app.evaluation.badges import Badges
    from blocks.trees import Tree
    from runtime.diagram import Diagnostic, Diagram
    from runtime.flow import FlowRun, State, Verdict


class Reading(Protocol):
    """Values, gradients and lane states of one diagram, keyed by instance path.

    A port is ``mul1.out``, or ``enc/mul1.out`` inside the page used as ``enc``; a wire is its
    target port; a variable is its block.
    """

    @property
    def diagram(self) -> Diagram:
        """What was evaluated; a reading of another diagram than the shown one is stale."""

    @property
    def values(self) -> Mapping[str, NDArray[Any]]:
        """By output port; ports that were not computed are absent."""

    @property
    def trees(self) -> Mapping[str, Tree]:
        """By output port that gives a tree: its array leaves are the names of ports."""

    @property
    def ports(self) -> Mapping[str, Any]:
        """By port, those of leaves among them, what is known without a run: shape and dtype."""

    @property
    def gradients(self) -> Mapping[str, NDArray[Any] | None]:
        """By variable; None where no path connects it to a loss."""

    @property
    def states(self) -> Mapping[str, State]:
        """By wire."""

    @property
    def norms(self) -> Mapping[str, float | None]:
        """Root mean square of each wire's contribution; None where there is none."""

    @property
    def zeros(self) -> Mapping[str, float]:
        """By wire that is PARTIAL, the share of its elements that are exactly 0."""

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The problems found on the way."""

    @property
    def badges(self) -> Badges:
        """What is said of ports and blocks besides."""

    @property
    def loss(self) -> str | None:
        """The loss it is about; None for all together."""

    @property
    def losses(self) -> tuple[str, ...]:
        """Output ports of all losses."""

    @property
    def apart(self) -> Sequence[Reading]:
        """The same about single losses whose lanes are to be shown side by side; mostly none."""

    @property
    def flow(self) -> FlowRun | None:
        """The run as it is explained; it knows the thresholds of the states."""

    @property
    def verdict(self) -> Callable[[str], Verdict | None]:
        """Why a wire is in its state; None for a wire it doesn't know."""


def is_lossless(reading: Reading) -> bool:
    """No block of the diagram is a loss: that its wires tell of no gradient is no trouble."""
    blocks = (block for page in reading.diagram.pages.values() for block in page.blocks.values())
    told = reading.losses or reading.loss
    return not told and not any(type(block).head for block in blocks)
