"""Every row of the table of actions: what it does, that a test does it, that the manual has it."""

import re
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtGui import QKeySequence

from gradwire.app.services.theme import DARK, HIGH_CONTRAST, LIGHT
from gradwire.app.shell.actions.table import COMMANDS, MENUS
from gradwire.runtime.build import build, loss, variable
from tests.together import together

ROOT = Path(__file__).parents[3]
TESTS = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
MANUAL = (ROOT / "assets/manual/menus.md").read_text(encoding="utf-8")


def line_of(command):
    """The line of the manual about an action."""
    keys = QKeySequence(command.shortcut or "").toString()
    text = command.text.replace("&", "")
    return f"| {text} | {keys and f'`{keys}`'} | {command.tip} |"


@pytest.mark.night
@together("name", COMMANDS)
def test_every_action_is_tested_and_in_the_manual(name):
    assert re.search(rf"[\"']{name}[\"']", TESTS), (
        f"No test does the action {name!r}. Add one that triggers "
        f"window.actions_by_name[{name!r}] and looks at what it did."
    )
    line, menu = line_of(COMMANDS[name]), MENUS[COMMANDS[name].menu].replace("&", "")
    assert line in MANUAL, (
        f"The manual does not have the action {name!r} as it is now. Write this line into "
        f"assets/manual/menus.md, under {menu}:\n{line}"
    )


@pytest.fixture
def do(window, qtbot):
    """Does an action of a window with three selected blocks, none in line."""
    a, b = variable("a", [1.0, 2.0]), variable("b", [3.0, 4.0])
    window.document._begin(build(loss(a * b)), None)
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    window.canvas.select(window.document.diagram.main.blocks)
    return lambda name: window.actions_by_name[name].trigger()


def boxes(window):
    """Left, top, right and bottom of each selected block."""
    scene = window.canvas.view.scene
    x, y, width, height = scene.rects[[scene.index[n] for n in window.canvas.selection()]].T
    return {"left": x, "top": y, "right": x + width, "bottom": y + height,
            "centre": x + width / 2, "middle": y + height / 2}  # fmt: skip


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("name", "edge"),
    [("align_left", "left"), ("align_centre", "centre"), ("align_right", "right"),
     ("align_top", "top"), ("align_middle", "middle"), ("align_bottom", "bottom")],
)  # fmt: skip
def test_aligned_edges_are_in_line(window, do, name, edge):
    do(name)
    assert np.ptp(boxes(window)[edge]) <= 1.0  # places are whole px


@pytest.mark.parametrize(
    ("name", "low", "high"), [("align_across", "left", "right"), ("align_down", "top", "bottom")]
)
def test_distributed_gaps_are_equal(window, do, name, low, high):
    do(name)
    found = boxes(window)
    order = np.argsort(found[low])
    gaps = found[low][order][1:] - found[high][order][:-1]
    assert np.ptp(gaps) <= 1.0


def test_snapped_corners_are_on_the_grid(window, do):
    do("align_grid")
    found = boxes(window)
    corners = np.concatenate([found["left"], found["top"]])
    assert np.all(corners == np.round(corners)) and np.all(corners % 2 == 0)


@pytest.mark.parametrize("name", ["add_note", "add_frame"])
def test_a_note_or_a_frame_is_added(window, do, name):
    do(name)
    (note,) = window.document.diagram.main.notes.values()
    assert note.frame == (name == "add_frame")


@pytest.mark.night
@pytest.mark.parametrize(
    ("name", "theme"),
    [("theme_light", LIGHT), ("theme_dark", DARK), ("theme_high_contrast", HIGH_CONTRAST)],
)
def test_a_theme_reaches_canvas_and_panels(window, do, name, theme):
    do(name)
    assert window.canvas.view.theme == theme
    assert window.why._theme == window.inspector._theme == theme


@pytest.mark.night
@pytest.mark.parametrize("name", ["text_small", "text_normal", "text_large"])
def test_a_size_of_text_is_kept(window, do, name):
    do(name)
    assert window.settings.text == name.removeprefix("text_")


def test_the_mini_map_goes_and_comes_back(window, do, qtbot):
    window.canvas.set_zoom(8.0)
    qtbot.waitUntil(window.canvas.minimap.isVisible)
    do("minimap")
    assert not window.canvas.minimap.isVisible()
    do("minimap")
    qtbot.waitUntil(window.canvas.minimap.isVisible)


def test_the_keyboard_goes_to_the_next_panel_and_back(window, do):
    window.canvas.setFocus()
    do("next_panel")
    assert not window.canvas.hasFocus()
    do("previous_panel")
    assert window.canvas.hasFocus()


def test_a_panel_is_made_larger_and_smaller(window, do, qtbot):
    dock = window.docks.by_name["palette"]
    window.palette_panel.focus_search()
    before = dock.width()
    do("larger_panel")
    qtbot.waitUntil(lambda: dock.width() > before)
    do("smaller_panel")
    qtbot.waitUntil(lambda: dock.width() == before)


def test_gradients_are_checked(window, do, qtbot):
    do("check_gradients")
    qtbot.waitUntil(lambda: not window.gradient_check.worker.is_pending("check"))
    assert "agree" in window.statusBar().currentMessage()


def test_every_menu_fits_a_small_screen(window):
    """In one column of 720 pixels."""
    for name, menu in window.menus.by_name.items():
        assert sum(menu.actionGeometry(act).height() for act in menu.actions()) <= 700, name
