"""The chevrons of the selected wire, which move while gradient passes it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer

from gradwire.app.canvas.paint.drawing import box_between
from gradwire.app.canvas.state.codes import STATE_OF

if TYPE_CHECKING:
    from gradwire.app.canvas.context import CanvasContext

_EVERY = 50
"""Milliseconds between steps."""
_STEP = 0.05


class FlowAnimation:
    """Animates the selected wire, unless motion is reduced."""

    def __init__(self, context: CanvasContext) -> None:
        self._context = context
        self._is_reduced = False
        self._timer = QTimer(context.widget, interval=_EVERY)
        self._timer.timeout.connect(self._step)

    def set_reduced_motion(self, reduced: bool) -> None:
        """Turn animation off or on."""
        self._is_reduced = reduced
        self.update()
        self._context.painter.update()

    def update(self) -> None:
        """Begin or end: something has changed that it depends on."""
        view = self._context.view
        wire = view.scene.wire_index.get(view.selection.wire or "")
        state = None if wire is None else STATE_OF.get(int(view.annotations.total.codes[wire]))
        flows = state is not None and state.row.passes
        if flows and self._context.widget.isVisible() and not self._is_reduced:
            self._timer.start()
        else:
            self._timer.stop()
            self._context.view = replace(view, phase=0.0)

    def _step(self) -> None:
        if self._context.painter.is_travelling:  # the page would have to be painted whole
            return
        view = self._context.view
        self._context.view = replace(view, phase=(view.phase + _STEP) % 1.0)
        bounds = view.scene.wire_bounds[[view.scene.wire_index[view.selection.wire or ""]]]
        self._context.redraw(box_between(*view.camera.rows_to_widget(bounds)[0].tolist()))
