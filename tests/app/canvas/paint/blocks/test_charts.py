from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter

from app.canvas.paint.blocks.charts import draw_chart
from app.canvas.state.charts import HEIGHT, WIDTH, ChartKind, chart
from app.canvas.state.formatting import charted
from app.services.theme import DARK, HIGH_CONTRAST, LIGHT

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
