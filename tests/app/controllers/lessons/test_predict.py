"""A prediction by mouse and by keys: asked, committed once, compared, replayed, and left."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit

from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.canvas.state.marks import GuessStage
from gradwire.app.canvas.state.tooltips import describe
from gradwire.runtime.build import build, constant, loss, mul, square, stop_gradient, variable
from gradwire.runtime.diagram import SetParameters
from gradwire.runtime.flow import State
from tests.app.shell.test_presentation import framed

LEFT, Key = Qt.MouseButton.LeftButton, Qt.Key


def product():
    """(w·x − 4)², w = 3, x = 2: w gets 8, x gets 12; v is stopped."""
    w, x, v = variable("w", 3.0), variable("x", 2.0), variable("v", 1.0)
    total = mul(w, x, name="product") - 4.0 + stop_gradient(v, name="sg") - 1.0
    return build(loss(square(total, name="square"), name="L"))


@pytest.fixture
def window(opened, qtbot):
    window = opened(product())
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    window.settings.reduced_motion = True
    qtbot.keyClick(window.canvas, Key.Key_P)
    qtbot.waitUntil(lambda: bool(form(window).fields))
    return window


def form(window):
    return window.lazy.predict.panel.form


def commit(window, qtbot):
    qtbot.mouseClick(form(window).commit, LEFT)
    qtbot.waitUntil(lambda: window.lazy.predict.panel.outcomes.isVisible())


def text(window):
    return window.lazy.predict.panel.outcomes.text()


def chip(window, block):
    return window.canvas.guess_marks().blocks[block]


def test_it_hides_and_asks(window):
    assert window.curtain.is_drawn
    assert window.actions_by_name["predict"].isChecked()
    assert list(form(window).fields) == ["w", "x", "v"]
    assert form(window).brushes.states == (
        State.CARRIES, State.ZERO, State.STOPPED, State.OFF_ROUTE,
    )  # fmt: skip
    assert chip(window, "w").stage is GuessStage.OPEN


def test_a_wrong_number_is_explained_and_the_place_is_shown(window, qtbot):
    fields = form(window).fields
    qtbot.keyClicks(fields["w"], "12")
    qtbot.keyClicks(fields["x"], "12")
    qtbot.keyClicks(fields["v"], "none")
    assert chip(window, "w").text == "∇ 12"
    commit(window, qtbot)
    assert text(window).splitlines()[0] == "8 of 12 points"
    assert "✗ ∂L/∂w: yours 12, actual 8. its own value. At product" in text(window)
    assert "✓ ∂L/∂v: yours None, actual None" in text(window)
    assert window.canvas.guess_marks().place == "product"
    assert chip(window, "w").text == "yours 12, actual 8"
    assert not window.curtain.is_drawn


def test_the_reveal_begins_at_the_first_difference(window, qtbot):
    qtbot.keyClicks(form(window).fields["w"], "12")
    commit(window, qtbot)
    qtbot.waitUntil(lambda: "4 arrives at product" in window.lazy.timeline.bar.text())
    assert not window.lazy.timeline.is_playing  # under Reduced Motion


def test_the_reveal_plays(window, qtbot):
    window.settings.reduced_motion = False
    qtbot.keyClicks(form(window).fields["w"], "12")
    commit(window, qtbot)
    qtbot.waitUntil(lambda: window.lazy.timeline.is_playing)


def test_numbers_are_typed_on_the_canvas(window, qtbot):
    canvas = window.canvas
    canvas.setFocus()
    canvas.select(["w"])
    qtbot.keyClick(canvas, Key.Key_8)
    field = typing(window)
    qtbot.keyClick(field, Key.Key_Return)
    assert form(window).fields["w"].text() == "8"
    assert chip(window, "w").typed == "8"
    qtbot.mouseClick(canvas, LEFT, pos=below(window, "x"))
    field = typing(window)
    qtbot.keyClicks(field, "twelve")
    qtbot.keyClick(field, Key.Key_Return)
    assert field.isVisible()  # that is no number
    field.selectAll()
    qtbot.keyClicks(field, "12")
    qtbot.keyClick(field, Key.Key_Tab)
    assert form(window).fields["x"].text() == "12"
    assert canvas.selection() == {"v"}  # Tab goes on
    commit(window, qtbot)
    assert text(window).startswith("8 of 8 points")


def typing(window):
    found = [each for each in window.canvas.findChildren(QLineEdit) if each.isVisible()]
    assert len(found) == 1
    return found[0]


def below(window, block):
    return window.canvas.block_rect(block).center() + QPoint(
        0, window.canvas.block_rect(block).height() // 2 + 10
    )


def test_wires_are_painted_by_strokes_of_the_mouse(window, qtbot):
    canvas = window.canvas
    qtbot.mouseClick(form(window).brushes.buttons[2], LEFT)
    start, end = canvas.wire_position("product.a"), canvas.wire_position("product.b")
    qtbot.mousePress(canvas, LEFT, pos=start)
    qtbot.mouseMove(canvas, (start + end) / 2)
    qtbot.mouseMove(canvas, end)
    qtbot.mouseRelease(canvas, LEFT, pos=end)
    shown = canvas.view.annotations.page.result.states
    assert shown == {"product.a": State.STOPPED, "product.b": State.STOPPED}
    assert form(window).painted.text().startswith("2 of 9 wires painted")
    assert canvas.view.route is None  # painting explains nothing


def test_wires_are_painted_by_keys(window, qtbot):
    canvas = window.canvas
    canvas.setFocus()
    visited = []
    for _ in canvas.view.scene.wire_keys:
        qtbot.keyClick(canvas, Key.Key_Tab)
        visited.append(canvas.selected_wire())
        qtbot.keyClick(canvas, Key.Key_1)
    assert sorted(visited) == sorted(canvas.view.scene.wire_keys)
    for stopped in ("sg.x", "add1.b"):
        canvas.select_wire(stopped)
        qtbot.keyClick(canvas, Key.Key_3)
    commit(window, qtbot)
    assert text(window).splitlines()[0] == "4 of 4 points"


def test_a_painted_wire_can_be_cleared(window, qtbot):
    window.canvas.setFocus()
    window.canvas.select_wire("sg.x")
    qtbot.keyClick(window.canvas, Key.Key_3)
    qtbot.keyClick(window.canvas, Key.Key_Delete)
    assert window.canvas.view.annotations.page.result.states == {}
    assert "sg.x" in window.canvas.view.scene.wire_keys  # Delete removed only the paint


def test_a_wrong_wire_is_shown_on_the_canvas(window, qtbot):
    window.canvas.setFocus()
    window.canvas.select_wire("sg.x")
    qtbot.keyClick(window.canvas, Key.Key_2)
    commit(window, qtbot)
    guess = window.canvas.guess_marks().wires["sg.x"]
    assert (guess.text, guess.stage) == ("Connected, but zero", GuessStage.WRONG)
    assert "sg.x: yours Connected, but zero, actual Stopped" in text(window)


def test_nothing_is_committed_without_an_answer(window, qtbot):
    qtbot.mouseClick(form(window).commit, LEFT)
    assert form(window).problem.isVisible()
    qtbot.keyClicks(form(window).fields["w"], "much")
    qtbot.mouseClick(form(window).commit, LEFT)
    assert "w: type a number" in form(window).problem.text()
    assert window.curtain.is_drawn


def test_again_uses_other_numbers_and_leaves_the_document_alone(window, qtbot):
    before = window.document.diagram
    qtbot.keyClicks(form(window).fields["w"], "8")
    commit(window, qtbot)
    qtbot.mouseClick(window.lazy.predict.panel.again, LEFT)
    qtbot.waitUntil(lambda: form(window).isVisible() and form(window).fields["w"].text() == "")
    assert window.curtain.is_drawn
    assert window.document.is_previewing and window.document.is_clean
    qtbot.mouseClick(window.lazy.predict.panel.end, LEFT)
    assert window.document.diagram == before
    assert not window.document.undo_stack.count()


def test_leaving_restores_everything(window, qtbot):
    camera = window.canvas.view.camera
    window.canvas.setFocus()
    window.canvas.set_selection(type(window.canvas.view.selection)())
    qtbot.keyClick(window.canvas, Key.Key_P)
    assert not window.lazy.predict.is_on
    assert window.canvas.guess_marks() is None
    assert not window.curtain.hidden
    assert window.canvas.view.camera.zoom >= camera.zoom


def test_an_edit_asks_anew(window, qtbot):
    qtbot.keyClicks(form(window).fields["w"], "8")
    window.document.apply(SetParameters("x", {"value": 5.0}))
    qtbot.waitUntil(lambda: form(window).fields["w"].text() == "")
    assert window.curtain.is_drawn


def test_without_a_variable_it_says_why(opened, qtbot):
    window = opened(build(square(constant("two", 2.0))))
    qtbot.keyClick(window.canvas, Key.Key_P)
    qtbot.waitUntil(lambda: "nothing to predict" in window.lazy.predict.panel.text.text())
    assert not window.curtain.hidden
    assert not window.actions_by_name["predict"].isChecked()


def test_notes_are_hidden_since_they_may_tell(opened):
    window = opened(framed())
    note = Focus(FocusKind.NOTE, "text")
    assert describe(window.canvas.view.annotations, note) == "note no frame"
    window.curtain.hide({"gradients"})
    said = describe(window.canvas.view.annotations, note)
    assert said == "note, hidden until you have predicted"
    window.canvas.inline_editor.edit_note("text")
    assert not window.canvas.findChildren(QPlainTextEdit)
