"""The doctor's list: made while it is in view, each line a click to its place."""

import threading

import pytest
from PySide6.QtCore import Qt

from gradwire.app.canvas.scene.camera import NUMBERS
from gradwire.runtime.build import build, loss, sqrt, stop_gradient, variable
from gradwire.runtime.diagram import SetParameters, SetTitle
from tests.app.mouse import LEFT
from tests.examples.gallery import diagram
from tests.runtime.flow.test_disagreements import SAYS, compared, net, of_w


def ill(w=(2.0,)):
    """NaN begins in a root; w gets no gradient."""
    w, y, v = variable("w", [*w]), variable("y", [0.0]), variable("v", [1.0])
    made = stop_gradient(w, name="sg") + sqrt(y, name="root") * 0.0 + v
    return build(loss(made, name="loss"), title="Ill")


def looked(qtbot, window):
    window.docks.by_name["doctor"].raise_()
    qtbot.waitUntil(lambda: not window.doctor.panel.viewport().visibleRegion().isEmpty())
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    qtbot.waitUntil(lambda: not window.doctor.worker.is_pending("doctor"))
    return rows_of(window)


def rows_of(window):
    """Mark, culprit and sentence of each row, without those of victims."""
    panel = window.doctor.panel
    rows = [panel.topLevelItem(row) for row in range(panel.topLevelItemCount())]
    return [[*row.text(0).split(" ", 1), row.text(1)] for row in rows]


def victims(window, row):
    """Name and sentence of each row below another."""
    item = window.doctor.panel.topLevelItem(row)
    return [[item.child(i).text(column) for column in range(2)] for i in range(item.childCount())]


def click(qtbot, window, row, victim=None):
    panel = window.doctor.panel
    if victim is not None:
        panel.topLevelItem(row).setExpanded(True)

    def place():
        item = panel.topLevelItem(row)
        return panel.visualItemRect(item if victim is None else item.child(victim)).center()

    qtbot.mouseMove(panel.viewport(), place())  # lets events in, after which rows may lie elsewhere
    qtbot.mouseClick(panel.viewport(), LEFT, pos=place())


def row_of(rows, words):
    return next(i for i, row in enumerate(rows) if words in row[-1])


def test_it_looks_only_while_it_is_in_view(opened, qtbot):
    window = opened(ill())
    assert window.doctor.panel.topLevelItemCount() == 0
    assert not window.doctor.worker.is_pending("doctor")
    assert looked(qtbot, window)


def test_the_gravest_comes_first(opened, qtbot):
    window = opened(ill())
    rows = looked(qtbot, window)
    assert rows[0][0] == "✕"
    assert "root" in rows[0][2]
    assert rows[row_of(rows, "no gradient")] == [
        "△", "sg", "sg stops every route to loss: w gets no gradient. Without sg: 1."
    ]  # fmt: skip
    assert window.docks.by_name["doctor"].windowTitle() == f"Doctor ({len(rows)})"


def test_a_click_leads_to_the_culprit_and_lights_the_route_through_it(opened, qtbot):
    window = opened(ill())
    rows = looked(qtbot, window)
    assert rows[0][1] == "root"
    click(qtbot, window, 0)
    assert window.canvas.selection() == {"root"}
    assert window.canvas.route().wire == window.canvas.selected_wire() == "root.x"


@pytest.mark.night
@pytest.mark.parametrize("w", [[2.0], [2.0, 3.0]])
def test_rows_stay_while_runs_find_the_same(opened, qtbot, w):
    window = opened(ill(w))
    rows = looked(qtbot, window)
    panel = window.doctor.panel
    causes, row = panel.causes, panel.topLevelItem(0)
    row.setExpanded(True)
    assert any(finding.fix for cause in causes for finding in cause.findings)
    window.edit.change(SetParameters("v", {"value": [1.5]}))
    assert looked(qtbot, window) == rows
    assert panel.topLevelItem(0) is row and row.isExpanded()
    assert panel.causes is not causes  # those of the last run


def test_each_edit_of_a_diagram_whose_fixes_are_arrays_is_diagnosed(opened, qtbot):
    window = opened(diagram("mxnet_seed"))
    before = looked(qtbot, window)
    causes = window.doctor.panel.causes
    assert any(f.fix.gradient.size > 1 for cause in causes for f in cause.findings if f.fix)
    window.edit.change(SetParameters("a", {"value": [[1.0, 2.5]]}))
    assert looked(qtbot, window) == before
    assert window.doctor.panel.causes is not causes


def test_a_culprit_far_away_is_zoomed_to_and_stays_lit(opened, qtbot):
    window = opened(ill())
    rows = looked(qtbot, window)
    window.canvas.set_zoom(0.1)
    click(qtbot, window, row_of(rows, "no gradient"))
    assert window.canvas.zoom() >= NUMBERS
    assert window.canvas.rect().contains(window.canvas.block_rect("sg"))
    assert window.canvas.selection() == {"sg"}
    assert "sg.x" in window.canvas.route().cutters


def test_victims_are_listed_below_and_lead_to_themselves(opened, qtbot):
    window = opened(ill())
    row = row_of(looked(qtbot, window), "no gradient")
    ((name, sentence),) = victims(window, row)
    assert name == "w"
    assert sentence.startswith("No gradient: sg stops every route to loss.")
    click(qtbot, window, row, victim=0)
    assert window.canvas.selection() == {"w"}
    window.canvas.select(())
    panel = window.doctor.panel
    panel.setCurrentItem(panel.topLevelItem(row))
    qtbot.keyClick(panel, Qt.Key.Key_Down)
    qtbot.keyClick(panel, Qt.Key.Key_Return)
    assert window.canvas.selection() == {"w"}


def test_culprits_are_marked_on_the_canvas(opened, qtbot):
    window = opened(ill())
    looked(qtbot, window)
    assert window.canvas.view.culprits == {"root": "error", "sg": "warning"}
    window.edit.change(SetParameters("y", {"value": [4.0]}))
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    looked(qtbot, window)
    assert window.canvas.view.culprits == {"sg": "warning", "mul1": "warning"}


def test_the_route_to_the_variable_is_numbered_from_the_loss(opened, qtbot):
    window = opened(ill())
    click(qtbot, window, row_of(looked(qtbot, window), "no gradient"))
    route = window.canvas.route()
    numbers = {name: int(number) for name, number in route.numbers.items()}
    assert numbers["loss"] == 1
    assert numbers["w"] == max(numbers.values()) > 2
    assert "sg.x" in route.cutters
    assert window.why.isVisible()


def test_after_an_edit_it_looks_again(opened, qtbot):
    window = opened(ill())
    before = looked(qtbot, window)
    window.edit.change(SetParameters("y", {"value": [4.0]}))
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    after = looked(qtbot, window)
    assert after != before
    assert all("NaN" not in row[-1] for row in after)


def test_a_diagram_that_is_well_is_said_to_be(opened, qtbot):
    window = opened(build(loss(variable("w", [2.0]), name="loss")))
    assert looked(qtbot, window)[0][-1] == (
        "Nothing wrong: every trained variable gets a gradient."
    )
    click(qtbot, window, 0)
    assert window.docks.by_name["doctor"].windowTitle() == "Doctor"


def test_contracts_of_the_diagram_and_of_the_file_beside_it_are_held(
    opened,
    qtbot,
    tmp_path,
):
    (tmp_path / "diagram.contracts").write_text("flows(loss -> w)", encoding="utf-8")
    window = opened(ill())
    rows = looked(qtbot, window)
    broken = rows[row_of(rows, "is broken")]
    assert broken[:2] == ["✕", "w"]
    assert broken[2].startswith("flows(loss -> w) is broken. sg stops every route to loss.")
    window.edit.change(SetTitle(contracts=("blocked(loss -> v)",)))
    rows = looked(qtbot, window)
    assert rows[row_of(rows, "blocked(loss -> v) is broken")][1] == "v"
    assert rows[row_of(rows, "flows(loss -> w) is broken")][1] == "w"
    window.edit.change(SetTitle(contracts=("block(loss -> v)",)))
    ((*_, told),) = looked(qtbot, window)
    assert "Line 1 of the diagram's contracts is not a contract" in told


def test_a_cancelled_diagnosis_leaves_no_findings_of_another_diagram(opened, qtbot, monkeypatch):
    window = opened(ill())
    assert looked(qtbot, window)
    permits, began = threading.Semaphore(0), threading.Event()

    def held(*args, **kwargs):
        began.set()
        permits.acquire(timeout=60)  # a kernel that knows of no cancelling
        return []

    with monkeypatch.context() as patch:
        patch.setattr("gradwire.app.controllers.doctor.diagnose", held)
        window.document.apply(SetParameters("v", {"value": [3.0]}))
        qtbot.waitUntil(began.is_set)
        window.actions_by_name["cancel"].trigger()
        assert window.doctor.panel.causes == ()
        assert rows_of(window) == [["", "The computation was cancelled."]]
        permits.release()
    window.actions_by_name["evaluate"].trigger()
    qtbot.waitUntil(lambda: bool(window.doctor.panel.causes))


def test_it_waits_until_a_hand_that_drags_a_number_rests(opened, qtbot):
    window = opened(ill())
    looked(qtbot, window)
    name = next(n for n, b in window.document.diagram.main.blocks.items() if hasattr(b, "value"))
    window.document.preview(SetParameters(name, {"value": 7.0}))
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    assert not window.doctor.worker.is_pending("doctor")
    window.document.apply(SetParameters(name, {"value": 7.0}))
    qtbot.waitUntil(lambda: window.doctor._diagnosed is window.document.diagram)


def test_where_another_program_differs_comes_first_and_is_an_error(opened, qtbot):
    window = opened(compared(net(), of_w()))
    said = f"{SAYS} from mask_hook (train.py:31) on."
    assert looked(qtbot, window)[0] == ["✕", "w", said]
    window.document.apply(SetParameters("v", {"trainable": False}))
    assert not any(SAYS in row[-1] for row in looked(qtbot, window))
    window.document.undo_stack.undo()
    assert looked(qtbot, window)[0] == ["✕", "w", said]
