"""Keeps the derivative card of the selected block up to date while it is visible."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gradwire.app.panels import labels
from gradwire.app.panels.lessons.derivative import DerivativePanel
from gradwire.app.panels.workspace import QueryingPart
from gradwire.app.services.background import Cancelled
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.runtime.diagram import ROOT, InstancePath

if TYPE_CHECKING:
    from gradwire.app.canvas.state.view_state import Selection
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.panels.workspace import Workspace
    from gradwire.runtime.lessons import VectorJacobian

_CARD, _ROW = "derivative", "row"


class DerivativeController(QueryingPart):
    """Writes cards on a thread: one for the selection, if it is a single block."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._result: EvaluationResult | None = None
        self._use = ROOT
        self._visible = False
        self.panel = DerivativePanel(self._frame)
        self.panel.rowRequested.connect(self._compute_row)

    def set_result(self, result: EvaluationResult, use: InstancePath) -> None:
        """Follow another result, at once if the card is visible."""
        self._result, self._use = result, use
        self._update()

    def set_selection(self, selection: Selection) -> None:
        """Follow the selection, at once if the card is visible."""
        self._update()

    def set_visible(self, visible: bool) -> None:
        """Record whether the card is visible, and write it if it is."""
        self._visible = visible
        self._update()

    def _update(self) -> None:
        result, chosen = self._result, self._canvas.selection()
        if not self._visible or result is None:
            return
        self.worker.cancel(_CARD)
        self.worker.cancel(_ROW)
        if reason := labels.withheld(result):
            self.panel.show_text(reason)
            return
        if len(chosen) != 1:
            self.panel.show_text(self.tr("Select a block to see its derivative."))
            return
        (name,) = chosen
        if isinstance(self._canvas.view.scene.page.blocks[name], PageBlock):
            self.panel.show_text(self.tr("This is a page: open it to see the derivatives inside."))
            return
        from gradwire.runtime.lessons import derivative_card

        loss = self._losses.chosen
        losses = None if loss is None else [loss]
        job = partial(derivative_card, block=self._use / name, losses=losses)
        self.worker.query(_CARD, result.diagram, job)

    def _compute_row(self, product: VectorJacobian, index: int) -> None:
        self.worker.submit(_ROW, lambda _: (product, index, product.row(index)))

    def _take(self, kind: str, answer: object) -> None:
        from gradwire.runtime.lessons import DerivativeCard

        if kind == _ROW and isinstance(answer, tuple):
            self.panel.show_row(*answer)
        elif isinstance(answer, DerivativeCard):
            self.panel.show_card(answer)
        elif not isinstance(answer, Cancelled):
            self.panel.show_text(str(answer))
