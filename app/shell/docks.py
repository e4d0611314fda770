"""The panels around the canvas: where each stands until the user moves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QAbstractButton, QDockWidget, QWidget

from app.services.examples import ASSETS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.services.theme import Theme
    from app.shell.main_window import MainWindow

_Area = Qt.DockWidgetArea


def docks(window: MainWindow) -> dict[str, QDockWidget]:
    """Put the window's panels around the canvas; the docks by name."""
    window.setDockOptions(window.DockOption.AllowTabbedDocks | window.DockOption.AnimatedDocks)
    window.setCorner(Qt.Corner.BottomLeftCorner, _Area.LeftDockWidgetArea)
    window.setCorner(Qt.Corner.BottomRightCorner, _Area.RightDockWidgetArea)
    left, right = _Area.LeftDockWidgetArea, _Area.RightDockWidgetArea
    bottom = _Area.BottomDockWidgetArea
    made = {
        name: _add(window, name, title, panel, area)
        for name, title, panel, area in (
            ("palette", window.tr("Blocks"), window.palette_panel, left),
            ("inspector", window.tr("Inspector"), window.inspector, right),
            ("why", window.tr("Why"), window.why, right),
            ("variables", window.tr("Variables"), window.variables, bottom),
            ("problems", window.tr("Problems"), window.problems, bottom),
            ("doctor", window.tr("Doctor"), window.doctor.panel, bottom),
            ("matrix", window.tr("Losses"), window.loss_comparison.panel, bottom),
        )
    }
    window.tabifyDockWidget(made["variables"], made["problems"])
    window.tabifyDockWidget(made["problems"], made["doctor"])
    window.tabifyDockWidget(made["doctor"], made["matrix"])
    made["doctor"].visibilityChanged.connect(window.doctor.see)
    made["matrix"].visibilityChanged.connect(window.loss_comparison.see)
    made["variables"].raise_()
    window.resize(1280, 820)
    horizontal, vertical = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
    window.resizeDocks([made["palette"], made["inspector"]], [220, 300], horizontal)
    window.resizeDocks([made["inspector"], made["why"]], [330, 430], vertical)
    window.resizeDocks([made["variables"]], [180], vertical)
    return made


def dress(docks: Iterable[QDockWidget], theme: Theme) -> None:
    """Give the close buttons a cross that can be seen on the theme's ground."""
    ground = "dark" if theme.dark else "light"
    cross = QIcon(str(ASSETS / "icons" / f"close_{ground}.svg"))
    for dock in docks:
        button = dock.findChild(QAbstractButton, "qt_dockwidget_closebutton")
        if button is not None:
            button.setIcon(cross)


def _add(
    window: MainWindow, name: str, title: str, panel: QWidget, area: Qt.DockWidgetArea
) -> QDockWidget:
    dock = QDockWidget(title, window)
    dock.setObjectName(name)
    dock.setFeatures(
        dock.DockWidgetFeature.DockWidgetMovable | dock.DockWidgetFeature.DockWidgetClosable
    )
    dock.setWidget(panel)
    window.addDockWidget(area, dock)
    return dock
