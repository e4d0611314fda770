"""The style sheet of a window reaches what the window opens."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QMessageBox

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
