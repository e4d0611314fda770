"""The canvas with a selection of blocks, notes and bends, and of a wire."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from gradwire.app.canvas.explaining import ExplainingStage
from gradwire.app.canvas.state.view_state import Selection

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradwire.app.canvas.input.numbers import Numbers
    from gradwire.app.canvas.scene.geometry import Bend


class SelectingStage(ExplainingStage):
    """Shows what is selected; its numbers can be changed in place."""

    selectionChanged = Signal(object)
    """The new Selection: blocks, notes, bends and wire; emitted once for each click or key."""

    numbers: Numbers

    def selection(self) -> frozenset[str]:
        """Names of the selected blocks."""
        return self.view.selection.blocks

    def set_selection(self, selection: Selection) -> None:
        """Select what exists of ``selection``, and nothing else."""
        scene = self.view.scene
        chosen = Selection(
            frozenset(selection.blocks & scene.index.keys()),
            frozenset(selection.notes & scene.page.notes.keys()),
            frozenset(bend for bend in selection.bends if scene.bend(bend) is not None),
            selection.wire if selection.wire in scene.wire_index else None,
        )
        if chosen != self.view.selection:
            self._remember()
            self.view = replace(self.view, selection=chosen)
            self.numbers.update()
            self.update_flow()
            self.selectionChanged.emit(chosen)
            self._update_changed()

    def select(
        self, names: Iterable[str], notes: Iterable[str] = (), bends: Iterable[Bend] = ()
    ) -> None:
        """Select these blocks, notes and bends, if they exist, and no others; the wire stays."""
        items = Selection(frozenset(names), frozenset(notes), frozenset(bends))
        self.set_selection(items._replace(wire=self.view.selection.wire))

    def selected_wire(self) -> str | None:
        """Key of the selected wire."""
        return self.view.selection.wire

    def select_wire(self, key: str | None) -> None:
        """Select the wire with this key if it exists, or none; blocks, notes and bends stay."""
        self.set_selection(self.view.selection._replace(wire=key))

    def select_all(self) -> None:
        """Select every block and note of the page."""
        self.select(self.view.scene.names, self.view.scene.page.notes)
