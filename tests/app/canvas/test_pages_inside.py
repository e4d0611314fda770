from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtWidgets import QCheckBox, QLabel

from gradwire.app.canvas.paint.blocks.face_cache import draw_picture
from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state.annotations import Annotations, resolve
from gradwire.app.canvas.state.tooltips import block_tip, describe
from gradwire.app.evaluation.answers import reasons
from gradwire.app.evaluation.result import EvaluationResult, numbered
from gradwire.app.panels.inspector.block_form import BlockForm
from gradwire.app.services.background import at_once
from gradwire.app.services.theme import DARK, LIGHT
from gradwire.runtime.diagram.paths import ROOT, InstancePath, PortPath, WirePath
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import State, observe
from tests.app.canvas.pages import block, diagram, page

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram


def annotations(states: dict[str, State], use: InstancePath = ROOT) -> Annotations:
    shown = diagram({"enc": block("Page", page="inner"), "a": block("Variable")})
    shown = shown.with_page("inner", page({"t": block("Tanh"), "in": block("Page", page="deep")}))
    scene = Scene(shown.with_page("deep", page({})), "inner" if use else "main")
    return resolve(
        scene, EvaluationResult(scene.diagram, states=states, losses=(PortPath("loss.out"),)), use
    )


def test_a_page_shows_the_worst_state_inside_it_at_any_depth():
    states = {"enc/t.x": State.STOPPED, "enc/in/u.x": State.NONFINITE, "a.x": State.NO_RULE}
    known = annotations(states)
    assert known.page.worst_inside.get("enc") == "NONFINITE"
    assert known.look(0).inside is State.NONFINITE
    assert known.look(1).inside is None


def test_inside_a_page_only_what_is_deeper_counts():
    known = annotations(
        {"enc/t.x": State.STOPPED, "enc/in/u.x": State.ZERO, "in/u.x": State.EXPLODING},
        InstancePath("enc"),
    )
    assert known.page.worst_inside.get("in") == "ZERO"


def test_a_port_of_a_page_in_use_lacks_nothing():
    shown = diagram({"enc": block("Page", page="inner")})
    shown = shown.with_page("inner", page({"x": block("PageInput")}))
    scene = Scene(shown, "inner")
    ports = [resolve(scene, None, use).look(0).inputs for use in (InstancePath("enc"), ROOT)]
    assert [(port.text, port.kind) for (port,) in ports] == [("", "open"), ("x", "missing")]


def test_where_all_is_well_nothing_is_shown():
    assert annotations({"enc/t.x": State.CARRIES}).page.worst_inside.get("enc") is None


@pytest.mark.parametrize("state", [state for state in State if state.row.concern])
def test_every_sign_can_be_seen(qapp, state):
    look = annotations({"enc/t.x": state}).look(0)
    for theme in (LIGHT, DARK):
        shown = draw_picture(look, 1.0, 1.0, theme).toImage()
        bare = draw_picture(annotations({}).look(0), 1.0, 1.0, theme).toImage()
        assert shown != bare


def shared(**second: Any) -> tuple[Diagram, EvaluationResult]:
    """v → one → two → loss, both uses of a page that scales by w; and its run."""
    shown = diagram(
        {"v": block("Variable", value=1.0), "one": block("Page", page="scale"),
         "two": block("Page", page="scale", **second), "loss": block("Loss")},
        {"one.x": "v.out", "two.x": "one.y", "loss.x": "two.y"},
    ).with_page("scale", page(
        {"x": block("PageInput"), "w": block("Variable", value=3.0), "mul": block("Mul"),
         "y": block("PageOutput")},
        {"mul.a": "x.out", "mul.b": "w.out", "y.x": "mul.out"},
    ))  # fmt: skip
    session = Session(shown)
    run = session.run()
    return shown, numbered(EvaluationResult(shown, values=run.values), observe(session))


@pytest.mark.parametrize("use", ["one", "two"])
def test_a_shared_variable_is_the_same_in_every_use(use):
    shown, result = shared()
    known = resolve(Scene(shown, "scale"), result, InstancePath(use))
    i = known.scene.index["w"]
    assert known.page.value("w", "out") == 3 and known.page.gradient("w") == 6
    assert "Shared by one and two." in block_tip(known.page, i)
    assert "Shared by one and two." in describe(known, Focus(FocusKind.BLOCK, "w"))
    assert result.variable(f"{use}/w").state is State.CARRIES


def test_an_independent_use_shows_it_and_its_own_numbers():
    shown, result = shared(independent=True)
    known = resolve(Scene(shown, "main"), result, ROOT)
    assert [known.look(known.scene.index[n]).label for n in ("one", "two")] == [
        "scale",
        "scale · own variables",
    ]
    assert "variables of its own" in block_tip(known.page, known.scene.index["two"])
    inside = resolve(Scene(shown, "scale"), result, InstancePath("two"))
    assert inside.page.gradient("w") == 3
    assert "Shared" not in block_tip(inside.page, inside.scene.index["w"])


def test_what_the_why_panel_asks_of_a_wire_in_the_second_use():
    shown, result = shared()
    told = reasons(Session(shown), result, WirePath("two/mul.b"), PortPath("two/w.out"))
    assert told.account is not None
    assert {entry.by for entry in told.account.entries} == {"one/mul.b", "two/mul.b"}
    assert [d.variable for d in told.dialects] == ["one/w"]


def test_the_inspector_tells_who_shares_a_variable(qtbot):
    shown, result = shared()
    form = BlockForm(shown, "scale", "w", LIGHT, at_once)
    qtbot.addWidget(form)
    form.show_result(result, InstancePath("two"))
    assert "Shared by one and two" in {label.text() for label in form.findChildren(QLabel)}


def test_the_inspector_makes_a_use_independent(qtbot):
    form = BlockForm(shared()[0], "main", "two", LIGHT, at_once)
    qtbot.addWidget(form)
    with qtbot.waitSignal(form.committed) as made:
        form.fields["independent"].findChild(QCheckBox).click()
    assert made.args == ["independent", True]
