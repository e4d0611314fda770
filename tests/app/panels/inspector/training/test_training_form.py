"""The recipe of a training in the inspector: every edit is one undo, and says what it names."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication, QPushButton

import gradwire as gw
from gradwire.app.evaluation.result import EvaluationResult
from gradwire.app.panels.inspector.diagram_form import DiagramForm
from gradwire.app.panels.inspector.inspector import Inspector
from gradwire.runtime.diagram import SetTraining, apply
from gradwire.runtime.diagram.optimisers import AdamMethod
from gradwire.runtime.diagram.training import Clip, Group, Training
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import observe

RECIPE = {"optimisers": [{"name": "opt", "variables": ["w*"]}], "steps": 200}


def diagram(training: Any = None) -> Any:
    w1, w2, v = (gw.variable(name, [1.0, 2.0]) for name in ("w1", "w2", "v"))
    return gw.build(gw.loss(gw.sum(w1 * w2 * v), name="loss"), training=training)


class Taker:
    """An inspector over a diagram that takes every change it asks for, and counts them."""

    def __init__(self, qtbot: Any, training: Any) -> None:
        self.qtbot = qtbot
        self.inspector = Inspector()
        qtbot.addWidget(self.inspector)
        self.inspector.resize(320, 1400)
        self.changes: list[SetTraining] = []
        self.inspector.changeRequested.connect(self._take)
        self.diagram = diagram(training)
        self._show()
        self.inspector.show()

    @property
    def form(self) -> Any:
        inner = self.inspector.widget()
        assert isinstance(inner, DiagramForm)
        return inner.training

    @property
    def training(self) -> Training:
        return self.diagram.training

    def _take(self, change: SetTraining) -> None:
        self.changes.append(change)
        self.diagram = apply(self.diagram, change).after
        self._show()

    def _show(self) -> None:
        session = Session(self.diagram)
        self.inspector.set_diagram(self.diagram)
        self.inspector.set_result(EvaluationResult(self.diagram, flow=observe(session)))

    def click(self, text: str) -> None:
        button = next(b for b in self.form.findChildren(QPushButton) if b.text() == text)
        self.qtbot.mouseMove(button, QPoint(4, 4))
        self.qtbot.mouseClick(button, Qt.MouseButton.LeftButton)

    def type(self, text: str, *path: str | int, enter: bool = True) -> None:
        line = self.form.field(*path).line
        self.qtbot.mouseMove(line, QPoint(4, 4))
        self.qtbot.mouseClick(line, Qt.MouseButton.LeftButton)
        line.selectAll()
        self.qtbot.keyClicks(line, text)
        if enter:
            self.qtbot.keyClick(line, Qt.Key.Key_Return)

    def choose(self, text: str, *path: str | int) -> None:
        """Open the list of a field, and click a choice."""
        box = self.form.field(*path).box
        self.qtbot.mouseMove(box, QPoint(4, 4))
        self.qtbot.mouseClick(box, Qt.MouseButton.LeftButton)
        self.qtbot.waitUntil(box.view().isVisible)
        rows = box.view()
        at = rows.visualRect(rows.model().index(box.findText(text), 0)).center()
        self.qtbot.mouseMove(rows.viewport(), at)
        self.qtbot.wait(QApplication.doubleClickInterval() + 50)  # else the list ignores it
        self.qtbot.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=at)


@pytest.fixture
def taker(qtbot: Any) -> Taker:
    return Taker(qtbot, RECIPE)


def test_an_optimiser_is_added_and_removed(qtbot: Any) -> None:
    taker = Taker(qtbot, None)
    taker.click("Add Optimiser")
    assert taker.training.optimisers[0].name == "opt"
    taker.click("Add Optimiser")
    assert [rule.name for rule in taker.training.optimisers] == ["opt", "opt2"]
    assert "both update" in taker.form.error("optimisers", 1, "variables")
    label = taker.form.errors["optimisers", 1, "variables"]
    assert label.foregroundRole() == QPalette.ColorRole.PlaceholderText  # a remark, no error
    taker.type("q", "optimisers", 1, "variables")
    label = taker.form.errors["optimisers", 1, "variables"]
    assert label.foregroundRole() == QPalette.ColorRole.BrightText
    taker.click("Remove")
    taker.click("Remove")
    assert taker.diagram.training is None
    assert len(taker.changes) == 5


def test_a_number_is_typed_and_what_is_wrong_stays_with_its_reason(taker: Taker) -> None:
    taker.type("0.25", "optimisers", 0, "method", "lr")
    assert taker.training.optimisers[0].method.lr == 0.25
    taker.type("-1", "optimisers", 0, "method", "lr")
    assert len(taker.changes) == 1
    assert "at least 0" in taker.form.error("optimisers", 0, "method", "lr")
    assert taker.form.field("optimisers", 0, "method", "lr").line.text() == "-1"


@pytest.mark.night
def test_another_method_has_its_own_options(taker: Taker) -> None:
    taker.choose("adam", "optimisers", 0, "method", "kind")
    assert taker.training.optimisers[0].method == AdamMethod()
    taker.type("0.5, 0.9", "optimisers", 0, "method", "betas")
    assert taker.training.optimisers[0].method == AdamMethod(betas=(0.5, 0.9))


def test_patterns_say_what_they_name_while_they_are_typed(taker: Taker) -> None:
    assert taker.form._owned[0].text() == "2 variables: w1, w2"
    taker.type("v, w1", "optimisers", 0, "variables", enter=False)
    assert taker.form._owned[0].text() == "2 variables: w1, v"
    assert taker.changes == []
    taker.type("w1", "optimisers", 0, "variables", enter=False)
    assert taker.form._owned[0].text() == "1 variable: w1"
    taker.type("q", "optimisers", 0, "variables")
    assert taker.training.optimisers[0].variables == ("q",)
    assert "q matches no trained variable" in taker.form.error("optimisers", 0, "variables")


def test_a_schedule_shows_its_rates_over_the_rounds(taker: Taker) -> None:
    preview = taker.form._rates[0]
    assert not preview.isVisible()
    taker.choose("step", "optimisers", 0, "schedule", "kind")
    preview = taker.form._rates[0]
    taker.qtbot.waitUntil(preview.isVisible)
    assert (preview.rates[0], preview.rates[-1]) == (0.1, 0.05)
    assert preview.toolTip() == "From 0.1 to 0.05 in 200 updates"


def test_clipping_and_accumulation_ask_for_more_where_they_need_it(taker: Taker) -> None:
    taker.choose("norm", "optimisers", 0, "clip", "by")
    taker.type("2", "optimisers", 0, "clip", "limit")
    assert taker.training.optimisers[0].clip == Clip(by="norm", limit=2.0)
    taker.type("4", "optimisers", 0, "accumulate")
    assert taker.form.field("optimisers", 0, "reduce").box.currentText() == "mean"
    taker.choose("none", "optimisers", 0, "clip", "by")
    assert taker.training.optimisers[0].clip is None


def test_averages_are_added_and_checked(taker: Taker) -> None:
    taker.click("Add Average")
    taker.type("w1", "averages", 0, "of")
    taker.type("v", "averages", 0, "into")
    assert "v is trained, so it can't hold the average" in taker.form.error("averages", 0, "into")


def test_a_name_is_one_of_blocks(taker: Taker) -> None:
    taker.type("a.b", "optimisers", 0, "name")
    assert taker.changes == []
    assert "printable characters" in taker.form.error("optimisers", 0, "name")


def test_groups_are_added_edited_and_removed(taker: Taker) -> None:
    taker.click("Add Group")
    taker.type("w2", "optimisers", 0, "groups", 0, "variables")
    taker.type("0.5", "optimisers", 0, "groups", 0, "lr")
    taker.type("0.01", "optimisers", 0, "groups", 0, "weight_decay")
    group = Group(variables=("w2",), lr=0.5, weight_decay=0.01)
    assert taker.training.optimisers[0].groups == (group,)
    taker.type("v", "optimisers", 0, "groups", 0, "variables")
    wrong = taker.form.error("optimisers", 0, "groups", 0, "variables")
    assert wrong == "v matches no variable of opt. There are w1, w2."
    line = taker.form.field("optimisers", 0, "groups", 0, "lr").line
    line.selectAll()
    taker.qtbot.keyClick(line, Qt.Key.Key_Backspace)
    taker.qtbot.keyClick(line, Qt.Key.Key_Return)
    assert taker.training.optimisers[0].groups[0].lr is None
    taker.type("-1", "optimisers", 0, "groups", 0, "weight_decay")
    assert "at least 0" in taker.form.error("optimisers", 0, "groups", 0, "weight_decay")
    taker.click("Remove Group")
    assert taker.training.optimisers[0].groups == ()
