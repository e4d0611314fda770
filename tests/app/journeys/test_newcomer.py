"""loss = stop_gradient(3·b) + a from an empty window: by keyboard alone, and by mouse alone."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from tests.app.mouse import LEFT, click_block, double_click, drop_block, palette_row, wire

Key = Qt.Key
WIRES = {
    "mul1.a": "b.out",
    "stop_gradient1.x": "mul1.out",
    "add1.a": "stop_gradient1.out",
    "add1.b": "a.out",
    "loss.x": "add1.out",
}


@pytest.fixture
def window(qtbot, window):
    qtbot.waitUntil(window.isActiveWindow)
    return window


def press(*keys: Qt.Key) -> None:
    for key in keys:
        QTest.keyClick(QApplication.focusWidget(), key)


def write(text: str) -> None:
    QTest.keyClicks(QApplication.focusWidget(), text)
    press(Key.Key_Return)


def walk_to(window, port: str) -> None:
    """Press the arrows that lead towards a port."""
    goal = window.canvas.port_position(*port.split("."))
    for _ in range(8):
        focus = window.canvas.view.focus
        if focus is not None and focus.name == port:
            return
        left = goal - window.canvas.keyboard_focus.centre().toPoint()
        if abs(left.y()) >= 8:
            press(Key.Key_Down if left.y() > 0 else Key.Key_Up)
        else:
            press(Key.Key_Right if left.x() > 0 else Key.Key_Left)
    raise AssertionError(f"the arrows lead to {window.canvas.view.focus}")


def built(qtbot, window) -> None:
    """It computes what it should, and no block lies on another."""
    main = window.document.diagram.main
    assert {str(target): str(source) for target, source in main.wires.items()} == WIRES
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    result = window.evaluator.result
    assert result.diagnostics == ()
    assert result.values["loss.out"].tolist() == 4.0
    assert result.gradients["a"].tolist() == 1.0
    assert result.gradients["b"] is None
    rects = [window.canvas.block_rect(name) for name in main.blocks]
    assert not any(a.intersects(b) for i, a in enumerate(rects) for b in rects[:i])


@pytest.mark.night
def test_by_keyboard_alone(window, qtbot):
    assert QApplication.focusWidget() is window.canvas
    press(Key.Key_Tab)
    write("variable")
    press(Key.Key_F2)
    write("b")
    press(Key.Key_Space)
    assert "Tab adds a block" in window.statusBar().currentMessage()
    press(Key.Key_Tab)
    write("mul")
    assert window.canvas.selection() == {"mul1"}
    press(Key.Key_Return)
    assert QApplication.focusWidget() is window.inspector.form.name_line
    field = window.inspector.form.fields["b"].value.line
    for _ in range(5):
        if QApplication.focusWidget() is not field:
            press(Key.Key_Tab)
    write("3")
    press(Key.Key_Escape)
    assert QApplication.focusWidget() is window.canvas
    for text in ("stop", "add", "loss"):
        press(Key.Key_Space, Key.Key_Tab)
        write(text)
    lefts = [window.canvas.block_rect(n).left() for n in window.document.diagram.main.blocks]
    assert lefts == sorted(lefts)
    assert window.canvas.rect().contains(window.canvas.block_rect("loss"))
    press(Key.Key_Escape, Key.Key_Escape, Key.Key_Tab)
    write("variable")
    press(Key.Key_F2)
    write("a")
    press(Key.Key_Space)
    walk_to(window, "add1.b")
    press(Key.Key_Space)
    built(qtbot, window)


@pytest.mark.night
def test_by_mouse_alone(window, qtbot):
    tree = window.palette_panel.tree
    for kind in ("Variable", "Mul", "StopGradient", "Add", "Loss", "Variable"):
        row = palette_row(window, kind)
        tree.scrollTo(row)
        double_click(tree.viewport(), tree.visualRect(row).center())
        added = next(iter(window.canvas.selection()))
        assert window.canvas.rect().contains(window.canvas.block_rect(added))
    assert not window.document.diagram.main.wires
    window.canvas.zoom_to_fit()
    for old, new in (("variable1", "b"), ("variable2", "a")):
        face = window.canvas.block_rect(old)
        double_click(window.canvas, QPoint(face.center().x(), face.top() + 8))
        (field,) = [f for f in window.canvas.findChildren(QLineEdit) if f.isVisible()]
        QTest.keyClicks(field, new)
        qtbot.mouseClick(window.canvas, LEFT, pos=QPoint(8, 8))
    click_block(qtbot, window, "mul1")
    field = window.inspector.form.fields["b"].value.line
    qtbot.mouseClick(field, LEFT)
    QTest.keyClicks(field, "3")
    qtbot.mouseClick(window.canvas, LEFT, pos=QPoint(8, 8))
    for target, source in WIRES.items():
        wire(qtbot, window, source, target)
    built(qtbot, window)


def test_a_loss_is_one_formula_and_a_stop_is_one_drag(window, qtbot):
    history = window.document.undo_stack
    press(Key.Key_Tab)
    write("loss = (w*x + b - t)**2")
    assert history.count() == 1
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    result = window.evaluator.result
    assert result.diagnostics == ()
    w, x, b, t = (result.values[f"{name}.out"] for name in "wxbt")
    assert result.values["loss.out"] == (w * x + b - t) ** 2
    assert result.gradients["b"] == 2 * (w * x + b - t)
    (product,) = (n for n in window.document.diagram.main.blocks if n.startswith("mul"))
    source = next(iter(window.document.diagram.main.ends.outward["w"]))
    assert source.block == product
    window.canvas.zoom_to_fit()
    drop_block(window, "StopGradient", window.canvas.wire_position(str(source)))
    assert history.count() == 2
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    assert window.evaluator.result.gradients["w"] is None
    assert window.evaluator.result.gradients["b"] is not None


def test_space_and_a_drag_move_the_page_although_a_block_is_selected(window, qtbot):
    press(Key.Key_Tab)
    write("variable")
    before = window.canvas.view.camera
    QTest.keyPress(window.canvas, Key.Key_Space)
    qtbot.mousePress(window.canvas, LEFT, pos=QPoint(20, 20))
    qtbot.mouseMove(window.canvas, QPoint(40, 30))
    qtbot.mouseMove(window.canvas, QPoint(60, 40))
    qtbot.mouseRelease(window.canvas, LEFT, pos=QPoint(60, 40))
    QTest.keyRelease(window.canvas, Key.Key_Space)
    after = window.canvas.view.camera
    assert (after.x - before.x, after.y - before.y) == (40, 20)
    assert window.canvas.keyboard_focus.wire is None


@pytest.mark.night
def test_the_pointer_that_has_just_moved_says_where_a_block_goes(window, qtbot):
    at = QPoint(120, 400)
    qtbot.mouseMove(window.canvas, at)
    window.canvas.context.mouse.pointer = at.toPointF()
    press(Key.Key_Tab)
    write("variable")
    first = window.canvas.block_rect("variable1")
    assert (first.topLeft() - at).manhattanLength() < 20
    press(Key.Key_Tab)  # then the next goes beside it
    write("tanh")
    assert window.canvas.block_rect("tanh1").left() > first.right()
    assert abs(window.canvas.block_rect("tanh1").top() - first.top()) < 12
