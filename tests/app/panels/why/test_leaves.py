"""Trees in the window: on faces, in tooltips and forms, and leaf by leaf in the Why panel."""

import pytest
from PySide6.QtWidgets import QLabel

from gradwire.app.canvas.state.looks import row_counts
from gradwire.app.canvas.state.tooltips import port_tip
from tests.app.controllers.test_explanation import answered, click_wire
from tests.app.evaluation.test_badges import tree
from tests.app.mouse import click_block


@pytest.fixture
def window(opened):
    return opened(tree())


def follow(window, target):
    """Click a link of the Why panel."""
    found = [
        label for label in window.why.findChildren(QLabel)
        if label.isVisible() and f'href="{target}"' in label.text()
    ]  # fmt: skip
    assert found, target
    found[0].linkActivated.emit(target)


def lines(window):
    return [label.text() for label in window.why.findChildren(QLabel) if label.isVisible()]


def shown(qtbot, window, words):
    """The first line with these words, as soon as it is in view."""
    qtbot.waitUntil(lambda: any(words in line for line in lines(window)))
    return next(line for line in lines(window) if words in line)


class TestFaces:
    def test_the_face_has_paths_and_shapes(self, window):
        annotations, scene = window.canvas.view.annotations, window.canvas.view.scene
        (section,) = annotations.look(scene.index["model"]).sections
        assert section.readout.cells[0] == ("encoder/weight", "(1)")
        assert len(section.readout.cells) == 4
        assert row_counts(annotations.page)[scene.index["freeze"]] == 4

    def test_the_tooltip_of_a_port_lists_them(self, window):
        view = window.canvas.view
        for block, port in (("model", "out"), ("freeze", "x")):
            tip = port_tip(view.annotations.page, view.scene.port(block, port))
            assert "mapping of 4 arrays" in tip
            assert "encoder/weight: (1) float32" in tip

    def test_the_inspector_lists_them(self, window, qtbot):
        click_block(qtbot, window, "model")
        said = "\n".join(label.text() for label in window.inspector.form.findChildren(QLabel))
        assert "encoder/weight: (1) float32" in said


class TestWhy:
    def test_each_leaf_has_a_row_with_its_state(self, window, qtbot):
        click_wire(qtbot, window, "freeze.x")
        table = shown(qtbot, window, "leaf:encoder/weight")
        rows = table.split("<tr>")[1:]
        assert len(rows) == 4
        assert "Stopped" in rows[0]
        assert "Carries&nbsp;gradient" in rows[2]

    def test_a_click_shows_the_leaf_with_its_route_fix_and_ledger(self, window, qtbot):
        click_wire(qtbot, window, "freeze.x")
        follow_when_shown(qtbot, window, "leaf:encoder/bias")
        said = answered(qtbot, window)
        assert window.why.leaf == "encoder/bias"
        assert "Stopped" in said.split("\n")
        assert "2 of 4 leaves" not in "\n".join(lines(window))
        assert "on encoder/bias: 1" in said
        assert set(window.canvas.route().cutters) == {"freeze.x"}

    def test_one_that_carries_has_its_own_numbers(self, window, qtbot):
        click_wire(qtbot, window, "freeze.x")
        follow_when_shown(qtbot, window, "leaf:decoder/weight")
        said = answered(qtbot, window)
        assert "Contributions at model.out:decoder/weight" in said
        assert window.canvas.route().cutters == {}

    def test_back_to_all(self, window, qtbot):
        click_wire(qtbot, window, "freeze.x")
        follow_when_shown(qtbot, window, "leaf:encoder/bias")
        follow_when_shown(qtbot, window, "leaf:")
        assert window.why.leaf == ""
        assert shown(qtbot, window, "2 of 4 leaves carry")

    def test_another_wire_is_shown_whole(self, window, qtbot):
        click_wire(qtbot, window, "freeze.x")
        follow_when_shown(qtbot, window, "leaf:encoder/bias")
        click_wire(qtbot, window, "parts.x")
        assert window.why.leaf == ""


def follow_when_shown(qtbot, window, target):
    shown(qtbot, window, f'href="{target}"')
    follow(window, target)
