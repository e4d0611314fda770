"""The seed diagram from nothing, by mouse and keys; then the same numbers without a window."""

import numpy as np
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QFileDialog

from gradwire.runtime.diagram import load
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import State
from gradwire.runtime.flow.analyse import analyse
from tests.app.mouse import LEFT, click_block, drop_block, retype, wire


def rename(qtbot, window, old, new):
    click_block(qtbot, window, old)
    retype(qtbot, window.inspector.form.name_line, new)
    assert new in window.document.diagram.main.blocks


def give(qtbot, window, name, value):
    click_block(qtbot, window, name)
    retype(qtbot, window.inspector.form.fields["value"].text, value)


def settled(qtbot, window):
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    assert window.evaluator.result.diagram is window.document.diagram
    return window.evaluator.result


def test_the_seed_diagram_is_built_read_explained_saved_and_run(
    qtbot, window, tmp_path, monkeypatch
):
    assert window.welcome.isVisible()
    for type_name, x, y in [
        ("Variable", 40, 40),
        ("Mul", 240, 40),
        ("StopGradient", 440, 40),
        ("Variable", 440, 220),
        ("Add", 640, 120),
        ("Loss", 820, 120),
    ]:
        drop_block(window, type_name, QPoint(x, y))
    assert not window.welcome.isVisible()
    rename(qtbot, window, "variable1", "b")
    rename(qtbot, window, "variable2", "a")
    rename(qtbot, window, "stop_gradient1", "stop")
    give(qtbot, window, "a", "[[1, 2]]")
    give(qtbot, window, "b", "[[0, 1]]")
    click_block(qtbot, window, "mul1")
    retype(qtbot, window.inspector.form.fields["a"].value.line, "3")
    for source, target in [
        ("b.out", "mul1.b"),
        ("mul1.out", "stop.x"),
        ("stop.out", "add1.a"),
        ("a.out", "add1.b"),
        ("add1.out", "loss.x"),
    ]:
        wire(qtbot, window, source, target)
    assert len(window.document.diagram.main.wires) == 5

    result = settled(qtbot, window)
    assert result.error is None
    assert result.diagnostics == ()
    assert result.values["loss.out"].tolist() == [[1.0, 5.0]]
    assert result.gradients["a"].tolist() == [[1.0, 1.0]]
    assert result.gradients["b"] is None
    states = {
        "mul1.b": State.STOPPED,
        "stop.x": State.STOPPED,
        "add1.b": State.CARRIES,
        "loss.x": State.CARRIES,
    }
    assert {wire: result.states[wire] for wire in states} == states

    qtbot.mouseClick(window.canvas, LEFT, pos=window.canvas.wire_position("stop.x"))
    assert window.canvas.selected_wire() == "stop.x"
    assert window.why.isVisible()
    said = window.why.text()
    assert "Stopped" in said
    assert result.verdict("stop.x").sentence == "stop stops every route to loss."
    assert " stops every route to " in said  # its blocks are links
    assert 'href="stop"' in said
    assert 'href="loss"' in said

    path = tmp_path / "seed.gradwire.json"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(path), ""))
    assert window.isWindowModified()
    qtbot.keyClick(window.canvas, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    assert not window.isWindowModified()
    assert "seed.gradwire.json" in window.windowTitle()

    session = Session(load(path))
    run = session.backward()
    assert np.array_equal(run.values["loss.out"], result.values["loss.out"])
    assert np.array_equal(run.gradients["a"], result.gradients["a"])
    assert run.gradients["b"] is None
    assert dict(analyse(session.program).states()) == dict(result.states)


def test_everything_that_was_built_can_be_undone_and_redone(qtbot, window):
    drop_block(window, "Variable", QPoint(60, 60))
    drop_block(window, "Tanh", QPoint(300, 60))
    wire(qtbot, window, "variable1.out", "tanh1.x")
    rename(qtbot, window, "tanh1", "squash")
    click_block(qtbot, window, "squash")
    qtbot.keyClick(window.canvas, Qt.Key.Key_Delete)
    assert list(window.document.diagram.main.blocks) == ["variable1"]
    stack = window.document.undo_stack
    depth = stack.index()
    for _ in range(depth):
        qtbot.keyClick(window.canvas, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert not window.document.diagram.main.blocks
    assert window.welcome.isVisible()
    for _ in range(depth - 1):
        window.actions_by_name["redo"].trigger()
    assert list(window.document.diagram.main.blocks) == ["variable1", "squash"]
    assert len(window.document.diagram.main.wires) == 1
    settled(qtbot, window)
