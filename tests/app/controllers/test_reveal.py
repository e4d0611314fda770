"""Find goes to a hit that can be read; what is readable already is left where it is."""

import pytest
from PySide6.QtCore import Qt

from gradwire.app.canvas.scene.camera import NUMBERS
from gradwire.blocks.library.arithmetic import Add
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.runtime.diagram import AddBlock, InsertPage, Page, Point


@pytest.fixture
def window(qtbot, window):
    qtbot.waitUntil(window.isActiveWindow)
    window.edit.change(InsertPage("inner", Page({"deep": Add()})))
    window.edit.change(AddBlock("near", Add()))
    window.edit.change(AddBlock("far", Add(), Point(9000.0, 5000.0)))
    window.edit.change(AddBlock("enc", PageBlock(page="inner"), Point(0.0, 300.0)))
    return window


def find(window, qtbot, text):
    qtbot.keyClick(window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    window.find_bar.line.clear()
    qtbot.keyClicks(window.find_bar.line, text)
    qtbot.keyClick(window.find_bar.line, Qt.Key.Key_Return)


def is_in_the_middle(canvas, name):
    distance = canvas.block_rect(name).center() - canvas.rect().center()
    return distance.manhattanLength() <= 4


def test_a_hit_that_is_too_small_to_read_is_enlarged(window, qtbot):
    canvas = window.canvas
    canvas.zoom_to_fit()
    assert canvas.zoom() < NUMBERS * canvas.actual_zoom()
    find(window, qtbot, "far")
    assert canvas.zoom() == canvas.actual_zoom()
    assert is_in_the_middle(canvas, "far")
    assert canvas.selection() == {"far"}


def test_a_hit_out_of_view_keeps_a_larger_zoom(window, qtbot):
    canvas = window.canvas
    canvas.show_at(Point(0.0, 0.0), 2.0 * canvas.actual_zoom())
    find(window, qtbot, "far")
    assert canvas.zoom() == 2.0 * canvas.actual_zoom()
    assert is_in_the_middle(canvas, "far")


def test_a_hit_that_can_be_read_stays_where_it_is(window, qtbot):
    canvas = window.canvas
    canvas.show_at(Point(200.0, 100.0), canvas.actual_zoom())
    before = canvas.view.camera
    find(window, qtbot, "near")
    assert canvas.view.camera == before
    assert canvas.selection() == {"near"}


def test_a_hit_on_another_page_is_shown_there(window, qtbot):
    find(window, qtbot, "deep")
    assert window.navigation.page == "inner"
    assert window.canvas.rect().contains(window.canvas.block_rect("deep"))
    assert window.canvas.selection() == {"deep"}
