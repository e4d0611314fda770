"""The matrix of losses and variables: what it says, and where its cells lead."""

import pytest
from PySide6.QtCore import QPoint, Qt

from gradwire.app.evaluation.evaluator import MAX_LOSSES
from gradwire.runtime.build import build, loss, stop_gradient, variable
from gradwire.runtime.diagram import RemoveBlocks, SetParameters
from tests.app.mouse import LEFT


def shared():
    """w is pulled to 5 by one loss and to 8 by the other: 6 and −12; u by the first alone."""
    w, u, v = variable("w", [2.0]), variable("u", [1.0]), variable("v", [1.0])
    h = w * 3.0
    one = (h - 5.0) * (h - 5.0) + u
    other = (h - 8.0) * (h - 8.0) + stop_gradient(v, name="sg")
    return build(loss(one, name="L1"), loss(other, name="L2"), title="Shared")


@pytest.fixture
def window(opened, qtbot):
    made = opened(shared())
    made.docks.by_name["matrix"].raise_()
    settled(qtbot, made)
    return made


def settled(qtbot, window):
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    qtbot.waitUntil(lambda: not window.loss_matrix.worker.is_pending("matrix"))


def rows(window):
    table = window.loss_matrix.panel.table
    return {
        table.index(row, 0).data(): [
            table.index(row, column).data() for column in range(1, table.columnCount())
        ]
        for row in range(table.rowCount())
    }


def click(qtbot, window, row, column):
    panel = window.loss_matrix.panel
    at = panel.visualRect(panel.table.index(row, column)).center()
    qtbot.mouseClick(panel.viewport(), LEFT, pos=at)


def header(window):
    table = window.loss_matrix.panel.table
    return [
        table.headerData(column, Qt.Orientation.Horizontal) for column in range(table.columnCount())
    ]


def test_a_variable_that_is_gone_since_leads_nowhere(window, qtbot):
    row = list(rows(window)).index("u")
    window.edit.change(RemoveBlocks(("u",)))
    click(qtbot, window, row, 0)
    assert window.canvas.selection() == frozenset()


def test_sizes_angles_owners_and_conflicts(window):
    assert header(window) == ["Variable", "L1", "L2", "Trained by"]
    assert rows(window) == {
        "w": ["6 · cos −1", "12 · cos 1", "L1, L2; L1 against L2: −1"],
        "u": ["1 · cos 1", "None", "L1"],
        "v": ["None", "None", "none"],
    }


def test_a_click_on_a_cell_shows_the_variable_as_to_that_loss(window, qtbot):
    names = list(rows(window))
    click(qtbot, window, names.index("w"), 2)
    assert window.losses.chosen == "L2.out"
    assert "w" in window.canvas.route().numbers
    assert window.canvas.route().numbers["L2"] == "1"


def test_a_click_on_a_name_leaves_the_loss_as_it_is(window, qtbot):
    click(qtbot, window, list(rows(window)).index("v"), 0)
    assert window.losses.chosen is None
    assert window.canvas.selection() == {"v"}
    assert window.canvas.route().cutters == {"sg.x": "⊣"}


def test_enter_does_as_a_click(window, qtbot):
    panel = window.loss_matrix.panel
    panel.setCurrentIndex(panel.table.index(list(rows(window)).index("w"), 1))
    qtbot.keyClick(panel, Qt.Key.Key_Return)
    assert window.losses.chosen == "L1.out"


def test_a_click_on_a_header_chooses_the_loss(window, qtbot):
    head = window.loss_matrix.panel.horizontalHeader()
    x = head.sectionViewportPosition(1) + 5
    qtbot.mouseClick(head.viewport(), LEFT, pos=QPoint(x, 5))
    assert window.losses.chosen == "L1.out"
    settled(qtbot, window)
    assert rows(window)["w"][1] == "12 · cos 1", "it is about all losses whatever is chosen"


def test_after_an_edit_it_compares_again(window, qtbot):
    window.edit.change(SetParameters("w", {"value": [3.0]}))
    settled(qtbot, window)
    assert rows(window)["w"][0] == "24 · cos 1"


def test_a_screen_reader_is_told_which_cell_it_is(window):
    table = window.loss_matrix.panel.table
    said = table.index(0, 1).data(Qt.ItemDataRole.AccessibleTextRole)
    assert said.startswith(f"{table.index(0, 0).data()}, L1: ")


@pytest.mark.night
def test_without_a_loss_and_with_too_many_it_says_so(opened, qtbot):
    window = opened(build(variable("w", [1.0]) * 2.0 + [0.0, 1.0]))
    window.docks.by_name["matrix"].raise_()
    settled(qtbot, window)
    assert list(rows(window)) == ["There is no loss yet."]
    click(qtbot, window, 0, 0)
    w = variable("w", [1.0])
    many = opened(build(*(loss(w * float(i), name=f"L{i}") for i in range(MAX_LOSSES + 1))))
    many.docks.by_name["matrix"].raise_()
    settled(qtbot, many)
    assert "too many" in next(iter(rows(many)))
