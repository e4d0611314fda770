from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from PySide6.QtCore import QLineF, QRectF
from PySide6.QtGui import QColor, QImage, QPainter

from gradwire.app.canvas.paint.blocks.grids import draw_chart
from gradwire.app.canvas.state.charts import HEIGHT, WIDTH, ChartKind, chart
from gradwire.app.canvas.state.formatting import charted
from gradwire.app.services.theme import DARK, HIGH_CONTRAST, LIGHT
from tests.app.canvas.paint.recording import recorder

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ((10,), ChartKind.LINE),
        ((6, 9), ChartKind.HEAT),
        ((3, 4, 5), ChartKind.BARS),
        ((2, 1, 28, 28), ChartKind.IMAGE),
        ((3, 16, 16), ChartKind.IMAGE),
        ((16, 16, 3), ChartKind.IMAGE),
        ((2, 16, 16, 3), ChartKind.IMAGE),
        ((5, 9, 8), ChartKind.BARS),
        ((2, 8, 5, 5), ChartKind.BARS),
    ],
)
def test_the_kind_follows_from_the_shape(shape, kind):
    assert chart(RANDOM.normal(size=shape)).kind is kind


def test_a_stack_without_negative_numbers_is_a_stack_of_images():
    stack = RANDOM.uniform(size=(5, 9, 8))
    assert chart(stack).kind is ChartKind.IMAGE
    assert chart(stack).shape == (9, 8)
    assert chart(np.round(200 * stack).astype(np.uint8)).kind is ChartKind.IMAGE


@pytest.mark.parametrize("array", [np.float32(3), np.zeros(4), np.zeros((2, 2)), np.zeros((0, 9))])
def test_small_arrays_are_numbers(array):
    assert chart(np.asarray(array)) is None


def test_zero_is_in_the_middle_and_signs_keep_apart():
    levels = chart(np.array([[0.0, 1.0, -1.0], [0.5, -0.5, np.nan]])).array
    assert levels.tolist() == [[128, 255, 1], [192, 64, 0]]


def test_a_heatmap_shows_the_sign_in_colour(qapp):
    image = QImage(WIDTH, HEIGHT, QImage.Format.Format_RGB32)
    array = np.array([[1.0, 0.0, -1.0]] * 2)
    for theme in (LIGHT, DARK, HIGH_CONTRAST):
        with QPainter(image) as painter:
            draw_chart(painter, chart(array), QRectF(0, 0, WIDTH, HEIGHT), theme)
        seen = [image.pixelColor(x, 16).name() for x in (6, 20, 34)]
        assert seen[0] == QColor(theme.accent).name()
        assert seen[1] == QColor(theme.canvas).name()
        assert len(set(seen)) == 3


class TestShapes:
    """Where lines, bars and images are drawn, call by call."""

    BOX = QRectF(10.0, 20.0, 40.0, 32.0)

    def painted(self, monkeypatch, array):
        painter = recorder(monkeypatch)
        draw_chart(painter, chart(array), self.BOX, LIGHT)
        return painter

    def test_a_line_rises_with_its_numbers_and_leaves_out_what_is_not_finite(self, monkeypatch):
        painter = self.painted(monkeypatch, np.array([0.0, 1.0, -1.0, np.nan, 0.0]))
        (line,) = painter.drawn("drawPolyline")
        assert [at.toTuple() for at in line.arguments[0]] == [
            (10, 36),
            (20, 20),
            (30, 52),
            (50, 36),
        ]
        assert line.pen.color() == QColor(LIGHT.ink_soft)
        (zero,) = painter.drawn("drawLine")
        assert zero.arguments[0] == QLineF(10.0, 36.0, 50.0, 36.0)
        assert zero.pen.color() == QColor(LIGHT.hairline)

    def test_bars_stand_on_the_lower_edge_side_by_side(self, monkeypatch):
        array = np.concatenate([np.zeros(80), np.full(20, 1.0)]).reshape(4, 5, 5)
        bars = self.painted(monkeypatch, array).drawn("drawRect")
        rects = [each.arguments[0] for each in bars]
        assert [rect.left() for rect in rects] == pytest.approx([10.0 + 2.0 * i for i in range(20)])
        assert {rect.width() for rect in rects} == {1.7}
        assert [rect.bottom() for rect in rects] == pytest.approx([52.0] * 20)
        heights = [rect.height() for rect in rects]
        assert (heights[0], heights[-1]) == pytest.approx((32.0, 32.0 * 64 / 255))
        assert all(each.brush.color() == QColor(LIGHT.ink_soft) for each in bars)

    def test_an_image_keeps_its_shape_in_the_middle(self, monkeypatch):
        array = np.linspace(0.0, 1.0, 10 * 20).reshape(1, 10, 20)
        (drawn,) = self.painted(monkeypatch, array).drawn("drawImage")
        place, picture = drawn.arguments
        assert place == QRectF(10.0, 26.0, 40.0, 20.0)
        assert (picture.width(), picture.height()) == (20, 10)
        assert picture.pixelColor(0, 0) == QColor("black")
        assert picture.pixelColor(19, 9) == QColor("white")

    def test_a_heatmap_fills_its_place(self, monkeypatch):
        array = np.array([[1.0, 0.0, np.nan]] * 2)
        (drawn,) = self.painted(monkeypatch, array).drawn("drawImage")
        place, picture = drawn.arguments
        assert place == self.BOX
        colours = [picture.pixelColor(column, 1) for column in range(3)]
        assert colours == [QColor(name) for name in (LIGHT.accent, LIGHT.canvas, LIGHT.error)]


def test_a_histogram_counts():
    array = np.concatenate([np.zeros(75), np.ones(25)]).reshape(4, 5, 5)
    levels = chart(array).array
    assert levels[0] == 255
    assert levels[-1] == 85
    assert not levels[1:-1].any()


@pytest.mark.parametrize("step", [0.0, np.spacing(2.0**48), 1e-320])
def test_a_histogram_of_numbers_that_hardly_differ(step):
    values = np.full((2, 4, 4, 4), 2.0**48 if step > 1e-300 else 0.0)
    values[0, 0, 0, 0] += step
    levels = chart(values).levels
    assert max(levels) == 255
    assert sum(level > 0 for level in levels) == (2 if step else 1)


@given(
    arrays(
        np.float32,
        array_shapes(min_dims=1, max_dims=4, max_side=12),
        elements=st.floats(width=32, allow_nan=True, allow_infinity=True),
    )
)
def test_any_array_can_be_drawn(qapp, array):
    made = chart(array)
    if made is None:
        return
    assert made.array.shape == made.shape
    assert len(made.levels) <= 3 * WIDTH * HEIGHT
    assert made == chart(array.copy())
    image = QImage(60, 60, QImage.Format.Format_RGB32)
    with QPainter(image) as painter:
        draw_chart(painter, made, QRectF(5, 5, WIDTH, HEIGHT), LIGHT)


def test_the_face_has_it_beside_its_shape_and_size():
    section = charted(np.ones((30, 40)))
    assert section.chart is not None
    assert section.readout.short == (("30 × 40",), ("all 1",))
    assert charted(np.ones((2, 2))).chart is None


@pytest.mark.parametrize("shape", [(9,), (6, 9), (16, 16, 3), (3, 4, 5)])
def test_numbers_at_the_end_of_their_dtype_overflow_nowhere(shape):
    array = np.full(shape, np.finfo(np.float64).max)
    array.ravel()[:5] *= -1.0
    drawn = chart(array)
    assert drawn is not None
    assert drawn.array.max() == (0 if drawn.kind is ChartKind.BARS else 255)
