from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QImage, QPainter

from gradwire.app.canvas.paint.wires import lanes
from gradwire.app.canvas.paint.wires.lanes import Bundle
from gradwire.app.canvas.scene.curves import Courses
from gradwire.app.canvas.scene.lane_paths import GAP
from gradwire.app.canvas.state.lanes import CODES, NO_RESULT, lane_width
from gradwire.app.services.colours import contrast
from gradwire.app.services.theme import LIGHT, THEMES
from gradwire.runtime.flow import State
from gradwire.runtime.flow.words.states import STATES, ColourRole, Form
from tests.app.canvas.paint.recording import recorder
from tests.together import together

WIDTH = 400


def strip(state: State, rms: float = 1.0, scale: int = 4) -> np.ndarray:
    """Where the lane's colour is, as a mask (rows, columns) of a straight wire, ``scale`` times."""
    image = QImage(WIDTH * scale, 40 * scale, QImage.Format.Format_RGB32)
    image.fill(QColor(LIGHT.canvas))
    ends = np.array([[10.0, 12.0, WIDTH - 10.0, 12.0]]) * scale
    with QPainter(image) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        bundle = Bundle(
            Courses(ends), np.array([CODES[state]], np.int8), lane_width(np.array([rms]))
        )
        lanes.draw_curves(painter, bundle, LIGHT, float(scale))
    pixels = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), image.width())
    lane = LIGHT.lane(state).rgb() & 0xFFFFFF
    return (pixels & 0xFFFFFF) == lane


def runs(row: np.ndarray) -> list[int]:
    """Lengths of the stretches of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], row.astype(int), [0]])))
    return (edges[1::2] - edges[::2]).tolist()


def lane_row(mask: np.ndarray, scale: int = 4, off: float = 0.0) -> np.ndarray:
    """The row of the lane's middle, between its arrow and its other end."""
    return mask[round((12 + GAP + off) * scale), 40 * scale : 360 * scale]


def test_every_state_has_a_look_a_code_and_colours():
    assert set(CODES) == set(State)
    assert sorted(CODES.values()) == list(range(1, len(State) + 1))
    for theme in THEMES.values():
        assert set(theme.lanes) == set(ColourRole)


@pytest.mark.parametrize("theme", THEMES.values(), ids=lambda theme: theme.name)
def test_lanes_stand_out_from_the_canvas(theme):
    for colour in (theme.wire, *theme.lanes.values()):
        assert contrast(colour, theme.canvas) >= 3.0


def test_states_differ_by_more_than_colour():
    told = [(row.form, row.glyph, row.cut, row.label) for row in STATES.values()]
    assert len(set(told)) == len(told)


class TestForms:
    def test_a_lane_that_carries_is_whole(self):
        row = lane_row(strip(State.CARRIES))
        assert runs(row) == [len(row)]

    def test_its_chevrons_point_back_to_the_source(self):
        mask = strip(State.CARRIES)
        high = mask[round((12 + GAP - 3.4) * 4)]
        tip = np.flatnonzero(mask.any(axis=0))[0]
        barb = np.flatnonzero(high)[0]
        assert barb > tip, "the arms lie behind the tip, on the side of the reader"
        assert len(runs(high)) >= 10, "one arm every 30 px"

    def test_its_width_tells_the_size(self):
        def thickness(rms: float) -> int:
            mask = strip(State.CARRIES, rms)
            return int(np.median(mask[:, 40 * 4 : 360 * 4].sum(axis=0)))

        assert thickness(1e-4) < thickness(1.0) < thickness(1e4)

    def test_partial_is_long_dashes(self):
        assert 0.6 < lane_row(strip(State.PARTIAL)).mean() < 0.8

    def test_zero_is_hollow(self):
        mask = strip(State.ZERO)
        assert not lane_row(mask).any()
        assert lane_row(mask, off=1.5).all()
        assert lane_row(mask, off=-1.5).all()

    @pytest.mark.parametrize("state", [State.VANISHING, State.OFF_ROUTE])
    def test_dots(self, state):
        found = runs(lane_row(strip(state)))
        assert len(found) > 30
        assert max(found) <= 4 * 4

    @pytest.mark.parametrize("state", [State.EXPLODING, State.NONFINITE])
    def test_teeth_cross_the_lane(self, state):
        mask = strip(state)
        assert len(runs(lane_row(mask))) > 30
        assert mask[: round((12 + GAP - 1.5) * 4)].any()
        assert mask[round((12 + GAP + 1.5) * 4) :].any()

    def test_teeth_of_a_flood_are_steep_on_one_side(self):
        assert not np.array_equal(strip(State.EXPLODING), strip(State.NONFINITE))

    def test_stopped_is_even_dashes(self):
        found = runs(lane_row(strip(State.STOPPED)))[1:-1]
        assert len(found) > 25
        assert max(found) - min(found) <= 2

    def test_no_rule_is_dash_dot(self):
        found = runs(lane_row(strip(State.NO_RULE)))[1:-1]
        assert sorted({round(length / 4) for length in found}) in ([2, 9], [1, 9], [2, 8])

    @pytest.mark.parametrize("state", [State.FROZEN, State.NOTHING_TO_TRAIN])
    def test_no_lane(self, state):
        assert not lane_row(strip(state)).any()

    def test_unknown_is_hatched(self):
        mask = strip(State.UNKNOWN)
        assert len(runs(lane_row(mask))) > 50
        upper, lower = lane_row(mask, off=-1.0), lane_row(mask, off=1.0)
        assert not np.array_equal(upper, lower), "the strokes slant"


def test_a_faded_lane_is_paler_and_opaque(qapp):
    colour = lanes.mixed(QColor("black"), QColor("white"), 0.5)
    assert colour.alpha() == 255
    assert colour.lightness() == pytest.approx(128, abs=1)


def test_widths_grow_with_the_logarithm():
    widths = lane_width(np.array([0.0, 1e-9, 1e-2, 1.0, 1e2, 1e9, np.inf, np.nan]))
    assert widths[0] == widths[1] == pytest.approx(1.2)
    assert widths[1] < widths[2] < widths[3] < widths[4] < widths[5]
    assert widths[3] == pytest.approx(2.4)
    assert np.isfinite(widths).all()


@pytest.mark.parametrize("size", [0, 3])
def test_wires_from_afar_have_the_colour_of_their_state(qapp, size):
    image = QImage(60, 60, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.white)
    ends = np.array([[0.0, 10.5, 60.0, 10.5], [0.0, 30.5, 60.0, 30.5], [0.0, 50.5, 60.0, 50.5]])
    codes = np.array([CODES[State.CARRIES], CODES[State.STOPPED], NO_RESULT], np.int8)
    with QPainter(image) as painter:
        lanes.draw_plain(painter, Bundle(Courses(ends[:size]), codes[:size], np.ones(size)), LIGHT)
    if size:
        assert image.pixelColor(30, 10) == QColor(LIGHT.lane(State.CARRIES))
        assert image.pixelColor(30, 30) == QColor(LIGHT.wire)
        assert image.pixelColor(30, 50) == QColor(LIGHT.wire)
    else:
        assert image.pixelColor(30, 10) == QColor("white")


def test_forms_that_flow_have_chevrons():
    assert State.CARRIES.row.passes
    assert not State.STOPPED.row.passes
    assert not any(row.passes for row in STATES.values() if row.form is Form.NONE)


def turns(lines: np.ndarray) -> np.ndarray:
    """Degrees from each line of a curve to the next."""
    along = np.diff(lines.reshape(-1, 2, 2), axis=1)[:, 0]
    angles = np.unwrap(np.arctan2(along[:, 1], along[:, 0]))
    return np.degrees(np.abs(np.diff(angles)))


@pytest.mark.parametrize("unit", [0.45, 0.6, 0.9, 2.0])
def test_a_long_wire_has_no_kinks_and_a_short_one_costs_little(monkeypatch, unit):
    found = []
    monkeypatch.setattr(lanes, "draw_lines", lambda painter, lines: found.append(lines))
    courses = np.array([[10.0, 10.0, 700.0, 480.0], [10.0, 200.0, 60.0, 150.0]])
    bundle = Bundle(Courses(courses), np.full(2, NO_RESULT, np.int8), np.ones(2))
    image = QImage(8, 8, QImage.Format.Format_RGB32)
    with QPainter(image) as painter:
        lanes.draw_curves(painter, bundle, LIGHT, unit)
    lines = np.concatenate(found)
    is_long = (lines[:, 0] > 61.0) | (lines[:, 1] < 140.0)
    assert turns(lines[is_long]).max() < 8.0
    assert (~is_long).sum() <= (12 if unit < 0.7 else 32)


UNIT = 2.0
SQUARE, FLAT = Qt.PenCapStyle.SquareCap, Qt.PenCapStyle.FlatCap


def drawn(monkeypatch, state, *, course=(0.0, 50.0, 400.0, 50.0), width=2.4, forks=None, **more):
    """What is drawn of one wire's lane, without the wire."""
    painter = recorder(monkeypatch, lanes)
    bundle = Bundle(
        Courses(np.array([course])), np.array([CODES[state]], np.int8), np.array([width]), forks
    )
    lanes.draw_curves(painter, bundle, LIGHT, UNIT, bare=True, **more)
    return painter.strokes


def ends(lines):
    """First and last points (n, 2) of lines (n, 4)."""
    return lines[:, :2], lines[:, 2:]


class TestChevrons:
    @pytest.mark.parametrize("state", [state for state in State if state.row.passes])
    @pytest.mark.parametrize(("fork_point", "tip"), [(0.0, 19.0), (100.0, 101.0), (1e6, 361.0)])
    def test_they_begin_where_the_wire_leaves_the_others(self, monkeypatch, state, fork_point, tip):
        first = drawn(monkeypatch, state, forks=np.array([fork_point]))[-1]
        assert ends(first.lines)[0][:, 0] == pytest.approx(tip, abs=0.5)

    def test_there_are_as_many_as_the_number_of_the_loss(self, monkeypatch):
        once = drawn(monkeypatch, State.CARRIES)
        for loss in range(4):
            _, *heads = drawn(monkeypatch, State.CARRIES, loss=loss)
            assert len(heads) == (loss + 1) * (len(once) - 1)
            assert {stroke.colour for stroke in heads} == {LIGHT.lane(State.CARRIES, loss).name()}
            places = [ends(head.lines)[0][0, 0] for head in heads[-loss - 1 :]]
            assert np.diff(places) == pytest.approx(5.0 * UNIT)

    def test_others_follow_after_that(self, monkeypatch):
        *_, chevrons, first = drawn(monkeypatch, State.CARRIES, forks=np.array([100.0]))
        assert ends(chevrons.lines)[0][:, 0].min() > ends(first.lines)[0][:, 0].max()

    @pytest.mark.parametrize("state", [state for state in State if state.row.passes])
    @pytest.mark.parametrize("course", [(0.0, 50.0, 400.0, 50.0), (0.0, 0.0, 400.0, 120.0)])
    def test_their_arms_lie_towards_the_reader(self, monkeypatch, state, course):
        first = drawn(monkeypatch, state, course=course)[-1]
        assert (first.width, first.cap) == (1.5 * UNIT, SQUARE)
        tips, tails = ends(first.lines)
        assert len(tips) == 2, "one arrowhead at the source"
        assert (tips[0] == tips[1]).all()
        assert (tails[:, 0] > tips[:, 0]).all(), "it points back to the source"

    def test_their_arms_open_to_both_sides_and_grow_with_the_lane(self, monkeypatch):
        for width in (1.2, 4.4):
            tips, tails = ends(drawn(monkeypatch, State.CARRIES, width=width)[-1].lines)
            size = (3.0 + 0.8 * width) * UNIT
            assert np.allclose(
                tails - tips, [[1.15 * size, 0.85 * size], [1.15 * size, -0.85 * size]]
            )

    def test_they_stand_at_even_distances_and_move_towards_the_source(self, monkeypatch):
        def tips(phase):
            found = np.sort(ends(drawn(monkeypatch, State.CARRIES, phase=phase)[-2].lines)[0][:, 0])
            assert np.allclose(found[::2], found[1::2])
            return found[::2]

        still = tips(0.0)
        assert np.allclose(np.diff(still), 34.0 * UNIT)
        assert np.allclose(tips(0.25)[: len(still)], still - 0.25 * 34.0 * UNIT)
        assert still[0] == pytest.approx((9.0 + 0.5 + 34.0) * UNIT)
        assert still[-1] <= 400.0 - (9.0 + 10.0) * UNIT

    def test_what_does_not_pass_has_none(self, monkeypatch):
        for state in State:
            if not state.row.passes and state.row.form is not Form.NONE:
                assert len(drawn(monkeypatch, state)) == 1


class TestPens:
    def test_a_lane_is_drawn_in_the_colour_of_its_state_as_wide_as_its_size(self, monkeypatch):
        line = drawn(monkeypatch, State.CARRIES, width=4.0)[0]
        assert line.colour == LIGHT.lane(State.CARRIES).name()
        assert (line.width, line.cap) == (4.0 * UNIT, FLAT)

    def test_a_faded_lane_is_half_way_to_the_canvas(self, monkeypatch):
        line = drawn(monkeypatch, State.CARRIES, faded=True)[0]
        lane, ground = LIGHT.lane(State.CARRIES), QColor(LIGHT.canvas)
        assert QColor(line.colour).red() == round((lane.red() + ground.red()) / 2)
        assert QColor(line.colour).blue() == round((lane.blue() + ground.blue()) / 2)

    @pytest.mark.parametrize("position", [0, 1, 3])
    def test_it_lies_beside_the_wire_clear_of_the_ports(self, monkeypatch, position):
        start, end = ends(drawn(monkeypatch, State.CARRIES, position=position)[0].lines)
        away = (GAP + 9.0 * position) * UNIT
        assert np.allclose([start[0], end[-1]], [[18.0, 50.0 + away], [382.0, 50.0 + away]])

    def test_the_wire_comes_first_and_only_with_a_lane_that_is_not_bare(self, monkeypatch):
        painter = recorder(monkeypatch, lanes)
        codes = np.array([CODES[State.STOPPED]], np.int8)
        course = np.array([[0.0, 50.0, 400.0, 50.0]])
        lanes.draw_curves(painter, Bundle(Courses(course), codes, np.ones(1)), LIGHT, 0.5)
        wire = painter.strokes[0]
        assert wire.colour == QColor(LIGHT.wire).name()
        assert wire.width == 1.0, "never thinner than a pixel"
        assert np.allclose(wire.lines, course)

    def test_from_afar_wires_are_straight_and_coloured_where_gradient_passes(self, monkeypatch):
        painter = recorder(monkeypatch, lanes)
        course = np.array([[0.0, 0.0, 50.0, 80.0, 90.0, 10.0]] * 3)
        codes = [CODES[State.CARRIES], CODES[State.STOPPED], NO_RESULT]
        lanes.draw_plain(
            painter, Bundle(Courses(course), np.array(codes, np.int8), np.ones(3)), LIGHT
        )
        by_code = dict(zip(sorted(codes), painter.strokes, strict=True))
        assert by_code[codes[0]].colour == LIGHT.lane(State.CARRIES).name()
        assert by_code[codes[1]].colour == by_code[codes[2]].colour == QColor(LIGHT.wire).name()
        assert by_code[codes[0]].lines.tolist() == [[0, 0, 50, 80], [50, 80, 90, 10]]


class TestLines:
    @pytest.mark.parametrize(
        ("state", "lengths", "period"),
        [
            (State.STOPPED, {5.0}, 9.0),
            (State.NO_RULE, {9.0, 2.0}, 19.0),
            (State.VANISHING, {0.1}, 6.1),
            (State.OFF_ROUTE, {0.1}, 4.6),
            (State.PARTIAL, {11.0}, 16.0),
        ],
    )
    def test_dashes_have_their_lengths_and_periods(self, monkeypatch, state, lengths, period):
        start, end = ends(drawn(monkeypatch, state)[0].lines)
        found = np.round((end - start)[:-1, 0] / UNIT, 3)
        assert lengths <= set(found.tolist())
        longest = np.isclose(found, max(lengths))
        assert np.allclose(np.diff(start[:-1][longest, 0]), period * UNIT)

    def test_the_teeth_of_an_exploding_lane_are_a_saw(self, monkeypatch):
        start, end = ends(drawn(monkeypatch, State.EXPLODING)[0].lines)
        heights = (np.array([start[:, 1], end[:, 1]]) - 50.0) / UNIT - GAP
        assert sorted(set(np.round(heights.ravel(), 3))) == [-2.0, 2.8]
        widths = np.round((end - start)[:, 0] / UNIT, 3)
        assert sorted(set(widths.tolist())) == [0.0, 6.0], "slow up, straight down"

    def test_the_teeth_of_a_lane_that_is_not_finite_are_even(self, monkeypatch):
        start, end = ends(drawn(monkeypatch, State.NONFINITE)[0].lines)
        heights = (np.array([start[:, 1], end[:, 1]]) - 50.0) / UNIT - GAP
        assert sorted(set(np.round(heights.ravel(), 3))) == [-2.6, 2.6]
        assert np.allclose((end - start)[:, 0] / UNIT, 4.0)

    def test_hatches_lean_across_the_lane(self, monkeypatch):
        start, end = ends(drawn(monkeypatch, State.UNKNOWN)[0].lines)
        assert np.allclose((end - start) / UNIT, [3.2, 4.8])
        assert np.allclose((start + end)[:, 1] / 2.0, 50.0 + GAP * UNIT)
        assert np.allclose(np.diff(start[:, 0]), 5.0 * UNIT)

    def test_a_zero_lane_has_two_edges(self, monkeypatch):
        first, second = drawn(monkeypatch, State.ZERO)[:2]
        middle = 50.0 + GAP * UNIT
        assert np.allclose(first.lines[:, [1, 3]], middle - 1.5 * UNIT)
        assert np.allclose(second.lines[:, [1, 3]], middle + 1.5 * UNIT)


@pytest.mark.night
@together("unit", [0.5, 1.0, 2.5])
@together("state", list(State), ids=lambda state: state.name)
@together("loss", [None, 2])
def test_an_area_is_drawn_as_it_is_drawn_with_all_around_it(qapp, state, unit, loss):
    """No pixel of an area tells that what lies outside was left out."""
    random = np.random.default_rng(5)
    ends = random.uniform(-1500.0, 1900.0, (40, 4))
    ends[:12, 1::2] = random.uniform(-20.0, 320.0, (12, 1))  # level, some along the area's edge
    ends[12:24, ::2] = random.uniform(-20.0, 420.0, (12, 1))  # upright
    bundle = Bundle(
        Courses(ends),
        np.full(len(ends), CODES[state], np.int8),
        lane_width(random.uniform(0.0, 100.0, len(ends))),
        random.uniform(0.0, 200.0, len(ends)),
    )

    def picture(area: np.ndarray | None) -> np.ndarray:
        image = QImage(400, 300, QImage.Format.Format_RGB32)
        image.fill(QColor(LIGHT.canvas))
        with QPainter(image) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for position in (0, 3):
                lanes.draw_curves(
                    painter, bundle, LIGHT, unit,
                    phase=0.3, position=position, bare=position > 0, loss=loss, area=area,
                )  # fmt: skip
        pixels = np.frombuffer(image.constBits(), np.uint8).reshape(300, 400, 4)
        return pixels[..., :3].astype(int)

    whole, part = picture(None), picture(np.array([0.0, 0.0, 400.0, 300.0]))
    assert (whole != picture(None)[0, 0]).any(), "lanes are seen"
    # Qt clips long lines in fixed point, so the shade of an edge may round another way
    assert np.abs(whole - part).max() <= 6
