"""Figures of a study: which lines and axes they have, and that they are sound SVG."""

from __future__ import annotations

import math
import re
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pytest

from gradwire.runtime.publish.studies.drawing import drawing
from gradwire.runtime.publish.studies.figures import figures, is_geometric
from gradwire.runtime.training.studies.files import Variant
from gradwire.runtime.training.studies.results import Results
from gradwire.runtime.training.studies.task import LossCurve, Trained, TrainingTask
from gradwire.runtime.training.studies.varying import PlannedTraining


def results(varied, number, *, curve=None, height=lambda settings: 1.0, missing=()):
    """Trainings of all combinations, with a loss of ``number(settings)`` each."""
    planned = [
        PlannedTraining(dict(zip(varied, values, strict=True)), TrainingTask(Variant()))
        for values in product(*varied.values())
    ]
    ended, given = {}, curve
    for place, each in enumerate(planned):
        values = tuple(height(each.settings) * loss for loss in (3.0, 2.0, 1.0))
        curve = given or LossCurve(steps=(1, 2, 3), values=values)
        loss = number(each.settings)
        measured = {"loss.out": loss, "validation/loss.out": 2 * loss}
        ended[place] = (
            Trained(status="diverged", reason="NaN", curves={"loss.out": curve})
            if place in missing
            else Trained(status="trained", measured=measured, curves={"loss.out": curve})
        )
    return Results(varied, planned, ended)


GRID = {"lr": (0.001, 0.01, 0.1), "units": (2, 4), "act": ("a", "b"), "seed": (0, 1, 2)}


def grid(**more):
    return results(GRID, lambda s: 1 / s["lr"] + s["units"] + s["seed"], **more)


@pytest.mark.parametrize(
    ("values", "geometric"),
    [
        ((1e-3, 1e-2, 1e-1), True), ((2, 4, 8, 16), True), ((0.001, 0.003, 0.01), True),
        ((0.001, 0.1), True), ((1, 2), False), ((1, 2, 3), False), ((0, 1, 10), False),
        ((-1, 1), False), ((0.1, 0.2, 0.3, 0.4), False), ((5,), False),
    ],
)  # fmt: skip
def test_an_axis_is_logarithmic_where_values_are_spread_so(values, geometric):
    assert is_geometric(values) is geometric


def test_there_is_a_figure_for_each_numeric_parameter_and_one_of_curves():
    assert list(figures(grid())) == ["over_lr.svg", "over_units.svg", "curves.svg"]
    words = results({"act": ("a", "b")}, lambda s: 1.0)
    assert list(figures(words)) == ["curves.svg"]
    seeds = figures(results({"seed": (0, 1)}, lambda s: 1.0))
    assert list(seeds) == ["curves.svg"] and seeds["curves.svg"].legend == ()
    paths = results({"network/hidden_1.units": (1, 2)}, lambda s: 1.0)
    assert next(iter(figures(paths))) == "over_network_hidden_1_units.svg"


def test_lines_are_means_with_the_least_and_the_largest_over_the_seeds():
    figure = figures(grid(), "Title")["over_lr.svg"]
    panel, other = figure.panels
    assert (panel.title, other.title, panel.across) == ("loss", "loss, validation rows", "lr")
    assert panel.x.log and panel.y.log and panel.ticks == (0.001, 0.01, 0.1)
    assert other.y == panel.y  # so that training and validation compare
    assert [text for text, _ in figure.legend] == [
        "units = 2, act = a", "units = 2, act = b", "units = 4, act = a", "units = 4, act = b",
    ]  # fmt: skip
    line = panel.lines[0]
    np.testing.assert_allclose(line.x, [0.001, 0.01, 0.1])
    np.testing.assert_allclose(line.middle, [1003, 103, 13])
    np.testing.assert_allclose(line.low, [1002, 102, 12])
    np.testing.assert_allclose(line.high, [1004, 104, 14])
    assert line.dots[:3] == ((0.001, 1002.0), (0.001, 1003.0), (0.001, 1004.0))
    assert "3 seeds" in figure.caption[0]


def test_what_is_varied_last_has_a_panel_for_each_value_of_the_curves():
    varied = {"lr": (0.1, 0.2), "units": (2, 4), "seed": (0, 1)}
    curves = figures(results(varied, lambda s: 1.0, height=lambda s: s["units"]))["curves.svg"]
    assert [panel.title for panel in curves.panels] == ["loss, units = 2", "loss, units = 4"]
    assert [text for text, _ in curves.legend] == ["lr = 0.1", "lr = 0.2"]
    for units, panel in zip((2, 4), curves.panels, strict=True):
        assert panel.x.high == 3.0 and panel.y == curves.panels[0].y
        for line in panel.lines:
            np.testing.assert_allclose(line.middle, [3 * units, 2 * units, units])


def test_where_there_is_no_number_is_marked():
    found = figures(results({"lr": (1, 2, 3)}, lambda s: 1.0, missing=(1,)))
    line = found["over_lr.svg"].panels[0].lines[0]
    assert line.missing == (2.0,) and math.isnan(line.middle[1])
    assert "diverged or failed" in found["over_lr.svg"].caption[-1]


def test_of_many_combinations_some_are_drawn_and_that_is_said():
    figure = figures(results({"lr": (1, 2), "units": tuple(range(50))}, lambda s: 1.0))
    assert len(figure["over_lr.svg"].panels[0].lines) == 12
    assert "12 of 50 combinations are drawn." in figure["over_lr.svg"].caption
    colours = {line.colour for line in figure["over_lr.svg"].panels[0].lines}
    assert len(colours) == 12


def test_nothing_that_has_ended_is_nothing_to_draw():
    assert figures(Results({"lr": (1, 2)}, [], {})) == {}
    failed = Results(
        {"lr": (1,)},
        [PlannedTraining({"lr": 1}, TrainingTask(Variant()))],
        {0: Trained.failed("x")},
    )
    assert figures(failed) == {}


@pytest.mark.parametrize(
    "found",
    [
        grid(),
        grid(missing=range(0, 36, 5)),
        grid(missing=range(36)),
        results({"lr": (1, 2)}, lambda s: 0.0),
        results({"lr": (1, 2)}, lambda s: 1e300),
        results({"lr": (0, 1e-300)}, lambda s: 1e-300 + s["lr"]),
        results({"lr": (1, 2)}, lambda s: 1.0, curve=LossCurve(steps=(1,), values=(math.nan,))),
        results({"a<b>&\x00\ud800": ("]]>", '"')}, lambda s: 1.0),
    ],
    ids=["grid", "gaps", "none", "zero", "large", "small", "nan", "signs"],
)
def test_a_drawing_is_xml_with_all_its_marks_inside(found):
    for figure in figures(found, 'A <title> & "more"\x00').values():
        svg = drawing(figure)
        root = ElementTree.fromstring(svg.encode())
        width, height = float(root.get("width")), float(root.get("height"))
        assert "nan" not in svg and "inf" not in svg
        for text in root.iter("{http://www.w3.org/2000/svg}text"):
            assert -1 <= float(text.get("x")) <= width and 0 < float(text.get("y")) <= height
        for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", svg):
            assert -5 <= float(x) <= width + 5 and -5 <= float(y) <= height + 5
