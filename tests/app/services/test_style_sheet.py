"""The style sheet of the application reaches all windows, and what they open."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QMessageBox, QWidget

from app.services.theme import THEMES

KINDS = {
    "Information": "accent", "Question": "accent", "Warning": "warning", "Critical": "error",
}  # fmt: skip


def strongest(image: QImage) -> QColor:
    """The colour of the most opaque pixel."""
    points = ((x, y) for x in range(image.width()) for y in range(image.height()))
    return max((image.pixelColor(*point) for point in points), key=QColor.alpha)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["light", "dark"])
def test_the_icon_of_a_message_has_the_colour_of_the_theme(window, kind, name):
    window.view.choose_theme(name)
    box = QMessageBox(window)
    box.setIcon(QMessageBox.Icon[kind])
    box.ensurePolished()
    box.show()
    image = box.iconPixmap().toImage().convertToFormat(QImage.Format.Format_ARGB32)
    assert strongest(image) == QColor(getattr(THEMES[name], KINDS[kind]))
    box.close()


def test_a_new_theme_dresses_each_widget_once(window, qtbot):
    """Polishing all widgets is what takes long: a window has no style sheet of its own."""
    window.show()
    qtbot.waitExposed(window)
    changes = Changes(window.canvas.window())
    window.view.choose_theme("dark")
    assert changes.count == 1
    assert not window.styleSheet()


class Changes(QObject):
    """Counts how often a widget gets another style."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.count = 0
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.StyleChange
        return False
