"""What is selected on a canvas: blocks, notes and bends, and a wire."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gradwire.app.canvas.scene.bends import surviving
from gradwire.app.canvas.state.view_state import Selection

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradwire.app.canvas.context import CanvasContext
    from gradwire.app.canvas.scene.geometry import Bend
    from gradwire.runtime.diagram import Page


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
