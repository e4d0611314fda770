"""The style sheet of the application reaches all windows, and what they open."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QLineEdit,
    QMessageBox,
    QPushButton,
    QRadioButton,
    QSlider,
    QSpinBox,
    QWidget,
)

from gradwire.app.services.colours import contrast
from gradwire.app.services.theme import THEMES

KINDS = {
    "Information": "accent", "Question": "accent", "Warning": "warning", "Critical": "error",
}  # fmt: skip


def strongest(image: QImage) -> QColor:
    """The colour of the most opaque pixel."""
    points = ((x, y) for x in range(image.width()) for y in range(image.height()))
    return max((image.pixelColor(*point) for point in points), key=QColor.alpha)


@pytest.mark.sampled(one_in=7)
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


@pytest.mark.sampled(one_in=11)
@pytest.mark.parametrize("is_on", [False, True])
@pytest.mark.parametrize("kind", [QCheckBox, QRadioButton])
@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_what_can_be_ticked_or_chosen_can_be_seen(window, theme, kind, is_on):
    window.view.choose_theme(theme.name)
    button = kind(window.centralWidget())
    button.setAutoExclusive(False)
    button.setChecked(is_on)
    button.show()
    assert max(contrast(colour, theme.surface) for colour in colours(button)) >= 3.0
    button.setChecked(not is_on)
    other = colours(button)
    button.setChecked(is_on)
    assert colours(button) != other


@pytest.mark.sampled(one_in=17)
@pytest.mark.parametrize(
    "kind", [QCheckBox, QComboBox, QLineEdit, QPushButton, QRadioButton, QSlider, QSpinBox]
)
@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_what_has_the_focus_or_is_off_looks_different(window, qtbot, theme, kind):
    window.view.choose_theme(theme.name)
    window.show()
    widget = kind(window.centralWidget())
    if isinstance(widget, QSlider):
        widget.setOrientation(Qt.Orientation.Horizontal)
    widget.show()
    for is_on in (False, True) if isinstance(widget, QCheckBox | QRadioButton) else (False,):
        if is_on:
            widget.setChecked(True)
        widget.clearFocus()
        plain = widget.grab().toImage()
        widget.setFocus(Qt.FocusReason.TabFocusReason)
        qtbot.waitUntil(widget.hasFocus)
        assert QColor(theme.ink if is_on and kind is QCheckBox else theme.accent) in inks(widget)
        assert widget.grab().toImage() != plain
        widget.setEnabled(False)
        assert widget.grab().toImage() != plain
        widget.setEnabled(True)


def inks(widget: QWidget) -> list[QColor]:
    """The colours of a widget's pixels."""
    image = widget.grab().toImage()
    return [image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())]


def colours(widget: QWidget) -> set[str]:
    """The names of a widget's colours."""
    return {colour.name() for colour in inks(widget)}


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
