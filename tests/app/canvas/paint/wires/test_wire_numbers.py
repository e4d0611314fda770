"""Values and gradients beside wires, as the View menu chooses them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRectF, Qt

from gradwire.app.canvas.paint import painter
from gradwire.app.canvas.paint.painter import paint
from gradwire.app.canvas.paint.wires import lanes
from gradwire.app.canvas.scene.camera import NUMBERS, Camera
from gradwire.app.canvas.state.view_state import DEFAULT, Selection, WireNumbers
from gradwire.runtime.diagram import Point
from gradwire.runtime.diagram.layout.measures import WIDTH
from tests.app.canvas.pages import block, click, diagram
from tests.app.canvas.paint.recording import recorder, texts

AREA = QRectF(0.0, 0.0, 1600.0, 800.0)
FAR = 420.0
"""Between the left edges of neighbouring blocks, scene units."""


@pytest.fixture
def chain(window, qtbot):
    """A window on w → f → g → loss, where f and g negate; each wire has room for numbers."""
    blocks = {
        "w": block("Variable", value=0.25), "f": block("Neg"), "g": block("Exp"),
        "loss": block("Loss"),
    }  # fmt: skip
    layout = {name: Point(FAR * i, 0.0) for i, name in enumerate(blocks)}
    wires = {"f.x": "w.out", "g.x": "f.out", "loss.x": "g.out"}
    window.document._begin(diagram(blocks, wires, layout=layout), None)
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    window.canvas.set_camera(Camera(1.0, 20.0, 60.0))
    return window


def beside_wires(monkeypatch, window):
    """The words between blocks, from left to right."""
    return [text.words for text in texts_beside_wires(monkeypatch, window)]


def painted(monkeypatch, view):
    with monkeypatch.context() as here:
        found = recorder(here, lanes, painter)
        paint(found, view, AREA, None)
    return found


def texts_beside_wires(monkeypatch, window):
    view = replace(window.canvas.view, traced=None, route=None)
    found = painted(monkeypatch, view)
    placed = [((t.ink.center().x() - view.camera.x) / view.camera.zoom, t) for t in texts(found)]
    between = [(x, text) for x, text in placed if x % FAR > WIDTH + 20.0]
    return [text for _, text in sorted(between, key=lambda pair: pair[0])]


def choose(window, *names):
    for name in names:
        window.actions_by_name[name].trigger()


def on_wire(window, key):
    """Where the middle of a wire is in the canvas."""
    scene, camera = window.canvas.view.scene, window.canvas.view.camera
    x0, y0, x1, y1 = scene.wire_ends[scene.wire_index[key]].tolist()
    return QPoint(*(round(x) for x in camera.to_widget(np.array([(x0 + x1) / 2, (y0 + y1) / 2]))))


GRADIENTS = ["−0.7788", "0.7788", "1"]
VALUES = ["0.25", "−0.25", "0.7788"]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("numbers_value", VALUES),
        ("numbers_gradient", GRADIENTS),
        ("numbers_both", [f"∇ {number}" for number in GRADIENTS] + VALUES),
        ("numbers_none", []),
    ],
)
def test_all_wires_show_what_is_chosen(chain, monkeypatch, name, shown):
    choose(chain, "numbers_on_all", name)
    assert sorted(beside_wires(monkeypatch, chain)) == sorted(shown)


def test_value_and_gradient_stand_on_either_side_of_their_wire(chain, monkeypatch):
    choose(chain, "numbers_on_all", "numbers_both")
    inks = {text.words: text.ink for text in texts_beside_wires(monkeypatch, chain)}
    wire, value, gradient = on_wire(chain, "g.x").y(), inks["−0.25"], inks["∇ 0.7788"]
    assert value.bottom() < wire < gradient.top()


@pytest.mark.night
def test_else_the_selected_wire_and_the_wires_of_selected_blocks_do(chain, monkeypatch):
    assert beside_wires(monkeypatch, chain) == []
    click(chain.canvas, on_wire(chain, "g.x"))
    assert chain.canvas.selected_wire() == "g.x"
    assert beside_wires(monkeypatch, chain) == ["0.7788"]
    chain.canvas.set_selection(Selection(blocks=frozenset({"f"})))
    assert beside_wires(monkeypatch, chain) == ["−0.7788", "0.7788"]


def test_the_menu_opened_with_keys_chooses_too(chain, monkeypatch, qtbot):
    menu = chain.menus.by_name["numbers"]
    menu.popup(chain.pos())
    qtbot.keyClick(menu, Qt.Key.Key_B)
    menu.popup(chain.pos())
    qtbot.keyClick(menu, Qt.Key.Key_A)
    assert (chain.settings.wire_numbers, chain.settings.numbered_wires) == ("both", "all")
    assert len(beside_wires(monkeypatch, chain)) == 6


@pytest.mark.night
def test_the_choice_is_kept_and_is_that_of_every_window(chain, qtbot):
    choose(chain, "numbers_on_all", "numbers_value")
    other = chain.windows.new()
    for window in (chain, other):
        assert window.canvas.view.numbers == WireNumbers(True, False, True)
        assert window.actions_by_name["numbers_value"].isChecked()
        assert window.actions_by_name["numbers_on_all"].isChecked()
    choose(other, "numbers_on_selection", "numbers_gradient")
    assert chain.canvas.view.numbers == DEFAULT


@pytest.mark.night
def test_unknown_settings_mean_the_usual_choice(chain):
    chain.settings.wire_numbers, chain.settings.numbered_wires = "phase", "some"
    chain.restyle()
    assert chain.canvas.view.numbers == DEFAULT
    assert chain.actions_by_name["numbers_gradient"].isChecked()
    assert chain.actions_by_name["numbers_on_selection"].isChecked()


@pytest.mark.night
def test_from_afar_there_are_no_numbers_on_wires(chain, monkeypatch):
    choose(chain, "numbers_on_all", "numbers_both")
    chain.canvas.set_camera(Camera(NUMBERS - 0.01, 20.0, 60.0))
    assert beside_wires(monkeypatch, chain) == []


@pytest.mark.night
def test_numbers_lie_on_no_block_and_on_no_other_number(window, qtbot, monkeypatch):
    names = [f"w{i}" for i in range(12)]
    blocks = {name: block("Variable", value=0.125) for name in names} | {"sum": block("AddN")}
    layout = {name: Point(0.0, 55.0 * i) for i, name in enumerate(names)}
    layout["sum"] = Point(WIDTH + 90.0, 300.0)
    wires = {f"sum.terms.{i}": f"{name}.out" for i, name in enumerate(names)}
    window.document._begin(diagram(blocks, wires, layout=layout), None)
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    window.canvas.set_camera(Camera(1.0, 20.0, 20.0))
    choose(window, "numbers_on_all", "numbers_value")
    view = window.canvas.view
    found = painted(monkeypatch, view)
    inside = [QRectF(*rect).translated(20.0, 20.0) for rect in view.scene.rects.tolist()]
    inked = [t.ink for t in texts(found) if t.words == "0.125"]
    outside = [ink for ink in inked if not any(box.contains(ink) for box in inside)]
    assert outside
    for number, ink in enumerate(outside):
        others = inside + outside[:number]
        assert not any(ink.intersects(other) for other in others)
