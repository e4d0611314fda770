from __future__ import annotations

from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter, QPixmap, QTransform

from gradwire.app.canvas.paint.blocks import face_cache
from gradwire.app.canvas.paint.blocks.face_cache import FaceCache, draw_picture, margin
from gradwire.app.canvas.paint.blocks.faces import draw_face
from gradwire.app.canvas.paint.blocks.symbols import legible_width
from gradwire.app.canvas.paint.drawing import LEAST
from gradwire.app.canvas.scene.geometry import PORT_RADIUS
from gradwire.app.canvas.state.badge_labels import BadgeLabel
from gradwire.app.canvas.state.formatting import FaceReadout, FaceSection
from gradwire.app.canvas.state.looks import Look, PortLook
from gradwire.app.services.theme import BODY, DARK, HIGH_CONTRAST, LIGHT, SMALL, TITLE, font
from gradwire.runtime.diagram.layout.measures import HEADER, ROW, WIDTH
from gradwire.runtime.flow import State
from tests.app.canvas.paint.recording import Recorder, texts

LOOK = Look(
    family="arithmetic",
    symbol="·",
    name="mul1",
    lines=2,
    inputs=(PortLook("a = 3", "open"), PortLook("b", "wired")),
    outputs=(PortLook("", "wired"),),
    sections=(FaceSection("", FaceReadout((("0", "3"),), bracketed=True)),),
)
LIMIT = 10_000_000


def image(look: Look = LOOK, zoom: float = 1.0, ratio: float = 1.0, theme=LIGHT) -> QImage:
    return draw_picture(look, zoom, ratio, theme).toImage()


def at(picture: QImage, x: float, y: float, zoom: float = 1.0, ratio: float = 1.0) -> QColor:
    """The colour at a point of the face, in scene units from its top left."""
    room = margin(zoom, ratio)
    return picture.pixelColor(round((room + x * zoom) * ratio), round((room + y * zoom) * ratio))


class TestDrawing:
    @pytest.mark.parametrize(("zoom", "ratio"), [(1.0, 1.0), (1.0, 2.0), (0.7, 1.5), (3.0, 1.0)])
    def test_a_picture_holds_the_face_and_its_margin(self, qapp, zoom, ratio):
        size = draw_picture(LOOK, zoom, ratio, LIGHT).deviceIndependentSize()
        room = 2 * margin(zoom, ratio)
        assert size.width() == pytest.approx(WIDTH * zoom + room, abs=1.0)
        assert size.height() == pytest.approx(LOOK.height * zoom + room, abs=1.0)
        assert (margin(zoom, ratio) * ratio).is_integer()

    @pytest.mark.parametrize("theme", [LIGHT, DARK, HIGH_CONTRAST], ids=lambda theme: theme.name)
    def test_its_ground_is_the_familys(self, qapp, theme):
        assert at(image(theme=theme), 5, HEADER + ROW + 12) == theme.face("arithmetic")

    def test_around_it_is_nothing(self, qapp):
        assert image().pixelColor(0, 0).alpha() == 0

    def test_wired_ports_are_full_and_others_are_rings(self, qapp):
        picture = image(ratio=2.0)
        assert at(picture, 0, HEADER + 0.5 * ROW, ratio=2.0) == LIGHT.canvas
        assert at(picture, 0, HEADER + 1.5 * ROW, ratio=2.0) == LIGHT.wire
        assert at(picture, WIDTH, HEADER + 0.5 * ROW, ratio=2.0) == LIGHT.wire

    def test_a_port_in_trouble_is_marked(self, qapp):
        look = replace(LOOK, inputs=(PortLook("a", "wired", trouble=True),))
        assert at(image(look, ratio=2.0), 0, HEADER + 0.5 * ROW, ratio=2.0) == LIGHT.error

    def test_numbers_are_drawn_from_a_zoom_on(self, qapp):
        bare = replace(LOOK, sections=())
        assert image() != image(bare)
        assert image(zoom=0.4) == image(bare, zoom=0.4)

    def test_stale_numbers_are_paler(self, qapp):
        assert image() != image(replace(LOOK, stale=True))

    def test_wide_numbers_stay_inside(self, qapp):
        wide = FaceReadout((tuple(["−1.234e−38"] * 4),), bracketed=True)
        picture = image(replace(LOOK, sections=(FaceSection("∇", wide),)), ratio=2.0)
        for y in range(round(LOOK.height)):
            assert at(picture, WIDTH + 7, y, ratio=2.0).alpha() == 0

    def test_a_long_name_is_cut(self, qapp):
        picture = image(replace(LOOK, name="a very long name indeed, far too long"))
        assert at(picture, WIDTH - 4, HEADER / 2) == LIGHT.face("arithmetic")

    def test_a_head_has_a_strong_edge(self, qapp):
        def edge(look: Look) -> int:
            return at(image(look, ratio=4.0), WIDTH / 2, 0.6, ratio=4.0).lightness()

        assert edge(replace(LOOK, head=True)) < edge(LOOK)


def drawn(look: Look = LOOK, zoom: float = 1.0) -> Recorder:
    """The calls that draw a face."""
    painter = Recorder(scaled=QTransform.fromScale(zoom, zoom))
    draw_face(painter, look, LIGHT, zoom)
    return painter


def text(painter: Recorder, words: str):
    """The call that draws a text, and the box it is drawn in."""
    (found,) = [call for call in painter.drawn("drawText") if call.arguments[-1] == words]
    return found, found.arguments[0]


def advance(words: str, size: int = SMALL, bold: bool = False) -> float:
    return QFontMetricsF(font(size, bold=bold)).horizontalAdvance(words)


class TestPlaces:
    def test_the_ground_fills_the_block_to_its_edges(self, qapp):
        ground = drawn().drawn("drawRoundedRect")[0]
        box = ground.arguments[0]
        assert (box.left(), box.top(), box.right(), box.bottom()) == (
            *(0.5, 0.5, WIDTH - 0.5),
            LOOK.height - 0.5,
        )
        assert ground.brush.color() == LIGHT.face("arithmetic")
        assert (ground.pen.color(), ground.pen.widthF()) == (LIGHT.border("arithmetic"), 1.0)

    def test_the_edge_stays_a_pixel_wide_from_afar_alone(self, qapp):
        edges = [drawn(zoom=zoom).drawn("drawRoundedRect")[0].pen for zoom in (0.5, 1.0, 2.0)]
        assert [pen.isCosmetic() for pen in edges] == [True, False, False]

    def test_the_edge_of_a_head_has_the_colour_of_its_symbol(self, qapp):
        edge = drawn(replace(LOOK, head=True)).drawn("drawRoundedRect")[0].pen
        assert (edge.color(), edge.widthF()) == (LIGHT.symbol("arithmetic"), 1.5)

    @pytest.mark.parametrize("symbol", ["·", "M", "⟨a,b⟩", "softmax"])
    def test_the_ink_of_a_symbol_is_centred_and_fits(self, qapp, symbol):
        painter = drawn(replace(LOOK, symbol=symbol))
        (centre,), (offset,) = painter.of("translate")[:2]
        (scale, _), *_ = painter.of("scale")
        ((outline, colour),) = painter.of("fillPath")
        width = legible_width(symbol, 1.0)
        assert centre == QPointF(8.0 + width / 2.0, 1.0 + HEADER / 2.0)
        assert offset.x() == -outline.boundingRect().center().x()
        assert symbol == "softmax" or offset.y() == -outline.boundingRect().center().y()
        size = max(outline.boundingRect().width(), outline.boundingRect().height())
        assert 4.99 <= size * scale <= width + 0.01
        assert scale * TITLE >= LEAST - 1e-6
        assert colour == LIGHT.symbol("arithmetic")

    def test_all_words_have_one_size_and_one_line(self, qapp):
        words = ("sin", "clip", "sgn", "softmax", "MSE")
        painters = [drawn(replace(LOOK, symbol=word)) for word in words]
        sizes = [painter.of("scale")[0][0] * TITLE for painter in painters]
        assert sizes == pytest.approx([SMALL] * len(words))
        assert len({painter.of("translate")[1][0].y() for painter in painters}) == 1

    def test_a_formula_has_the_largest_size_of_the_scale_that_fits(self, qapp):
        sizes = [drawn(replace(LOOK, symbol=s)).of("scale")[0][0] * TITLE for s in ("x²", "Wx+b")]
        assert sizes == pytest.approx([TITLE, SMALL])

    def test_the_name_stands_beside_the_symbol(self, qapp):
        call, box = text(drawn(), "mul1")
        assert (box.left(), box.height()) == (37.0, HEADER)
        assert call.font == font(BODY, bold=True)
        assert call.pen.color() == QColor(LIGHT.ink)

    def test_a_label_stands_at_the_right_where_there_is_room(self, qapp):
        call, box = text(drawn(replace(LOOK, label="frozen")), "frozen")
        assert box.right() == WIDTH - 10.0
        assert box.left() == pytest.approx(37.0 + advance("mul1", BODY, bold=True) + 8.0)
        assert call.arguments[1] & int(Qt.AlignmentFlag.AlignRight)
        long = drawn(replace(LOOK, name="a_name_of_some_length", label="frozen"))
        assert "frozen" not in [each.arguments[-1] for each in long.drawn("drawText")]

    def test_names_of_ports_stand_at_their_dots(self, qapp):
        look = replace(
            LOOK,
            inputs=(PortLook("a = 3", "open"), PortLook("b", "wired", trouble=True)),
            outputs=(PortLook("first", "wired"), PortLook("q", "wired")),
        )
        painter = drawn(look)
        for words, row in (("a = 3", 0), ("b", 1), ("first", 0), ("q", 1)):
            _, box = text(painter, words)
            assert box.center().y() == HEADER + ROW * (row + 0.5)
        assert text(painter, "b")[1].left() == 10.0
        assert text(painter, "q")[1].left() == pytest.approx(WIDTH - 10.0 - advance("q"))
        assert text(painter, "b")[0].pen.color() == QColor(LIGHT.error)
        assert text(painter, "q")[0].pen.color() == QColor(LIGHT.ink_soft)

    @pytest.mark.parametrize("zoom", [1.0, 0.7, 0.62])
    def test_the_names_of_leaves_keep_their_last_part(self, qapp, zoom):
        names = ("encoder_of_words/weight", "encoder_of_words/bias", "head/weight", "head/bias")
        outputs = tuple(PortLook(name, "wired") for name in names)
        look = replace(LOOK, lines=4, inputs=(PortLook("", "wired"),), outputs=outputs, sections=())
        shown = [each.words for each in texts(drawn(look, zoom)) if "/" in each.words]
        assert [words.partition("/")[2] for words in shown] == ["weight", "bias"] * 2
        assert [words[:2] for words in shown] == ["en", "en", "he", "he"]

    def test_numbers_keep_clear_of_the_names_of_ports(self, qapp):
        named = replace(LOOK, inputs=(PortLook("a = 3", "open"),), lines=1)
        room = drawn(named).of("translate")[-1]
        assert room[0] <= WIDTH - 10.0
        wide = FaceReadout((tuple(["−1.23"] * 9),), bracketed=True)
        look = replace(named, sections=(FaceSection("", wide),))
        outputs = (PortLook("first", "wired"), PortLook("q", "wired"))
        twice = replace(look, outputs=outputs, sections=(FaceSection("", wide),) * 2)
        for shown, right in ((look, WIDTH - 10.0), (twice, WIDTH - 18.0 - advance("first"))):
            numbers = [each for each in texts(drawn(shown)) if each.words in ("−1.23", "…")]
            assert {each.words for each in numbers} == {"−1.23", "…"}
            assert min(each.pixels for each in numbers) >= LEAST - 1e-6
            assert min(each.ink.left() for each in numbers) >= 10.0 + advance("a = 3") + 8.0
            assert max(each.ink.right() for each in numbers) <= right
        assert len({round(each.ink.bottom()) for each in numbers if each.words == "…"}) == 2

    def test_numbers_stand_on_the_rows_of_their_outputs(self, qapp):
        one = FaceReadout((("1",),))
        alone = drawn(replace(LOOK, lines=4, sections=(FaceSection("", one),)))
        assert alone.of("translate")[-1][1] == HEADER + ROW * 0.5
        outputs = (PortLook("p", "wired"), PortLook("q", "wired"))
        both = drawn(
            replace(
                LOOK,
                lines=4,
                outputs=outputs,
                sections=(FaceSection("", one), FaceSection("", one)),
            )
        )
        heights = [at[1] for at in both.of("translate") if len(at) == 2]
        assert heights[-2:] == [HEADER + ROW * 0.5, HEADER + ROW * 1.5]

    @pytest.mark.parametrize(
        ("port", "style", "colour", "full"),
        [
            (PortLook("x", "wired"), Qt.PenStyle.SolidLine, "wire", True),
            (PortLook("x", "open"), Qt.PenStyle.SolidLine, "wire", False),
            (PortLook("x", "missing"), Qt.PenStyle.SolidLine, "warning", False),
            (PortLook("x", "missing", trouble=True), Qt.PenStyle.SolidLine, "error", False),
            (PortLook("", "free"), Qt.PenStyle.DotLine, "wire", False),
            (PortLook("x", "wired", trouble=True), Qt.PenStyle.SolidLine, "error", True),
        ],
        ids=lambda value: value.kind if isinstance(value, PortLook) else None,
    )
    def test_dots_tell_the_kinds_of_ports(self, qapp, port, style, colour, full):
        dot, other = drawn(replace(LOOK, inputs=(port,))).drawn("drawEllipse")
        colour = QColor(getattr(LIGHT, colour))
        assert dot.arguments[0] == QPointF(0.0, HEADER + ROW / 2.0)
        assert other.arguments[0] == QPointF(WIDTH, HEADER + ROW / 2.0)
        assert (dot.pen.style(), dot.pen.color()) == (style, colour)
        assert dot.arguments[1] + dot.pen.widthF() / 2.0 == pytest.approx(PORT_RADIUS, abs=0.25)
        assert dot.brush.color() == (colour if full else QColor(LIGHT.canvas))

    def test_the_worst_state_inside_stands_at_the_lower_right(self, qapp):
        sign = State.NONFINITE.row.sign
        call, _ = text(drawn(replace(LOOK, inside=State.NONFINITE)), sign)
        assert call.pen.color().name() == LIGHT.lane(State.NONFINITE).name()
        for zoom in (1.0, 0.7):
            shown = texts(drawn(replace(LOOK, inside=State.NONFINITE), zoom=zoom))
            (found,) = [each for each in shown if each.words == sign]
            assert WIDTH - 20.0 <= found.ink.right() <= WIDTH - 10.0
            assert found.ink.center().y() == pytest.approx(LOOK.height - 0.5, abs=1.5)

    def test_badges_stand_at_the_lower_left(self, qapp):
        for zoom in (1.0, 0.7):
            shown = texts(drawn(replace(LOOK, badges=(BadgeLabel("STALE"),)), zoom=zoom))
            (badge,) = [each for each in shown if each.words == "STALE"]
            assert badge.pixels * zoom >= LEAST - 1e-6
            assert 10.0 <= badge.ink.left() <= 20.0
            below = badge.ink.center().y() - LOOK.height
            assert 0.0 <= below <= 4.0  # clear of the names of ports

    @pytest.mark.parametrize("look", [{"inside": State.STOPPED}, {"badges": (BadgeLabel("≈"),)}])
    def test_what_lies_on_the_edge_has_an_outline(self, qapp, look):
        """A bare ground would look like a hole in the edge."""
        plain, marked = drawn(LOOK), drawn(replace(LOOK, **look))
        (_, pill) = marked.drawn("drawRoundedRect")
        assert len(plain.drawn("drawRoundedRect")) == 1
        assert pill.pen.style() == Qt.PenStyle.SolidLine
        assert pill.brush.color() == QColor(LIGHT.canvas)

    def test_from_afar_only_the_name_and_one_number_are_written(self, qapp):
        painter = drawn(replace(LOOK, summary=("rms 2.12", "2.12")), zoom=0.5)
        assert [call.arguments[-1] for call in painter.drawn("drawText")] == ["mul1", "rms 2.12"]


class TestCache:
    @pytest.mark.parametrize(("share", "drawn"), [(1.0, 9), (4.0, 33)])
    def test_a_large_window_has_more_time_for_faces(self, qapp, monkeypatch, share, drawn):
        clock = count()
        monkeypatch.setattr(face_cache.time, "perf_counter", lambda: float(next(clock)))
        cache = FaceCache(budget=8.0)  # of which each face takes one
        cache.begin(1.0, 1.0, LIGHT, LIMIT, share=share)
        looks = [replace(LOOK, name=f"mul{i}", sections=()) for i in range(60)]
        assert sum(cache.picture(look) is not None for look in looks) == drawn
        assert cache.behind and cache.blank

    def test_equal_looks_share_a_picture(self, qapp):
        cache = FaceCache()
        cache.begin(1.0, 1.0, LIGHT, LIMIT)
        first = cache.picture(LOOK)
        assert cache.picture(replace(LOOK)) is first
        assert cache.picture(replace(LOOK, name="mul2")) is not first

    @pytest.mark.parametrize("key", [(2.0, 1.0, LIGHT), (1.0, 2.0, LIGHT), (1.0, 1.0, DARK)])
    def test_another_zoom_ratio_or_theme_is_drawn_anew(self, qapp, key):
        cache = FaceCache()
        cache.begin(1.0, 1.0, LIGHT, LIMIT)
        first = cache.picture(LOOK)
        cache.begin(*key, LIMIT)
        assert cache.picture(LOOK) is not first

    def test_when_time_is_up_the_old_picture_stands_in(self, qapp):
        cache = FaceCache(budget=0.0)
        looks = [replace(LOOK, name=f"mul{i}") for i in range(20)]
        while True:
            cache.begin(1.0, 1.0, LIGHT, LIMIT)
            old = [cache.picture(look) for look in looks]
            if not cache.behind:
                break
        cache.begin(2.0, 1.0, LIGHT, LIMIT)
        new = [cache.picture(look) for look in looks]
        assert cache.behind
        assert new[-1] is old[-1]
        assert new[0] is not old[0]

    def test_without_time_and_without_an_old_one_there_is_none(self, qapp):
        cache = FaceCache(budget=0.0)
        cache.begin(1.0, 1.0, LIGHT, LIMIT)
        made = [cache.picture(replace(LOOK, name=f"mul{i}")) for i in range(20)]
        assert made[0] is not None
        assert made[-1] is None

    def test_its_memory_is_counted_in_bytes_of_pixels(self, qapp):
        cache = FaceCache()
        cache.begin(1.0, 1.0, LIGHT, LIMIT)
        bare = LOOK.bare()
        made = [cache.picture(replace(bare, name=f"mul{i}")) for i in range(3)]
        held = sum(one.pixmap.toImage().sizeInBytes() for one in made)
        cache.begin(1.0, 1.0, LIGHT, limit=held)
        assert cache.picture(replace(bare, name="mul0")) is made[0]
        cache.begin(1.0, 1.0, LIGHT, limit=held - 1)
        assert cache.picture(replace(bare, name="mul0")) is made[0], "it was used last"
        assert cache.picture(replace(bare, name="mul1")) is not made[1]

    def test_while_the_zoom_changes_old_pictures_stand_in(self, qapp):
        cache, looks = FaceCache(budget=0.5), [replace(LOOK, name=f"mul{i}") for i in range(40)]
        cache.begin(1.0, 1.0, LIGHT, LIMIT)
        assert None not in [cache.picture(look) for look in looks]
        cache.budget = 1e-9
        cache.begin(1.1, 1.0, LIGHT, LIMIT, zooming=True)
        shown = [cache.picture(look) for look in looks]
        assert None not in shown and cache.behind and not cache.blank
        cache.budget = 0.5
        cache.begin(1.1, 1.0, LIGHT, LIMIT, zooming=True)
        assert cache.picture(replace(LOOK, name="new")) is not None
        assert not cache.blank
        cache.begin(1.1, 1.0, LIGHT, LIMIT)
        assert [cache.picture(look).zoom for look in looks] == [1.1] * 40
        assert not cache.behind

    def test_a_frame_draws_four_whatever_time_it_has(self, qapp):
        cache = FaceCache(budget=0.0)
        cache.begin(1.0, 1.0, LIGHT, LIMIT)
        made = [cache.picture(replace(LOOK, name=f"mul{i}")) for i in range(6)]
        assert [picture is not None for picture in made] == [True] * 4 + [False] * 2
        assert cache.behind

    def test_its_memory_is_bounded(self, qapp):
        cache = FaceCache()
        cache.begin(1.0, 1.0, LIGHT, limit=1)
        first = cache.picture(LOOK)
        cache.begin(1.0, 1.0, LIGHT, limit=1)
        assert cache.picture(LOOK) is not first

    def test_changing_numbers_are_drawn_over_a_picture_without_any(self, qapp, monkeypatch):
        cache, faces = FaceCache(budget=0.0), []
        monkeypatch.setattr(face_cache, "draw_face", lambda painter, look, *_: faces.append(look))
        cache.begin(1.0, 1.0, LIGHT, LIMIT)
        before = cache.picture(LOOK)
        for text in "789":
            changed = replace(LOOK, sections=(FaceSection("", FaceReadout(((text,),))),))
            now = cache.picture(changed)
            assert now.pixmap.toImage() != before.pixmap.toImage()
            before = now
        assert faces == [LOOK.bare()]
        assert not cache.behind

    def test_numbers_that_have_changed_leave_no_picture_behind(self, qapp):
        cache = FaceCache()
        cache.begin(1.0, 1.0, LIGHT, LIMIT)
        for number in range(20):
            cache.picture(
                replace(LOOK, sections=(FaceSection("", FaceReadout(((str(number),),))),))
            )
        assert cache.size == 2 * cache.picture(LOOK.bare()).size

    def test_numbers_over_a_bare_picture_lie_as_in_a_whole_one(self, qapp):
        cache, changed = (
            FaceCache(),
            replace(LOOK, sections=(FaceSection("", FaceReadout((("7",),))),)),
        )
        cache.begin(0.7, 1.0, LIGHT, LIMIT)
        room = margin(0.7, 1.0)
        over = QPixmap(image(changed, 0.7).size())
        over.fill(LIGHT.canvas)
        whole = QPixmap(over)
        for target, draw in (
            (over, lambda painter: cache.paint(painter, changed, room, room)),
            (whole, lambda painter: painter.drawPixmap(0, 0, draw_picture(changed, 0.7, 1, LIGHT))),
        ):
            with QPainter(target) as painter:
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                draw(painter)
        grey = QImage.Format.Format_Grayscale8
        shown = [one.toImage().convertToFormat(grey) for one in (over, whole)]
        levels = [np.array(one.constBits(), int) for one in shown]
        assert np.abs(levels[0] - levels[1]).max() <= 2
