from __future__ import annotations

import pytest

from app.canvas.paint.blocks.faces import draw_picture
from app.canvas.scene.geometry import Scene
from app.canvas.state.annotations import Annotations, resolve
from app.evaluation.result import Result
from app.services.theme import DARK, LIGHT
from runtime.diagram.paths import ROOT, InstancePath, PortPath
from runtime.flow import State
from tests.app.canvas.pages import block, diagram, page


def annotations(states: dict[str, State], use: InstancePath = ROOT) -> Annotations:
    shown = diagram({"enc": block("Page", page="inner"), "a": block("Variable")})
    shown = shown.with_page("inner", page({"t": block("Tanh"), "in": block("Page", page="deep")}))
    scene = Scene(shown.with_page("deep", page({})), "inner" if use else "main")
    return resolve(scene, Result(scene.diagram, states=states, losses=(PortPath("loss.out"),)), use)


def test_a_page_shows_the_worst_state_inside_it_at_any_depth():
    states = {"enc/t.x": State.STOPPED, "enc/in/u.x": State.NONFINITE, "a.x": State.NO_RULE}
    known = annotations(states)
    assert known.page.worst_inside.get("enc") == "NONFINITE"
    assert known.look(0).inside is State.NONFINITE
    assert known.look(1).inside is None


def test_inside_a_page_only_what_is_deeper_counts():
    known = annotations(
        {"enc/t.x": State.STOPPED, "enc/in/u.x": State.ZERO, "in/u.x": State.FLOOD},
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
