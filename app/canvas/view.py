"""The canvas widget: shows one page of a diagram, handles input, and requests changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QFocusEvent,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication

from gradwire.app.canvas import accessibility
from gradwire.app.canvas.input import changes
from gradwire.app.canvas.input.aligning import Alignment, alignment
from gradwire.app.canvas.input.dropping import DropTarget
from gradwire.app.canvas.input.entry.adding import BlockAdder
from gradwire.app.canvas.input.entry.inline_edit import InlineEditor
from gradwire.app.canvas.input.event_filter import EventFilter
from gradwire.app.canvas.input.keyboard_focus import KeyboardFocus
from gradwire.app.canvas.input.keys import Keys
from gradwire.app.canvas.input.mouse import Mouse
from gradwire.app.canvas.input.numbers import Numbers
from gradwire.app.canvas.input.previews import Previews
from gradwire.app.canvas.input.room import with_room
from gradwire.app.canvas.legend_box import LegendBox
from gradwire.app.canvas.minimap import MiniMap
from gradwire.app.canvas.scene.bends import surviving
from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.canvas.selecting import SelectingStage
from gradwire.app.canvas.state.view_state import Selection
from gradwire.app.services.favourites import Favourites
from gradwire.runtime.diagram import MAIN, ROOT, Point

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from gradwire.app.canvas.input.entry.candidates import Candidate
    from gradwire.app.canvas.scene.arrays import Floats
    from gradwire.app.canvas.scene.camera import Camera
    from gradwire.app.document.numbers import Number
    from gradwire.app.evaluation.result import Result
    from gradwire.runtime.diagram import Change, Diagram, InstancePath

_EVERYWHERE = (Qt.Key.Key_Escape, Qt.Key.Key_Question)
"""Keys that reach the canvas also from a button or a field that lies on it."""


class CanvasView(SelectingStage):
    """Shows a page of a diagram. Never changes it, but emits ``changeRequested``."""

    changeRequested = Signal(object)
    """A Change for the document; each is one undo."""
    previewRequested = Signal(object)
    """A Change to show without making it, or None to show the diagram without one."""
    pageEntered = Signal(str)
    """Name of the page block that was double-clicked."""
    inspectRequested = Signal(str)
    """Name of the block to show in the inspector; it is selected."""
    menuRequested = Signal(QPoint)
    """Where in the widget to open the context menu."""
    bookmarkRequested = Signal(int)
    """The number of a bookmark to go to, from 1 on."""
    sheetRequested = Signal()
    """The user wants to see all shortcuts."""
    statusMessage = Signal(str)
    """A hint for the status bar; empty to clear it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        accessibility.install()
        self.keyboard_focus = KeyboardFocus(self)
        self.favourites = Favourites(parent=self)
        self.numbers = Numbers(self)
        self._mouse = Mouse(self)
        self._keys = Keys(self, self._mouse)
        EventFilter(self, self._keys)
        self._adder = BlockAdder(self)
        self._drop_target = DropTarget(self)
        self.inline_editor = InlineEditor(self)
        self.minimap = MiniMap(self)
        self.legend = LegendBox(self)
        self._previews = Previews(self, self.previewRequested.emit)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAcceptDrops(True)

    def set_diagram(self, diagram: Diagram, page: str = MAIN) -> None:
        """Show a page of ``diagram``.

        Each page keeps its own camera. Selected items stay selected if they still exist.
        """
        if not self._previews.is_showing:
            if self._mouse.cancel() or self.keyboard_focus.wire is not None:
                self.update()
            self._adder.close()
            self.inline_editor.close()
        before = self.view.scene.page
        super().set_diagram(diagram, page)
        selection = self.view.selection
        bends = frozenset(surviving(selection.bends, before, self.view.scene.page))
        self.set_selection(selection._replace(bends=bends))
        self.trace(None)
        self.keyboard_focus.update()
        self.numbers.update()
        self.minimap.follow()

    def set_keys(self, keys: Mapping[str, tuple[str, ...]]) -> None:
        """Use other keys than those of the table; see :meth:`Keys.rebind`."""
        self._keys.rebind(keys)

    def set_camera(self, camera: Camera) -> None:
        """Show the page through another camera."""
        if camera != self.view.camera:
            self._adder.close()
            self.inline_editor.close()
        super().set_camera(camera)

    # Changes

    def request(self, change: Change | None) -> None:
        """Request a change from the document, if there is one."""
        if change is not None:
            self._previews.stop()
            self._fit_wanted = False  # the first block stays where it is added
            self.changeRequested.emit(change)

    def preview(self, change: Change | None) -> None:
        """Show the diagram with a change, and go on with the gesture; None shows it without."""
        self._previews.put(change)

    def set_result(self, result: Result | None, use: InstancePath = ROOT) -> None:
        super().set_result(result, use)
        if not self.view.annotations.page.stale:
            self._previews.result_shown()

    def hint(self, text: str) -> None:
        """Show a hint in the status bar; an empty one clears it."""
        self.statusMessage.emit(text)

    def align(self, way: Alignment) -> None:
        """Align the selection, distribute it evenly, or snap it to the grid."""
        self.request(alignment(self.view, way))

    def add_note(self, *, frame: bool = False) -> None:
        """Add a note where there is room, or a frame around the selected blocks, and edit it."""
        change = changes.note_around(self.view, self.keyboard_focus.centre(), frame=frame)
        self.request(change)
        self.select((), {change.id})
        self.start_note(change.id)

    def bend_wire(self, at: QPointF | None = None) -> None:
        """Add a bend to the selected wire: at ``at``, where it was pressed, or in the middle."""
        wire, at = self.view.selection.wire, at or self._mouse.pressed
        if wire is None:
            self.hint(self.tr("Select a wire to bend."))
            return
        place = None if at is None else np.array(at.toTuple())
        change, bend = changes.add_bend(self.view, wire, place)
        self.request(change)
        self.set_selection(Selection(bends=frozenset({bend})))
        if self.view.focus is not None:
            self.keyboard_focus.focus_on(Focus(FocusKind.BEND, *bend))

    def delete_selection(self) -> None:
        """Remove the selection, or else the focused item."""
        self.request(changes.removal(self.view))

    def nudge(self, dx: float, dy: float) -> None:
        """Move the selection by scene units."""
        self.request(changes.nudge(self.view, dx, dy))

    def resize_notes(self, dx: float, dy: float) -> None:
        """Resize the selected notes, or the focused one, by scene units."""
        self.request(changes.resizing(self.view, dx, dy))

    def add(self, candidate: Candidate, at: Point) -> None:
        """Add a block with its top left at ``at``, insert it into a wire there, and select it."""
        name, change, _ = changes.dropping(self.view, candidate, at)
        self.favourites.use(candidate.kind)
        self.request(with_room(self.view.scene, change, [name]))
        self.select([name])

    def put(self, candidate: Candidate) -> None:
        """Add a block where there is room, beside the selected one, and bring it into view."""
        name, change = changes.placing(self.view, candidate, self._vacancy(), None)
        self.favourites.use(candidate.kind)
        self.request(with_room(self.view.scene, change, [name]))
        self.select([name])
        bounds = self.view.scene.bounds_of([name])
        if bounds is not None:
            self.reveal(bounds)

    def quick_add(self, at: QPointF | None = None, port: int | None = None) -> None:
        """Open the search box for a block at ``at``, at the end of a wire from ``port``.

        Without ``at`` the place is chosen: at the end of the wire, in the selected wire, where the
        pointer has just been, or beside the selected block.
        """
        pointer, self._mouse.pointer = self._mouse.pointer, None
        if at is not None:
            self._adder.open(at, port)
        elif port is not None:
            self._adder.open_for_port(port)
        elif (wire := self.view.selection.wire) is not None:
            self._adder.open_for_wire(wire)
        else:
            self._adder.open_at(self._vacancy(pointer))

    def _vacancy(self, near: QPointF | None = None) -> Floats:
        """A corner (2,) for a new block: near a widget point, the selection or the middle."""
        corner = changes.beside(self.view) if near is None else None
        if corner is None:
            at = near or QRectF(self.rect()).center()
            corner = self.view.camera.to_scene(np.array(at.toTuple()))
        return changes.free_corner(self.view.scene, corner)

    def widget(self) -> QWidget:
        """The widget that fields open on."""
        return self

    def show_menu(self, at: QPointF) -> None:
        """Request the context menu of the selection."""
        self.menuRequested.emit(at.toPoint())

    def is_held(self) -> bool:
        return self._mouse.gesture is not None

    def go_to_bookmark(self, number: int) -> None:
        """Request the view of a bookmark, given by its number from 1 on."""
        self.bookmarkRequested.emit(number)

    def show_sheet(self) -> None:
        """Request the list of shortcuts."""
        self.sheetRequested.emit()

    def rename(self) -> None:
        """Edit the name or text of the one selected item, or else of the focused one."""
        for items in (self.view.selection, changes.focused(self.view)):
            if len(items.blocks) == 1:
                return self.start_rename(*items.blocks)
            if len(items.notes) == 1 and not items.blocks:
                return self.start_note(*items.notes)

    def inspect(self, name: str) -> None:
        """Select a block and request its fields."""
        self.select([name])
        self.inspectRequested.emit(name)

    def announce(self, focus: Focus) -> None:
        """Tell assistive technology where the focus is."""
        accessibility.announce(self, focus)

    def start_rename(self, name: str) -> None:
        """Edit the name of a block in place."""
        self.inline_editor.edit_name(name)

    def start_number(self, number: Number, text: str = "") -> None:
        """Edit a number in place, beginning with ``text`` if there is any."""
        self.inline_editor.edit_number(number, text)

    def speak(self, text: str) -> None:
        """Tell assistive technology something."""
        accessibility.speak(self, text)

    def start_note(self, name: str) -> None:
        """Edit the text of a note in place."""
        self.inline_editor.edit_note(name)

    def enter_page(self, name: str) -> None:
        """Request the page of a page block."""
        self.pageEntered.emit(name)

    def show_cursor(self, cursor: Qt.CursorShape) -> None:
        """Change the shape of the pointer."""
        if self.cursor().shape() != cursor:
            self.setCursor(cursor)

    def redraw(self, area: QRectF | None = None) -> None:
        """Repaint ``area`` of the widget, or all of it."""
        if area is None:
            self.update()
        else:
            self.update(area.toAlignedRect())

    # Events

    def paint_over(self, painter: QPainter) -> None:
        super().paint_over(painter)
        if self._mouse.gesture is not None:
            self._mouse.gesture.paint(painter)
        self._adder.paint(painter)
        self.keyboard_focus.paint(painter)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.inline_editor.close()
        self._mouse.press(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._mouse.move(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._mouse.release(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._mouse.double_click(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._mouse.wheel(event)
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        focus = QApplication.focusWidget()
        is_within = focus is not None and focus is not self and self.isAncestorOf(focus)
        if (is_within and event.key() not in _EVERYWHERE) or not self._keys.press(event):
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        self._keys.release(event)
        super().keyReleaseEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        self._mouse.cancel()
        super().hideEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._keys.release_all()
        super().focusOutEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self._drop_target.enter(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        self._drop_target.move(event)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._drop_target.leave()

    def dropEvent(self, event: QDropEvent) -> None:
        self._drop_target.drop(event)

    def leaveEvent(self, event: QEvent) -> None:
        self._mouse.pointer = None
        self.numbers.hover(None)
        self.trace(None)
        super().leaveEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            self._keys.show_menu()
