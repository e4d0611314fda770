"""A wire under the pointer: both its ends, its net, and where it goes on through pages."""

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF

from gradwire.app.canvas.paint import highlights
from gradwire.app.canvas.paint.highlights import end_labels
from gradwire.app.canvas.state.port_labels import origin, readers, siblings, wire_ends
from gradwire.app.services.theme import LIGHT, SMALL, font, scaled
from gradwire.blocks.library.arithmetic import Add, Mul
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram import Diagram, Note, Page, Point, PortName
from gradwire.runtime.diagram.paths import ROOT, InstancePath
from tests.app.canvas.pages import move, seed_result
from tests.app.canvas.paint.recording import recorder


def wires(**ends):
    return {PortName.parse(t.replace("__", ".")): PortName.parse(s) for t, s in ends.items()}


@pytest.fixture
def nested():
    """``w`` into ``enc`` (a page with ``deep`` in it), which adds; its output is read twice."""
    deep = Page(
        {"x": PageInput(), "two": Mul(b=2), "y": PageOutput()},
        wires(two__a="x.out", y__x="two.out"),
    )
    enc = Page(
        {"x": PageInput(), "d": PageBlock(page="deep"), "plus": Add(), "y": PageOutput()},
        wires(d__x="x.out", plus__a="x.out", plus__b="d.y", y__x="plus.out"),
    )
    main = Page(
        {"w": Variable(value=1.0), "enc": PageBlock(page="enc"), "m": Mul()},
        wires(enc__x="w.out", m__a="enc.y", m__b="enc.y"),
        {"w": Point(0, 0), "enc": Point(300, 0), "m": Point(600, 0)},
    )
    return Diagram({"main": main, "enc": enc, "deep": deep})


def port(text):
    return PortName.parse(text)


def test_what_comes_out_of_a_page_is_named_by_where_it_is_made(nested):
    assert origin(nested, ROOT, port("enc.y")) == "enc/plus.out"
    assert origin(nested, InstancePath("enc"), port("d.y")) == "enc/d/two.out"
    assert origin(nested, InstancePath("enc/d"), port("x.out")) == "w.out"
    assert origin(nested, ROOT, port("w.out")) == "w.out"


def test_what_goes_into_a_page_is_named_by_who_reads_it(nested):
    assert readers(nested, ROOT, port("enc.x")) == ["enc/d/two.a", "enc/plus.a"]
    assert readers(nested, InstancePath("enc"), port("y.x")) == ["m.a", "m.b"]
    assert readers(nested, InstancePath("enc/d"), port("y.x")) == ["enc/plus.b"]
    assert readers(nested, ROOT, port("m.a")) == ["m.a"]


def test_a_page_that_uses_itself_ends_the_search():
    loop = Page({"x": PageInput(), "l": PageBlock(page="loop")}, wires(l__x="x.out"))
    main = Page({"l": PageBlock(page="loop")})
    diagram = Diagram({"main": main, "loop": loop})
    assert readers(diagram, ROOT, port("l.x")) == []
    assert origin(diagram, ROOT, port("l.y")) is None


def test_the_words_at_the_ends(canvas, nested):
    canvas.set_diagram(nested)
    assert wire_ends(canvas.view.annotations.page, "enc.x") == (
        "w.out",
        "enc.x → enc/d/two.a, enc/plus.a",
    )
    assert wire_ends(canvas.view.annotations.page, "m.a") == ("enc.y ← enc/plus.out", "m.a")
    canvas.set_diagram(nested, "enc")
    canvas.set_result(None, InstancePath("enc"))
    assert wire_ends(canvas.view.annotations.page, "y.x")[1] == "y.x → m.a, m.b"
    assert wire_ends(canvas.view.annotations.page, "plus.a")[0] == "x.out ← w.out"


def test_many_readers_are_counted(canvas, nested):
    many = {f"m{i}": Mul() for i in range(6)}
    enc = nested.pages["enc"]
    reads = {port(f"{name}.a"): port("x.out") for name in many}
    more = Page({**enc.blocks, **many}, {**enc.wires, **reads})
    canvas.set_diagram(nested.with_page("enc", more))
    assert wire_ends(canvas.view.annotations.page, "enc.x")[1].endswith("enc/m0.a and 5 more")


def test_shape_and_dtype_stand_at_the_source(canvas, shell):
    canvas.set_result(seed_result(shell.diagram))
    assert "float" in wire_ends(canvas.view.annotations.page, "loss.x")[0]


def test_the_net_is_every_other_wire_of_the_port(canvas, nested):
    canvas.set_diagram(nested)
    scene = canvas.view.scene
    assert [scene.wire_keys[i] for i in siblings(scene, "m.a").tolist()] == ["m.b"]
    assert siblings(scene, "enc.x").tolist() == []


class TestLabels:
    def test_they_stand_at_their_ports_and_apart(self, canvas, nested):
        canvas.set_diagram(nested)
        (_, first), (_, second) = end_labels(canvas.view, "m.a", QRectF(canvas.rect()))
        assert abs(first.left() - canvas.port_position("enc", "y").x()) < 20
        assert abs(second.right() - canvas.port_position("m", "a").x()) < 20
        assert not first.intersects(second)

    def test_one_stands_above_its_port_and_the_other_below(self, canvas, nested):
        canvas.set_diagram(nested)
        everywhere = QRectF(-1e4, -1e4, 2e4, 2e4)
        (source, first), (target, second) = end_labels(canvas.view, "m.a", everywhere)
        view = canvas.view
        ports = view.scene.wire_ports[view.scene.wire_index["m.a"]]
        (x0, y0), (x1, y1) = view.camera.to_widget(view.scene.port_points(ports)).tolist()
        metrics = QFontMetricsF(font(scaled(SMALL)))
        assert (first.left(), first.bottom()) == pytest.approx((x0 + 8.0, y0 - 8.0))
        assert (second.right(), second.top()) == pytest.approx((x1 - 8.0, y1 + 16.0))
        for text, box in ((source, first), (target, second)):
            assert box.width() == pytest.approx(metrics.horizontalAdvance(text) + 12.0)
            assert box.height() == pytest.approx(metrics.height() + 4.0)

    def test_siblings_are_thin_and_in_the_colour_of_wires(self, canvas, nested, monkeypatch):
        canvas.set_diagram(nested)
        for zoom, width in ((0.5, 1.0), (3.0, 3.0)):
            canvas.set_zoom(zoom)
            painter = recorder(monkeypatch, highlights)
            highlights.paint_siblings(painter, canvas.view, "m.a")
            (line,) = painter.strokes
            assert (line.colour, line.width) == (QColor(LIGHT.wire).name(), width)

    @pytest.mark.parametrize("zoom", [0.2, 1.0, 8.0])
    def test_an_end_out_of_view_is_told_at_the_edge(self, canvas, nested, zoom):
        canvas.set_diagram(nested)
        canvas.set_zoom(zoom)
        canvas.set_camera(canvas.view.camera.panned(-5000, 300))
        (_, first), (_, second) = end_labels(canvas.view, "m.a", QRectF(canvas.rect()))
        inside = QRectF(canvas.rect()).adjusted(6, 6, -6, -6)
        assert inside.contains(first)
        assert inside.contains(second)
        assert not first.intersects(second)

    def test_resting_on_a_wire_shows_net_and_words(self, qtbot, canvas, nested):
        canvas.set_diagram(nested)
        canvas.set_zoom(0.8)
        canvas.zoom_to_fit()
        before = canvas.grab().toImage()
        move(canvas, canvas.wire_position("m.a"), Qt.MouseButton.NoButton)
        qtbot.waitUntil(lambda: canvas.view.traced == "m.a")
        image = canvas.grab().toImage()
        (_, first), _ = end_labels(canvas.view, "m.a", QRectF(canvas.rect()))
        inside = first.toRect().adjusted(2, 2, -2, -2)
        dark = [
            image.pixelColor(x, y).lightness()
            for x in range(inside.left(), inside.right())
            for y in range(inside.top(), inside.bottom())
        ]
        assert min(dark) < 80  # words
        sibling = canvas.wire_position("m.b")
        near = [QPoint(0, dy) + sibling for dy in range(-3, 4)]
        assert min(image.pixelColor(at).lightness() for at in near) < 200
        faded = canvas.wire_position("enc.x")
        assert image.pixelColor(faded).lightness() > before.pixelColor(faded).lightness()

    def test_a_note_is_dimmed_like_all_else(self, canvas, nested):
        noted = replace(nested.main, notes={"n": Note("words", Point(0, 200), 200.0, 60.0)})
        canvas.set_diagram(nested.with_page("main", noted))
        corner = canvas.view.camera.to_widget(np.array([100.0, 250.0]))
        at = QPoint(*(round(c) for c in corner.tolist()))
        before = canvas.grab().toImage().pixelColor(at)
        assert before == canvas.view.theme.note
        canvas.context.view = replace(canvas.view, traced="m.a")
        assert canvas.grab().toImage().pixelColor(at).blue() > before.blue()
