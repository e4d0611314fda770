"""Numbers that follow a hand: steady, and without anything laid out again."""

import pytest
from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QWidget

from gradwire.app.panels.labels import ReadoutLabel


class Layouts(QObject):
    """Counts how often a widget is laid out."""

    count = 0

    def eventFilter(self, watched, event):
        self.count += event.type() == QEvent.Type.LayoutRequest
        return False


def needed(readout):
    """The size of a plain label with the same text and font."""
    label = QLabel(readout.text())
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setFont(readout.font())
    return label.sizeHint()


@pytest.fixture
def row(qtbot):
    """A row of a readout and a label behind it."""
    row = QWidget()
    qtbot.addWidget(row)
    row.readout, row.last = ReadoutLabel(row), QLabel("last", row)
    layout = QHBoxLayout(row)
    layout.addWidget(row.readout)
    layout.addWidget(row.last)
    layout.addStretch(1)
    row.layouts = Layouts()
    row.installEventFilter(row.layouts)
    row.readout.setText("loss 0.6931")
    row.show()
    qtbot.waitExposed(row)
    QApplication.processEvents()
    row.layouts.count = 0
    return row


def test_another_number_moves_and_lays_out_nothing(row):
    before = row.last.pos()
    for text in ("loss 0.111", "loss 0.7", "loss 0.6931"):
        row.readout.setText(text)
        QApplication.processEvents()
        assert row.readout.text() == text
    assert row.last.pos() == before
    assert row.layouts.count == 0


@pytest.mark.parametrize("text", ["loss 0.6931   another loss 12.5", "loss 0.6931 " * 20])
def test_a_longer_text_is_shown_whole(row, text):
    row.readout.setText(text)
    QApplication.processEvents()
    assert row.readout.width() == needed(row.readout).width()
    assert row.layouts.count == 1


def test_a_much_shorter_text_gives_room_back(row):
    row.readout.setText("a loss with a very long name 0.6931   and another 12.5")
    row.readout.setText("loss 1")
    QApplication.processEvents()
    assert row.readout.width() == needed(row.readout).width()


def test_a_larger_font_makes_room(row):
    before = row.readout.size()
    font = row.readout.font()
    font.setPixelSize(2 * row.readout.fontInfo().pixelSize())
    row.readout.setFont(font)
    QApplication.processEvents()
    size = row.readout.size()
    assert size == needed(row.readout)
    assert size.width() > before.width() and size.height() > before.height()


def test_text_is_not_read_as_html(row):
    row.readout.setText("<b>loss</b>")
    assert row.readout.textFormat() == Qt.TextFormat.PlainText
    assert row.readout.width() == needed(row.readout).width()
