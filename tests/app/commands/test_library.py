"""The user's library: pages go there from one file and come to another, with all they need."""

import json

import numpy as np
import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QMessageBox

from gradwire.app.canvas.paint.blocks.rows import ASIDE_ROLE
from gradwire.blocks import Tensor
from gradwire.blocks.library.arithmetic import Add, Mul
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.sources import Constant
from gradwire.runtime.diagram import AddBlock, InsertPage, Page

WEIGHT = np.arange(50_000.0)


@pytest.fixture
def window(window, qtbot):
    qtbot.waitUntil(window.isActiveWindow)
    layer = Page({"w": Constant(value=Tensor(WEIGHT))})
    window.edit.change(InsertPage("layer", layer))
    window.edit.change(InsertPage("net", Page({"one": PageBlock(page="layer")})))
    window.edit.change(AddBlock("use", PageBlock(page="net")))
    return window


@pytest.fixture
def saved(window):
    """The window has put its page into the library."""
    window.canvas.select(["use"])
    window.actions_by_name["save_to_library"].trigger()
    assert (window.settings.library / "net.gradwire.json").is_file()
    return window


def lines(window):
    """The rows of the palette's list of the library, by name."""
    model = window.palette_panel.tree.model()
    heads = [model.index(row, 0) for row in range(model.rowCount())]
    found = {}
    for head in heads:
        if head.data() == "My library":
            rows_of_it = (model.index(row, 0, head) for row in range(model.rowCount(head)))
            found = {index.data(): index for index in rows_of_it}
    return found


def rows(window):
    """Names in the list, and what is said beside them."""
    return {name: index.data(ASIDE_ROLE) for name, index in lines(window).items()}


def spoken(window, name):
    return lines(window)[name].data(Qt.ItemDataRole.AccessibleTextRole)


def click(window, name, qtbot):
    """Go to the row of a page, and press Enter."""
    tree = window.palette_panel.tree
    tree.setFocus()
    tree.setCurrentIndex(lines(window)[name])
    qtbot.keyClick(tree, Qt.Key.Key_Return)


def answer(button):
    def press():
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        box.button(button).click()

    QTimer.singleShot(0, press)


def test_a_page_is_saved_and_listed_in_every_window(saved):
    assert rows(saved) == {"net": ""}
    other = saved.windows.new()
    assert rows(other) == {"net": ""}
    other.close()


@pytest.mark.night
def test_it_comes_to_another_file_with_its_pages_and_arrays(saved, qtbot):
    saved.document.new()
    click(saved, "net", qtbot)
    diagram = saved.document.diagram
    assert set(diagram.pages) == {"main", "net", "layer"}
    assert diagram.main.blocks["net"].page == "net"
    assert np.array_equal(diagram.pages["layer"].blocks["w"].value.array, WEIGHT)
    assert saved.canvas.selection() == {"net"}
    assert saved.document.undo_stack.undoText() == "Insert net"
    saved.document.undo_stack.undo()
    assert set(saved.document.diagram.pages) == {"main"}


def test_a_page_that_is_there_already_is_kept_before_it_is_replaced(saved):
    before = (saved.settings.library / "net.gradwire.json").read_bytes()
    saved.navigation.enter("use")
    saved.edit.change(AddBlock("new", Add(), page="net"))
    answer(QMessageBox.StandardButton.No)
    saved.actions_by_name["save_to_library"].trigger()
    assert (saved.settings.library / "net.gradwire.json").read_bytes() == before
    answer(QMessageBox.StandardButton.Yes)
    saved.actions_by_name["save_to_library"].trigger()
    assert (saved.settings.library / "net.gradwire.json").read_bytes() != before


def test_the_list_says_what_differs_and_an_update_is_one_undo(saved):
    saved.edit.change(AddBlock("mine", Mul(), page="net"))
    assert rows(saved) == {"net": "differs"}
    assert spoken(saved, "net") == "net, differs"
    saved.canvas.select(["use"])
    saved.actions_by_name["update_from_library"].trigger()
    assert rows(saved) == {"net": ""}
    assert "mine" not in saved.document.diagram.pages["net"].blocks
    assert saved.document.diagram.main.blocks["use"].page == "net"
    saved.document.undo_stack.undo()
    assert "mine" in saved.document.diagram.pages["net"].blocks


@pytest.mark.night
def test_an_edit_elsewhere_reads_neither_folder_nor_files(saved, monkeypatch):
    assert rows(saved) == {"net": ""}

    def refuse(*given):
        raise AssertionError("The library was read again.")

    monkeypatch.setattr("gradwire.app.services.library.load", refuse)
    monkeypatch.setattr("pathlib.Path.iterdir", refuse)
    monkeypatch.setattr("pathlib.Path.stat", refuse)
    saved.edit.change(AddBlock("other", Add()))
    assert rows(saved) == {"net": ""}


def test_a_file_that_another_program_adds_is_listed(saved, qtbot):
    folder = saved.settings.library
    (folder / "more.gradwire.json").write_bytes((folder / "net.gradwire.json").read_bytes())
    qtbot.waitUntil(lambda: set(rows(saved)) == {"net", "more"})


def test_what_is_up_to_date_or_not_there_is_said(saved):
    saved.canvas.select(["use"])
    saved.actions_by_name["update_from_library"].trigger()
    assert saved.statusBar().currentMessage() == "Page net is as in the library."
    saved.navigation.open("layer")
    saved.canvas.select([])
    saved.actions_by_name["update_from_library"].trigger()
    assert saved.statusBar().currentMessage() == "The library has no page layer."


def test_without_a_page_nothing_is_saved(window):
    window.canvas.select([])
    window.actions_by_name["save_to_library"].trigger()
    assert "Select a block that uses a page" in window.statusBar().currentMessage()
    assert not window.settings.library.exists()


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    "content",
    [
        b"\x00\xff",
        b"{",
        b"[" * 100_000,
        json.dumps({"gradwire": 3, "pages": {"main": {}}}).encode(),
        json.dumps({"gradwire": 3, "tensors": "/etc/passwd", "pages": {"main": {}}}).encode(),
    ],
)
def test_a_hostile_file_is_refused_and_changes_nothing(saved, qtbot, content):
    (saved.settings.library / "evil.gradwire.json").write_bytes(content)
    saved.windows.library.refresh()
    before = saved.document.diagram
    click(saved, "evil", qtbot)
    assert saved.document.diagram is before
    assert saved.notice.text().startswith("evil was not read.")


@pytest.mark.night
def test_a_page_is_not_put_inside_itself(saved, qtbot):
    saved.navigation.enter("use")
    before = saved.document.diagram
    click(saved, "net", qtbot)
    assert saved.document.diagram is before
    assert "can't be used" in saved.notice.text()


def test_another_folder_is_chosen(saved, tmp_path, monkeypatch):
    (tmp_path / "theirs").mkdir()
    monkeypatch.setattr(
        "gradwire.app.commands.library.QFileDialog.getExistingDirectory",
        lambda *given: str(tmp_path / "theirs"),
    )
    saved.actions_by_name["library_folder"].trigger()
    assert saved.settings.library == tmp_path / "theirs"
    assert rows(saved) == {}
