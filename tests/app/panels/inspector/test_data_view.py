"""The rows of a data set in the inspector, and the file that they come from."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog

import gradwire as gw
from gradwire.app.canvas.state.view_state import Selection
from gradwire.app.panels.inspector.data_view import DataView
from tests.app.mouse import drop


def shown(window, name="data") -> DataView:
    """The data of the selected block."""
    window.canvas.select([name])
    (view,) = window.inspector.form.findChildren(DataView)
    return view


def diagram(**parameters):
    """A loss of what a data set gives."""
    x, y = gw.dataset(name="data", **parameters)
    return gw.build(gw.loss(gw.mean(gw.square(gw.linear(x, gw.own(), units=2)))), gw.display(y))


def click(widget) -> None:
    """Click a widget as a hand does."""
    QTest.mouseMove(widget, QPoint(5, 5))
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton)


def test_the_batch_is_a_table_and_a_picture(opened, qtbot) -> None:
    window = opened(diagram(source="blobs", count=50, batch=8, validation=0.2))
    view = shown(window)
    assert "40 rows for training, 10 for validation" in view.counts.text()
    assert "5 batches of 8" in view.counts.text()
    titles = [view.table.horizontalHeaderItem(i).text() for i in range(view.table.columnCount())]
    assert titles == ["x[0]", "x[1]", "y"] and view.table.rowCount() == 6
    value = window.evaluator.result.values["data.y"][2]
    assert view.table.item(2, 2).text() == str(value)
    picture = view.picture.grab().toImage()
    colours = {
        picture.pixelColor(x, y).name()
        for x in range(picture.width())
        for y in range(picture.height())
    }
    assert len(colours) > 3


def test_only_what_applies_to_the_source_is_shown(opened, qtbot) -> None:
    window = opened(diagram(source="blobs"))
    shown(window)
    form = window.inspector.form
    assert {"count", "classes", "noise"} <= form.fields.keys()
    assert not {"turns", "path"} & form.fields.keys()
    box = form.fields["source"].box
    box.setCurrentIndex(box.findData("spirals"))
    box.activated.emit(box.currentIndex())
    qtbot.waitUntil(lambda: "turns" in window.inspector.form.fields)


def test_digits_are_pictures(opened) -> None:
    window = opened(diagram(source="digits", count=30, columns={"x": {}, "y": {"dtype": "int64"}}))
    view = shown(window)
    assert view.picture.isVisible() and not view.table.isVisible()


def test_a_chosen_file_becomes_the_source(opened, qtbot, tmp_path, monkeypatch) -> None:
    window = opened(diagram(source="spirals", turns=2.0, columns={"x": {}, "y": {}}))
    (tmp_path / "a.csv").write_text("a,b,kind\n1,2,red\n3,4,blue\n5,6,red\n")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(tmp_path / "a.csv"), ""))
    click(shown(window).button)
    block = window.document.diagram.main.blocks["data"]
    assert (block.source, block.path, block.turns) == ("csv", "a.csv", None)
    assert block.columns["x"].of == ("a", "b")
    assert block.columns["y"].labels == ("blue", "red")
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    values = window.evaluator.result.values
    assert np.array_equal(np.sort(values["data.x"][:, 0]), [1, 3, 5])
    assert shown(window).table.item(0, 2).text() in ("red", "blue")
    window.document.undo_stack.undo()
    assert window.document.diagram.main.blocks["data"].turns == 2.0


def test_a_file_that_is_no_data_says_so_and_changes_nothing(opened, tmp_path) -> None:
    window = opened(diagram(source="spirals"))
    before = window.document.diagram
    (tmp_path / "a.npy").write_bytes(b"no array")
    view = shown(window)
    view.use(tmp_path / "a.npy")
    assert "no array of numpy" in view.error.text()
    assert window.document.diagram is before


def test_columns_can_be_typed(opened, qtbot) -> None:
    window = opened(diagram(source="blobs", columns={"x": {}, "y": {"one_hot": 3}}))
    shown(window)
    line = window.inspector.form.fields["columns"].line
    assert line.text() == '{"x": {}, "y": {"one_hot": 3}}'
    line.setFocus()
    line.selectAll()
    QTest.keyClicks(line, '{"x": {"standardise": true}, "y": {}}')
    QTest.keyClick(line, Qt.Key.Key_Return)
    block = window.document.diagram.main.blocks["data"]
    assert block.columns["x"].standardise
    line = window.inspector.form.fields["columns"].line
    line.selectAll()
    QTest.keyClicks(line, "{x")
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert window.document.diagram.main.blocks["data"] == block


def test_nothing_is_selected_without_data(opened) -> None:
    window = opened(diagram(source="blobs"))
    window.canvas.set_selection(Selection())
    assert not window.inspector.findChildren(DataView)


def test_a_data_file_is_dropped_on_the_canvas(opened, qtbot, tmp_path) -> None:
    window = opened(diagram(source="spirals"))
    np.savez(tmp_path / "points.npz", x=np.ones((5, 2)), y=np.zeros(5, int), other=np.zeros(3))
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(tmp_path / "points.npz"))])
    canvas = window.canvas
    at = QPoint(canvas.width() // 2, canvas.height() - 40)
    QTest.mouseMove(canvas, at)
    assert drop(canvas, mime, at)
    (name,) = window.canvas.view.selection.blocks
    block = window.document.diagram.main.blocks[name]
    assert (block.source, block.path, block.output_names()) == ("npz", "points.npz", ("x", "y"))
    qtbot.waitUntil(lambda: f"{name}.x" in window.evaluator.result.values)
    assert window.evaluator.result.values[f"{name}.x"].shape == (5, 2)


def test_a_damaged_data_file_is_not_dropped(opened, tmp_path) -> None:
    window = opened(diagram(source="spirals"))
    (tmp_path / "a.csv").write_bytes(b"")
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(tmp_path / "a.csv"))])
    at, before = QPoint(300, 300), window.document.diagram
    hints = []
    window.canvas.statusMessage.connect(hints.append)
    QTest.mouseMove(window.canvas, at)
    assert not drop(window.canvas, mime, at)
    assert window.document.diagram is before
    assert any("empty" in hint for hint in hints)


def test_columns_are_a_table_over_all_rows_which_tab_leaves(opened, qtbot, tmp_path) -> None:
    table = np.stack([np.arange(200.0), np.full(200, np.nan)], axis=1)
    np.save(tmp_path / "a.npy", table)
    path = str(tmp_path / "a.npy")
    made = gw.dataset(name="data", source="npy", path=path, columns={"x": {}}, validation=0.25)
    window = opened(gw.build(gw.loss(gw.mean(made), name="L")))
    view = shown(window)
    qtbot.waitUntil(view.columns.table.isVisible)
    cells = [view.columns.table.item(0, i).text() for i in range(6)]
    assert cells == ["x (2)", "float64", "0", "199", "99.5", "200"]
    assert view.columns.caption.text() == "All rows, by column"
    assert "150 rows for training, 50 for validation" in view.counts.text()
    view.columns.table.setFocus()
    qtbot.keyClick(view.columns.table, Qt.Key.Key_Right)
    assert view.columns.table.currentColumn() == 1
    qtbot.keyClick(view.columns.table, Qt.Key.Key_Tab)
    assert not view.columns.table.hasFocus()


def test_another_data_set_replaces_the_columns(opened, qtbot) -> None:
    window = opened(diagram(source="blobs", count=50))
    view = shown(window)
    qtbot.waitUntil(view.columns.table.isVisible)
    assert [view.columns.table.item(i, 0).text() for i in range(2)] == ["x (2)", "y"]
    assert view.columns.table.item(1, 4).text() == "0.98"
    view.columns.show_rows(None)
    assert not view.columns.isVisible()
