"""After a drag of a number everything is as if the diagram had been analysed anew."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QPlainTextEdit

from gradwire.app.canvas.paint.blocks.numbers import number_box
from gradwire.app.canvas.state.annotations import resolve
from gradwire.app.canvas.state.looks import row_counts
from gradwire.app.document.numbers import NumberCell
from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.panels.inspector.block_form import BlockForm
from gradwire.app.panels.inspector.inspector import Inspector
from gradwire.app.panels.pacing import EVERY
from gradwire.app.panels.tables.variables import VariablesTable
from tests.app.canvas.pages import drag, move
from tests.benchmarks.scrub import WORKLOADS

NUMBER = NumberCell("w0", "value", (0,))


@pytest.fixture(params=WORKLOADS.values(), ids=WORKLOADS)
def window(request, qtbot, window):
    window.document._begin(request.param(40), None)
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    window.canvas.set_zoom(1.0)
    window.canvas.reveal(window.canvas.view.scene.bounds_of(["w0"]))
    return window


def same(found, wanted) -> bool:
    """Whether two mappings have equal arrays, numbers or states."""
    return found.keys() == wanted.keys() and all(
        (found[key] is None) == (wanted[key] is None)
        and (found[key] is None or np.array_equal(found[key], wanted[key], equal_nan=True))
        for key in wanted
    )


def texts_of(inspector):
    """Everything that the form of the selected block says."""
    found = [label.text() for label in inspector.form.findChildren(QLabel)]
    found += [line.text() for line in inspector.form.findChildren(QLineEdit)]
    return found + [text.toPlainText() for text in inspector.form.findChildren(QPlainTextEdit)]


def rows_of(table):
    cells = [[table.index(r, c).data() for c in range(4)] for r in range(table.rowCount())]
    assert cells
    return cells


def assert_panels_agree(qtbot, window):
    """Inspector and table of variables say the same as new ones."""
    document, result = window.document, window.evaluator.result
    inspector, variables = Inspector(), VariablesTable()
    for panel in (inspector, variables):
        qtbot.addWidget(panel)
        panel.show()
        panel.set_diagram(document.diagram)
        panel.set_result(result)
    inspector.set_selection(window.canvas.view.selection)
    assert texts_of(window.inspector) == texts_of(inspector)
    assert rows_of(window.variables.table) == rows_of(variables.table)


@pytest.mark.night
def test_panels_follow_a_drag_and_agree_whenever_the_hand_rests(qtbot, window, monkeypatch):
    canvas, start = window.canvas, number_box(window.canvas.view, NUMBER).center().toPoint()
    window.docks.bring_up("inspector")
    window.docks.bring_up("variables")
    canvas.select({"w0"})
    seen = []
    show_block = BlockForm.show_block
    monkeypatch.setattr(
        BlockForm, "show_block", lambda *about: (seen.append(about[1]), show_block(*about))
    )
    drag(canvas, start, start - QPoint(90, 0), release=False)
    assert window.document.is_previewing
    qtbot.waitUntil(lambda: not window.evaluator.busy and bool(seen))
    qtbot.wait(2 * EVERY)
    assert seen[-1] is window.document.diagram
    assert_panels_agree(qtbot, window)
    move(canvas, start - QPoint(160, 0), Qt.MouseButton.LeftButton)
    QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=start - QPoint(160, 0))
    assert seen[-1] is window.document.diagram, "at once when the hand lets go"
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    assert_panels_agree(qtbot, window)


@pytest.mark.night
def test_the_last_result_is_that_of_a_full_analysis(qtbot, window):
    canvas = window.canvas
    start = number_box(canvas.view, NUMBER).center().toPoint()
    drag(canvas, start, start - QPoint(160, 0), release=False)
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    canvas.grab()
    QTest.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=start - QPoint(160, 0))
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    diagram = window.document.diagram
    assert diagram.main.blocks["w0"].value.array[0] < 0, "the drag has switched relus off"
    found, wanted = window.evaluator.result, evaluate(diagram)
    for part in ("values", "gradients", "norms", "contributions", "zeros"):
        assert same(getattr(found, part), getattr(wanted, part)), part
    assert found.states == wanted.states
    assert found.diagnostics == wanted.diagnostics
    shown, anew = canvas.view.annotations, resolve(canvas.view.scene, wanted)
    assert np.array_equal(shown.total.codes, anew.total.codes)
    assert np.array_equal(shown.total.widths, anew.total.widths)
    assert np.array_equal(canvas.view.scene.rows, row_counts(anew.page))
    assert all(shown.look(i) == anew.look(i) for i in range(len(canvas.view.scene.names)))
