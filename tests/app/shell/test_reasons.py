"""What cannot work is disabled, and its tips say why; windows open where they were."""

from __future__ import annotations

from html import escape

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QMessageBox, QToolTip

import gradwire.runtime.build as b
from gradwire.app.services.examples import ASSETS
from gradwire.app.services.plain_text import tooltip
from gradwire.app.shell.actions import building
from gradwire.app.shell.actions.table import COMMANDS
from gradwire.app.shell.main_window import MainWindow
from gradwire.app.shell.windows import OpenWindows
from gradwire.runtime.diagram import SetParameters, load
from tests.app.closing import give_up


def model():
    return b.build(b.loss(b.mean(b.square(b.variable("w", [3.0, 1.0]))), name="L"))


def off(window):
    return {name for name, action in window.actions_by_name.items() if not action.isEnabled()}


def require_reasons(window):
    """Every disabled action has its reason in both tips, every other one none."""
    for name, action in window.actions_by_name.items():
        tip = COMMANDS[name].tip
        if action.isEnabled():
            assert action.statusTip() == tip, name
            assert "\n" not in action.toolTip(), name
        else:
            reason = action.statusTip().removeprefix(f"{tip}. ")
            assert reason.endswith(".") and reason != action.statusTip(), name
            assert escape(reason) in action.toolTip(), name


def test_what_cannot_work_says_why(opened, qtbot):
    window = opened(model())
    assert off(window) >= {
        "save_exercises", "lesson", "freeze", "train_reset", "undo", "redo", "delete", "rename",
        "enter_page", "inspect", "align_left", "leave_page", "next_step", "ungroup", "unique_page",
        "unfold", "edit_formula", "switch_stop", "stop_wire", "try_selected",
    }  # fmt: skip
    require_reasons(window)
    window.canvas.select({"w"})
    assert not off(window) & {"delete", "rename", "inspect", "group", "colour_red"}
    assert off(window) >= {"align_left", "enter_page", "ungroup", "unfold", "switch_stop"}
    require_reasons(window)
    window.canvas.select_all()
    assert not off(window) & {"align_left", "align_down"}
    assert off(window) >= {"rename", "inspect"}
    require_reasons(window)
    window.edit.change(SetParameters("w", {"value": [1.0, 1.0]}))
    assert "undo" not in off(window) and "redo" in off(window)
    window.actions_by_name["step"].trigger()
    qtbot.waitUntil(lambda: "train_reset" not in off(window))
    qtbot.waitUntil(lambda: not window.training.is_playing)
    require_reasons(window)
    window.document.undo_stack.setClean()
    window.document._begin(load(ASSETS / "lessons" / lesson_file()), None)
    assert not off(window) & {"save_exercises", "lesson"}
    assert "train_reset" in off(window)
    require_reasons(window)


def test_what_a_kind_of_block_or_a_wire_is_needed_for(opened):
    w = b.variable("w", [3.0, 1.0])
    made = b.build(b.loss(b.mean(b.square(b.stop_gradient(w, name="stop") * w)), name="L"))
    window = opened(made)
    window.canvas.select({"stop"})
    assert not off(window) & {"switch_stop", "try_selected"}
    assert off(window) >= {"stop_wire", "ungroup", "unfold"}
    window.canvas.select({"stop", "w"})
    assert "switch_stop" in off(window) and "try_selected" not in off(window)
    window.canvas.select(())
    window.canvas.select_wire("stop.x")
    assert not off(window) & {"stop_wire", "bend_wire", "try_selected"}
    window.canvas.select({"L"})
    window.actions_by_name["group"].trigger()
    assert not off(window) & {"ungroup", "unique_page", "enter_page"}
    window.document.undo_stack.undo()
    window.canvas.select({square_of(window)})
    window.actions_by_name["fold"].trigger()
    assert not off(window) & {"unfold", "edit_formula"}
    require_reasons(window)


def square_of(window):
    blocks = window.document.diagram.main.blocks
    return next(name for name, block in blocks.items() if type(block).type_name() == "Square")


def test_what_is_closed_in_a_lesson_says_why(opened):
    window = opened(model())
    window.document.undo_stack.setClean()
    window.document._begin(load(ASSETS / "lessons" / lesson_file()), None)
    window.lazy.player.start()
    assert "predict" in off(window)
    require_reasons(window)
    window.lazy.player.leave()
    assert "predict" not in off(window)


def lesson_file():
    return next((ASSETS / "lessons").glob("*.gradwire.json")).name


def test_the_engine_that_is_not_installed_says_how_to_install_it(window, monkeypatch):
    monkeypatch.setattr(building, "why_missing", lambda engine: 'pip install "gradwire[jax]"')
    window.states.close_missing("jax")
    assert "engine_jax" in off(window)
    require_reasons(window)


def test_what_is_closed_for_a_while_is_not_open_afterwards_without_a_selection(opened):
    window = opened(model())
    states = window.states
    states.close({"delete", "evaluate"})
    assert off(window) >= {"delete", "evaluate"}
    require_reasons(window)
    states.close(())
    assert "delete" in off(window) and "evaluate" not in off(window)
    require_reasons(window)


def test_an_open_menu_shows_the_reason_of_the_item_under_the_pointer(opened, qtbot):
    window = opened(model())
    menu, action = window.menus.by_name["file"], window.actions_by_name["save_exercises"]
    menu.popup(window.mapToGlobal(QPoint(0, 30)))
    at = menu.actionGeometry(action).center()
    QApplication.sendEvent(menu, QHelpEvent(QHelpEvent.Type.ToolTip, at, menu.mapToGlobal(at)))
    assert "This diagram has no lesson." in QToolTip.text()
    assert QToolTip.text() == action.toolTip() != tooltip(action.text())
    QToolTip.hideText()
    menu.close()


def test_the_copy_of_the_tour_is_closed_without_a_question(window, qtbot, monkeypatch, tmp_path):
    monkeypatch.setattr(QMessageBox, "exec", lambda box: pytest.fail(box.text()))
    window.windows.start_tour(window)
    for _ in range(2):
        window.tour_bar.next.click()
    assert window.document.undo_stack.canUndo()
    assert window.files.may_leave()
    assert not window.isWindowModified()
    assert window.document.save_as(tmp_path / "mine.gradwire.json")
    window.document.undo_stack.undo()
    assert not window.document.is_clean  # a file of the user's is never left unasked


@pytest.mark.night
def test_a_window_opens_where_it_was_and_the_next_ones_beside_it(qtbot, settings, monkeypatch):
    """``move`` counts in the frame, which a window has only under a window manager, once shown."""
    moved = []
    monkeypatch.setattr(MainWindow, "move", lambda self, *to: moved.append(to))
    windows = OpenWindows(settings)
    first = windows.new()
    first.setGeometry(40, 50, 600, 500)
    settings.arrangement = (first.saveGeometry(), *first.docks.arrangement)
    made = [first, windows.new(), windows.new()]
    corners = [each.geometry().topLeft() for each in made]
    first.close()
    for each in made[1:]:
        give_up(each)
    again = OpenWindows(settings).new()
    place = again.geometry()
    give_up(again)
    assert [corner - corners[0] for corner in corners] == [
        QPoint(0, 0), QPoint(28, 28), QPoint(56, 56),
    ]  # fmt: skip
    assert place.topLeft() == corners[-1]  # which was closed last
    assert moved == []


def test_a_window_that_fills_the_screen_stays_as_large(qtbot, settings):
    """Such as one that stands in the right half of it."""
    windows = OpenWindows(settings)
    first = windows.new()
    room = first.screen().availableGeometry()
    wanted = room.adjusted(room.width() // 2, 30, -1, -4)
    first.setMinimumSize(1, 1)
    first.setGeometry(wanted)
    settings.arrangement = (first.saveGeometry(), *first.docks.arrangement)
    first.close()
    again = OpenWindows(settings).new()
    place = again.geometry()
    give_up(again)
    assert place == wanted
