"""Shows on the canvas what time and memory each block takes, on request."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from gradwire.app.canvas.state.costs import page_costs
from gradwire.app.panels.bars.cost_bar import CostBar
from gradwire.app.panels.workspace import QueryingPart
from gradwire.app.services.background import Cancelled
from gradwire.runtime.diagram import ROOT, InstancePath, same_meaning
from gradwire.runtime.engine.profile import Profile, profile

if TYPE_CHECKING:
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.panels.workspace import Workspace
    from gradwire.runtime.diagram import Diagram

SECONDS = 0.5
"""For how long is measured; at least one call is."""
_COSTS = "costs"


class CostController(QueryingPart):
    """Measures a diagram as ``gradwire bench`` does, and overlays the numbers until turned off.

    A change of the diagram does not measure again, which would slow down the run that follows it;
    the bar says that the numbers are older, and offers to.
    """

    ended = Signal()
    """The overlay is to be turned off: by its bar, or because nothing could be measured."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._use = ROOT
        self._diagram: Diagram | None = None
        self._profile: Profile | None = None
        self.bar = CostBar(self._frame)
        self.bar.closed.connect(self.ended)
        self.bar.againRequested.connect(self.measure)
        self.bar.measureChanged.connect(self._show)
        self._document.opened.connect(self._end)

    @property
    def is_on(self) -> bool:
        """Whether costs are shown or being measured."""
        return not self.bar.isHidden()

    def toggle(self) -> None:
        """Measure and show the costs, or hide them."""
        if self.is_on:
            self.worker.cancel(_COSTS)
            self._profile = None
            self.bar.hide()
            self._canvas.set_costs(None)
        else:
            self.bar.show()
            self.measure()

    def measure(self) -> None:
        """Measure the diagram as it is now."""
        self._diagram = self._document.diagram
        self.bar.wait()
        self.worker.query(_COSTS, self._diagram, partial(profile, seconds=SECONDS))

    def set_result(self, result: EvaluationResult, use: InstancePath) -> None:
        """Show the costs of the page used at ``use``."""
        self._use = use
        self._show()

    def _show(self) -> None:
        measured, diagram = self._profile, self._diagram
        if not self.is_on or measured is None or diagram is None:
            return
        costs = page_costs(measured, self._use, self.bar.measure)
        self._canvas.set_costs(costs)
        if not self.worker.is_pending(_COSTS):
            is_current = same_meaning(diagram, self._document.diagram)
            self.bar.show_costs(measured, costs, is_current=is_current)

    def _take(self, kind: str, answer: object) -> None:
        if isinstance(answer, Profile):
            self._document.succeeded.emit(())
            self._profile = answer
            self._show()
            return
        if not isinstance(answer, Cancelled):
            self._notice.show_message(self.tr("The costs can't be measured. {0}").format(answer))
        self._end()

    def _end(self) -> None:
        if self.is_on:
            self.ended.emit()
