"""The dock in which one learns: a prediction, or a lesson."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QStackedWidget, QWidget

if TYPE_CHECKING:
    from collections.abc import Iterable


class Learn(QStackedWidget):
    """Shows one of several panels."""

    def __init__(self, panels: Iterable[QWidget], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        for panel in panels:
            self.addWidget(panel)
