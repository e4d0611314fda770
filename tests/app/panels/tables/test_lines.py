"""Tables and lists say what it means that they are empty."""

from PySide6.QtCore import QRect

from gradwire.runtime.build import build, loss, variable


def words(table):
    """How many colours there are where a list that is empty says so."""
    image = table.viewport().grab(QRect(0, 0, 120, 40)).toImage()
    return len({image.pixel(x, y) for x in range(120) for y in range(40)})


def test_an_empty_list_says_so(window, qtbot):
    for name in ("variables", "problems"):
        window.docks.by_name[name].raise_()
        qtbot.wait(20)
        assert words(window.docks.by_name[name].widget()) > 5, name


def test_with_rows_it_says_nothing_more(window, qtbot):
    window.document._begin(build(loss(variable("w", [1.0, 2.0]) * 2)), None)
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    window.docks.by_name["variables"].raise_()
    table = window.variables
    shown = words(table)
    table.set_placeholder("")
    assert words(table) == shown
