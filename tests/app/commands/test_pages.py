"""Pages in the palette: made, used in several places, entered, named, copied, removed."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMenu

from gradwire.app.canvas.input.dropping import PAGE_MIME
from gradwire.app.canvas.input.entry.quick_add import QuickAdd
from gradwire.app.canvas.paint.blocks.rows import ASIDE_ROLE, REFUSAL_ROLE
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import AddBlock, InsertPage, RemoveBlocks, SetParameters, group
from tests.app.document.test_diff import seed
from tests.app.mouse import LEFT, drop, palette_row

CONTROL = Qt.KeyboardModifier.ControlModifier
Key = Qt.Key


@pytest.fixture
def window(qtbot, window):
    window.document._begin(seed(), None)
    window.edit.change(group(window.document.diagram, "main", ["mul1"]))
    window.edit.change(InsertPage("idle"))
    qtbot.waitUntil(window.isActiveWindow)
    return window


def page_row(window, name):
    index = palette_row(window, name)
    window.palette_panel.tree.scrollTo(index)
    window.palette_panel.tree.setCurrentIndex(index)
    return index


def tree(window):
    return window.palette_panel.tree


def press(window, key, modifiers=Qt.KeyboardModifier.NoModifier):
    tree(window).setFocus()
    QTest.keyClick(tree(window), key, modifiers)


def pages(window):
    return list(window.document.diagram.pages)


def uses(window, page, of):
    blocks = window.document.diagram.pages[page].blocks
    return [n for n, b in blocks.items() if isinstance(b, PageBlock) and b.page == of]


def told(window):
    return window.statusBar().currentMessage()


class TestList:
    def test_pages_stand_in_the_palette_with_their_ports(self, window):
        assert palette_row(window, "group1").data(ASIDE_ROLE) == "b → out"
        tip = palette_row(window, "group1").data(Qt.ItemDataRole.ToolTipRole)
        assert "b → out" in tip
        assert "1 times" in tip
        assert "Not used" in palette_row(window, "idle").data(Qt.ItemDataRole.ToolTipRole)

    def test_they_are_found_by_typing(self, window, qtbot):
        qtbot.keyClicks(window.palette_panel.search_line, "gro")
        assert tree(window).currentIndex().data() == "group1"
        qtbot.keyClick(window.palette_panel.search_line, Key.Key_Return)
        assert len(uses(window, "main", "group1")) == 2

    def test_a_diagram_without_pages_has_no_such_heading(self, window):
        window.document.new()
        model = tree(window).model()
        heads = [model.index(row, 0).data() for row in range(model.rowCount())]
        assert "Pages of this diagram" not in heads


class TestReuse:
    def test_enter_uses_a_page_once_more_and_a_change_inside_shows_at_both(self, window):
        page_row(window, "group1")
        press(window, Key.Key_Return)
        first, second = uses(window, "main", "group1")
        assert window.canvas.selection() == {second}
        window.edit.change(AddBlock("extra", registry().get("PageOutput")(), page="group1"))
        for use in (first, second):
            assert window.canvas.port_position(use, "extra")

    def test_a_page_is_dragged_onto_the_canvas(self, window):
        row = page_row(window, "group1")
        assert drop(window.canvas, row.model().mimeData([row]), QPoint(60, 60))
        assert len(uses(window, "main", "group1")) == 2

    def test_it_is_dropped_into_a_wire(self, window):
        window.canvas.zoom_to_fit()
        row = page_row(window, "group1")
        wire = window.canvas.wire_position("loss.x")
        at = wire - QPoint(*(round(v * window.canvas.zoom()) for v in (80, 26)))
        assert drop(window.canvas, row.model().mimeData([row]), at)
        second = uses(window, "main", "group1")[1]
        targets = [str(t) for t in window.document.diagram.main.wires]
        assert f"{second}.b" in targets
        assert window.document.diagram.main.ends.inward["loss"]

    def test_a_page_is_refused_on_itself_with_the_reason(self, window):
        window.navigation.enter("group1")
        row = page_row(window, "group1")
        assert "itself" in row.data(REFUSAL_ROLE)
        assert not row.flags() & Qt.ItemFlag.ItemIsDragEnabled
        press(window, Key.Key_Return)
        assert "can't be used on itself" in told(window)
        mime = QMimeData()
        mime.setData(PAGE_MIME, b"group1")
        assert not drop(window.canvas, mime, QPoint(60, 60))
        assert uses(window, "group1", "group1") == []

    def test_a_page_that_stands_on_this_one_is_refused_too(self, window):
        window.navigation.open("idle")
        page_row(window, "group1")
        press(window, Key.Key_Return)
        assert uses(window, "idle", "group1")
        window.navigation.open("group1")
        page_row(window, "idle")
        press(window, Key.Key_Return)
        assert "it uses page 'group1' itself" in told(window)
        assert uses(window, "group1", "idle") == []

    def test_a_page_of_another_diagram_is_refused(self, window):
        mime = QMimeData()
        mime.setData(PAGE_MIME, b"elsewhere")
        before = window.document.diagram
        assert not drop(window.canvas, mime, QPoint(60, 60))
        assert "no page 'elsewhere'" in told(window)
        assert window.document.diagram is before


class TestNew:
    @pytest.mark.night
    @pytest.mark.parametrize("way", ["menu", "palette", "quick add"])
    def test_a_new_page_passes_on_what_it_gets(self, window, qtbot, way):
        if way == "menu":
            window.actions_by_name["new_page"].trigger()
        elif way == "palette":
            qtbot.keyClicks(window.palette_panel.search_line, "page")
            qtbot.keyClick(window.palette_panel.search_line, Key.Key_Return)
        else:
            window.canvas.setFocus()
            QTest.keyClick(window.canvas, Key.Key_Tab)
            (box,) = window.canvas.findChildren(QuickAdd)
            QTest.keyClicks(box.line, "page")
            QTest.keyClick(box.line, Key.Key_Return)
        assert window.canvas.selection() == {"page1"}
        inner = window.document.diagram.pages["page1"]
        assert list(inner.blocks) == ["x", "y"]
        assert [str(t) for t in inner.wires] == ["y.x"]
        window.actions_by_name["undo"].trigger()
        assert "page1" not in pages(window)

    def test_a_use_gets_a_page_of_its_own(self, window):
        page_row(window, "group1")
        press(window, Key.Key_Return)
        first, second = uses(window, "main", "group1")
        window.canvas.select({second})
        window.actions_by_name["unique_page"].trigger()
        assert uses(window, "main", "group1") == [first]
        assert uses(window, "main", "group2") == [second]
        window.edit.change(SetParameters("mul1", {"a": 7.0}, page="group2"))
        diagram = window.document.diagram
        assert diagram.pages["group1"] != diagram.pages["group2"]


class TestKept:
    def test_f2_gives_a_page_another_name_and_its_uses_follow(self, window, qtbot):
        page_row(window, "group1")
        press(window, Key.Key_F2)
        field = tree(window).findChild(QLineEdit)
        QTest.keyClicks(field, "encoder")
        QTest.keyClick(field, Key.Key_Return)
        qtbot.waitUntil(lambda: uses(window, "main", "encoder") == ["group1"])
        assert "group1" not in pages(window)
        window.actions_by_name["undo"].trigger()
        assert "group1" in pages(window)

    def test_a_name_that_can_not_be_is_refused_with_the_reason(self, window, qtbot):
        page_row(window, "group1")
        press(window, Key.Key_F2)
        field = tree(window).findChild(QLineEdit)
        QTest.keyClicks(field, "idle")
        QTest.keyClick(field, Key.Key_Return)
        qtbot.waitUntil(lambda: "already" in window.notice.text())
        assert "group1" in pages(window)

    def test_a_page_without_a_use_is_entered_named_and_left(self, window, qtbot):
        page_row(window, "idle")
        press(window, Key.Key_Return, CONTROL)
        assert window.navigation.page == "idle"
        assert window.breadcrumbs.isVisible()
        window.edit.add_block("Tanh")
        assert "tanh1" in window.document.diagram.pages["idle"].blocks
        window.pages.rename("idle", "draft")
        assert window.navigation.page == "draft"
        main = window.breadcrumbs.layout().itemAt(0).widget()
        qtbot.mouseClick(main, LEFT)
        assert window.navigation.page == "main"
        window.pages.open("draft")
        window.actions_by_name["leave_page"].trigger()
        assert window.navigation.page == "main"

    def test_delete_removes_a_page_that_nothing_uses_and_no_other(self, window):
        page_row(window, "group1")
        press(window, Key.Key_Delete)
        assert "in use: main/group1" in window.notice.text()
        page_row(window, "idle")
        press(window, Key.Key_Delete)
        assert pages(window) == ["main", "group1"]

    def test_a_page_stays_when_its_last_use_goes(self, window):
        window.edit.change(RemoveBlocks(("group1",)))
        page_row(window, "group1")
        press(window, Key.Key_Return, CONTROL)
        assert window.navigation.page == "group1"

    def test_the_menu_of_a_row_copies_a_page(self, window):
        index = page_row(window, "group1")
        at = tree(window).visualRect(index).center()
        tree(window).customContextMenuRequested.emit(at)
        menu = next(
            m for m in QApplication.topLevelWidgets() if isinstance(m, QMenu) and m.isVisible()
        )
        copy = next(a for a in menu.actions() if "Copy" in a.text())
        copy.trigger()
        menu.close()
        diagram = window.document.diagram
        assert diagram.pages["group2"] == diagram.pages["group1"]


def test_a_page_by_itself_can_be_asked_about_although_nothing_of_it_ran(window, qtbot):
    window.document._begin(seed(), None)
    window.edit.change(group(window.document.diagram, "main", ["stop", "mul1"]))
    window.edit.change(RemoveBlocks(("group1",)))
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    window.pages.open("group1")
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    window.canvas.setFocus()
    window.canvas.select({"stop"})
    at = window.canvas.wire_position("stop.x")
    qtbot.mouseClick(window.canvas, LEFT, pos=at)
    assert window.canvas.selected_wire() == "stop.x"
    for key in (Key.Key_W, Key.Key_T, Key.Key_X):
        QTest.keyClick(window.canvas, key)
    QTest.keyClick(window.canvas, Key.Key_T, CONTROL)
    assert not window.trial.active
    assert "nothing to try" in told(window)
    assert any("Nothing uses group1" in x.text() for x in window.breadcrumbs.findChildren(QLabel))
    window.canvas.grab()
    QTest.keyClick(window.canvas, Key.Key_Delete)
    assert "stop.x" not in {str(t) for t in window.document.diagram.pages["group1"].wires}
    window.navigation.leave()
    window.actions_by_name["undo"].trigger()
    assert window.navigation.page == "group1"
    assert window.canvas.selected_wire() == "stop.x"
