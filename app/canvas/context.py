"""The parts of one canvas, and what they share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradwire.app.canvas.camera import CanvasCamera, Places
from gradwire.app.canvas.content import CanvasContent, Computing
from gradwire.app.canvas.explaining import Explaining, Overlays
from gradwire.app.canvas.input.dropping import DropTarget
from gradwire.app.canvas.input.edits import Edits
from gradwire.app.canvas.input.entry.inline_edit import InlineEditor
from gradwire.app.canvas.input.entry.quick_add import BlockAdder
from gradwire.app.canvas.input.keyboard_focus import KeyboardFocus
from gradwire.app.canvas.input.keys import Keys
from gradwire.app.canvas.input.mouse import Mouse
from gradwire.app.canvas.input.numbers import NumberEditing
from gradwire.app.canvas.input.previews import Previews
from gradwire.app.canvas.painting import CanvasPainter
from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.selecting import CanvasSelection, FlowAnimation
from gradwire.app.canvas.state.annotations import resolve
from gradwire.app.canvas.state.view_state import ViewState
from gradwire.app.services.favourites import Favourites
from gradwire.app.services.theme import system
from gradwire.runtime.diagram import MAIN, Diagram

if TYPE_CHECKING:
    from PySide6.QtCore import QRectF, Qt

    from gradwire.app.canvas.widget import CanvasWidget
    from gradwire.runtime.diagram import Change


class CanvasContext:
    """One canvas as its parts see it: its widget, what it shows, and the other parts.

    No part uses another one before all are made.
    """

    def __init__(self, widget: CanvasWidget) -> None:
        self.widget = widget
        scene = Scene(Diagram(), MAIN)
        self.view = ViewState(scene, resolve(scene, None), Camera(), system())
        """Replaced as a whole; see :class:`ViewState`."""
        self.explained = ""
        """Key of the wire, or name of the block, that a card is about; it needs no tooltip."""
        self.favourites = Favourites(parent=widget)
        self.computing = Computing(widget)
        self.places = Places(self)
        self.camera = CanvasCamera(self)
        self.content = CanvasContent(self)
        self.painter = CanvasPainter(self)
        self.animation = FlowAnimation(self)
        self.selection = CanvasSelection(self)
        self.overlays = Overlays(self)
        self.explaining = Explaining(self)
        self.edits = Edits(self)
        self.previews = Previews(widget, widget.previewRequested.emit)
        self.numbers = NumberEditing(self)
        self.keyboard_focus = KeyboardFocus(self)
        self.mouse = Mouse(self)
        self.keys = Keys(self)
        self.drop_target = DropTarget(self)
        self.adder = BlockAdder(self)
        self.inline_editor = InlineEditor(self)
        self.computing.changed.connect(self._show_computing)

    def show(self, **changed: Any) -> None:
        """Replace fields of the view state, and repaint."""
        self.view = replace(self.view, **changed)
        self.painter.update()

    def redraw(self, area: QRectF | None = None) -> None:
        """Repaint ``area`` of the widget, or all of it."""
        self.painter.update(None if area is None else area.toAlignedRect())

    def request(self, change: Change | None) -> None:
        """Request a change from the document, if there is one."""
        if change is not None:
            self.previews.stop()
            self.camera.fit_wanted = False  # the first block stays where it is added
            self.widget.changeRequested.emit(change)

    def hint(self, text: str) -> None:
        """Show a hint in the status bar; an empty one clears it."""
        self.widget.statusMessage.emit(text)

    def show_cursor(self, cursor: Qt.CursorShape) -> None:
        """Change the shape of the pointer."""
        if self.widget.cursor().shape() != cursor:
            self.widget.setCursor(cursor)

    def _show_computing(self, computing: bool) -> None:
        self.show(computing=computing)
