"""Three sizes of text, for panels, menus and canvas alike; the diagram stays as it is."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QLabel

from gradwire.app.services import theme as look
from gradwire.app.services.settings import Settings
from gradwire.runtime.build import build, loss, stop_gradient, variable

SIZES = {"small": 12, "normal": 13, "large": 16}


@pytest.fixture
def window(qtbot, window):
    a, b = variable("a", [[1.0, 2.0]]), variable("b", [[0.0, 1.0]])
    window.document._begin(build(loss(stop_gradient(3 * b, name="stop") + a), title="Seed"), None)
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    window.canvas.select({"stop"})
    window.canvas.zoom_to_fit()
    return window


def choose(window, qapp, size):
    window.actions_by_name[f"text_{size}"].trigger()
    for _ in range(5):  # layouts are asked for, then made
        qapp.processEvents()


@pytest.mark.night
@pytest.mark.parametrize("size", SIZES)
def test_panels_and_menus_have_it(window, qapp, size):
    choose(window, qapp, size)
    px = SIZES[size]
    for widget in (window.menuBar(), window.menus.by_name["file"], window.inspector.form.name_line,
                   window.variables, window.statusBar(), window.docks.by_name["why"]):  # fmt: skip
        assert widget.fontInfo().pixelSize() == px, widget
    captions = [
        label
        for label in window.findChildren(QLabel)
        if label.property("type") in ("caption", "heading")
    ]
    assert {label.fontInfo().pixelSize() for label in captions} == {round(px * 11 / 13)}
    assert window.variables.verticalHeader().defaultSectionSize() > px + 8
    assert window.actions_by_name[f"text_{size}"].isChecked()


@pytest.mark.night
@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_cut_off(window, qapp, size):
    choose(window, qapp, size)
    for widget in window.findChildren(QAbstractButton) + window.findChildren(QLabel):
        if widget.isVisible() and widget.text() and not widget.visibleRegion().isEmpty():
            wraps = isinstance(widget, QLabel) and widget.wordWrap()
            needed = widget.heightForWidth(widget.width()) if wraps else widget.sizeHint().height()
            assert widget.height() >= needed, widget.text()
            assert wraps or widget.width() >= widget.sizeHint().width(), widget.text()


def test_the_canvas_grows_along_and_calls_it_100_percent(window, qapp):
    canvas = window.canvas
    window.actions_by_name["zoom_actual"].trigger()
    face = canvas.block_rect("stop").width()
    choose(window, qapp, "large")
    assert canvas.block_rect("stop").width() == pytest.approx(face * 16 / 13, abs=1)
    assert window.status.zoom.text() == "100 %"
    choose(window, qapp, "small")
    assert canvas.block_rect("stop").width() == pytest.approx(face * 12 / 13, abs=1)
    window.actions_by_name["zoom_in"].trigger()
    window.actions_by_name["zoom_actual"].trigger()
    assert canvas.zoom() == pytest.approx(12 / 13)


def test_the_diagram_is_not_touched(window, qapp):
    before = window.document.diagram
    choose(window, qapp, "large")
    assert window.document.diagram is before
    assert window.document.is_clean


def test_it_is_remembered_and_goes_for_all_windows(window, qapp, settings):
    other = window.windows.new()
    choose(window, qapp, "large")
    assert other.canvas.actual_zoom() == pytest.approx(16 / 13)
    assert other.actions_by_name["text_large"].isChecked()
    assert Settings(settings.store).text == "large"


def test_a_size_that_is_not_known_is_the_normal_one(window, qapp, settings):
    settings.text = "gigantic"
    window.restyle()
    assert look.scale() == 1.0
    assert window.actions_by_name["text_normal"].isChecked()


def test_large_text_in_the_field_on_a_face(window, qapp, qtbot):
    choose(window, qapp, "large")
    qtbot.keyClick(window.canvas, Qt.Key.Key_F2)
    assert qapp.focusWidget().fontInfo().pixelSize() >= 16
