from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor

from gradwire.app.canvas.paint.blocks.badges import HEIGHT, badge_width, draw_badges
from gradwire.app.canvas.state.badge_labels import BadgeLabel
from gradwire.app.services.theme import LIGHT
from tests.app.canvas.paint.recording import recorder

LABELS = (BadgeLabel("not trained", serious=True), BadgeLabel("≈"))


def drawn(monkeypatch):
    painter = recorder(monkeypatch)
    draw_badges(painter, LABELS, QPointF(10.0, 100.0), LIGHT)
    return painter


def test_they_stand_in_a_row_on_the_line_they_start_from(qapp, monkeypatch):
    boxes = [each.arguments[0] for each in drawn(monkeypatch).drawn("drawRoundedRect")]
    first, second = boxes
    assert (first.left(), first.width()) == (10.0, badge_width(LABELS[0]))
    assert (second.left(), second.width()) == (first.right() + 4.0, badge_width(LABELS[1]))
    assert {(box.center().y(), box.height()) for box in boxes} == {(100.0, HEIGHT)}


def test_they_are_round_at_the_ends_on_the_ground_of_the_canvas(qapp, monkeypatch):
    serious, calm = drawn(monkeypatch).drawn("drawRoundedRect")
    assert serious.arguments[1:] == calm.arguments[1:] == (HEIGHT / 2, HEIGHT / 2)
    assert serious.brush.color() == calm.brush.color() == QColor(LIGHT.canvas)
    assert serious.pen.color() == QColor(LIGHT.warning)
    assert calm.pen.color() == QColor(LIGHT.ink_soft)
    assert serious.pen.widthF() == calm.pen.widthF() == 1.0


def test_their_text_is_bold_and_in_the_middle(qapp, monkeypatch):
    painter = drawn(monkeypatch)
    boxes = [each.arguments[0] for each in painter.drawn("drawRoundedRect")]
    texts = painter.drawn("drawText")
    assert [each.arguments[2] for each in texts] == ["not trained", "≈"]
    assert [each.arguments[0] for each in texts] == boxes
    flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextDontClip
    assert {each.arguments[1] for each in texts} == {int(flags)}
    assert all(each.font.bold() for each in texts)
    assert [each.pen.color() for each in texts] == [QColor(LIGHT.warning), QColor(LIGHT.ink_soft)]


def test_a_short_one_is_as_wide_as_high_with_its_padding(qapp):
    assert badge_width(BadgeLabel("i")) == HEIGHT + 6.0
    assert badge_width(LABELS[0]) > badge_width(LABELS[1])
