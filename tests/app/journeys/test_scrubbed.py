"""After a drag of a number everything is as if the diagram had been analysed anew."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from app.canvas.paint.blocks.numbers import number_box
from app.canvas.state.annotations import resolve
from app.canvas.state.looks import row_counts
from app.document.numbers import Number
from app.evaluation.evaluator import evaluate
from tests.app.canvas.pages import drag
from tests.benchmarks.scrub import WORKLOADS

NUMBER = Number("w0", "value", (0,))


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
