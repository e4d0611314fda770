"""A lesson is written by forms: steps in order, picked places, checked texts, one undo an edit."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPlainTextEdit

from gradwire.runtime.diagram.lesson import PaintStep, PredictStep, ShowStep
from tests.runtime.lessons.lessons import plain, taught

LEFT, Key = Qt.MouseButton.LeftButton, Qt.Key


@pytest.fixture
def window(opened, qtbot):
    window = opened(plain())
    window.actions_by_name["write_lesson"].trigger()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    return window


def panel(window):
    return window.lazy.authoring.panel


def add(window, kind):
    """Add a step by the menu."""
    actions = panel(window).add_menu.actions()
    kinds = ("show", "predict", "paint", "change", "build", "check")
    actions[kinds.index(kind)].trigger()


def write(window, qtbot, key, text):
    """Type into a field of the step, and leave it."""
    edit = panel(window).form.rows[key].edit
    edit.setFocus()
    edit.selectAll()
    qtbot.keyClicks(edit, text)
    window.canvas.setFocus()


def lesson(window):
    return window.document.diagram.lesson


def settled(window, qtbot):
    qtbot.waitUntil(lambda: not window.lazy.authoring.worker.is_pending("lesson"))


def test_steps_are_added_written_and_ordered(window, qtbot):
    assert panel(window).isVisible() and lesson(window) is None
    add(window, "show")
    write(window, qtbot, "text", "The product is {value('mul1')}.")
    add(window, "predict")
    assert [type(step) for step in lesson(window).steps] == [ShowStep, PredictStep]
    assert panel(window).titles()[0] == "1  Read · The product is {value('mul1')}."
    qtbot.mouseClick(panel(window).up, LEFT)
    assert [type(step) for step in lesson(window).steps] == [PredictStep, ShowStep]
    assert panel(window).place == 0
    qtbot.mouseClick(panel(window).remove, LEFT)
    assert [type(step) for step in lesson(window).steps] == [ShowStep]


def test_each_edit_is_one_undo(window, qtbot):
    add(window, "show")
    write(window, qtbot, "text", "Look.")
    assert window.document.undo_stack.count() == 2
    window.actions_by_name["undo"].trigger()
    assert lesson(window).steps == (ShowStep(),)
    edit = panel(window).form.rows["text"].edit
    assert edit.toPlainText() == ""
    window.actions_by_name["undo"].trigger()
    assert lesson(window) is None


def test_places_are_picked_on_the_canvas(window, qtbot):
    add(window, "paint")
    row = panel(window).form.rows["wires"]
    qtbot.mouseClick(row.button, LEFT)
    for wire in ("mul1.a", "mul1.b"):
        qtbot.mouseClick(window.canvas, LEFT, pos=window.canvas.wire_position(wire))
    assert row.text() == "mul1.a, mul1.b"
    assert lesson(window).steps == (PaintStep(wires=("mul1.a", "mul1.b")),)
    add(window, "predict")
    row = panel(window).form.rows["gradient"]
    qtbot.mouseClick(row.button, LEFT)
    window.canvas.select(["w"])
    assert lesson(window).steps[1].gradient == "w"


def test_an_expression_is_checked_as_it_is_typed(window, qtbot):
    add(window, "change")
    row = panel(window).form.rows["goals"]
    assert isinstance(row.edit, QPlainTextEdit)
    row.edit.setFocus()
    qtbot.keyClicks(row.edit, "grad('w') == 10")
    qtbot.keyClick(row.edit, Key.Key_Return)
    qtbot.keyClicks(row.edit, "grad('w'")
    assert row.edit.extraSelections()
    window.canvas.setFocus()
    assert lesson(window).steps[0].goals == ()  # what is wrong is not taken
    row.edit.setFocus()
    qtbot.keyClicks(row.edit, ") > 0")
    assert not row.edit.extraSelections()
    window.canvas.setFocus()
    assert lesson(window).steps[0].goals == ("grad('w') == 10", "grad('w') > 0")


def test_what_the_check_says_is_beside_its_step(window, qtbot):
    add(window, "predict")
    write(window, qtbot, "gradient", "nobody")
    settled(window, qtbot)
    qtbot.waitUntil(lambda: "nobody" in panel(window).problems.text())
    assert "step 1" in panel(window).problems.text()


def test_the_language_of_its_texts_is_written(window, qtbot):
    add(window, "show")
    field = panel(window).language
    qtbot.keyClicks(field, "pt-BR!")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert window.document.diagram.lesson.language == "pt-BR"


def test_the_text_reads_as_it_will(window, qtbot):
    add(window, "show")
    write(window, qtbot, "text", "The product is {value('mul1')}.")
    qtbot.waitUntil(lambda: "The product is 6." in panel(window).preview.text())


def test_options_settings_and_controls_are_written_as_text(window, qtbot):
    add(window, "check")
    write(window, qtbot, "options", "It is {grad('w')}. | grad('w') == 2 | Yes.")
    write(window, qtbot, "setup", "x = 5")
    write(window, qtbot, "reveal", "gradients, states")
    step = lesson(window).steps[0]
    assert (step.options[0].holds, step.options[0].feedback) == ("grad('w') == 2", "Yes.")
    assert dict(step.setup) == {"x": 5.0} and step.reveal == ("gradients", "states")
    write(window, qtbot, "reveal", "everything")
    assert "reveal" in panel(window).problems.text()
    assert lesson(window).steps[0] == step


def test_wrong_answers_of_the_author_are_written_and_previewed(window, qtbot):
    add(window, "predict")
    write(window, qtbot, "gradient", "w")
    write(window, qtbot, "wrong", "value('mul1') / 3 | a third | It isn't {value('w')}.")
    (wrong,) = lesson(window).steps[0].wrong
    assert (wrong.answer, wrong.name) == ("value('mul1') / 3", "a third")
    assert wrong.feedback == "It isn't {value('w')}."
    qtbot.waitUntil(lambda: "✗ 2: " in panel(window).preview.text())
    assert "It isn't 3." in panel(window).preview.text().replace("&#x27;", "'")
    row = panel(window).form.rows["wrong"]
    row.edit.setFocus()
    row.edit.selectAll()
    qtbot.keyClicks(row.edit, "value('mul1')")
    window.canvas.setFocus()
    assert "name" in row._error.text()
    assert lesson(window).steps[0].wrong == (wrong,)
    window.actions_by_name["undo"].trigger()
    assert lesson(window).steps[0].wrong == ()


def test_own_words_for_a_misconception_are_written(window, qtbot):
    for kind in ("paint", "predict"):
        add(window, kind)
        row = panel(window).form.rows["feedback"]
        row.edit.setFocus()
        qtbot.keyClicks(row.edit, "one brunch only | Both count.")
        assert "one branch only" in row._error.text()
        write(window, qtbot, "feedback", "one branch only | Both count.")
        place = panel(window).place
        assert dict(lesson(window).steps[place].feedback) == {"one branch only": "Both count."}
        assert row.text() == "one branch only | Both count."


def test_numbers_to_vary_are_written_and_undone(window, qtbot):
    add(window, "show")
    edit = panel(window).vary.edit
    edit.setFocus()
    qtbot.keyClicks(edit, "w = 1, -2.5, 4")
    qtbot.keyClick(edit, Key.Key_Return)
    qtbot.keyClicks(edit, "x = nothing")
    window.canvas.setFocus()
    assert not lesson(window).vary  # what is wrong is not taken
    edit.setFocus()
    for _ in range(len("x = nothing")):
        qtbot.keyClick(edit, Key.Key_Backspace)
    window.canvas.setFocus()
    assert dict(lesson(window).vary) == {"w": (1.0, -2.5, 4.0)}
    window.actions_by_name["undo"].trigger()
    assert not lesson(window).vary
    assert edit.toPlainText() == ""
    window.actions_by_name["redo"].trigger()
    assert edit.toPlainText() == "w = 1, -2.5, 4"


@pytest.mark.night
def test_a_lesson_of_a_file_is_shown_and_played(opened, qtbot):
    window = opened(taught())
    window.actions_by_name["write_lesson"].trigger()
    made = panel(window)
    assert len(made.titles()) == 6 and made.minutes.value() == 5
    made.choose(3)
    assert made.form.rows["goals"].text() == "grad('w') == 10\nopen('sg')"
    assert made.form.rows["only"].text() == "x, sg"
    qtbot.mouseClick(made.play, LEFT)
    other = window.windows.listed[-1]
    assert other is not window and other.lazy.player.is_on
    other.lazy.player.leave()
    assert window.windows.listed == (window,)
    assert not window.document.undo_stack.count()


def test_no_field_is_wider_than_the_panel(window):
    """There is no horizontal scroll bar: what is wider is cut off."""
    window.resize(1280, 720)
    for kind in ("show", "predict", "paint", "change", "build", "check"):
        add(window, kind)
        sheet = panel(window).widget()
        assert sheet.minimumSizeHint().width() <= panel(window).viewport().width(), kind
