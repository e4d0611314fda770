"""Blocks are collapsed and coloured by keys and menus, and everything on the canvas follows."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QColor

from gradwire.app.canvas.input.changes import MenuTarget
from gradwire.app.canvas.paint.legend import legend_content
from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.canvas.state.tooltips import describe
from gradwire.app.panels.tables.losses import APART
from gradwire.app.pictures.page_picture import PagePicture
from gradwire.app.pictures.svg import svg
from gradwire.app.services.palette import shades
from gradwire.app.services.theme import LIGHT, THEMES
from gradwire.app.shell.menus import CONTEXT_MENUS
from gradwire.runtime.build import build, loss, variable
from gradwire.runtime.diagram import MoveBlocks, Note, Point, SetNote, Style, dumps, loads
from gradwire.runtime.diagram.layout.measures import HEADER
from tests.app.document.test_diff import seed
from tests.app.mouse import LEFT, click_block, pull, wire

CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def window(qtbot, window):
    window.document._begin(seed(), None)
    qtbot.waitUntil(lambda: window.isActiveWindow() and not window.evaluator.busy)
    return window


def press(qtbot, window):
    window.canvas.setFocus()
    qtbot.keyClick(window.canvas, Qt.Key.Key_H, CONTROL)


def styles(window):
    return dict(window.document.diagram.main.styles)


def look(window, name):
    view = window.canvas.view
    return view.annotations.look(view.scene.index[name])


def rect(window, name):
    scene = window.canvas.view.scene
    return scene.rects[scene.index[name]].tolist()


def test_a_key_shrinks_a_block_to_its_title_and_back(qtbot, window):
    full = rect(window, "mul1")
    result = window.evaluator.result
    click_block(qtbot, window, "mul1")
    press(qtbot, window)
    assert rect(window, "mul1") == [*full[:3], HEADER]
    assert look(window, "mul1").collapsed
    assert look(window, "mul1").sections == ()
    assert window.document.undo_stack.undoText() == "Collapse mul1"
    press(qtbot, window)
    assert rect(window, "mul1") == full
    assert not look(window, "mul1").collapsed
    assert window.evaluator.result.values is result.values  # a look means nothing to the engine


def test_it_is_saved_and_one_undo_for_many(qtbot, window):
    window.canvas.select({"mul1", "stop"})
    press(qtbot, window)
    small = Style(collapsed=True)
    assert styles(window) == {"mul1": small, "stop": small}
    assert loads(dumps(window.document.diagram)).main.styles == styles(window)
    window.actions_by_name["undo"].trigger()
    assert styles(window) == {}
    assert rect(window, "mul1")[3] > HEADER
    window.actions_by_name["redo"].trigger()
    assert rect(window, "mul1")[3] == HEADER


def test_of_a_mixed_selection_all_are_collapsed_first(qtbot, window):
    window.canvas.select({"stop"})
    press(qtbot, window)
    window.canvas.select({"stop", "add1"})
    press(qtbot, window)
    assert {name for name, style in styles(window).items() if style.collapsed} == {"stop", "add1"}
    press(qtbot, window)
    assert styles(window) == {}


def test_ports_lie_at_its_sides_and_take_wires(qtbot, window):
    window.canvas.select({"add1"})
    press(qtbot, window)
    window.canvas.select(())
    face = window.canvas.block_rect("add1")
    ends = [window.canvas.port_position("add1", port) for port in ("a", "b", "out")]
    assert all(face.top() < end.y() < face.bottom() for end in ends)
    assert ends[0].x() == ends[1].x() < ends[2].x()
    assert (ends[1].y() - ends[0].y()) / window.canvas.zoom() >= 8
    wire(qtbot, window, "b.out", "add1.b")
    assert str(window.document.diagram.main.wires[("add1", "b")]) == "b.out"


def test_wires_begin_and_end_at_its_ports(qtbot, window):
    window.canvas.select({"mul1"})
    press(qtbot, window)
    scene = window.canvas.view.scene
    end = scene.wire_ends[scene.wire_index["stop.x"], :2]
    assert end.tolist() == scene.port_points(np.array([scene.port("mul1", "out")]))[0].tolist()
    assert end[1] == scene.rects[scene.index["mul1"], 1] + HEADER / 2


def test_below_it_nothing_is_hit_any_more_and_a_rubber_band_passes(qtbot, window):
    full = window.canvas.block_rect("mul1")
    below = QPoint(full.center().x(), full.bottom() - 3)
    window.canvas.select({"mul1"})
    press(qtbot, window)
    qtbot.mouseClick(window.canvas, LEFT, pos=below)
    assert window.canvas.selection() == set()
    corner = QPoint(full.left() + 10, window.canvas.block_rect("mul1").bottom() + 6)
    pull(qtbot, window.canvas, corner, below)
    assert window.canvas.selection() == set()
    title = window.canvas.block_rect("mul1").center()
    qtbot.mouseClick(window.canvas, LEFT, pos=title)
    assert window.canvas.selection() == {"mul1"}


def test_what_is_shown_in_full_again_makes_room(qtbot, window):
    window.canvas.select({"mul1"})
    press(qtbot, window)
    left, top, _, _ = rect(window, "mul1")
    stop = Point(left, top + HEADER + 12)
    scene = window.canvas.view.scene
    window.document.apply(MoveBlocks({"stop": stop}))
    window.canvas.select({"mul1"})
    press(qtbot, window)
    scene = window.canvas.view.scene
    one, other = (QRectF(*scene.rects[scene.index[name]]) for name in ("mul1", "stop"))
    assert not one.intersects(other)
    window.actions_by_name["undo"].trigger()
    assert rect(window, "stop")[:2] == list(stop)


def test_the_screen_reader_and_the_hint(qtbot, window):
    hints = []
    window.canvas.statusMessage.connect(hints.append)
    window.canvas.select(())
    assert not window.actions_by_name["collapse"].isEnabled()
    assert not window.actions_by_name["colour_red"].isEnabled()
    window.canvas.select({"stop"})
    press(qtbot, window)
    window.actions_by_name["colour_purple"].trigger()
    spoken = describe(window.canvas.view.annotations, Focus(FocusKind.BLOCK, "stop"))
    assert spoken.startswith("stop, StopGradient, collapsed, purple")


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("name", ["red", "orange", "yellow", "green", "blue", "purple", "grey"])
def test_a_colour_is_chosen_for_several_blocks_and_frames_at_once(window, name):
    window.document.apply(SetNote("f", Note("Data", Point(0, -90), 300, 60, frame=True)))
    window.canvas.select({"mul1", "stop"}, {"f"})
    actions = {
        "red": "colour_red", "orange": "colour_orange", "yellow": "colour_yellow",
        "green": "colour_green", "blue": "colour_blue", "purple": "colour_purple",
        "grey": "colour_grey",
    }  # fmt: skip
    window.actions_by_name[actions[name]].trigger()
    assert styles(window) == {"mul1": Style(name), "stop": Style(name)}
    assert window.document.diagram.main.notes["f"].colour == name
    assert window.document.undo_stack.undoText() == "Colour mul1, stop, f"
    steps = window.document.undo_stack.count()
    window.actions_by_name[actions[name]].trigger()
    assert window.document.undo_stack.count() == steps  # nothing changes, nothing to undo
    window.actions_by_name["colour_none"].trigger()
    assert styles(window) == {}
    window.actions_by_name["undo"].trigger()
    window.actions_by_name["undo"].trigger()
    assert styles(window) == {}
    assert window.document.diagram.main.notes["f"].colour == ""


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
@pytest.mark.parametrize("zoom", [1.0, 0.4, 0.2])
def test_the_face_shows_it_near_and_from_afar(window, theme, zoom):
    window.canvas.set_theme(theme)
    window.canvas.select({"mul1"})
    window.actions_by_name["colour_green"].trigger()
    window.canvas.select(())
    window.canvas.set_zoom(zoom)
    found = shades(theme, "green")
    wanted = found.edge if zoom < 0.3 else found.ground
    face = window.canvas.block_rect("mul1")
    image = window.canvas.grab(face).toImage()
    x, y = round(face.width() * 0.9), round(face.height() * 0.12) + 1
    assert image.pixelColor(x, y).rgb() == QColor(wanted).rgb()


def test_context_menus_offer_both_and_exports_show_them(window):
    assert {"collapse", "colour"} <= set(CONTEXT_MENUS[MenuTarget.BLOCK])
    assert "colour" in CONTEXT_MENUS[MenuTarget.FRAME]
    window.canvas.select({"mul1"})
    window.actions_by_name["colour_blue"].trigger()
    window.actions_by_name["collapse"].trigger()
    picture = PagePicture(window.document.diagram, "main", window.evaluator.result)
    assert picture.view.annotations.look(picture.view.scene.index["mul1"]).collapsed
    assert shades(LIGHT, "blue").ground.name() in svg(picture, "it")


@pytest.mark.night
def test_the_lanes_of_a_coloured_loss_have_its_colour_at_their_numbers(qtbot, window):
    a, b = variable("a", 2.0), variable("b", 3.0)
    product = a * b
    made = build(loss(product, name="one"), loss(product + a, name="two"))
    window.document._begin(made, None)
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    window.losses.choose(APART)
    window.canvas.select({"two"})
    window.actions_by_name["colour_orange"].trigger()
    lanes = window.canvas.view.annotations.lanes
    assert [(lane.name, lane.colour) for lane in lanes] == [("one", ""), ("two", "orange")]
    assert legend_content(window.canvas.view.annotations).colours == ("", "orange")
    window.canvas.select(())
    picture = PagePicture(
        window.document.diagram, "main", window.losses.overlay(window.evaluator.result)
    )
    ground = shades(LIGHT, "orange").ground.name()
    assert svg(picture, "it").count(ground) > 1  # its title, and the numbers of its lanes
