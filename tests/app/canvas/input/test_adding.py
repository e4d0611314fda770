from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from gradwire.app.canvas.input.entry.candidates import candidates, search
from gradwire.app.canvas.input.entry.quick_add import QuickAdd
from gradwire.app.services.favourites import Favourites
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.runtime.diagram import AddBlock, Batch, Diagram, PortName
from tests.app.canvas.pages import LEFT, PLAIN, Shell, block, click, double_click, drag, page

EMPTY = QPoint(600, 430)


def box(canvas) -> QuickAdd:
    boxes = [b for b in canvas.findChildren(QuickAdd) if b.isVisible()]
    assert len(boxes) == 1
    return boxes[0]


def no_box(canvas) -> bool:
    return not any(b.isVisible() for b in canvas.findChildren(QuickAdd))


class TestQuickAdd:
    def test_tab_letters_and_enter_add_a_block(self, canvas, shell):
        QTest.keyClick(canvas, Qt.Key.Key_Tab)
        QTest.keyClicks(box(canvas).line, "tanh")
        QTest.keyClick(box(canvas).line, Qt.Key.Key_Return)
        (change,) = shell.changes
        assert isinstance(change, AddBlock)
        assert type(change.block).type_name() == "Tanh"
        assert canvas.selection() == {change.name}
        assert no_box(canvas)
        assert QApplication.focusWidget() is canvas

    def test_by_keyboard_the_block_lies_on_no_other(self, canvas, shell):
        for _ in range(3):
            QTest.keyClick(canvas, Qt.Key.Key_Tab)
            QTest.keyClicks(box(canvas).line, "relu")
            QTest.keyClick(box(canvas).line, Qt.Key.Key_Return)
        rects = [canvas.block_rect(name) for name in shell.main.blocks]
        assert not any(a.intersects(b) for i, a in enumerate(rects) for b in rects[:i])

    def test_a_double_click_on_the_background_adds_there(self, canvas, shell):
        double_click(canvas, EMPTY)
        QTest.keyClicks(box(canvas).line, "mul")
        QTest.keyClick(box(canvas).line, Qt.Key.Key_Return)
        assert (canvas.block_rect("mul2").topLeft() - EMPTY).manhattanLength() < 12

    def test_arrows_choose_another_line(self, canvas, shell):
        QTest.keyClick(canvas, Qt.Key.Key_Tab)
        QTest.keyClicks(box(canvas).line, "add")
        second = box(canvas).titles()[1]
        QTest.keyClick(box(canvas).line, Qt.Key.Key_Down)
        QTest.keyClick(box(canvas).line, Qt.Key.Key_Return)
        assert type(shell.changes[0].block).type_name() == second

    @pytest.mark.parametrize("way", ["escape", "click", "wheel"])
    def test_it_closes_without_a_change(self, canvas, shell, way):
        QTest.keyClick(canvas, Qt.Key.Key_Tab)
        if way == "escape":
            QTest.keyClick(box(canvas).line, Qt.Key.Key_Escape)
        elif way == "click":
            click(canvas, QPoint(5, 5))
            canvas.setFocus()
        else:
            canvas.set_zoom(0.7)
        assert no_box(canvas)
        assert not shell.changes

    def test_it_stays_inside_the_canvas(self, canvas, shell):
        double_click(canvas, QPoint(1195, 495))
        assert canvas.rect().contains(box(canvas).geometry())

    def test_ctrl_tab_goes_on_to_other_fields(self, canvas, shell):
        QTest.keyClick(canvas, Qt.Key.Key_Tab, Qt.KeyboardModifier.ControlModifier)
        assert no_box(canvas)


class TestFavourites:
    def test_they_come_first_then_what_was_used_last(self, canvas, shell):
        canvas.favourites.toggle("Tanh")
        canvas.favourites.use("Exp")
        canvas.favourites.use("Tanh")
        canvas.favourites.use("Relu")
        QTest.keyClick(canvas, Qt.Key.Key_Tab)
        assert box(canvas).titles()[:3] == ["Tanh", "Relu", "Exp"]
        QTest.keyClick(box(canvas).line, Qt.Key.Key_Return)
        assert type(shell.changes[0].block).type_name() == "Tanh"
        assert canvas.favourites.used[0] == "Tanh"

    def test_ctrl_b_and_the_star_mark_a_line(self, canvas, shell):
        QTest.keyClick(canvas, Qt.Key.Key_Tab)
        QTest.keyClicks(box(canvas).line, "tanh")
        QTest.keyClick(box(canvas).line, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
        assert canvas.favourites.starred == ("Tanh",)
        row = box(canvas).list.visualRect(box(canvas).list.model().index(0, 0))
        at = QPoint(row.right() - 8, row.center().y())
        QTest.mouseClick(box(canvas).list.viewport(), LEFT, PLAIN, at)
        assert canvas.favourites.starred == ()
        assert not shell.changes

    def test_a_favourite_goes_before_other_names_that_fit(self):
        favourites = Favourites()
        favourites.toggle("Softmax")
        titles = [c.title for c in search(candidates(Diagram(), "main"), "max", favourites)]
        assert titles[:2] == ["Max", "Softmax"]
        titles = [c.title for c in search(candidates(Diagram(), "main"), "ma", favourites)]
        assert titles[0] == "Softmax"


class TestWireIntoEmptySpace:
    def test_it_offers_what_fits_and_wires_it_in_one_change(self, canvas, shell):
        drag(canvas, canvas.port_position("b", "out"), EMPTY)
        assert "Variable" not in box(canvas).titles()
        QTest.keyClicks(box(canvas).line, "relu")
        QTest.keyClick(box(canvas).line, Qt.Key.Key_Return)
        (change,) = shell.changes
        assert isinstance(change, Batch)
        assert shell.main.wires[PortName("relu1", "x")] == PortName("b", "out")
        at = canvas.port_position("relu1", "x")
        assert (at - EMPTY).manhattanLength() < 14

    def test_from_an_input_it_offers_what_gives_a_value(self, canvas, shell):
        drag(canvas, canvas.port_position("mul1", "a"), EMPTY)
        assert "Variable" in box(canvas).titles()
        QTest.keyClicks(box(canvas).line, "constant")
        QTest.keyClick(box(canvas).line, Qt.Key.Key_Return)
        assert shell.main.wires[PortName("mul1", "a")] == PortName("constant1", "out")

    def test_a_repeating_port_takes_it_as_its_first_term(self, canvas, shell):
        drag(canvas, canvas.port_position("b", "out"), EMPTY)
        QTest.keyClicks(box(canvas).line, "concat")
        QTest.keyClick(box(canvas).line, Qt.Key.Key_Return)
        targets = [t for t in shell.main.wires if t.block == "concat1"]
        assert [t.port.partition(".")[2] for t in targets] == ["0"]

    def test_escape_lets_the_wire_go(self, canvas, shell):
        drag(canvas, canvas.port_position("b", "out"), EMPTY)
        QTest.keyClick(box(canvas).line, Qt.Key.Key_Escape)
        assert not shell.changes
        assert no_box(canvas)


class TestChoices:
    def test_pages_can_be_chosen_but_not_where_they_would_hold_themselves(self):
        inner = page({"x": block("PageInput"), "y": block("PageOutput")}, {"y.x": "x.out"})
        outer = page({"use": block("Page", page="inner")})
        diagram = Diagram({"main": page({}), "inner": inner, "outer": outer})
        titles = {where: _pages(diagram, where) for where in diagram.pages}
        assert titles == {"main": ["inner", "outer"], "inner": [], "outer": ["inner"]}

    def test_a_page_has_the_ports_of_its_blocks(self):
        inner = page({"x": block("PageInput"), "y": block("PageOutput")}, {"y.x": "x.out"})
        (choice,) = (
            c for c in candidates(Diagram({"main": page({}), "inner": inner}), "main")
            if c.title == "inner"
        )  # fmt: skip
        assert (choice.input, choice.output) == ("x", "y")

    def test_the_best_name_comes_first(self):
        all_ = candidates(Diagram(), "main")
        assert next(c.title for c in search(all_, "mul")) == "Mul"
        assert search(all_, "no such block") == []
        assert search(all_, "") == all_


def _pages(diagram: Diagram, where: str) -> list[str]:
    return [
        c.title
        for c in candidates(diagram, where)
        if isinstance(c.block, PageBlock) and c.block.page
    ]


class TestFormulas:
    def open(self, canvas, text):
        QTest.keyClick(canvas, Qt.Key.Key_Tab)
        QTest.keyClicks(box(canvas).line, text)
        return box(canvas)

    def test_a_formula_becomes_blocks_as_one_change(self, canvas, shell):
        before = set(shell.main.blocks)
        opened = self.open(canvas, "y = tanh(a * v) + 2")
        assert opened.preview.isVisible() and not opened.list.isVisible()
        assert opened.preview.text() == "Enter adds 4 blocks: v, mul2, tanh1, y"
        QTest.keyClick(opened.line, Qt.Key.Key_Return)
        assert len(shell.changes) == 1 and no_box(canvas)
        assert set(shell.main.blocks) - before == {"v", "mul2", "tanh1", "y"} == canvas.selection()
        assert shell.main.wires[PortName("mul2", "a")] == PortName("a", "out")
        scene = canvas.view.scene
        low, high = scene.rects[:, :2], scene.rects[:, :2] + scene.rects[:, 2:]
        both = (low[:, None] < high[None]).all(axis=2) & (high[:, None] > low[None]).all(axis=2)
        assert both.sum() == len(scene.rects)  # each covers itself, and no other

    def test_the_first_formula_of_a_page_is_shown_whole(self, canvas):
        shell = Shell(canvas, Diagram({"main": page({})}))
        opened = self.open(canvas, "h = tanh(x @ W1 + b1); loss = mean((h @ W2 + b2 - t)**2)")
        QTest.keyClick(opened.line, Qt.Key.Key_Return)
        assert canvas.rect().contains(canvas.block_rect("x").united(canvas.block_rect("loss")))
        assert shell.main.routes

    def test_a_mistake_is_pointed_at_and_enter_selects_it(self, canvas, shell):
        opened = self.open(canvas, "y = tanh(a) + foo(a)")
        assert opened.preview.text().startswith("y = tanh(a) + ▸foo(a)")
        assert "There is no block 'foo'" in opened.preview.text()
        QTest.keyClick(opened.line, Qt.Key.Key_Return)
        assert not shell.changes and not no_box(canvas)
        assert opened.line.selectionStart() == 14 and opened.line.selectedText() == "f"
        QTest.keyClick(opened.line, Qt.Key.Key_Escape)
        assert no_box(canvas) and not shell.changes

    def test_letters_alone_search_blocks_again(self, canvas, shell):
        opened = self.open(canvas, "tanh(")
        assert not opened.list.isVisible()
        QTest.keyClick(opened.line, Qt.Key.Key_Backspace)
        assert opened.list.isVisible() and not opened.preview.isVisible()
        QTest.keyClick(opened.line, Qt.Key.Key_Return)
        assert "tanh1" in shell.main.blocks

    def test_a_formula_that_adds_nothing_says_so(self, canvas, shell):
        opened = self.open(canvas, "a;")
        assert "adds no block" in opened.preview.text()
        QTest.keyClick(opened.line, Qt.Key.Key_Return)
        assert not shell.changes

    def test_at_the_end_of_a_wire_only_blocks_are_offered(self, canvas, shell):
        canvas.quick_add(EMPTY.toPointF(), canvas.view.scene.port("a", "out", is_input=False))
        QTest.keyClicks(box(canvas).line, "a * b")
        assert box(canvas).list.isVisible() and not box(canvas).preview.isVisible()
