"""Focusing, resizing and moving panels by keyboard."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QDockWidget, QWidget

from gradwire.app.panels.workspace import WindowPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gradwire.app.panels.focus_ring import FocusRing
    from gradwire.app.panels.workspace import Workspace

STEP = 30
"""Change of a panel's size per key press, px."""
_Area = Qt.DockWidgetArea
_BY_KEY = Qt.FocusReason.ShortcutFocusReason
_SIDES = (_Area.LeftDockWidgetArea, _Area.BottomDockWidgetArea, _Area.RightDockWidgetArea)


class PanelCommands(WindowPart):
    """The panel commands of one window; they act on the panel with the keyboard focus."""

    def __init__(
        self,
        workspace: Workspace,
        docks: Mapping[str, QDockWidget],
        others: Iterable[QWidget],
        ring: FocusRing,
    ) -> None:
        super().__init__(workspace)
        self._docks = docks
        self._others = tuple(others)
        self._ring = ring
        self._frame.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Return to the canvas on an Esc that no field of a panel handles."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            if event.key() == Qt.Key.Key_Escape and self._stop_in_use() is not None:
                self._canvas.setFocus()
                return True
        return super().eventFilter(watched, event)

    def next_panel(self) -> None:
        """Move the keyboard focus to the next visible panel or edge, or back to the canvas."""
        self._go(1)

    def previous_panel(self) -> None:
        """Move the keyboard focus to the previous panel or edge, or back to the canvas."""
        self._go(-1)

    def show_panel(self, name: str) -> None:
        """Show a panel in front of the others, with the keyboard focus."""
        dock = self._docks[name]
        dock.show()
        dock.raise_()
        # Its widgets are visible, and so accept the focus, only after the dock was laid out.
        QTimer.singleShot(0, dock, lambda: _first(dock).setFocus(_BY_KEY))

    def larger_panel(self) -> None:
        """Enlarge the panel."""
        self._resize(STEP)

    def smaller_panel(self) -> None:
        """Shrink the panel."""
        self._resize(-STEP)

    def move_panel(self) -> None:
        """Move the panel to the next side: left, bottom, right."""
        dock = self._dock()
        if dock is None:
            return
        area = self._frame.dockWidgetArea(dock)
        following = dict(pairwise((*_SIDES, _SIDES[0])))
        focus = QApplication.focusWidget()
        self._frame.addDockWidget(following.get(area, _SIDES[0]), dock)
        dock.raise_()
        if focus is not None:
            focus.setFocus()

    def _go(self, by: int) -> None:
        stops: list[QWidget | None] = [None]
        stops += [stop for stop in self._stops() if not stop.visibleRegion().isEmpty()]
        here = self._stop_in_use()
        place = stops.index(here) if here in stops else 0
        target = stops[(place + by) % len(stops)]
        found = self._canvas if target is None else _first(target)
        found.setFocus(_BY_KEY)
        self._ring.show_focus()

    def _resize(self, by: int) -> None:
        dock = self._dock()
        if dock is None:
            return
        below = self._frame.dockWidgetArea(dock) in (
            _Area.BottomDockWidgetArea,
            _Area.TopDockWidgetArea,
        )
        size = dock.height() if below else dock.width()
        way = Qt.Orientation.Vertical if below else Qt.Orientation.Horizontal
        self._frame.resizeDocks([dock], [size + by], way)

    def _stops(self) -> list[QWidget]:
        """What F6 goes to: the docks, the card, and the edges with panels that are put away."""
        return [*self._docks.values(), *self._others]

    def _stop_in_use(self) -> QWidget | None:
        """The dock or edge of this window that has the keyboard focus."""
        at, stops = QApplication.focusWidget(), self._stops()
        while at is not None and at not in stops:
            at = at.parentWidget()
        return at

    def _dock(self) -> QDockWidget | None:
        dock = self._stop_in_use()
        if isinstance(dock, QDockWidget):
            return dock
        self._canvas.hint(self.tr("First go to a panel: View > Panels > Next Panel."))
        return None


def _first(stop: QWidget) -> QWidget:
    """The first widget of a panel, or the first button of an edge, that accepts the focus."""
    if not isinstance(stop, QDockWidget):
        buttons = stop.findChildren(QAbstractButton)
        return next((b for b in buttons if b.isVisible() and b.isEnabled()), stop)
    panel = stop.widget()
    at: QWidget | None = panel
    while at is not None and (at is panel or panel.isAncestorOf(at)):
        if at.isVisible() and at.isEnabled() and at.focusPolicy() & Qt.FocusPolicy.TabFocus:
            return at
        at = at.nextInFocusChain()
    return panel
