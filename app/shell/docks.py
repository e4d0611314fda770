"""The panels around the canvas: their places, and the edges that they are put away to."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QByteArray, QObject, Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow, QToolBar, QWidget
from shiboken6 import isValid

from gradwire.app.panels.bars.edge import EdgeBar
from gradwire.app.services import theme
from gradwire.app.services.translation import editor

_Area = Qt.DockWidgetArea
_SIDE, _BELOW, _UPPER = {"palette": 200, "inspector": 290}, 180, 330
"""Widths, height below, and height of the inspector, at the normal text size, px."""


class PanelPlace(NamedTuple):
    """The title of a panel, and its side of the window."""

    title: str
    area: Qt.DockWidgetArea


PLACES = {
    "palette": PanelPlace(editor.noop("Blocks"), _Area.LeftDockWidgetArea),
    "inspector": PanelPlace(editor.noop("Inspector"), _Area.RightDockWidgetArea),
    "history": PanelPlace(editor.noop("History"), _Area.RightDockWidgetArea),
    "why": PanelPlace(editor.noop("Why"), _Area.RightDockWidgetArea),
    "derivative": PanelPlace(editor.noop("Derivative"), _Area.RightDockWidgetArea),
    "learn": PanelPlace(editor.noop("Learn"), _Area.RightDockWidgetArea),
    "variables": PanelPlace(editor.noop("Variables"), _Area.BottomDockWidgetArea),
    "problems": PanelPlace(editor.noop("Problems"), _Area.BottomDockWidgetArea),
    "doctor": PanelPlace(editor.noop("Doctor"), _Area.BottomDockWidgetArea),
    "matrix": PanelPlace(editor.noop("Losses"), _Area.BottomDockWidgetArea),
    "curves": PanelPlace(editor.noop("Curves"), _Area.BottomDockWidgetArea),
}
"""Panels by name, in the order of F6; those at the bottom are tabs."""
OPEN_AT_FIRST = ("palette",)
"""The panels that are not put away in a new window, so that the canvas has most of it."""


class Docks(QObject):
    """The docks of one window, by name. A hidden panel has a button at the edge it is put away to.

    The edge below the canvas is part of the status bar.
    """

    def __init__(self, frame: QMainWindow, panels: dict[str, QWidget]) -> None:
        super().__init__(frame)
        self._frame = frame
        self._kept = QByteArray()
        self._concealed: QByteArray | None = None
        self._given_back: set[str] = set()
        """What is to be shown when panels are no longer concealed."""
        self._scale = theme.scale()
        frame.setDockOptions(frame.DockOption.AllowTabbedDocks | frame.DockOption.AnimatedDocks)
        frame.setCorner(Qt.Corner.BottomLeftCorner, _Area.LeftDockWidgetArea)
        frame.setCorner(Qt.Corner.BottomRightCorner, _Area.RightDockWidgetArea)
        self.by_name = {name: _dock(frame, name, panels[name]) for name in PLACES}
        self.edges = {
            _Area.LeftDockWidgetArea: EdgeBar("left_edge", self.tr("Panels on the left"), frame),
            _Area.RightDockWidgetArea: EdgeBar("right_edge", self.tr("Panels on the right"), frame),
            _Area.BottomDockWidgetArea: EdgeBar("lower_edge", self.tr("Panels below"), frame),
        }
        self._arrange()
        frame.addToolBar(Qt.ToolBarArea.LeftToolBarArea, self.edges[_Area.LeftDockWidgetArea])
        frame.addToolBar(Qt.ToolBarArea.RightToolBarArea, self.edges[_Area.RightDockWidgetArea])
        below = self.edges[_Area.BottomDockWidgetArea]
        frame.statusBar().insertPermanentWidget(0, below)
        for edge in self.edges.values():
            edge.panelRequested.connect(self.bring_up)
        for dock in self.by_name.values():
            dock.toggleViewAction().toggled.connect(self._show_edges)
            dock.windowTitleChanged.connect(self._show_edges)
            dock.dockLocationChanged.connect(self._show_edges)
        self._show_edges()

    @property
    def arrangement(self) -> tuple[QByteArray, QByteArray]:
        """The state of all docks, and the one before they were put away together."""
        return self._frame.saveState(), self._kept

    def restore(self, state: QByteArray, kept: QByteArray) -> None:
        """Restore an arrangement; tool bars stay as they are."""
        self._kept = kept
        bars = {bar: bar.isHidden() for bar in self._frame.findChildren(QToolBar)}
        self._frame.restoreState(state)
        for bar, hidden in bars.items():
            bar.setHidden(hidden)
        self._show_edges()

    def bring_up(self, name: str) -> None:
        """Show a panel, in front of the other tabs."""
        self.by_name[name].show()
        self.by_name[name].raise_()

    def raise_if_open(self, name: str) -> None:
        """Bring a panel in front of the other tabs, unless it is put away."""
        if not self.by_name[name].isHidden():
            self.by_name[name].raise_()

    def toggle(self) -> None:
        """Put all panels away to the edges, or restore them as they were."""
        if self._concealed is not None:
            return
        shown = [dock for dock in self.by_name.values() if not dock.isHidden()]
        if shown:
            self._kept = self._frame.saveState()
            for dock in shown:
                dock.hide()
        elif self._kept:
            self.restore(self._kept, self._kept)
        else:
            for dock in self.by_name.values():
                dock.show()

    def conceal(self) -> None:
        """Hide all panels and edges until :meth:`reveal`."""
        self._concealed = self._frame.saveState()
        for dock in self.by_name.values():
            dock.hide()

    def reveal(self) -> None:
        """Restore what was concealed."""
        if self._concealed is not None:
            self.restore(self._concealed, self._kept)
            for name in self._given_back:
                self.by_name[name].show()
            self._given_back.clear()
            self._concealed = None
            self._show_edges()

    @property
    def are_concealed(self) -> bool:
        """Whether all panels are hidden until :meth:`reveal`."""
        return self._concealed is not None

    def give_back(self, name: str) -> None:
        """Show a panel where it was, as soon as panels are no longer concealed."""
        if self.are_concealed:
            self._given_back.add(name)
        else:
            self.by_name[name].show()

    def is_alone_aside(self, name: str) -> bool:
        """Whether a panel is on the left or the right, and no other open one on its side."""
        dock = self.by_name[name]
        area = self._frame.dockWidgetArea(dock)
        others = [each for each in self.by_name.values() if each is not dock]
        return self._is_aside(dock) and all(
            each.isHidden() or self._frame.dockWidgetArea(each) != area for each in others
        )

    def show_count(self, name: str, count: int) -> None:
        """Show the number of items in the title of a panel, unless it is 0."""
        title = editor.tr(PLACES[name].title)
        self.by_name[name].setWindowTitle(f"{title} ({count})" if count else title)

    def follow_text(self) -> None:
        """Scale the panels by the size of the text."""
        factor, self._scale = theme.scale() / self._scale, theme.scale()
        if factor == 1.0:
            return
        shown = [dock for dock in self.by_name.values() if dock.isVisible()]
        for way in (Qt.Orientation.Horizontal, Qt.Orientation.Vertical):
            across = way == Qt.Orientation.Horizontal
            docks = [dock for dock in shown if self._is_aside(dock) == across]
            sizes = [round(factor * (d.width() if across else d.height())) for d in docks]
            self._frame.resizeDocks(docks, sizes, way)

    def _is_aside(self, dock: QDockWidget) -> bool:
        """Whether a panel is on the left or the right."""
        return self._frame.dockWidgetArea(dock) != _Area.BottomDockWidgetArea

    def _show_edges(self) -> None:
        """Show a button for every hidden panel at the edge of its side."""
        if not isValid(self._frame):
            return  # docks say that they hide while Qt deletes the window, as without X server
        hidden = [name for name, dock in self.by_name.items() if dock.isHidden()]
        for area, edge in self.edges.items():
            docks = {name: self.by_name[name] for name in hidden if self._concealed is None}
            edge.show_panels(
                {
                    name: dock.windowTitle()
                    for name, dock in docks.items()
                    if self._frame.dockWidgetArea(dock) == area
                }
            )

    def _arrange(self) -> None:
        frame, made = self._frame, self.by_name
        frame.tabifyDockWidget(made["variables"], made["problems"])
        frame.tabifyDockWidget(made["problems"], made["doctor"])
        frame.tabifyDockWidget(made["doctor"], made["matrix"])
        frame.tabifyDockWidget(made["matrix"], made["curves"])
        made["variables"].raise_()
        frame.resize(1280, 820)
        horizontal, vertical = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
        frame.resizeDocks(
            [made[name] for name in _SIDE],
            [theme.scaled(width) for width in _SIDE.values()],
            horizontal,
        )
        frame.resizeDocks([made["inspector"], made["why"]], [theme.scaled(_UPPER), 430], vertical)
        frame.resizeDocks([made["variables"]], [theme.scaled(_BELOW)], vertical)
        for name, dock in made.items():
            dock.setVisible(name in OPEN_AT_FIRST)


def _dock(frame: QMainWindow, name: str, panel: QWidget) -> QDockWidget:
    dock = QDockWidget(editor.tr(PLACES[name].title), frame)
    dock.setObjectName(name)
    dock.setFeatures(
        dock.DockWidgetFeature.DockWidgetMovable | dock.DockWidgetFeature.DockWidgetClosable
    )
    dock.setWidget(panel)
    frame.addDockWidget(PLACES[name].area, dock)
    return dock
