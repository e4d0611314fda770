"""Lines of plots on faces: all that can be seen of them is drawn, and no name covers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter

from gradwire.app.canvas.paint.blocks.face_cache import FaceCache
from gradwire.app.canvas.paint.views import lines
from gradwire.app.canvas.paint.views.lines import draw_lines, thinned
from gradwire.app.canvas.state.looks import Look
from gradwire.app.services.theme import LIGHT
from gradwire.runtime.diagram.model import Size
from gradwire.runtime.views.axes import Axis
from gradwire.runtime.views.pictures import Line, PlotPicture

if TYPE_CHECKING:
    from collections.abc import Iterable

SIZE = 300.0
STEPS = np.arange(200.0)
WAVE = 0.5 + 0.5 * np.sin(STEPS / 2.0)


def plot(*values: Any, name: str = "loss") -> PlotPicture:
    named = tuple(Line(f"{name} {i}", STEPS, np.asarray(each)) for i, each in enumerate(values))
    return PlotPicture(x=Axis(0.0, 199.0), y=Axis(0.0, 1.0), lines=named)


FULL = plot(WAVE, 1.0 - WAVE)
"""Lines that reach into every corner."""


@pytest.fixture
def placed(monkeypatch):
    """Where names were drawn, by plot."""
    found: list[list[lines.LineName]] = []
    draw = lines._draw_names

    def note(painter: QPainter, names: Any, *rest: Any, **more: Any) -> None:
        if names:
            found.append(list(names))
        draw(painter, names, *rest, **more)

    monkeypatch.setattr(lines, "_draw_names", note)
    return found


def painted(picture: PlotPicture, wide: float, high: float, zoom: float) -> Any:
    """The pixels of a plot on a face that is so large in scene units."""
    image = QImage(int(wide * zoom), int(high * zoom), QImage.Format.Format_RGB32)
    image.fill(QColor(LIGHT.canvas))
    with QPainter(image) as painter:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.scale(zoom, zoom)
        draw_lines(painter, picture, QRectF(0.0, 0.0, wide, high), LIGHT, zoom, near=True)
    size = image.height(), image.width()
    return np.frombuffer(image.constBits(), np.uint32).reshape(size).copy()


def inks(monkeypatch: pytest.MonkeyPatch, picture: PlotPicture, *size: float) -> tuple[Any, Any]:
    """The pixels that the names of a plot change, and those that its lines change."""
    whole = painted(picture, *size)
    with monkeypatch.context() as patched:
        patched.setattr(lines, "_draw_names", lambda *given, **more: None)
        unnamed = painted(picture, *size)
        patched.setattr(lines, "_draw_pieces", lambda *given: None)
        empty = painted(picture, *size)
    return whole != unnamed, unnamed != empty


def rooms(names: Iterable[lines.LineName]) -> list[QRectF]:
    return [name.place for name in names]


@pytest.mark.parametrize("rises", [False, True])
def test_the_name_of_a_line_stands_where_the_line_is_not(placed, rises):
    """Upper right by default; upper left where the line rises to the upper right."""
    share = STEPS / 199.0
    painted(plot(share if rises else 1.0 - share), SIZE, SIZE, 1.0)
    ((name,),) = placed
    assert (name.place.left() < SIZE / 4) is rises
    assert 0.0 < name.place.top() < SIZE / 4


def test_where_no_corner_is_free_names_stand_in_a_row_above_the_axes(monkeypatch, placed):
    names, curves = inks(monkeypatch, FULL, SIZE, SIZE, 1.0)
    one, other = rooms(placed[0])
    assert one.top() == other.top() and one.right() < other.left()
    assert [name.text.split()[:2] for name in placed[0]] == [["loss", "0"], ["loss", "1"]]
    rows = np.flatnonzero(names.any(axis=1))
    assert rows.max() < np.flatnonzero(curves.any(axis=1)).min()


def test_many_names_need_rows(placed):
    painted(plot(*[WAVE] * 7), SIZE, SIZE, 1.0)
    tops = {room.top() for room in rooms(placed[0])}
    assert len(placed[0]) == 7 and 1 < len(tops) < 7


def test_where_names_with_values_leave_too_little_they_stand_without(placed):
    """Two rows would be needed."""
    painted(FULL, 125.0, 80.0, 1.0)
    assert [name.text for name in placed[0]] == ["loss 0", "loss 1"]


@pytest.mark.night
def test_a_face_too_small_for_names_has_none(placed):
    painted(FULL, 125.0, 66.0, 1.0)
    painted(plot(*[WAVE] * 80), SIZE, SIZE, 1.0)
    assert not placed


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("zoom", [0.6, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(8))
def test_no_name_covers_a_line(monkeypatch, seed, zoom):
    """Lines at random, some with gaps, of one point, beyond the axes or along an edge."""
    random = np.random.default_rng(seed)
    values = [
        np.clip(np.cumsum(random.normal(0.0, 0.1, 200)) + random.uniform(-0.2, 1.2), -0.2, 1.0)
        for _ in range(random.integers(1, 6))
    ]
    values[0][random.random(200) < 0.2] = np.nan
    size = random.uniform(110.0, 320.0, 2).tolist()
    names, curves = inks(monkeypatch, plot(*values), *size, zoom)
    assert curves.any()
    assert not (names & curves).any()


def test_names_in_corners_are_clear_of_lines_as_wide_as_they_are_drawn(monkeypatch, placed):
    """A level line just below where the name stands, closer and closer."""
    metrics_high = []
    for down in np.linspace(0.0, 0.12, 25):
        picture = plot(np.full(200, 1.0 - down))
        names, curves = inks(monkeypatch, picture, SIZE, SIZE, 1.0)
        assert names.any() and not (names & curves).any()
        metrics_high.append(placed[-1][0].place.top())
    assert len(set(metrics_high)) > 1


def test_a_face_is_not_searched_again_until_it_shows_something_else(monkeypatch):
    searched = []
    search = lines._free_corner
    monkeypatch.setattr(
        lines, "_free_corner", lambda *given: searched.append(given) or search(*given)
    )
    looks = [Look("views", "∿", "f", size=Size(300.0, 180.0), view=view) for view in (FULL, plot())]
    cache, image = FaceCache(), QImage(400, 300, QImage.Format.Format_RGB32)
    with QPainter(image) as painter:
        for look in (looks[0], looks[0], looks[0], looks[1]):
            cache.begin(1.0, 1.0, LIGHT, 10**8)
            cache.paint(painter, look, 0.0, 0.0)
    assert len(searched) == 2


def test_a_line_of_many_points_keeps_its_peaks_ends_and_order():
    x = np.arange(10_000.0)
    y = np.sin(x / 300.0)
    y[[17, 5_003, 9_981]] = 9.0, -7.0, 8.0
    kept = thinned(np.column_stack([x, y]), 100)
    assert len(kept) <= 400
    assert {9.0, -7.0, 8.0} <= {*kept[:, 1].tolist()}
    assert kept[0, 0] == 0.0
    assert kept[-1, 0] == 9_999.0
    assert (np.diff(kept[:, 0]) > 0).all()


def test_a_line_of_few_points_keeps_all():
    points = np.column_stack([np.arange(400.0), np.ones(400)])
    assert thinned(points, 100) is points
