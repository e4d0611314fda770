"""The panel of curves: what is drawn, how it is chosen, read out and exported."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtWidgets import QFileDialog

from gradwire.app.panels.training.curves import (
    CurveGroup,
    Curves,
    ListedRun,
    colour_of,
    group_of,
    lines_of,
)
from gradwire.app.services import theme
from gradwire.app.services.theme import DARK, LIGHT
from gradwire.runtime.training.curves import CurveRecording, csv_of

LOSS, NORM = "L.out", "gradient/enc/W"


def recording(name="first", steps=50, scale=1.0):
    made = CurveRecording(name)
    made.losses = (LOSS,)
    for step in range(1, steps + 1):
        made.add(step, {LOSS: scale / step, NORM: 2.0, "lr/opt": 0.1, "hidden.out": -1.0})
    return made


@pytest.fixture
def panel(qtbot):
    made = Curves()
    qtbot.addWidget(made)
    made.resize(1000, 260)
    made.show()
    qtbot.waitUntil(lambda: made.plots is not None)
    return made


def item(panel, text):
    found = panel.list.findItems(text, Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchRecursive)
    assert len(found) == 1, [each.text(0) for each in found]
    return found[0]


def click_item(qtbot, panel, text):
    """Tick or untick an entry of the list, by the space bar."""
    panel.list.setCurrentItem(item(panel, text))
    qtbot.keyClick(panel.list, Qt.Key.Key_Space)
    qtbot.wait(1)


def drawn(panel):
    """The curves by plot, with their points."""
    return {
        group: [(line.run.recording.name, line.name) for line, _ in plot._drawn]
        for group, plot in panel.plots._plots.items()
    }


def test_losses_are_drawn_until_something_else_is_chosen(panel, qtbot):
    assert not panel.plots.isVisible()
    panel.show_runs([ListedRun(recording())])
    assert drawn(panel) == {CurveGroup.LOSSES: [("first", LOSS)]}
    click_item(qtbot, panel, "enc/W")
    assert drawn(panel) == {
        CurveGroup.LOSSES: [("first", LOSS)],
        CurveGroup.GRADIENTS: [("first", NORM)],
    }
    click_item(qtbot, panel, "L")
    assert drawn(panel) == {CurveGroup.GRADIENTS: [("first", NORM)]}


def test_search_leaves_what_fits(panel, qtbot):
    panel.show_runs([ListedRun(recording())])
    qtbot.keyClicks(panel.search, "enc/")
    assert item(panel, "L").isHidden()
    assert not item(panel, "enc/W").isHidden()
    assert not item(panel, "first").isHidden()  # runs stay
    panel.search.clear()
    assert not item(panel, "L").isHidden()


def test_several_runs_differ_by_colour(panel):
    runs = [ListedRun(recording("stopped"), 0), ListedRun(recording("unstopped", scale=2.0), 1)]
    panel.show_runs(runs)
    ((stopped, unstopped),) = lines_of(runs, [LOSS], LIGHT).values()
    assert (stopped.label, unstopped.label) == ("stopped · L", "unstopped · L")
    assert stopped.colour == colour_of(0, LIGHT) != unstopped.colour
    assert drawn(panel) == {CurveGroup.LOSSES: [("stopped", LOSS), ("unstopped", LOSS)]}


def test_a_run_is_hidden_and_renamed(panel, qtbot):
    runs = [ListedRun(recording("one"), 0), ListedRun(recording("two"), 1)]
    panel.show_runs(runs)
    click_item(qtbot, panel, "two")
    assert drawn(panel) == {CurveGroup.LOSSES: [("one", LOSS)]}
    item(panel, "one").setText(0, "stopped")
    assert runs[0].recording.name == "stopped"
    item(panel, "stopped").setText(0, "  ")
    assert runs[0].recording.name == "stopped"  # a name is never empty


def test_curves_grow(panel, qtbot):
    growing = recording(steps=3)
    panel.show_runs([ListedRun(growing)])
    growing.add(4, {LOSS: 9.0, "update/w": 0.1})
    panel.grow()
    qtbot.waitUntil(lambda: panel.plots._plots[CurveGroup.LOSSES].steps.tolist() == [1, 2, 3, 4])
    assert item(panel, "w") is not None


def test_numbers_are_read_out_under_the_pointer_and_by_keys(panel, qtbot):
    panel.show_runs([ListedRun(recording())])
    qtbot.wait(50)
    plots = panel.plots
    box = plots._plots[CurveGroup.LOSSES].item.vb
    at = plots.mapFromScene(box.sceneBoundingRect().center())
    qtbot.mouseMove(plots.viewport(), at - QPoint(5, 0))
    qtbot.mouseMove(plots.viewport(), at)
    qtbot.waitUntil(lambda: panel.text().startswith("step "))
    assert "L 0.0" in panel.text()
    plots.setFocus()
    step = int(panel.text().split()[1])
    qtbot.keyClick(plots, Qt.Key.Key_Right)
    assert panel.text().startswith(f"step {step + 1} ")
    qtbot.keyClick(plots, Qt.Key.Key_Left)
    assert panel.text().startswith(f"step {step} ")


def test_logarithmic_axes_and_smoothing_draw_what_they_can(panel, qtbot):
    made = recording()
    made.add(51, {LOSS: 0.0})
    made.add(52, {LOSS: math.nan})
    panel.show_runs([ListedRun(made)])
    for box in (panel.log_numbers, panel.log_steps):
        qtbot.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(8, box.height() // 2))
    panel.smoothing.setValue(100)
    qtbot.wait(20)
    assert panel.plots._log == (True, True)
    _, points = panel.plots._plots[CurveGroup.LOSSES]._drawn[0]
    assert points.steps[-1] == 52
    assert not panel.grab().isNull()


@pytest.mark.parametrize("rises", [False, True])
def test_the_names_of_lines_stand_where_no_line_is(panel, qtbot, rises):
    made = CurveRecording("run")
    made.losses = (LOSS,)
    for step in range(1, 200):
        made.add(step, {LOSS: step if rises else 1.0 / step})
    panel.show_runs([ListedRun(made)])
    for _ in range(2):  # the names have their sizes once they were drawn
        panel.grab()
        panel.draw()
    plot = panel.plots._plots[CurveGroup.LOSSES]
    box = plot._legend.sceneBoundingRect()
    _, points = plot._drawn[0]
    at = [QPointF(*xy) for xy in zip(points.steps.tolist(), points.mean.tolist(), strict=True)]
    assert box.width() > 20
    assert not any(box.contains(plot.item.vb.mapViewToScene(point)) for point in at)


def test_names_stand_beside_the_title_where_lines_fill_the_plot(panel, qtbot):
    made = CurveRecording("run")
    made.losses = (LOSS,)
    for step in range(1, 200):
        made.add(step, {LOSS: step % 2})
    panel.show_runs([ListedRun(made)])
    for _ in range(2):
        panel.grab()
        panel.draw()
    plot = panel.plots._plots[CurveGroup.LOSSES]
    label = plot._drawn[0][0].label
    assert not plot._legend.isVisible()
    assert f"</span> {label}" in plot.item.titleLabel.text


def test_solid_lines_are_whole_paths_in_files_alone(panel):
    panel.show_runs([ListedRun(recording())])
    plot = panel.plots._plots[CurveGroup.LOSSES]
    (items,) = plot._items.values()
    modes = []
    paint = panel.plots.scene().render
    panel.plots.scene().render = lambda *given: (
        modes.append(items[1].curve.opts["segmentedLineMode"]) or paint(*given)
    )
    panel.plots.svg()
    assert (modes, items[1].curve.opts["segmentedLineMode"]) == (["off"], "on")


def test_the_drawing_is_svg_in_the_colours_of_the_theme(panel, qapp):
    panel.show_runs([ListedRun(recording("<b>&"))])
    ElementTree.fromstring(panel.plots.svg())
    theme.apply(DARK, qapp)
    assert panel.plots.backgroundBrush().color().name() == DARK.field
    root = ElementTree.fromstring(panel.plots.svg())
    assert root.tag.endswith("svg")
    assert colour_of(0, DARK).name() in panel.plots.svg().decode()


def test_groups_of_names():
    losses = (LOSS,)
    assert group_of(LOSS, losses) is CurveGroup.LOSSES
    assert group_of("validation/L.out", losses) is CurveGroup.LOSSES
    assert group_of("hidden.out", losses) is CurveGroup.PORTS
    assert group_of("dead/act", losses) is CurveGroup.DEAD
    assert group_of("grad_norm/opt", losses) is CurveGroup.OPTIMISERS


def test_export_from_the_window(window, qtbot, tmp_path, monkeypatch):
    said = []
    window.document.problem.connect(said.append)
    window.training.curves.csvRequested.emit()
    assert "There are no curves yet" in said[0]
    window.training.runs.show([recording()])
    window.docks.bring_up("curves")
    qtbot.waitUntil(lambda: window.training.curves.plots is not None)
    for name, signal in (
        ("curves.csv", window.training.curves.csvRequested),
        ("curves.svg", window.training.curves.svgRequested),
    ):
        path = tmp_path / name
        answer = (str(path.with_suffix("")) if name.endswith("csv") else str(path), "")
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, answer=answer: answer)
        signal.emit()
        assert path.stat().st_size > 100
    assert (tmp_path / "curves.csv").read_text().startswith("run,step,L.out,")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "no/x.csv"), ""))
    window.training.curves.csvRequested.emit()
    assert "was not written" in said[-1]


def test_a_run_that_was_exported_is_opened_beside_the_others(window, qtbot, tmp_path, monkeypatch):
    said = []
    window.document.problem.connect(said.append)
    window.docks.bring_up("curves")
    panel = window.training.curves
    qtbot.waitUntil(lambda: panel.plots is not None)
    window.training.runs.show([recording("now")])
    saved, bad = tmp_path / "saved.csv", tmp_path / "bad.jsonl"
    saved.write_text(csv_of([recording("before", scale=3.0)]))
    bad.write_text('{"step": 1, "L.out": 0.5}\n[1]\n')
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: ([str(bad), str(saved)], ""))
    click = Qt.MouseButton.LeftButton
    qtbot.mouseClick(panel.open, click)
    assert drawn(panel) == {CurveGroup.LOSSES: [("now", LOSS), ("before", LOSS)]}
    assert "bad.jsonl" in said[0]
    assert "it is not an object" in said[0]
    (_, before) = window.training.runs.listed
    assert before.recording.points(LOSS).mean[0] == 3.0


def test_what_is_loaded_first_is_the_window(window):
    """The library of plots is loaded when curves are first seen, in a thread."""
    import subprocess
    import sys

    code = "import gradwire.app.shell.main_window, sys; print('pyqtgraph' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_one_number_is_a_dot_where_the_axis_has_a_place_for_it(panel):
    """And without one nothing is drawn, of which nothing warns."""

    def has_dot(number):
        made = CurveRecording("first")
        made.losses = (LOSS,)
        made.add(1, {LOSS: number})
        panel.show_runs([ListedRun(made)])
        panel.grab()
        ((_, clear),) = panel.plots._plots[CurveGroup.LOSSES]._items.values()
        return clear.opts["symbol"] == "o"

    assert has_dot(2.0) and has_dot(-1.0)
    assert not has_dot(math.nan)
    panel.log_numbers.setChecked(True)
    assert has_dot(2.0) and not has_dot(-1.0)
