from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from app.canvas.paint.blocks.faces import FaceCache, draw_picture, margin
from app.canvas.state.formatting import Readout, Section
from app.canvas.state.looks import Look, PortLook
from app.services.theme import DARK, HIGH_CONTRAST, LIGHT
from runtime.diagram.layout.measures import HEADER, ROW, WIDTH

if TYPE_CHECKING:
    from PySide6.QtGui import QColor, QImage

LOOK = Look(
    family="arithmetic",
    symbol="·",
    name="mul1",
    lines=2,
    inputs=(PortLook("a = 3", "open"), PortLook("b", "wired")),
    outputs=(PortLook("", "wired"),),
    sections=(Section("", Readout((("0", "3"),), bracketed=True)),),
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

    @pytest.mark.parametrize(("badge", "colour"), [("error", "error"), ("warning", "warning")])
    def test_a_badge_stands_at_the_corner(self, qapp, badge, colour):
        picture = image(replace(LOOK, severity=badge), ratio=2.0)
        assert at(picture, WIDTH - 7.5, 3, ratio=2.0) == getattr(LIGHT, colour)
        assert at(image(ratio=2.0), WIDTH - 7.5, 3, ratio=2.0) != getattr(LIGHT, colour)

    def test_numbers_are_drawn_from_a_zoom_on(self, qapp):
        bare = replace(LOOK, sections=())
        assert image() != image(bare)
        assert image(zoom=0.4) == image(bare, zoom=0.4)

    def test_stale_numbers_are_paler(self, qapp):
        assert image() != image(replace(LOOK, stale=True))

    def test_wide_numbers_stay_inside(self, qapp):
        wide = Readout((tuple(["−1.234e−38"] * 4),), bracketed=True)
        picture = image(replace(LOOK, sections=(Section("∇", wide),)), ratio=2.0)
        for y in range(round(LOOK.height)):
            assert at(picture, WIDTH + 7, y, ratio=2.0).alpha() == 0

    def test_a_long_name_is_cut(self, qapp):
        picture = image(replace(LOOK, name="a very long name indeed, far too long"))
        assert at(picture, WIDTH - 4, HEADER / 2) == LIGHT.face("arithmetic")

    def test_a_head_has_a_strong_edge(self, qapp):
        def edge(look: Look) -> int:
            return at(image(look, ratio=4.0), WIDTH / 2, 0.6, ratio=4.0).lightness()

        assert edge(replace(LOOK, head=True)) < edge(LOOK)


class TestCache:
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

    def test_its_memory_is_bounded(self, qapp):
        cache = FaceCache()
        cache.begin(1.0, 1.0, LIGHT, limit=1)
        first = cache.picture(LOOK)
        cache.begin(1.0, 1.0, LIGHT, limit=1)
        assert cache.picture(LOOK) is not first
