"""The menus that change while the editor runs: panels, examples, recent files, windows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from app.services.examples import examples

if TYPE_CHECKING:
    from PySide6.QtGui import QAction
    from PySide6.QtWidgets import QMenu

    from app.shell.main_window import MainWindow


class Menus(QObject):
    """Fills the submenus of one window; ``by_name`` holds every menu."""

    def __init__(self, window: MainWindow, by_name: Mapping[str, QMenu]) -> None:
        super().__init__(window)
        self.by_name = by_name
        self._window = window
        for dock in window.docks.values():
            by_name["panels"].addAction(dock.toggleViewAction())
        for example in examples():
            action = by_name["examples"].addAction(example.title)
            action.setStatusTip(example.description.partition("\n")[0])
            action.setData(example.path)
        by_name["examples"].triggered.connect(self._open_example)
        by_name["recent"].triggered.connect(self._open_recent)
        by_name["losses"].triggered.connect(self._choose_loss)
        by_name["losses"].aboutToShow.connect(self._fill_losses)
        by_name["windows"].triggered.connect(self._show_window)
        by_name["recent"].aboutToShow.connect(self._fill_recent)
        by_name["windows"].aboutToShow.connect(self._fill_windows)

    def _fill_recent(self) -> None:
        menu = self.by_name["recent"]
        menu.clear()
        for path in self._window.settings.remembered:
            action = menu.addAction(path.name)
            action.setStatusTip(str(path))
            action.setData(path)
            if not path.exists():
                action.setText(self.tr("{0} (missing)").format(path.name))
                action.setEnabled(False)
        if menu.isEmpty():
            menu.addAction(self.tr("No files yet")).setEnabled(False)

    def _fill_windows(self) -> None:
        menu = self.by_name["windows"]
        menu.clear()
        for number, window in enumerate(self._window.windows.listed):
            mark = "*" if window.isWindowModified() else ""
            action = menu.addAction(window.files.title() + mark)
            action.setCheckable(True)
            action.setChecked(window is self._window)
            action.setStatusTip(str(window.document.path or ""))
            action.setData(number)

    def _fill_losses(self) -> None:
        menu, losses = self.by_name["losses"], self._window.losses
        menu.clear()
        for name, loss in losses.choices():
            action = menu.addAction(name)
            action.setCheckable(True)
            action.setChecked(loss == losses.switch.currentData())
            action.setData(loss)

    def _choose_loss(self, action: QAction) -> None:
        self._window.losses.choose(action.data())

    def _open_example(self, action: QAction) -> None:
        self._window.files.open_example(Path(action.data()))

    def _open_recent(self, action: QAction) -> None:
        self._window.files.open_path(Path(action.data()))

    def _show_window(self, action: QAction) -> None:
        self._window.windows.listed[action.data()].come_forward()
