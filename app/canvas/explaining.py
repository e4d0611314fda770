"""Requests for explanations of what is on a canvas, and the trace of the wire under the pointer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF, QTimer

from gradwire.app.canvas.paint.blocks.faces import symbol_place
from gradwire.app.canvas.scene.camera import PLAIN
from gradwire.blocks.library.gradient import StopGradient

if TYPE_CHECKING:
    from gradwire.app.canvas.context import CanvasContext

_TRACE_AFTER = 250
"""Milliseconds of hovering over a wire before it is traced."""


class Explaining:
    """Emits requests for explanations, and traces wires."""

    def __init__(self, context: CanvasContext) -> None:
        self._context = context
        self.hovered: str | None = None
        """Key of the wire under the pointer, which is traced once it stays there."""
        self._under_pointer: str | None = None
        self._previewing_cuts = False
        self._timer = QTimer(context.widget, singleShot=True, interval=_TRACE_AFTER)
        self._timer.timeout.connect(self._show_trace)

    def explain(self, wire: str) -> None:
        """Request an explanation of a wire."""
        self._context.widget.whyRequested.emit(wire)

    def explain_block(self, name: str) -> None:
        """Request an explanation of a variable."""
        self._context.widget.whyBlockRequested.emit(name)

    def explain_port(self, port: int) -> None:
        """Request an explanation of the wire into an input, or of the first from an output."""
        scene = self._context.view.scene
        ends = scene.wire_ports[:, 1 if scene.port_is_input[port] else 0]
        for wire in (ends == port).nonzero()[0][:1].tolist():
            self.explain(scene.wire_keys[wire])

    def try_cut(self) -> bool:
        """Request a trial cut of the wire under the pointer; False unless cuts are previewed."""
        if self._previewing_cuts and self._under_pointer is not None:
            self._context.widget.cutTried.emit(self._under_pointer)
        return self._previewing_cuts

    def is_on_stop(self, at: QPointF) -> bool:
        """Whether the symbol of a StopGradient is at a widget position."""
        view = self._context.view
        block = self._context.places.block_at(at)
        if block is None or not isinstance(view.scene.blocks[block], StopGradient):
            return False
        return symbol_place(view, block).contains(at)

    def symbol_at(self, at: QPointF) -> str | None:
        """Name of the block whose symbol is at a widget position; far away, of any block there."""
        view = self._context.view
        block = self._context.places.block_at(at)
        if block is None or not (
            view.camera.zoom < PLAIN or symbol_place(view, block).contains(at)
        ):
            return None
        return view.scene.names[block]

    def trace(self, wire: str | None) -> None:
        """Trace a wire after a short delay; None ends tracing at once."""
        if wire == self.hovered:
            return
        self.hovered = wire
        self._hover(wire)
        if wire is None:
            self._timer.stop()
            self._show_trace()
        elif self._context.view.traced is not None:
            self._show_trace()
        else:
            self._timer.start()

    def toggle_trace(self) -> None:
        """Trace the selected wire at once, or stop tracing."""
        self._timer.stop()
        self.hovered = None if self._context.view.traced else self._context.view.selection.wire
        self._show_trace()

    def preview_cuts(self, *, on: bool) -> None:
        """Turn previews of cutting the wire under the pointer on or off."""
        if on != self._previewing_cuts:
            self._previewing_cuts = on
            self._context.widget.cutHovered.emit((self._under_pointer or "") if on else "")

    def _hover(self, wire: str | None) -> None:
        """Record the wire under the pointer."""
        self._under_pointer = wire
        if self._previewing_cuts:
            self._context.widget.cutHovered.emit(wire or "")

    def _show_trace(self) -> None:
        if self._context.view.traced != self.hovered:
            self._context.show(traced=self.hovered)
