"""What stands out on a page is drawn where it is, in its colour; pixels are not looked at."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor

from gradwire.app.canvas.paint import painter
from gradwire.app.canvas.paint.blocks.face_cache import FaceCache, FacePicture, draw_picture, margin
from gradwire.app.canvas.paint.painter import PaintLimits, paint, paint_fitted
from gradwire.app.canvas.paint.wires import lanes
from gradwire.app.canvas.scene.camera import NUMBERS, PLAIN, Camera
from gradwire.app.canvas.scene.focus import Focus, FocusKind
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state.annotations import resolve
from gradwire.app.canvas.state.badge_labels import BadgeLabel
from gradwire.app.canvas.state.view_state import Selection, ViewState
from gradwire.app.services.theme import LIGHT
from gradwire.runtime.diagram import Note
from gradwire.runtime.diagram.layout.measures import WIDTH
from tests.app.canvas.pages import block, diagram, seed, seed_result
from tests.app.canvas.paint.recording import Recorder, recorder

if TYPE_CHECKING:
    from gradwire.app.canvas.state.looks import Look

AREA = QRectF(0.0, 0.0, 1400.0, 400.0)
CAMERA = Camera(1.0, 20.0, 100.0)


@pytest.fixture
def view(qapp):
    shown = seed()
    scene = Scene(shown, "main")
    return ViewState(scene, resolve(scene, seed_result(shown)), CAMERA, LIGHT)


@pytest.fixture
def drawn(monkeypatch):
    def draw(view: ViewState, area: QRectF = AREA, limits: PaintLimits | None = None) -> Recorder:
        found = recorder(monkeypatch, lanes, painter)
        paint(found, view, area, None, limits=limits)
        return found

    return draw


def boxes(found: Recorder, colour: str, width: float) -> list[QRectF]:
    """Rounded boxes that are outlined by a pen of that colour and width."""
    return [
        call.arguments[0]
        for call in found.drawn("drawRoundedRect")
        if (call.pen.color(), call.pen.widthF()) == (QColor(colour), width)
    ]


def lines(found: Recorder, colour: str, width: float) -> list[np.ndarray]:
    """Lines of a colour and width."""
    return [s.lines for s in found.strokes if (s.colour, s.width) == (QColor(colour).name(), width)]


def corners(found: Recorder) -> list[tuple[float, float]]:
    """Where the faces of blocks are put."""
    moved, places = (0.0, 0.0), []
    for name, arguments in found.calls:
        if name == "translate" and len(arguments) == 2:
            moved = arguments
        elif name == "drawRoundedRect" and arguments[0].width() == WIDTH - 1.0:
            places.append(moved)
    return places


def ends(segments: np.ndarray) -> tuple[tuple[float, float], tuple[float, float]]:
    return tuple(segments[0, :2].tolist()), tuple(segments[-1, 2:].tolist())


def port(view: ViewState, name: str, side: bool) -> QPointF:
    """Where a port of a block with one of that kind, or its second input, is in the widget."""
    block_name, _, port_name = name.partition(".")
    number = view.scene.port(block_name, port_name, is_input=side)
    x, y = view.camera.to_widget(view.scene.port_points(np.array([number]))).ravel().tolist()
    return QPointF(x, y)


class TestWhatStandsOut:
    def test_a_selected_block_has_a_ring_around_it(self, drawn, view):
        found = drawn(replace(view, selection=Selection(frozenset({"mul1"}))))
        height = view.scene.rects[view.scene.index["mul1"], 3]
        (ring,) = boxes(found, LIGHT.accent, 2.0)
        assert ring == QRectF(260.0 - 2.5, 100.0 - 2.5, WIDTH + 5.0, height + 5.0)
        assert not boxes(drawn(view), LIGHT.accent, 2.0)
        (call,) = [c for c in found.drawn("drawRoundedRect") if c.arguments[0] == ring]
        assert call.brush.style() is Qt.BrushStyle.NoBrush

    def test_a_ring_grows_with_the_zoom(self, drawn, view):
        close = replace(view, camera=Camera(2.0, 0.0, 0.0), selection=Selection(frozenset({"b"})))
        (ring,) = boxes(drawn(close), LIGHT.accent, 2.0)
        assert ring.width() == 2.0 * WIDTH + 5.0
        assert ring.topLeft() == QPointF(-2.5, -2.5)

    def test_its_badges_lie_over_the_ring(self, drawn, view, monkeypatch):
        plain = view.annotations.look(view.scene.index["mul1"])
        marked = replace(plain, badges=(BadgeLabel("open"),))
        monkeypatch.setattr(type(view.annotations), "look", lambda self, block: marked)
        found = drawn(replace(view, selection=Selection(frozenset({"mul1"}))))
        (ring,) = boxes(found, LIGHT.accent, 2.0)
        places = {"ring": 0, "badge": 0}
        for place, (called, arguments) in enumerate(found.calls):
            if called == "drawRoundedRect" and arguments[0] == ring:
                places["ring"] = place
            elif called == "drawText" and arguments[-1] == "open":
                places["badge"] = place
        assert places["badge"] > places["ring"] > 0

    def test_from_afar_a_selected_block_is_full(self, drawn, view, monkeypatch):
        filled = []
        monkeypatch.setattr(painter, "draw_rects", lambda made, rects: filled.append(rects.copy()))
        far = replace(view, camera=Camera(PLAIN / 2.0, 0.0, 0.0))
        drawn(far)
        assert sum(map(len, filled)) == len(view.scene.names)
        assert all((rects[:, 2] == WIDTH * PLAIN / 2.0).all() for rects in filled)
        filled.clear()
        found = drawn(replace(far, selection=Selection(frozenset({"a"}))))
        assert filled[-1][0, 2] == WIDTH * PLAIN / 2.0 + 5.0
        assert QColor(LIGHT.accent) in [brush for (brush,) in found.of("setBrush")]
        assert not found.drawn("drawRoundedRect")

    def test_a_selected_wire_is_drawn_last_on_a_wash(self, drawn, view):
        found = drawn(replace(view, selection=Selection(wire="stop1.x")))
        ((wash),) = [s for s in found.strokes if s.colour == QColor(LIGHT.accent_wash).name()]
        (line,) = lines(found, LIGHT.ink, 2.2)
        start, end = port(view, "mul1.out", False), port(view, "stop1.x", True)
        for segments in (wash.lines, line):
            assert ends(segments) == (start.toTuple(), end.toTuple())
        assert wash.width == 22.0
        assert wash.cap == Qt.PenCapStyle.RoundCap
        assert not lines(drawn(view), LIGHT.ink, 2.2)

    def test_a_wire_that_is_being_moved_is_not_drawn(self, drawn, view):
        grey = QColor(LIGHT.wire).name()

        def wires(found):
            return sum(len(s.lines) for s in found.strokes if s.colour == grey and s.width == 1.0)

        assert wires(drawn(replace(view, hidden_wire="stop1.x"))) < wires(drawn(view))
        assert wires(drawn(replace(view, hidden_wire="nothing.x"))) == wires(drawn(view))

    def test_wires_that_a_gesture_changes_are_marked(self, drawn, view):
        found = drawn(replace(view, marks={"add1.b": "error", "gone.x": "error"}))
        (marked,) = lines(found, LIGHT.error, 3.0)
        assert ends(marked)[1] == pytest.approx(port(view, "add1.b", True).toTuple(), abs=1.0)

    def test_fitting_ports_have_rings_and_the_nearest_is_full(self, drawn, view):
        scene = view.scene
        some = tuple(scene.port(n, p, is_input=True) for n, p in (("mul1", "b"), ("add1", "a")))
        found = drawn(replace(view, fitting_ports=some, near_port=some[1]))
        rings = [call for call in found.drawn("drawEllipse") if call.pen.color() == LIGHT.accent]
        assert [ring.arguments for ring in rings] == [
            (port(view, "mul1.b", True), 6.0, 6.0),
            (port(view, "add1.a", True), 8.0, 8.0),
        ]
        assert [ring.brush.color() for ring in rings] == [
            QColor(LIGHT.accent_wash),
            QColor(LIGHT.accent),
        ]

    def test_a_port_under_the_pointer_has_a_small_ring(self, drawn, view):
        near = view.scene.port("mul1", "b", is_input=True)
        found = drawn(replace(view, near_port=near))
        (ring,) = [c for c in found.drawn("drawEllipse") if c.pen.color() == LIGHT.accent]
        assert ring.arguments == (port(view, "mul1.b", True), 6.0, 6.0)

    def test_the_focus_is_a_dashed_ring(self, drawn, view):
        found = drawn(replace(view, focus=Focus(FocusKind.BLOCK, "stop1")))
        (ring,) = [
            call
            for call in found.drawn("drawRoundedRect")
            if call.pen.style() is Qt.PenStyle.DashLine
        ]
        height = view.scene.rects[view.scene.index["stop1"], 3]
        assert ring.arguments[0] == QRectF(500.0 - 5, 100.0 - 5, WIDTH + 10.0, height + 10.0)
        assert ring.pen.color() == QColor(LIGHT.ink)

    def test_a_focused_wire_is_thick(self, drawn, view):
        found = drawn(replace(view, focus=Focus(FocusKind.WIRE, "loss.x")))
        (line,) = lines(found, LIGHT.accent, 3.0)
        assert ends(line)[1] == port(view, "loss.x", True).toTuple()

    def test_a_focus_that_is_gone_is_not_drawn(self, drawn, view):
        found = drawn(replace(view, focus=Focus(FocusKind.BLOCK, "gone")))
        pens = {call.pen.style() for call in found.drawn("drawRoundedRect")}
        assert Qt.PenStyle.DashLine not in pens

    def test_what_is_traced_lies_over_a_veil(self, drawn, view):
        found = drawn(replace(view, traced="add1.b"))
        ground, veil = found.of("fillRect")
        assert ground[0] == veil[0] == AREA
        assert (ground[1].alphaF(), round(veil[1].alphaF(), 2)) == (1.0, 0.72)
        (line,) = lines(found, LIGHT.ink, 2.2)
        assert ends(line)[1] == pytest.approx(port(view, "add1.b", True).toTuple(), abs=1.0)
        assert len(drawn(view).of("fillRect")) == 1

    def test_bends_and_the_explained_route_are_drawn(self, drawn, view, monkeypatch):
        called = []
        for name in ("paint_bends", "paint_route", "paint_notes", "paint_port_types"):
            monkeypatch.setattr(painter, name, lambda *_, name=name, **more: called.append(name))
        drawn(view)
        assert called == ["paint_notes", "paint_notes", "paint_route"]
        called.clear()
        paint(Recorder(), view, AREA, Pictures())
        assert [name.removeprefix("paint_") for name in called] == [
            *("notes", "port_types", "bends", "notes", "route")
        ]


class TestAll:
    def test_only_what_is_in_the_area_is_drawn(self, drawn, view):
        names = {call.arguments[-1] for call in drawn(view).drawn("drawText")}
        assert {*view.scene.names} <= names
        left = {c.arguments[-1] for c in drawn(view, QRectF(0, 0, 300, 400)).drawn("drawText")}
        assert "b" in left
        assert "loss" not in left

    def test_it_tells_its_share_and_can_be_ended(self, drawn, view):
        shares: list[float] = []
        drawn(view, limits=PaintLimits(progress=shares.append))
        assert shares[0] == 0.0
        assert shares == sorted({*shares})
        assert shares[-1] < 1.0

        def stop(share: float) -> None:
            if share > 0.5:
                raise InterruptedError

        with pytest.raises(InterruptedError):
            drawn(view, limits=PaintLimits(progress=stop))

    def test_many_wires_are_drawn_in_pieces(self, drawn, qapp):
        names = [f"n{i}" for i in range(150)]
        wires = {f"{b}.x": f"{a}.out" for a, b in pairwise(names)}
        layout = {name: (20.0 * i, 0.0) for i, name in enumerate(names)}
        scene = Scene(diagram({n: block("Tanh") for n in names}, wires, layout), "main")
        view = ViewState(scene, resolve(scene, None), Camera(0.4, 0.0, 0.0), LIGHT)
        shares: list[float] = []
        found = drawn(view, QRectF(0.0, 0.0, 4000.0, 400.0), PaintLimits(progress=shares.append))
        assert shares == [n / 9 for n in range(9)]
        written = [call.arguments[-1] for call in found.drawn("drawText")]
        assert sorted(text for text in written if text in wires or text in names) == sorted(names)


class Pictures(FaceCache):
    """A cache of faces that are all of one zoom and pixel ratio, or has none."""

    def __init__(self, zoom: float = 1.0, ratio: float = 1.0) -> None:
        super().__init__()
        self.begin(1.0, 1.0, LIGHT, 0)
        self.zoom, self.ratio = zoom, ratio
        self.looks: list[Look] = []

    def picture(self, look: Look) -> FacePicture | None:
        self.looks.append(look)
        if not self.zoom:
            return None
        return FacePicture(
            draw_picture(look, self.zoom, self.ratio, LIGHT), self.zoom, self.ratio, 1
        )


class TestPictures:
    @pytest.fixture
    def pictured(self, monkeypatch):
        def draw(view: ViewState, faces: Pictures, ratio: float = 1.0) -> Recorder:
            found = recorder(monkeypatch, lanes, painter)
            faces.begin(view.camera.zoom, ratio, view.theme, 0)
            paint(found, view, AREA, faces, ratio)
            return found

        return draw

    def test_a_picture_of_this_zoom_is_drawn_as_it_is(self, pictured, view):
        room = margin(1.0, 1.0)
        places = [call[0] for call in pictured(view, Pictures()).of("drawPixmap") if len(call) == 2]
        assert QPointF(260.0 - room, 100.0 - room) in places
        assert len(places) == len(view.scene.names)

    def test_one_of_another_zoom_is_scaled_about_the_block(self, pictured, view):
        found = pictured(view, Pictures(0.5, 2.0)).of("drawPixmap")
        room = margin(0.5, 2.0) * 2.0
        place = next(box for box, *_ in found if box.left() == 260.0 - room)
        assert place.top() == 100.0 - room
        assert place.width() == pytest.approx(WIDTH + 2.0 * room, abs=2.0)

    def test_blocks_lie_on_whole_pixels_of_the_screen(self, pictured, view):
        between = replace(view, camera=Camera(1.0, 20.3, 100.4))
        room = margin(1.0, 2.0)
        calls = pictured(between, Pictures(1.0, 2.0), 2.0).of("drawPixmap")
        places = [call[0] for call in calls if len(call) == 2]
        assert QPointF(260.5 - room, 100.5 - room) in places

    def test_a_block_without_a_picture_yet_is_a_plain_box(self, pictured, view):
        found = pictured(view, Pictures(0.0))
        height = view.scene.rects[view.scene.index["mul1"], 3]
        (box,) = [
            call
            for call in found.drawn("drawRoundedRect")
            if call.arguments[0] == QRectF(260.0, 100.0, WIDTH, height)
        ]
        assert box.brush.color() == LIGHT.face("arithmetic")
        assert not found.of("drawPixmap") or all(len(c) == 2 for c in found.of("drawPixmap"))

    @pytest.mark.parametrize(("zoom", "numbers"), [(NUMBERS, True), (NUMBERS - 0.01, False)])
    def test_numbers_are_on_pictures_from_a_zoom_on(self, pictured, view, zoom, numbers):
        pictures = Pictures(zoom)
        pictured(replace(view, camera=Camera(zoom, 0.0, 0.0)), pictures)
        assert any(look.sections for look in pictures.looks) is numbers


class TestFitted:
    def fitted(self, monkeypatch, view, width=1000.0, **options):
        found = recorder(monkeypatch, lanes, painter)
        paint_fitted(found, view, QRectF(100.0, 50.0, width, 500.0), LIGHT, **options)
        return found

    def test_the_page_is_in_the_middle_of_the_area(self, monkeypatch, view):
        chosen = replace(view, selection=Selection(frozenset({"a"})), camera=Camera(3.0, 9.0, 9.0))
        found = self.fitted(monkeypatch, chosen)
        zoom = found.of("scale")[0][0]
        assert min(x for x, _ in corners(found)) == pytest.approx(124.0)
        assert zoom == pytest.approx((1000.0 - 48.0) / (960.0 + WIDTH))
        assert not boxes(found, LIGHT.accent, 2.0)

    def test_notes_have_no_grips(self, monkeypatch, qapp):
        scene = Scene(diagram({}, notes={"n": Note("words", width=100.0, height=80.0)}), "main")
        found = self.fitted(monkeypatch, ViewState(scene, resolve(scene, None), CAMERA, LIGHT))
        assert found.drawn("drawText")
        assert not found.of("drawLine")

    def test_an_empty_page_is_nothing_but_ground(self, monkeypatch, qapp):
        scene = Scene(diagram({}), "main")
        found = self.fitted(monkeypatch, ViewState(scene, resolve(scene, None), CAMERA, LIGHT))
        assert len(found.of("fillRect")) == 1
        assert not found.drawn("drawText")
