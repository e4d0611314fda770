from PySide6.QtGui import QColor

from gradwire.app.panels.formula import FormulaLabel, data_uri, draw

NONSENSE = r"\frac{"


def test_a_formula_is_drawn_in_its_colour_and_sharp_at_twice_the_size():
    once = draw("y = a + b", 18.0, QColor("#c0271d"), 1.0)
    twice = draw("y = a + b", 18.0, QColor("#c0271d"), 2.0)
    assert twice.width() == 2 * once.width()
    assert twice.deviceIndependentSize() == once.deviceIndependentSize()
    image = once.toImage()
    inked = [
        image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())
        if image.pixelColor(x, y).alpha() > 200
    ]  # fmt: skip
    assert inked
    assert all(colour.red() > colour.blue() for colour in inked)


def test_what_can_not_be_read_is_shown_as_it_is_written(qtbot):
    assert draw(NONSENSE, 18.0, QColor("black"), 1.0) is None
    assert data_uri(NONSENSE, "#000000") is None
    shown = FormulaLabel()
    qtbot.addWidget(shown)
    shown.resize(200, 40)
    shown.show_latex(NONSENSE)
    ground = shown.palette().window().color().rgb()
    image = shown.grab().toImage()
    assert any(image.pixel(x, 20) != ground for x in range(image.width()))
    assert shown.accessibleName() == NONSENSE


def test_a_wide_formula_shrinks_into_its_room(qtbot):
    shown = FormulaLabel()
    qtbot.addWidget(shown)
    shown.show_latex(" + ".join(f"x_{{{i}}}" for i in range(40)))
    shown.resize(120, shown.sizeHint().height())
    image = shown.grab().toImage()
    ground = shown.palette().window().color().rgb()
    height = image.height()
    last = [x for x in range(image.width()) if any(image.pixel(x, y) != ground
            for y in range(height))][-1]  # fmt: skip
    assert last >= image.width() - 8


def test_no_formula_takes_no_room(qtbot):
    shown = FormulaLabel()
    qtbot.addWidget(shown)
    shown.show_latex("")
    assert not shown.isVisible()
