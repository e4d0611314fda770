"""Results have what views show; it is hidden, dimmed and brought up to date as numbers are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import gradwire as gw
from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state.annotations import PageResult, resolve
from gradwire.app.canvas.state.lanes import NO_RESULT
from gradwire.app.canvas.state.looks import look_of
from gradwire.app.canvas.state.tooltips import block_tip, describe
from gradwire.app.evaluation.concealment import concealed
from gradwire.app.evaluation.evaluator import Evaluation, evaluate
from gradwire.app.evaluation.outdated import outdated_blocks
from gradwire.runtime.diagram.paths import ROOT
from gradwire.runtime.views.pictures import FieldPicture, HistogramPicture, PlotPicture

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram


def diagram(slope: float = 1.0) -> Diagram:
    @gw.page
    def line(p):
        return p @ gw.variable("w", [[slope], [0.0]])

    points = gw.constant("points", [[0.0, 1.0], [1.0, 0.0]])
    score = line(points, name="line")
    loss = gw.loss(gw.mean(score**2), name="loss")
    return gw.build(
        loss,
        gw.field(page="line", resolution=8, name="field"),
        gw.histogram(score, name="counts"),
        gw.plot(loss, name="curve"),
    )


def page_of(result, shown=None) -> PageResult:
    return PageResult(Scene(shown or result.diagram, "main"), result)


def test_a_result_has_a_picture_of_each_view():
    result = evaluate(diagram())
    assert result.error is None
    kinds = {path: type(picture) for path, picture in result.pictures.items()}
    assert kinds == {"field": FieldPicture, "counts": HistogramPicture, "curve": PlotPicture}


def test_a_field_follows_numbers_without_a_new_plan():
    evaluation = Evaluation()
    first, second = evaluation(diagram(1.0)), evaluation(diagram(3.0))
    assert (first.pictures["field"].high, second.pictures["field"].high) == (1.0, 3.0)


def test_faces_have_the_pictures_and_no_names_of_ports():
    page = page_of(evaluate(diagram()))
    look = look_of(page, page.scene.index["counts"], dimmed=False)
    assert isinstance(look.view, HistogramPicture) and look.size is not None
    assert [port.text for port in look.inputs] == [""]
    bare = look.bare()
    assert bare.view is None and bare.size == look.size and bare != look


def test_without_a_result_ports_keep_their_names():
    page = page_of(None, diagram())
    look = look_of(page, page.scene.index["field"], dimmed=False)
    assert look.view is None and [port.text for port in look.inputs] == ["points", "colour"]


def test_what_is_to_be_predicted_is_not_shown():
    result = evaluate(diagram())
    page = page_of(concealed(result, frozenset({"values"})))
    assert page.picture("counts") is None and page.picture("field") is None


def test_a_timeline_shows_a_view_once_its_values_are_known():
    result = replace(evaluate(diagram()), is_partial=True)
    assert page_of(result).picture("counts") is not None
    known = {port: value for port, value in result.values.items() if "line" not in port}
    assert page_of(replace(result, values=known)).picture("counts") is None
    assert page_of(replace(result, values=known)).picture("curve") is not None


def test_an_edit_inside_its_page_outdates_a_field():
    was, now = diagram(1.0), diagram(2.0)
    now = replace(now, pages={**now.pages, "main": was.pages["main"]})
    assert {"field", "counts", "curve"} <= outdated_blocks(was, now, "main", ROOT)


def test_wires_to_views_have_no_lane():
    result = evaluate(diagram())
    annotations = resolve(Scene(result.diagram, "main"), result)
    wires = annotations.scene.wire_index
    for wire in ("counts.x", "curve.values.0"):
        assert annotations.total.codes[wires[wire]] == NO_RESULT
    assert annotations.total.codes[wires["loss.x"]] != NO_RESULT


def test_a_view_inside_a_page_is_no_reason_for_concern():
    @gw.page
    def watched(p):
        gw.histogram(p)
        return p * 2.0

    result = evaluate(gw.build(gw.loss(gw.sum(watched(gw.variable("w", [1.0]), name="use")))))
    assert page_of(result).worst_inside == {}


def test_what_a_view_shows_is_said():
    result = evaluate(diagram())
    annotations = resolve(Scene(result.diagram, "main"), result)
    assert "2 values" in describe(annotations, Focus(FocusKind.BLOCK, "counts"))
    assert "line: " in block_tip(annotations.page, annotations.scene.index["field"])


class Recorded:
    names = ("loss.out",)

    def series(self, name):
        return np.arange(1, 11), np.linspace(1.0, 0.1, 10)


def test_plots_draw_what_training_recorded():
    evaluation = Evaluation()
    (now,) = evaluation(diagram()).pictures["curve"].lines
    assert len(now.steps) == 1
    evaluation.history = Recorded()
    (line,) = evaluation(diagram()).pictures["curve"].lines
    assert len(line.steps) == 10 and line.values[-1] == pytest.approx(0.1)
    assert evaluation.another().history is evaluation.history
