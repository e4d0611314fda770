"""What is painted over a page: bends, routes, trials and labels of lanes, call by call."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF

from gradwire.app.canvas.paint import glyphs, highlights, overlays
from gradwire.app.canvas.paint.highlights import paint_bends, paint_route
from gradwire.app.canvas.paint.overlays import paint_trial
from gradwire.app.canvas.paint.wires import lane_labels
from gradwire.app.canvas.paint.wires.labels import LabelLayout, draw_labels
from gradwire.app.canvas.paint.wires.lane_labels import (
    ORIGIN,
    place_lane_labels,
    place_wire_numbers,
)
from gradwire.app.canvas.scene.camera import Camera
from gradwire.app.canvas.scene.geometry import Bend, Scene
from gradwire.app.canvas.scene.lane_paths import GAP
from gradwire.app.canvas.state.annotations import resolve
from gradwire.app.canvas.state.marks import Route, TrialMarks
from gradwire.app.canvas.state.view_state import Selection, ViewState
from gradwire.app.evaluation.badges import Badges
from gradwire.app.evaluation.result import EvaluationResult
from gradwire.app.services.theme import BODY, LIGHT, font, scaled
from gradwire.runtime.diagram.paths import InstancePath, WirePath
from gradwire.runtime.flow import Cutter, State, Verdict
from tests.app.canvas.pages import block, diagram
from tests.app.canvas.paint.recording import recorder

CAMERA = Camera(2.0, 10.0, 20.0)
EVERYWHERE = np.array([-1e4, -1e4, 1e4, 1e4])


def view_of(state=State.STOPPED, *, bent=False, camera=CAMERA, **more) -> ViewState:
    """``w`` to ``t`` to ``u`` in a row; the wire ``t.x`` is in that state."""
    shown = diagram(
        {"w": block("Variable", value=1.0), "t": block("Tanh"), "u": block("Tanh")},
        {"t.x": "w.out", "u.x": "t.out"},
        {"w": (0, 0), "t": (400, 0), "u": (800, 0)},
        bends={"t.x": [(250, 100), (300, 60)]} if bent else None,
    )
    result = EvaluationResult(shown, states={"t.x": state, "u.x": State.CARRIES}, **more)
    scene = Scene(shown, "main")
    return ViewState(scene, resolve(scene, result), camera, LIGHT)


class TestBends:
    def paint(self, monkeypatch, view, area=EVERYWHERE):
        painter = recorder(monkeypatch, highlights)
        paint_bends(painter, view, area)
        return painter.strokes

    def test_each_is_a_round_dot_on_a_ground(self, monkeypatch):
        selected, ground, dots = self.paint(monkeypatch, view_of(bent=True))
        assert not len(selected.lines)
        assert (ground.width, ground.colour) == (18.0, QColor(LIGHT.canvas).name())
        assert (dots.width, dots.colour) == (14.0, QColor(LIGHT.wire).name())
        assert dots.cap == Qt.PenCapStyle.RoundCap
        assert np.allclose(dots.lines[:, :2], [[510, 220], [610, 140]])
        assert np.allclose(dots.lines[:, 2:], dots.lines[:, :2], atol=0.02)

    def test_a_selected_one_has_a_ring_below_its_dot(self, monkeypatch):
        view = replace(view_of(bent=True), selection=Selection(bends=frozenset({Bend("t.x", 1)})))
        ring = self.paint(monkeypatch, view)[0]
        assert (ring.width, ring.colour) == (24.0, QColor(LIGHT.accent).name())
        assert np.allclose(ring.lines[:, :2], [[610, 140]])

    def test_those_outside_and_of_a_wire_being_moved_are_left_out(self, monkeypatch):
        assert (
            len(self.paint(monkeypatch, view_of(bent=True), np.array([260, 0, 400, 200]))[2].lines)
            == 1
        )
        assert (
            len(self.paint(monkeypatch, view_of(bent=True), np.array([0, 0, 400, 80]))[2].lines)
            == 1
        )
        moved = replace(view_of(bent=True), hidden_wire="t.x")
        assert not len(self.paint(monkeypatch, moved)[2].lines)
        assert not self.paint(monkeypatch, view_of())


class TestRoute:
    route = Route(
        "u.x",
        {"t": "2", "w": "3–5", "gone": "9"},
        ("u.x",),
        {WirePath("t.x"): "⊣", WirePath("gone.x"): "∅"},
    )

    def test_numbers_stand_at_the_corners_of_their_blocks(self, qapp, monkeypatch):
        painter = recorder(monkeypatch)
        paint_route(painter, replace(view_of(), route=self.route))
        assert painter.of("translate")[:2] == [(810.0, 20.0), (10.0, 20.0)]
        assert painter.of("scale") == [(2.0, 2.0)] * 3
        assert [arguments[2] for arguments in painter.of("drawText")] == ["2", "3–5"]
        boxes = [arguments[0] for arguments in painter.of("drawRoundedRect")]
        assert boxes[0].center() == QPointF(0, 0)
        assert boxes[0].height() == 18.0 <= boxes[0].width()
        assert boxes[1].width() >= boxes[0].width()
        assert len(painter.of("save")) == len(painter.of("restore"))

    def test_a_number_is_legible_on_a_round_ground_wide_enough_for_it(self, qapp, monkeypatch):
        painter = recorder(monkeypatch)
        paint_route(painter, replace(view_of(), route=Route("u.x", {"t": "2", "w": "10–1000"})))
        short, long = painter.drawn("drawRoundedRect")
        letters = font(BODY, bold=True)
        for ground, text in ((short, "2"), (long, "10–1000")):
            wide = QFontMetricsF(letters).horizontalAdvance(text)
            assert ground.arguments[0].width() == pytest.approx(max(18.0, wide + 9.0))
        for ground, text in zip((short, long), painter.drawn("drawText"), strict=True):
            assert ground.arguments[1:] == (9.0, 9.0)
            assert ground.brush.color() == QColor(LIGHT.accent)
            assert ground.pen.color() == QColor(LIGHT.canvas)
            assert text.arguments[:2] == (ground.arguments[0], int(Qt.AlignmentFlag.AlignCenter))
            assert text.pen.color() == QColor(LIGHT.on_accent)
            assert text.font == letters

    def test_a_cutter_has_its_glyph_at_the_port(self, qapp, monkeypatch):
        view, drawn = replace(view_of(), route=self.route), []
        monkeypatch.setattr(glyphs, "draw", lambda *arguments: drawn.append(arguments))
        painter = recorder(monkeypatch)
        paint_route(painter, view)
        at = view.camera.to_widget(view.scene.port_points(np.array([view.scene.port("t", "x")])))[0]
        assert painter.of("translate")[-1] == (QPointF(*at.tolist()),)
        (ground,) = painter.drawn("drawEllipse")
        assert ground.arguments == (QPointF(0, 0), 9.0, 9.0)
        assert ground.pen.color() == QColor(LIGHT.error)
        assert ground.brush.color() == QColor(LIGHT.canvas)
        assert [(glyph, box.center(), colour) for _, glyph, box, colour in drawn] == [
            ("⊣", QPointF(0, 0), LIGHT.error)
        ]

    @pytest.mark.parametrize("view", [view_of(), view_of(camera=Camera(0.2))])
    def test_from_afar_or_without_one_nothing_is_painted(self, qapp, monkeypatch, view):
        painter = recorder(monkeypatch)
        paint_route(painter, replace(view, route=self.route if view.camera.zoom < 1 else None))
        assert not painter.calls


class TestTrial:
    def test_a_cut_is_dashed_with_its_glyph_in_the_middle(self, qapp, monkeypatch):
        painter = recorder(monkeypatch, overlays)
        monkeypatch.setattr(glyphs, "draw", lambda *a: painter.calls.append(("glyph", a[1:3])))
        paint_trial(painter, view_of(), TrialMarks(cuts=("t.x", "gone.x")))
        (line,) = painter.strokes
        assert (line.width, line.style) == (4.4, Qt.PenStyle.DashLine)
        assert line.colour == QColor(LIGHT.accent).name()
        (middle,) = painter.of("translate")
        assert middle[0].x() == pytest.approx((line.lines[0, 0] + line.lines[-1, 2]) / 2.0)
        ((glyph, box),) = painter.of("glyph")
        assert (glyph, box.center()) == ("⊣", QPointF(0, 0))
        assert painter.of("scale") == [(2.0, 2.0)]

    def test_an_opened_stop_has_a_frame_around_it(self, qapp, monkeypatch):
        painter = recorder(monkeypatch, overlays)
        view = view_of()
        paint_trial(painter, view, TrialMarks(opened=("t", "gone")))
        ((box, _, _),) = painter.of("drawRoundedRect")
        x, y, width, height = view.scene.rects[1].tolist()
        assert box == QRectF(2 * x + 6, 2 * y + 16, 2 * width + 8, 2 * height + 8)

    def test_a_change_is_moved_to_where_it_can_be_read(self, qapp):
        metrics, text = QFontMetricsF(font(scaled(BODY), bold=True)), "4 × 2 = 8"
        view = view_of()
        rect = view.scene.rects[0]
        x, y, width, height = rect.tolist()
        top, bottom = 20 + 2 * y, 20 + 2 * (y + height)
        tight = QRectF(0.0, 0.0, 1400.0, bottom + 5.0)
        assert overlays.change_box(view, rect, metrics, text, tight).bottom() == top - 9.0
        left = 10 + 2 * (x + width / 2.0)
        narrow = QRectF(left, 0.0, 1400.0, 1400.0)
        assert overlays.change_box(view, rect, metrics, text, narrow).left() == left + 6.0
        narrow = QRectF(-1400.0, 0.0, 1400.0 + left, 1400.0)
        assert overlays.change_box(view, rect, metrics, text, narrow).right() == left - 6.0

    def test_a_change_stands_below_its_block(self, qapp, monkeypatch):
        painter = recorder(monkeypatch, overlays)
        view = view_of()
        paint_trial(painter, view, TrialMarks(changes={"w": "1 → 2", "gone": ""}))
        ((box, _, text),) = painter.of("drawText")
        x, y, width, height = view.scene.rects[0].tolist()
        assert text == "1 → 2"
        assert box.center().x() == pytest.approx(10 + 2 * (x + width / 2))
        assert box.top() == pytest.approx(20 + 2 * (y + height) + 9)
        (ground,) = painter.drawn("drawRoundedRect")
        letters = font(scaled(BODY), bold=True)
        metrics = QFontMetricsF(letters)
        assert ground.arguments == (box, 5.0, 5.0)
        assert box.width() == pytest.approx(metrics.horizontalAdvance(text) + 12.0)
        assert box.height() == pytest.approx(metrics.height() + 4.0)
        assert ground.pen.color() == QColor(LIGHT.accent)
        assert ground.brush.color() == QColor(LIGHT.canvas)
        (words,) = painter.drawn("drawText")
        assert (words.font, words.pen.color()) == (letters, QColor(LIGHT.ink))


class TestLaneLabels:
    def paint(self, monkeypatch, view, *, until=math.inf):
        """Glyph, ground and centre of every label, as vectors, and whether all were painted."""
        painter, found = recorder(monkeypatch), []

        def draw(painter, glyph, box, colour, ground):
            assert box.center() == QPointF(0, 0)
            found.append((glyph, colour, bool(ground), painter.of("translate")[-1]))

        monkeypatch.setattr(lane_labels.glyphs, "draw", draw)
        wires = np.arange(len(view.scene.wire_keys))
        everywhere = np.array([-1e4, -1e4, 1e4, 1e4])
        layout = LabelLayout(view, everywhere)
        done = place_lane_labels(layout, view, wires, until=until)
        place_wire_numbers(layout, view, wires)
        draw_labels(painter, layout.take(), 1.0, vector=True)
        return found, done

    def lane(self, view):
        """Start, end and height of the lane of ``t.x``."""
        x0, y0, x1, _ = view.camera.rows_to_widget(view.scene.wire_ends)[0].tolist()
        return x0, x1, y0 + GAP * 2.0

    def stopped(self, **more):
        def verdict(wire):
            return Verdict(
                wire, None, State.STOPPED, "", cutters=(Cutter(InstancePath("t"), "x", "stop"),)
            )

        return view_of(State.STOPPED, verdict=verdict, **more)

    def test_a_cut_is_marked_at_the_end_of_its_lane(self, qapp, monkeypatch):
        view = self.stopped()
        _, x1, y = self.lane(view)
        ((glyph, colour, ground, at),), done = self.paint(monkeypatch, view)
        assert (glyph, colour, ground, done) == ("⊣", LIGHT.lane(State.STOPPED).name(), False, True)
        assert at == pytest.approx((x1 - 18.0, y))

    def test_without_time_the_mark_is_left_for_the_next_painting(self, qapp, monkeypatch):
        assert self.paint(monkeypatch, self.stopped(), until=0.0) == ([], False)

    def test_a_glyph_stands_on_the_middle_of_its_lane(self, qapp, monkeypatch):
        view = view_of(State.OFF_ROUTE)
        x0, x1, y = self.lane(view)
        ((glyph, _, ground, at),), _ = self.paint(monkeypatch, view)
        assert (glyph, ground) == ("↛", True)
        assert at == pytest.approx(((x0 + x1) / 2, y))

    def test_text_stands_beside_its_lane(self, qapp, monkeypatch):
        view = view_of(State.ZERO)
        x0, x1, y = self.lane(view)
        ((text, _, ground, at),), _ = self.paint(monkeypatch, view)
        assert (text, ground) == ("0", False)
        assert at == pytest.approx(((x0 + x1) / 2, y + (0.5 * glyphs.SIZE + 3.0) * 2.0))

    def test_the_origin_of_what_is_not_finite_is_marked(self, qapp, monkeypatch):
        badges = Badges(origins=frozenset({"t.x"}))
        found, _ = self.paint(monkeypatch, view_of(State.NONFINITE, badges=badges))
        assert [glyph for glyph, *_ in found] == [ORIGIN, "NaN"]

    def test_the_selected_wire_tells_its_size(self, qapp, monkeypatch):
        view = replace(view_of(State.CARRIES, norms={"t.x": 2.0}), selection=Selection(wire="t.x"))
        assert [label[0] for label in self.paint(monkeypatch, view)[0]] == ["rms 2"]
        assert not self.paint(monkeypatch, replace(view, selection=Selection()))[0]

    def test_no_wire_needs_no_label(self, qapp, monkeypatch):
        """Where wires with trees lie outside what is painted."""
        badges = Badges(leaves={None: {"t.x": (1, 2)}})
        view = view_of(State.CARRIES, badges=badges)
        area = np.array([-1.0, -1.0, 1.0, 1.0])
        layout = LabelLayout(view, area)
        assert place_lane_labels(layout, view, np.zeros(0, np.intp), until=math.inf)

    def test_from_afar_there_are_none(self, qapp, monkeypatch):
        view = view_of(State.OFF_ROUTE)
        assert self.paint(monkeypatch, replace(view, camera=Camera(0.44))) == ([], True)
        assert self.paint(monkeypatch, replace(view, camera=Camera(0.45)))[0]

    def test_lanes_side_by_side_are_numbered_from_the_reader(self, qapp, monkeypatch):
        whole = view_of(State.CARRIES).annotations.page.result
        apart = tuple(replace(whole, loss=f"L{i}.out") for i in (1, 2))
        view = view_of(State.CARRIES, apart=apart)
        _, x1, y = self.lane(view)
        found, _ = self.paint(monkeypatch, view)
        places = {glyph: at for glyph, _, _, at in found[::2]}
        assert places["1"] == pytest.approx((x1 - (9 + 18) * 2, y))
        assert places["2"] == pytest.approx((x1 - (9 + 18 + 13) * 2, y + 9 * 2))
        assert all(ground for _, _, ground, _ in found)
