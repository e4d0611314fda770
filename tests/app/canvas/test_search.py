from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from gradwire.app.evaluation.result import EvaluationResult
from gradwire.app.panels.bars.find_bar import FindBar, search
from gradwire.blocks.errors import Location
from gradwire.runtime.diagram import Diagnostic
from gradwire.runtime.flow import State
from tests.app.canvas.pages import Shell, block, click, diagram, move, page, seed, seed_result


def nested():
    inner = page({"deep": block("Tanh"), "mul9": block("Mul")})
    return diagram(
        {"enc": block("Page", page="inner"), "dec": block("Page", page="inner"),
         "a": block("Variable")}
    ).with_page("inner", inner)  # fmt: skip


class TestFinding:
    @pytest.mark.parametrize(
        ("text", "paths"),
        [
            ("mul", ["mul1"]),
            ("StopGradient", ["stop1"]),
            ("var", ["a", "b"]),
            ("stopped", ["mul1", "stop1"]),
            ("add carries", ["add1"]),
            ("nothing to train", ["add1"]),
            ("nowhere", []),
            ("  ", []),
        ],
    )
    def test_by_name_type_and_state(self, text, paths):
        assert search(seed(), seed_result(seed()), text) == paths

    def test_by_error(self):
        shown = seed()
        problem = Diagnostic(
            severity="error", location=Location("main", "loss", "x"), what="Shapes do not fit.",
            code="shape",
        )  # fmt: skip
        result = EvaluationResult(shown, diagnostics=(problem,))
        assert search(shown, result, "error") == ["loss"]
        assert search(shown, result, "shapes fit") == ["loss"]

    def test_in_every_use_of_every_page(self):
        assert search(nested(), None, "tanh") == ["enc/deep", "dec/deep"]
        result = EvaluationResult(nested(), states={"dec/mul9.a": State.NONFINITE})
        assert search(nested(), result, "nan") == ["dec/mul9"]

    def test_a_page_that_holds_itself_is_looked_through_once(self):
        shown = diagram({"p": block("Page", page="p")}).with_page(
            "p", page({"q": block("Page", page="p"), "t": block("Tanh")})
        )
        assert search(shown, None, "tanh") == ["p/t"]


class TestFindBar:
    @pytest.fixture
    def bar(self, qtbot) -> FindBar:
        made = FindBar()
        qtbot.addWidget(made)
        made.set_diagram(seed())
        made.set_result(seed_result(seed()))
        made.open()
        return made

    def test_enter_goes_on_and_shift_enter_back_around_the_end(self, bar):
        paths: list[str] = []
        bar.pathRequested.connect(paths.append)
        QTest.keyClicks(bar.line, "stopped")
        assert bar.count.text() == "2"
        for modifiers in (*[Qt.KeyboardModifier.NoModifier] * 3, Qt.KeyboardModifier.ShiftModifier):
            QTest.keyClick(bar.line, Qt.Key.Key_Return, modifiers)
        assert paths == ["mul1", "stop1", "mul1", "stop1"]
        assert bar.count.text() == "2 of 2"

    def test_nothing_found_is_said(self, bar):
        QTest.keyClicks(bar.line, "zebra")
        assert bar.count.text() == "no matches"
        QTest.keyClick(bar.line, Qt.Key.Key_Return)

    def test_escape_closes(self, qtbot, bar):
        with qtbot.waitSignal(bar.closed):
            QTest.keyClick(bar.line, Qt.Key.Key_Escape)
        assert not bar.isVisible()


class TestTrace:
    def rest_on(self, canvas, at: QPoint) -> None:
        move(canvas, at, Qt.MouseButton.NoButton)

    def test_a_wire_that_the_pointer_rests_on_is_shown_alone(self, qtbot, canvas, shell):
        canvas.set_result(seed_result(shell.diagram))
        before = canvas.grab().toImage()
        self.rest_on(canvas, canvas.wire_position("loss.x"))
        qtbot.waitUntil(lambda: canvas.view.traced == "loss.x")
        image = canvas.grab().toImage()
        far, near = canvas.block_rect("b").center(), canvas.block_rect("loss").center()
        near += QPoint(-40, 15)
        assert image.pixelColor(far).lightness() >= before.pixelColor(far).lightness()
        assert image.pixelColor(near) == before.pixelColor(near)
        self.rest_on(canvas, canvas.wire_position("mul1.b"))
        assert canvas.view.traced == "mul1.b"  # at once, while one is shown
        self.rest_on(canvas, QPoint(5, 5))
        assert canvas.view.traced is None
        after = canvas.grab().toImage()
        assert after.pixelColor(far) == before.pixelColor(far)

    def test_passing_over_a_wire_dims_nothing(self, qtbot, canvas, shell):
        self.rest_on(canvas, canvas.wire_position("loss.x"))
        self.rest_on(canvas, QPoint(5, 5))
        qtbot.wait(350)
        assert canvas.view.traced is None

    def test_a_press_or_another_diagram_ends_it(self, qtbot, canvas):
        shell = Shell(canvas, seed())
        for end in (lambda: click(canvas, QPoint(5, 5)), lambda: canvas.set_diagram(shell.diagram)):
            self.rest_on(canvas, canvas.wire_position("loss.x"))
            qtbot.waitUntil(lambda: canvas.view.traced == "loss.x")
            end()
            assert canvas.view.traced is None
            self.rest_on(canvas, QPoint(5, 5))
