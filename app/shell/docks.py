"""The panels around the canvas, and their default places."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow, QWidget

from app.services.translation import editor

_Area = Qt.DockWidgetArea


class Place(NamedTuple):
    """The title of a panel, and its side of the window."""

    title: str
    area: Qt.DockWidgetArea


PLACES = {
    "palette": Place(editor.noop("Blocks"), _Area.LeftDockWidgetArea),
    "history": Place(editor.noop("History"), _Area.LeftDockWidgetArea),
    "inspector": Place(editor.noop("Inspector"), _Area.RightDockWidgetArea),
    "why": Place(editor.noop("Why"), _Area.RightDockWidgetArea),
    "variables": Place(editor.noop("Variables"), _Area.BottomDockWidgetArea),
    "problems": Place(editor.noop("Problems"), _Area.BottomDockWidgetArea),
    "doctor": Place(editor.noop("Doctor"), _Area.BottomDockWidgetArea),
    "matrix": Place(editor.noop("Losses"), _Area.BottomDockWidgetArea),
}
"""Panels by name, in the order of F6; those at the bottom are tabs."""
HIDDEN = ("history",)
"""Panels that stay out of the way of the canvas until they are wanted."""


class Docks(QObject):
    """The docks of one window, by name."""

    def __init__(self, frame: QMainWindow, panels: dict[str, QWidget]) -> None:
        super().__init__(frame)
        frame.setDockOptions(frame.DockOption.AllowTabbedDocks | frame.DockOption.AnimatedDocks)
        frame.setCorner(Qt.Corner.BottomLeftCorner, _Area.LeftDockWidgetArea)
        frame.setCorner(Qt.Corner.BottomRightCorner, _Area.RightDockWidgetArea)
        self.by_name = {name: _dock(frame, name, panels[name]) for name in PLACES}
        self._arrange(frame)

    def bring_up(self, name: str) -> None:
        """Show a panel, in front of the other tabs."""
        self.by_name[name].show()
        self.by_name[name].raise_()

    def show_count(self, name: str, count: int) -> None:
        """Show the number of items in the title of a panel, unless it is 0."""
        title = editor.tr(PLACES[name].title)
        self.by_name[name].setWindowTitle(f"{title} ({count})" if count else title)

    def _arrange(self, frame: QMainWindow) -> None:
        made = self.by_name
        for name in HIDDEN:
            made[name].hide()
        frame.tabifyDockWidget(made["variables"], made["problems"])
        frame.tabifyDockWidget(made["problems"], made["doctor"])
        frame.tabifyDockWidget(made["doctor"], made["matrix"])
        made["variables"].raise_()
        frame.resize(1280, 820)
        horizontal, vertical = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
        frame.resizeDocks([made["palette"], made["inspector"]], [220, 300], horizontal)
        frame.resizeDocks([made["inspector"], made["why"]], [330, 430], vertical)
        frame.resizeDocks([made["variables"]], [180], vertical)


def _dock(frame: QMainWindow, name: str, panel: QWidget) -> QDockWidget:
    dock = QDockWidget(editor.tr(PLACES[name].title), frame)
    dock.setObjectName(name)
    dock.setFeatures(
        dock.DockWidgetFeature.DockWidgetMovable | dock.DockWidgetFeature.DockWidgetClosable
    )
    dock.setWidget(panel)
    frame.addDockWidget(PLACES[name].area, dock)
    return dock
