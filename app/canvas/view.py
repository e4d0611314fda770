"""The canvas widget: shows one page of a diagram, takes input, and asks for changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, QTimer, Signal
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

from app.canvas import accessibility
from app.canvas.explaining import Explaining
from app.canvas.input import changes
from app.canvas.input.aligning import Way, alignment
from app.canvas.input.dropping import Dropping
from app.canvas.input.entry.adding import Adding
from app.canvas.input.entry.inline_edit import Writing
from app.canvas.input.event_filter import Sensing
from app.canvas.input.keyboard_focus import Walking
from app.canvas.input.keys import Keys
from app.canvas.input.mouse import Hand
from app.canvas.legend_box import LegendBox
from app.canvas.minimap import MiniMap
from app.canvas.scene.bends import bent, steady
from app.canvas.scene.focus import Focus, Kind
from app.canvas.state.view_state import Picked
from app.services.favourites import Favourites
from runtime.diagram.model import MAIN, Point

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from app.canvas.input.entry.candidates import Choice
    from app.canvas.scene.camera import Camera
    from app.canvas.scene.geometry import Bend, Floats
    from runtime.diagram import Change, Diagram

_TRACE_AFTER = 250
"""Milliseconds that the pointer rests on a wire before the rest is dimmed."""


class CanvasView(Explaining):
    """Shows a page of a diagram. Never changes it: asks by ``changeRequested``."""

    changeRequested = Signal(object)
    """A Change for the document; one undo each."""
    selectionChanged = Signal(object)
    """The selected blocks' names, a frozenset; also when other notes are selected."""
    wireClicked = Signal(str)
    """Key of the selected wire (its target ``block.port``); empty when none is any more."""
    pageEntered = Signal(str)
    """Name of the page block that was double-clicked."""
    inspectRequested = Signal(str)
    """Name of the block whose fields are wanted; it is selected."""
    menuRequested = Signal(QPoint)
    """Where in the widget the menu of what is selected shall open."""
    sheetRequested = Signal()
    """The sheet of all keys is wanted."""
    statusMessage = Signal(str)
    """A hint, or why something can't be; empty to clear."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        accessibility.install()
        self.walking = Walking(self)
        self.favourites = Favourites(parent=self)
        self._hand = Hand(self)
        self._keys = Keys(self, self._hand)
        Sensing(self, self._keys)
        self._adding = Adding(self)
        self._dropping = Dropping(self)
        self._writing = Writing(self)
        self.minimap = MiniMap(self)
        self.legend = LegendBox(self)
        self._hovered: str | None = None
        self._hover_timer = QTimer(self, singleShot=True, interval=_TRACE_AFTER)
        self._hover_timer.timeout.connect(self._show_trace)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAcceptDrops(True)

    def set_diagram(self, diagram: Diagram, page: str = MAIN) -> None:
        """Show a page as it is in ``diagram``.

        View and selection stay, as far as what was selected exists; each page has its own view.
        """
        self._hand.cancel()
        self._adding.close()
        self._writing.close()
        before = self.view.scene.page
        super().set_diagram(diagram, page)
        bends = steady(self.view.bends, before, self.view.scene.page)
        self.select(self.view.selected, self.view.notes, bends)
        self.select_wire(self.view.wire)
        self.view.near_port = None
        self.view.marks = {}
        self.trace(None)
        self.walking.follow()

    def look(self, camera: Camera) -> None:
        """Look through another camera."""
        if camera != self.view.camera:
            self._adding.close()
            self._writing.close()
        super().look(camera)

    # Selection

    def selection(self) -> frozenset[str]:
        """Names of the selected blocks."""
        return self.view.selected

    def select(
        self, names: Iterable[str], notes: Iterable[str] = (), bends: Iterable[Bend] = ()
    ) -> None:
        """Select these blocks, notes and bends, as far as they exist, and no others."""
        view, there = self.view, self.view.scene.page.notes
        chosen = Picked(
            frozenset(frozenset(names) & view.scene.index.keys()),
            frozenset(note for note in notes if note in there),
            frozenset(bend for bend in bends if view.scene.bend(bend) is not None),
        )
        if chosen != view.picked:
            view.selected, view.notes, view.bends = chosen
            self.selectionChanged.emit(view.selected)
            self.update()

    def selected_wire(self) -> str | None:
        """Key of the selected wire."""
        return self.view.wire

    def select_wire(self, key: str | None) -> None:
        """Select the wire with this key, if there is one, or none."""
        chosen = key if key in self.view.scene.wire_index else None
        if chosen != self.view.wire:
            self.view.wire = chosen
            self.let_flow()
            self.wireClicked.emit(chosen or "")
            self.update()

    def select_all(self) -> None:
        """Select every block and note of the page."""
        self.select(self.view.scene.names, self.view.scene.page.notes)

    # Asking for changes

    def ask(self, change: Change | None) -> None:
        """Ask the document for a change, if there is one."""
        if change is not None:
            self._fit_wanted = False  # a first block stays where it is put
            self.changeRequested.emit(change)

    def hint(self, text: str) -> None:
        """Say something in the status bar."""
        self.statusMessage.emit(text)

    def align(self, way: Way) -> None:
        """Ask to align what is selected, to spread it evenly, or to snap it."""
        self.ask(alignment(self.view, way))

    def add_note(self, *, frame: bool = False) -> None:
        """Ask for a note where there is room, or for a frame around the selected blocks."""
        change = changes.note_around(self.view, self.walking.place(), frame=frame)
        self.ask(change)
        self.select((), {change.id})
        self.start_note(change.id)

    def bend_wire(self, at: QPointF | None = None) -> None:
        """Ask for a bend in the selected wire, at ``at``, where it was pressed, or half way."""
        wire, at = self.view.wire, at or self._hand.pressed
        if wire is None:
            self.hint(self.tr("Select the wire that shall have a bend."))
            return
        place = None if at is None else np.array(at.toTuple())
        change, bend = bent(self.view, wire, place)
        self.ask(change)
        self.select((), (), {bend})
        if self.view.focus is not None:
            self.walking.go(Focus(Kind.BEND, *bend))
        self.select_wire(None)

    def delete_selection(self) -> None:
        """Ask to remove what is selected, else what has the focus."""
        self.ask(changes.removal(self.view))

    def nudge(self, dx: float, dy: float) -> None:
        """Ask to move what is selected by scene units."""
        self.ask(changes.nudge(self.view, dx, dy))

    def resize_notes(self, dx: float, dy: float) -> None:
        """Ask to make the selected notes, or the one with the focus, larger by scene units."""
        self.ask(changes.resizing(self.view, dx, dy))

    def add(self, choice: Choice, at: Point) -> None:
        """Ask for a block with its top left at ``at``, put into the wire there, and select it."""
        name, change, _ = changes.dropping(self.view, choice, at)
        self.favourites.use(choice.kind)
        self.ask(change)
        self.select([name])

    def put(self, choice: Choice) -> None:
        """Ask for a block where there is room, beside the selected one, and bring it into view."""
        name, change = changes.placing(self.view, choice, self._vacancy(), None)
        self.favourites.use(choice.kind)
        self.ask(change)
        self.select([name])
        bounds = self.view.scene.bounds_of([name])
        if bounds is not None:
            self.see(bounds)

    def quick_add(self, at: QPointF | None = None, port: int | None = None) -> None:
        """Open the search box for a block at ``at``, and for the wire from ``port``.

        By keyboard the block makes room: at the end of a wire, in the selected wire, where the
        pointer has just been, or beside the selected block.
        """
        pointer, self._hand.pointer = self._hand.pointer, None
        if at is not None:
            self._adding.open(at, port)
        elif port is not None:
            self._adding.open_for_port(port)
        elif self.view.wire is not None:
            self._adding.open_for_wire(self.view.wire)
        else:
            self._adding.open_there(self._vacancy(pointer))

    def _vacancy(self, near: QPointF | None = None) -> Floats:
        """A corner (2,) for a new block in no other's way: near a widget point, or as put says."""
        corner = changes.beside(self.view) if near is None else None
        if corner is None:
            at = near or QRectF(self.rect()).center()
            corner = self.view.camera.to_scene(np.array(at.toTuple()))
        return changes.free_corner(self.view.scene, corner)

    def widget(self) -> QWidget:
        """What fields open on."""
        return self

    def trace(self, wire: str | None) -> None:
        """Show a wire from end to end once the pointer rests on it; None shows all again."""
        if wire == self._hovered:
            return
        self._hovered = wire
        self.hover(wire)
        if wire is None:
            self._hover_timer.stop()
            self._show_trace()
        elif self.view.traced is not None:
            self._show_trace()
        else:
            self._hover_timer.start()

    def toggle_trace(self) -> None:
        """Show the selected wire from end to end at once, or all again."""
        self._hover_timer.stop()
        self._hovered = None if self.view.traced else self.view.wire
        self._show_trace()

    def _show_trace(self) -> None:
        if self.view.traced != self._hovered:
            self.view.traced = self._hovered
            self.update()

    def show_menu(self, at: QPointF) -> None:
        """Ask for the menu of what is selected."""
        self.menuRequested.emit(at.toPoint())

    def show_sheet(self) -> None:
        """Ask for the sheet of all keys."""
        self.sheetRequested.emit()

    def rename(self) -> None:
        """Open the field of the one selected block or note, else of what has the focus."""
        for blocks, notes, _ in (self.view.picked, changes.focused(self.view)):
            if len(blocks) == 1:
                return self.start_rename(*blocks)
            if len(notes) == 1 and not blocks:
                return self.start_note(*notes)

    def inspect(self, name: str) -> None:
        """Select a block and ask for its fields."""
        self.select([name])
        self.inspectRequested.emit(name)

    def announce(self, focus: Focus) -> None:
        """Tell assistive technology where the focus is."""
        accessibility.announce(self, focus)

    def start_rename(self, name: str) -> None:
        """Open a field on the block's face to write its name."""
        self._writing.name(name)

    def start_note(self, name: str) -> None:
        """Open a field in place of a note to write its text."""
        self._writing.note(name)

    def enter_page(self, name: str) -> None:
        """Say that a page block was entered."""
        self.pageEntered.emit(name)

    def show_cursor(self, cursor: Qt.CursorShape) -> None:
        """Give the pointer another shape."""
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
        if self._hand.gesture is not None:
            self._hand.gesture.paint(painter)
        self._adding.paint(painter)
        self.walking.paint(painter)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._writing.close()
        self._hand.press(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hand.move(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._hand.release(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self._hand.double_click(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._hand.wheel(event)
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not self._keys.press(event):
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        self._keys.release(event)
        super().keyReleaseEvent(event)

    def hideEvent(self, event: QHideEvent) -> None:
        self._hand.cancel()
        super().hideEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._keys.let_go()
        super().focusOutEvent(event)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self._dropping.enter(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        self._dropping.move(event)

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._dropping.leave()

    def dropEvent(self, event: QDropEvent) -> None:
        self._dropping.drop(event)

    def leaveEvent(self, event: QEvent) -> None:
        self._hand.pointer = None
        self.trace(None)
        super().leaveEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            self.show_menu(QPointF(event.pos()))
