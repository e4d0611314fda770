"""Scans: placed, entered at a step, stepped through, edited in the inspector."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QLineEdit, QToolButton, QWidget

from gradwire.blocks.library.arithmetic import Add
from gradwire.blocks.library.losses import Loss
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput, Scan
from gradwire.blocks.library.reduce import Sum
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram import Connect, Diagram, Page, PortName, SetParameters
from gradwire.runtime.diagram.model import Point
from tests.app.mouse import LEFT, double_click

ALT = Qt.KeyboardModifier.AltModifier


def scanning() -> Diagram:
    """``loss = sum`` of the running sums of three numbers."""
    cell = {"x": PageInput(), "h": PageInput(), "inner": PageBlock(page="plus"),
            "y": PageOutput(), "h_n": PageOutput()}  # fmt: skip
    rnn = Scan(page="cell", steps=3, over=("x",), carry={"h": "h_n"}, h=0.0)
    plus = {"a": PageInput(), "b": PageInput(), "add": Add(), "out": PageOutput()}
    return made(
        main=({"xs": Variable(value=[1.0, 2.0, 4.0]), "rnn": rnn, "sum": Sum(), "loss": Loss()},
              {"rnn.x": "xs.out", "sum.x": "rnn.y", "loss.x": "sum.out"}),
        cell=(cell, {"inner.a": "x.out", "inner.b": "h.out", "y.x": "inner.out",
                     "h_n.x": "inner.out"}),
        plus=(plus, {"add.a": "a.out", "add.b": "b.out", "out.x": "add.out"}),
    )  # fmt: skip


def made(**pages) -> Diagram:
    parse = PortName.parse
    return Diagram(
        {
            name: Page(
                blocks,
                {parse(target): parse(source) for target, source in wires.items()},
                {block: Point(260.0 * i, 0.0) for i, block in enumerate(blocks)},
            )
            for name, (blocks, wires) in pages.items()
        }
    )


def row(window) -> list[QWidget]:
    layout = window.breadcrumbs.layout()
    found = (layout.itemAt(i).widget() for i in range(layout.count()))
    return [widget for widget in found if widget is not None]


def crumbs(window) -> list[str]:
    return [widget.text() for widget in row(window) if widget.text() != "▸"]


def step_button(window, name) -> QToolButton:
    return next(widget for widget in row(window) if widget.accessibleName() == name)


def shown(window, qtbot, name):
    """The value of a block on the page in view, once it is known."""
    page = window.canvas.view.annotations.page
    qtbot.waitUntil(lambda: page.value(name, "out") is not None)
    return float(page.value(name, "out"))


def test_a_double_click_opens_the_first_step_and_the_bar_leads_through_the_steps(opened, qtbot):
    window = opened(scanning())
    double_click(window.canvas, window.canvas.block_rect("rnn").center())
    assert (window.navigation.page, window.navigation.use) == ("cell", "rnn/0")
    assert crumbs(window) == ["main", "rnn", "←", "step 0 of 0–2", "→"]
    assert not step_button(window, "Previous step").isEnabled()
    qtbot.mouseClick(step_button(window, "Next step"), LEFT)
    assert window.navigation.use == "rnn/1"
    step_button(window, "Next step").setFocus()
    QTest.keyClick(step_button(window, "Next step"), Qt.Key.Key_Space)
    assert crumbs(window)[3] == "step 2 of 0–2"
    assert not step_button(window, "Next step").isEnabled()
    qtbot.mouseClick(step_button(window, "Previous step"), LEFT)
    assert window.navigation.use == "rnn/1"
    qtbot.mouseClick(window.breadcrumbs.layout().itemAt(0).widget(), LEFT)
    assert window.navigation.use == ""


def test_keys_go_to_other_steps_also_from_pages_inside(opened, qtbot):
    window = opened(scanning())
    assert not window.actions_by_name["next_step"].isEnabled()
    window.navigation.go(("rnn", "0", "inner"))
    window.canvas.setFocus()
    QTest.keyClick(window.canvas, Qt.Key.Key_Right, ALT)
    QTest.keyClick(window.canvas, Qt.Key.Key_Right, ALT)
    QTest.keyClick(window.canvas, Qt.Key.Key_Right, ALT)
    assert window.navigation.use == "rnn/2/inner"
    assert crumbs(window) == ["main", "rnn", "←", "step 2 of 0–2", "→", "inner"]
    QTest.keyClick(window.canvas, Qt.Key.Key_Left, ALT)
    assert window.navigation.use == "rnn/1/inner"
    window.actions_by_name["previous_step"].trigger()
    assert window.navigation.use == "rnn/0/inner"
    window.actions_by_name["leave_page"].trigger()
    window.actions_by_name["leave_page"].trigger()
    assert window.navigation.use == ""


def test_a_step_shows_its_own_numbers(opened, qtbot):
    window = opened(scanning())
    window.navigation.go(("rnn", "2"))
    assert shown(window, qtbot, "x") == 4.0
    assert shown(window, qtbot, "h") == 3.0
    window.navigation.step(-2)
    assert shown(window, qtbot, "x") == 1.0


def test_the_face_says_how_many_steps_there_are_and_the_inspector_edits_them(opened, qtbot):
    window = opened(scanning())
    scene = window.canvas.view.scene
    annotations = window.canvas.view.annotations
    assert annotations.look(scene.index["rnn"]).label == "↻ 3 · cell"
    assert annotations.plain_look(scene.index["rnn"]).summary == ("3 steps", "3")
    window.canvas.select({"rnn"})
    form = window.inspector.findChildren(QLineEdit)
    steps = next(line for line in form if line.text() == "3")
    steps.setFocus()
    steps.selectAll()
    QTest.keyClicks(steps, "2")
    QTest.keyClick(steps, Qt.Key.Key_Return)
    assert window.document.diagram.main.blocks["rnn"].steps == 2
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    assert any("length 2" in str(d) for d in window.evaluator.result.diagnostics)


def test_a_problem_inside_a_step_is_found_there(opened, qtbot):
    window = opened(scanning())
    window.reveal.path("rnn/2/inner/add")
    assert window.navigation.use == "rnn/2/inner"
    assert window.canvas.selection() == {"add"}
    window.reveal.path("rnn/y")
    assert (window.navigation.use, window.canvas.selection()) == ("", {"rnn"})


def test_a_new_scan_comes_with_a_page_that_adds_up(window, qtbot):
    window.edit.add_block("Variable")
    window.edit.add_block("Scan")
    blocks = window.document.diagram.main.blocks
    (name,) = (name for name, block in blocks.items() if isinstance(block, Scan))
    assert blocks[name].page in window.document.diagram.pages
    window.edit.change(SetParameters("variable1", {"value": [1.0, 2.0, 3.0]}))
    window.edit.change(Connect(PortName("variable1", "out"), PortName(name, "x")))
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    assert float(window.canvas.view.annotations.page.value(name, "h_n")) == 6.0


def test_fewer_steps_lead_out_of_those_that_are_gone(opened):
    window = opened(scanning())
    window.navigation.go(("rnn", "2", "inner"))
    window.edit.change(SetParameters("rnn", {"steps": 2}))
    assert window.navigation.use == ""


def test_the_inspector_says_what_each_input_gets_in_each_step(opened, qtbot):
    window = opened(scanning())
    window.canvas.select({"rnn"})
    boxes = {box.parent().accessibleName(): box for box in window.inspector.findChildren(QComboBox)}
    roles = {name: box.currentText() for name, box in boxes.items() if name.endswith("role")}
    assert roles == {"x role": "one element per step", "h role": "carried from h_n"}
    box = boxes["h role"]
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_Home)
    QTest.keyClick(box, Qt.Key.Key_Return)
    scan = window.document.diagram.main.blocks["rnn"]
    assert (scan.carry, scan.over) == ({}, ("x",))
    window.actions_by_name["undo"].trigger()
    assert window.document.diagram.main.blocks["rnn"].carry == {"h": "h_n"}


@pytest.mark.night
@pytest.mark.parametrize("layer", ["LSTM", "GRU", "RNN"])
def test_a_recurrent_layer_is_found_in_the_palette_and_runs_at_once(window, qtbot, layer):
    window.edit.add_block("Constant")
    window.edit.change(SetParameters("constant1", {"value": [[1.0, 2.0]] * 8}))
    tree, line = window.palette_panel.tree, window.palette_panel.search_line
    line.setFocus()
    QTest.keyClicks(line, layer.lower())
    assert tree.currentIndex().data() == layer
    QTest.keyClick(line, Qt.Key.Key_Return)
    name = layer.lower()
    scan = window.document.diagram.main.blocks[name]
    assert (scan.page, scan.steps, scan.over) == (f"{name}_cell", 8, ("x",))
    window.edit.change(Connect(PortName("constant1", "out"), PortName(name, "x")))
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    qtbot.waitUntil(lambda: window.canvas.view.annotations.page.value(name, "y") is not None)
    assert window.canvas.view.annotations.page.value(name, "y").shape == (8, 4)
    window.actions_by_name["undo"].trigger()
    window.actions_by_name["undo"].trigger()
    assert list(window.document.diagram.pages) == ["main"]
