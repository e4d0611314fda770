"""Pictures of points, images, counts and lines, and what they say is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradwire as gw
from gradwire.runtime.engine import Session
from gradwire.runtime.views.axes import Axis, axis_around
from gradwire.runtime.views.colours import CLASSES, diverging, sequential
from gradwire.runtime.views.levels import levels_of, limits_of
from gradwire.runtime.views.pictures import HistogramPicture, ImagePicture, NoPicture, PlotPicture
from gradwire.runtime.views.scatter import MOST_POINTS
from gradwire.runtime.views.sketches import HEIGHT, WIDTH, sketch
from gradwire.runtime.views.views import Views, plotted_ports

MAGENTA = (255, 0, 255)


def show(view: Any, *, history: Any = None) -> Any:
    session = Session(gw.build(view.named("view")), partial=True)
    values = session.run().values
    return Views().pictures(session.diagram, session.program, values, history=history)["view"]


def constant(value: Any) -> Any:
    return gw.constant("x", value)


def test_points_by_class() -> None:
    points = [[0.0, 0.0], [1.0, 2.0], [4.0, 1.0]]
    shown = show(gw.scatter(constant(points), gw.constant("c", [7, 3, 7]), [[0.0, 9.0]]))
    dots, crosses = shown.marks
    assert dots.levels.tolist() == [2, 1, 2] and shown.labels == ("3", "7")
    assert crosses.crosses and crosses.levels is None
    assert shown.x.low < 0.0 and shown.x.high > 4.0 and shown.y.high > 9.0
    assert shown.summary.startswith("3 points and 1 others, x")


def test_points_by_shade() -> None:
    shown = show(gw.scatter(constant(np.zeros((3, 2))), gw.constant("c", [[0.0], [0.5], [1.0]])))
    (dots,) = shown.marks
    assert dots.scale == "sequential" and dots.levels.tolist() == [1, 128, 255]


@pytest.mark.parametrize(("labels", "classes"), [
    ([0.0, 1.0, 1.0], ("0", "1")),
    ([[2.0], [0.0], [1.0]], ("0", "1", "2")),
    ([0.0, 1.0, np.nan], ()),
    ([0.0, 1.0, 0.5], ()),
    (np.arange(9.0), ()),
])  # fmt: skip
def test_floats_of_few_whole_values_are_classes(labels, classes):
    points = constant(np.zeros((len(labels), 2)))
    shown = show(gw.scatter(points, gw.constant("c", np.array(labels))))
    assert shown.labels == classes
    assert shown.marks[0].scale == ("classes" if classes else "sequential")


def test_many_points_are_drawn_in_part_and_that_is_said() -> None:
    points = np.random.default_rng(0).normal(size=(3 * MOST_POINTS, 2))
    points[:4, 0] = np.nan
    shown = show(gw.scatter(constant(points), x_max=0.0))
    assert len(shown.marks[0].points) == MOST_POINTS
    beyond = int((points[4:, 0] > 0.0).sum())
    assert shown.notes == (f"{MOST_POINTS:,} of {3 * MOST_POINTS:,} points", "4 not finite",
                           f"{beyond:,} beyond the axes")  # fmt: skip


def test_an_image_and_a_sheet_of_images() -> None:
    shown = show(gw.image(constant([[0.0, 1.0], [0.5, np.nan]])))
    assert isinstance(shown, ImagePicture)
    assert shown.pixels.tolist() == [[1, 255], [128, 0]] and shown.gaps is None
    assert shown.notes == ("1 not finite",)
    sheet = show(gw.image(constant(np.ones((3, 2, 2))), columns=2))
    assert sheet.pixels.shape == sheet.gaps.shape == (5, 5)
    assert sheet.gaps[2].all() and sheet.gaps[:, 2].all() and sheet.gaps[3:, 3:].all()
    assert not sheet.gaps[:2, :2].any() and sheet.summary.startswith("3 images of 2 × 2")


def test_colours_of_images_are_not_stretched() -> None:
    shown = show(gw.image(constant(np.full((2, 2, 3), 0.5))))
    assert shown.pixels.shape == (2, 2, 3) and (shown.pixels == 128).all()
    shown = show(gw.image(constant(np.full((1, 3, 2, 2), 255))))
    assert (shown.pixels == 255).all() and (shown.low, shown.high) == (0.0, 255.0)
    bright = show(gw.image(constant(np.full((2, 2, 3), 2.0))))
    assert bright.notes == ("12 beyond the range",)


def test_rows_of_pixels_become_images() -> None:
    shown = show(gw.image(constant(np.arange(32.0).reshape(2, 16)), height=4))
    assert shown.summary.startswith("2 images of 4 × 4")


def test_large_images_are_thinned_and_that_is_said() -> None:
    shown = show(gw.image(constant(np.zeros((4, 1500)))))
    assert shown.pixels.shape == (2, 500) and shown.notes == ("one of 3 pixels each way",)


def test_counts_are_those_of_numpy() -> None:
    values = np.random.default_rng(1).normal(size=(50, 40))
    shown = show(gw.histogram(constant(values), bins=17))
    assert isinstance(shown, HistogramPicture)
    expected, edges = np.histogram(np.float32(values), bins=17)
    assert shown.counts.sum() == 2000
    assert np.abs(shown.counts - expected).sum() <= 4, "an edge may fall either way"
    np.testing.assert_allclose(shown.edges, edges, rtol=1e-5)


def test_what_a_histogram_does_not_count_is_said() -> None:
    shown = show(gw.histogram(constant([0.0, 1.0, 5.0, np.nan, -np.inf]), low=0.0, high=2.0))
    assert shown.counts.sum() == 2 and shown.notes == ("2 not finite", "1 beyond the range")
    assert isinstance(show(gw.histogram(constant([np.nan]))), NoPicture)


@pytest.mark.parametrize("value", [0.0, 3.0, -1e-300, 1e300, -1.7e308])
def test_equal_values_and_extreme_ones_have_a_histogram(value: float) -> None:
    array = np.array([value, value, value / 2])
    shown = show(gw.histogram(gw.constant("x", array, dtype="float64")))
    assert shown.counts.sum() == 3 and np.isfinite(shown.edges).all()


class Recorded:
    names = ("loss.out",)

    def series(self, name: str) -> Any:
        assert name == "loss.out"
        return np.arange(1, 6001), np.exp(-np.arange(6000) / 1000)


def plot(**parameters: Any) -> Any:
    loss = gw.loss(gw.sum(gw.variable("w", [1.0, 2.0])), name="loss")
    return gw.plot(loss, gw.variable("v", [2.0, 4.0]), **parameters)


def test_without_training_a_plot_has_the_present_values() -> None:
    shown = show(plot())
    assert isinstance(shown, PlotPicture)
    assert [line.name for line in shown.lines] == ["loss", "v"]
    assert [(line.steps.tolist(), line.values.tolist()) for line in shown.lines] == [
        ([0.0], [3.0]), ([0.0], [3.0]),
    ]  # fmt: skip


def test_with_a_history_a_plot_has_lines() -> None:
    shown = show(plot(log=True, last=100), history=Recorded())
    loss = shown.lines[0]
    assert (loss.steps[0], loss.steps[-1]) == (5900.0, 6000.0) and len(loss.steps) == 101
    assert shown.y.log and shown.y.low < loss.values[-1]
    assert len(show(plot(), history=Recorded()).lines[0].steps) <= 2000


def test_a_logarithmic_plot_says_what_is_not_positive() -> None:
    shown = show(gw.plot(constant(-1.0), log=True))
    assert shown.notes == ("x is not positive",)


def test_training_is_told_which_ports_plots_draw() -> None:
    session = Session(gw.build(plot()))
    assert plotted_ports(session.program) == ("loss.out", "v.out")


@pytest.mark.parametrize("view", ["Plot", "Scatter", "Image", "Histogram", "Field"])
def test_unwired_views_say_what_to_do(view: str) -> None:
    shown = show(gw.block(view))
    assert isinstance(shown, NoPicture) and shown.summary


def test_levels() -> None:
    levels = levels_of([-1.0, 0.0, 1.0, 9.0, np.nan, np.inf], -1.0, 1.0)
    assert levels.tolist() == [1, 128, 255, 255, 0, 0]
    assert limits_of([1.0, 2.0], None, None, centre=0.0) == (-2.0, 2.0)
    assert limits_of([], None, None) == (0.0, 1.0)


def test_axes_hold_their_values_and_have_round_ticks() -> None:
    axis = axis_around([np.array([0.0, 10.0])])
    assert axis.low < 0.0 and axis.high > 10.0
    assert Axis(-1.0, 1.0).ticks(5) == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert Axis(0.001, 100.0, log=True).ticks(6) == pytest.approx([1e-3, 1e-2, 0.1, 1, 10, 100])
    assert Axis(1e-3, 10.0, log=True).shares([0.1, -1.0])[0] == pytest.approx(0.5)
    for low, high in ((1e-12, 2e-12), (-3e8, 5e9), (0.0, 1e-300), (1.0, 1.0 + 1e-9)):
        ticks = Axis(low, high).ticks(6)
        assert len(ticks) <= 6 and all(low - 1e-6 <= tick <= high * 1.001 for tick in ticks)


def lightness(table: Any) -> Any:
    linear = np.where(table <= 10, table / 255 / 12.92, ((table / 255 + 0.055) / 1.055) ** 2.4)
    return np.cbrt(linear @ [0.2126, 0.7152, 0.0722])


def test_the_sequential_map_gets_ever_lighter_and_the_diverging_one_is_even() -> None:
    steps = np.diff(lightness(sequential(MAGENTA)[1:].astype(float)))
    assert (steps > -0.004).all() and steps.sum() > 0.5
    table = diverging(CLASSES[0], (255, 255, 255), CLASSES[1], MAGENTA)
    assert tuple(table[1]) == CLASSES[0] and tuple(table[255]) == CLASSES[1]
    assert tuple(table[128]) == (255, 255, 255) and tuple(table[0]) == MAGENTA
    assert (np.diff(lightness(table[1:129].astype(float))) > -0.004).all()


def test_sketches_fit_a_terminal_and_show_what_is_there() -> None:
    points = constant([[0.0, 0.0], [1.0, 1.0]])
    text = sketch(show(gw.scatter(points, gw.constant("c", [0, 1])))).splitlines()
    assert len(text) == HEIGHT and {len(line) for line in text} == {WIDTH}
    assert "x" in text[0] + text[1] and "o" in text[-1] + text[-2]
    assert sketch(show(gw.image(constant([[0.0, 1.0]])))) == "  ██"
    bars = sketch(show(gw.histogram(constant([0.0, 1.0, 1.0]), bins=2)))
    assert len(bars) == 2 and bars[0] < bars[1]
    assert sketch(show(plot(), history=Recorded())).endswith(" loss")
    assert sketch(show(gw.plot(constant(1.0)))) == ""
