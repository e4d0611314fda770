"""What is selected on a canvas: blocks, notes and bends, and a wire.

The chevrons of that wire move while gradient passes it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer

from gradwire.app.canvas.paint.drawing import box_between
from gradwire.app.canvas.scene.hits import surviving
from gradwire.app.canvas.state.lanes import STATE_OF
from gradwire.app.canvas.state.view_state import Selection

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.geometry import Bend
    from gradwire.runtime.diagram import Page

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


class CanvasSelection:
    """Selects what exists on the page."""

    def __init__(self, context: CanvasContext) -> None:
        self._context = context

    def blocks(self) -> frozenset[str]:
        """Names of the selected blocks."""
        return self._context.view.selection.blocks

    def wire(self) -> str | None:
        """Key of the selected wire."""
        return self._context.view.selection.wire

    def set(self, selection: Selection) -> None:
        """Select what exists of ``selection``, and nothing else."""
        context, scene = self._context, self._context.view.scene
        chosen = Selection(
            frozenset(selection.blocks & scene.index.keys()),
            frozenset(selection.notes & scene.page.notes.keys()),
            frozenset(bend for bend in selection.bends if scene.bend(bend) is not None),
            selection.wire if selection.wire in scene.wire_index else None,
        )
        if chosen != context.view.selection:
            context.content.remember()
            context.view = replace(context.view, selection=chosen)
            context.numbers.update()
            context.animation.update()
            context.widget.selectionChanged.emit(chosen)
            context.painter.update_changed()

    def select(
        self, names: Iterable[str], notes: Iterable[str] = (), bends: Iterable[Bend] = ()
    ) -> None:
        """Select these blocks, notes and bends, if they exist, and no others; the wire stays."""
        items = Selection(frozenset(names), frozenset(notes), frozenset(bends))
        self.set(items._replace(wire=self.wire()))

    def select_wire(self, key: str | None) -> None:
        """Select the wire with this key if it exists, or none; blocks, notes and bends stay."""
        self.set(self._context.view.selection._replace(wire=key))

    def select_all(self) -> None:
        """Select every block and note of the page."""
        scene = self._context.view.scene
        self.select(scene.names, scene.page.notes)

    def follow(self, before: Page) -> None:
        """Keep what was selected on the page ``before`` and still exists."""
        view = self._context.view
        bends = frozenset(surviving(view.selection.bends, before, view.scene.page))
        self.set(view.selection._replace(bends=bends))
