"""The canvas for assistive technology: a child for each block, port, wire, bend and note.

The tree mirrors the diagram; items are made on demand. An item lives as long as its canvas, since
Qt keeps pointers to it, and becomes invalid when what it stands for is removed.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, QPoint, QPointF, QRect
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QAccessibleEvent,
    QAccessibleInterface,
    QWindow,
)
from PySide6.QtWidgets import QAccessibleWidget

from gradwire.app.canvas.paint.drawing import box_between
from gradwire.app.canvas.scene.focus import (
    Focus,
    FocusKind,
    exists,
    focus_bounds,
    number_of,
    port_focus,
)
from gradwire.app.canvas.scene.geometry import Bend
from gradwire.app.canvas.state.tooltips import describe
from gradwire.app.canvas.widget import CanvasWidget
from gradwire.app.services.translation import editor

if TYPE_CHECKING:
    from gradwire.app.canvas.state.view_state import ViewState

_PLACES = {
    FocusKind.BLOCK: 0,
    FocusKind.INPUT: 1,
    FocusKind.OUTPUT: 1,
    FocusKind.WIRE: 2,
    FocusKind.BEND: 3,
    FocusKind.NOTE: 4,
}
"""How many kinds of items come before those of each."""
_ROLES = {
    FocusKind.BLOCK: QAccessible.Role.ListItem,
    FocusKind.INPUT: QAccessible.Role.Indicator,
    FocusKind.OUTPUT: QAccessible.Role.Indicator,
    FocusKind.WIRE: QAccessible.Role.Link,
    FocusKind.BEND: QAccessible.Role.Grip,
    FocusKind.NOTE: QAccessible.Role.StaticText,
}


class Item(QAccessibleInterface):
    """One block, port, wire or note."""

    def __init__(self, page: CanvasTree, focus: Focus) -> None:
        super().__init__()
        self._page = page
        self.focus = focus

    def isValid(self) -> bool:
        return exists(self._page.view.scene, self.focus)

    def object(self) -> QObject | None:  # type: ignore[override]  # none stands behind an item
        return None

    def window(self) -> QWindow | None:  # type: ignore[override]  # Qt allows none; its stubs do not
        return self._page.window()

    def parent(self) -> QAccessibleInterface:
        return self._page

    def child(self, index: int) -> QAccessibleInterface | None:  # type: ignore[override]  # Qt allows none; its stubs do not
        return None

    def childCount(self) -> int:
        return 0

    def childAt(self, x: int, y: int) -> QAccessibleInterface | None:  # type: ignore[override]  # Qt allows none; its stubs do not
        return None

    def indexOfChild(self, child: QAccessibleInterface) -> int:
        return -1

    def text(self, t: QAccessible.Text) -> str:
        if t != QAccessible.Text.Name or not self.isValid():
            return ""
        view = self._page.view
        return describe(view.annotations, self.focus, computing=view.computing)

    def setText(self, t: QAccessible.Text, text: str) -> None:
        """Names are read only."""

    def role(self) -> QAccessible.Role:
        return _ROLES[self.focus.kind]

    def rect(self) -> QRect:
        return self._page.place(self.focus) if self.isValid() else QRect()

    def state(self) -> QAccessible.State:
        view, state = self._page.view, QAccessible.State()
        if not self.isValid():
            state.invalid = True
            return state
        state.focusable = state.selectable = True
        state.focused = view.focus == self.focus
        kind, name = self.focus.kind, self.focus.name
        chosen = {
            FocusKind.BLOCK: view.selection.blocks,
            FocusKind.NOTE: view.selection.notes,
            FocusKind.WIRE: {view.selection.wire},
        }
        is_bend = kind is FocusKind.BEND
        state.movable = is_bend
        if is_bend:
            state.selected = Bend(name, self.focus.number) in view.selection.bends
        else:
            state.selected = name in chosen.get(kind, ())
        return state


class CanvasTree(QAccessibleWidget):
    """The canvas itself: blocks, then ports, wires, bends, notes, each in the order of the page."""

    def __init__(self, canvas: CanvasWidget) -> None:
        super().__init__(canvas, QAccessible.Role.Canvas)
        self._canvas = canvas
        self._items: dict[Focus, Item] = {}

    @property
    def view(self) -> ViewState:
        """What the canvas shows."""
        return self._canvas.context.view

    def item(self, focus: Focus) -> Item:
        """The item for a block, port, wire, bend or note."""
        if focus not in self._items:
            self._items[focus] = Item(self, focus)
        return self._items[focus]

    def childCount(self) -> int:
        return sum(self._counts())

    def child(self, index: int) -> QAccessibleInterface | None:  # type: ignore[override]  # Qt allows none; its stubs do not
        scene = self.view.scene
        blocks, ports, wires, bends, notes = self._counts()
        if not 0 <= index < blocks + ports + wires + bends + notes:
            return None
        if index < blocks:
            return self.item(Focus(FocusKind.BLOCK, scene.names[index]))
        index -= blocks
        if index < ports:
            return self.item(port_focus(scene, index))
        index -= ports
        if index < wires:
            return self.item(Focus(FocusKind.WIRE, scene.wire_keys[index]))
        index -= wires
        if index < bends:
            return self.item(Focus(FocusKind.BEND, *scene.bend_name(index)))
        return self.item(Focus(FocusKind.NOTE, list(scene.page.notes)[index - bends]))

    def indexOfChild(self, child: QAccessibleInterface) -> int:
        if not isinstance(child, Item) or not child.isValid():
            return -1
        place = _PLACES[child.focus.kind]
        return sum(self._counts()[:place]) + (number_of(self.view.scene, child.focus) or 0)

    def childAt(self, x: int, y: int) -> QAccessibleInterface | None:  # type: ignore[override]  # Qt allows none; its stubs do not
        scene, places = self.view.scene, self._canvas.context.places
        at = QPointF(self._canvas.mapFromGlobal(QPoint(x, y)))
        if (port := places.port_at(at)) is not None:
            return self.item(port_focus(scene, port))
        if (block := places.block_at(at)) is not None:
            return self.item(Focus(FocusKind.BLOCK, scene.names[block]))
        if (bend := places.bend_at(at)) is not None:
            return self.item(Focus(FocusKind.BEND, *scene.bend_name(bend)))
        if (wire := places.wire_at(at)) is not None:
            return self.item(Focus(FocusKind.WIRE, scene.wire_keys[wire]))
        note = places.note_at(at)
        return None if note is None else self.item(Focus(FocusKind.NOTE, note))

    def focusChild(self) -> QAccessibleInterface | None:  # type: ignore[override]  # Qt allows none; its stubs do not
        focus = self.view.focus
        return None if focus is None or not self._canvas.hasFocus() else self.item(focus)

    def text(self, t: QAccessible.Text) -> str:
        if t != QAccessible.Text.Description:
            return str(super().text(t))
        blocks, _, wires, _, _ = self._counts()
        return editor.tr("{0} blocks, {1} wires").format(blocks, wires)

    def place(self, focus: Focus) -> QRect:
        """The place of an item on the screen."""
        corners = self.view.camera.to_widget(focus_bounds(self.view.scene, focus).reshape(2, 2))
        box = box_between(*np.round(corners).ravel().tolist()).toRect()
        return QRect(self._canvas.mapToGlobal(box.topLeft()), box.size())

    def _counts(self) -> tuple[int, int, int, int, int]:
        scene = self.view.scene
        return (
            len(scene.names), len(scene.port_block), len(scene.wire_keys), len(scene.bends),
            len(scene.page.notes),
        )  # fmt: skip


_trees: dict[int, CanvasTree] = {}
"""By identity of the canvas: Python must keep what Qt points to."""


@cache
def install() -> None:
    """Install the factory of accessible canvases, once."""
    QAccessible.installFactory(_make)


def announce(canvas: CanvasWidget, focus: Focus) -> None:
    """Announce that ``focus`` has the keyboard, if assistive technology is active."""
    if QAccessible.isActive():
        tree = QAccessible.queryAccessibleInterface(canvas)
        if isinstance(tree, CanvasTree):
            QAccessible.updateAccessibility(
                QAccessibleEvent(tree.item(focus), QAccessible.Event.Focus)
            )


def speak(canvas: CanvasWidget, text: str) -> None:
    """Announce a text, if assistive technology is active."""
    if QAccessible.isActive():
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(canvas, text))


def _make(key: str, target: QObject | None) -> QAccessibleInterface | None:
    if not isinstance(target, CanvasWidget):
        return None
    known = id(target)
    _trees[known] = CanvasTree(target)
    target.destroyed.connect(lambda: _trees.pop(known, None))
    return _trees[known]
