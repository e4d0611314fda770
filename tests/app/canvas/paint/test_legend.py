"""The legend tells the thresholds in force, the badges, and which lane is which loss's."""

from itertools import pairwise

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter

from gradwire.app.canvas.paint.legend import (
    LegendContent,
    legend_content,
    legend_size,
    paint_legend,
    title,
)
from gradwire.app.canvas.paint.wires import lanes
from gradwire.app.canvas.paint.wires.lane_labels import ORIGIN
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.app.canvas.state.annotations import resolve
from gradwire.app.evaluation.result import EvaluationResult
from gradwire.app.services.theme import LIGHT, SMALL, font
from gradwire.runtime.flow import State, Thresholds
from gradwire.runtime.flow.words.states import STATES
from tests.app.canvas.pages import seed
from tests.app.canvas.paint.recording import recorder


def test_titles_have_the_values_of_thresholds():
    thresholds = Thresholds()
    assert title(State.PARTIAL, thresholds) == "carries; at least 10 % of it is zero"
    assert title(State.VANISHING, thresholds) == "vanishing: below 10⁻⁷, or 10⁻⁵ × the loss's own"
    assert title(State.EXPLODING, thresholds) == "exploding: above 10⁴, or 10⁴ × the loss's own"
    other = Thresholds(partial=0.25, vanishing=3e-6, exploding=2e3)
    assert "25 %" in title(State.PARTIAL, other)
    assert "3e−6" in title(State.VANISHING, other)
    assert "above 2000" in title(State.EXPLODING, other)


def test_no_brace_is_left_in_any_title():
    assert not [state for state in State if "{" in title(state, Thresholds())]


def picture(key):
    size = legend_size(key).toSize()
    image = QImage(size.width() + 2, size.height() + 2, QImage.Format.Format_RGB32)
    image.fill(0xFF00FF00)
    with QPainter(image) as painter:
        paint_legend(painter, QPointF(), LIGHT, key)
    return image


def test_it_grows_with_what_it_tells(qapp):
    plain = LegendContent()
    named = LegendContent(losses=("a_loss_with_a_rather_long_name_that_needs_much_more_room", "L2"))
    assert legend_size(named).width() > legend_size(plain).width()
    assert picture(plain) != picture(LegendContent(Thresholds(cancels=0.02)))


def test_all_it_says_lies_inside(qapp):
    for key in (LegendContent(), LegendContent(losses=("L1", "L2", "L3", "L4"))):
        image = picture(key)
        edge = {image.pixel(image.width() - 4, y) for y in range(8, image.height() - 8)}
        assert len(edge) == 1, "words reach over the right edge"


def test_the_key_of_what_is_shown():
    shown = seed()
    one = EvaluationResult(shown, states={"loss.x": State.CARRIES}, loss="L1.out")
    both = EvaluationResult(shown, apart=(one, EvaluationResult(shown, loss="L2.out")))
    scene = Scene(shown, "main")
    assert legend_content(resolve(scene, None)) == LegendContent()
    assert legend_content(resolve(scene, one)).losses == ()
    assert legend_content(resolve(scene, both)).losses == ("L1", "L2")


LOSSES = LegendContent(losses=("L1", "L2"))


@pytest.fixture
def painted(qapp, monkeypatch):
    """What the legend of two losses drew, at (30, 40)."""
    painter = recorder(monkeypatch, lanes)
    paint_legend(painter, QPointF(30.0, 40.0), LIGHT, LOSSES)
    return painter


def words(painted):
    """Left edge, middle and text of all that is explained, in the order of drawing."""
    texts = [drawn.arguments for drawn in painted.drawn("drawText")]
    return [(box.left(), box.center().y(), text) for box, _, text in texts if box.width() == 1.0]


def middles(strokes, colour):
    """Heights of the middles of what was drawn in a colour."""
    return {round(float(s.lines[:, 1::2].mean()), 3) for s in strokes if s.colour == colour}


def test_a_row_for_each_state_with_even_distances(painted):
    rows = words(painted)[: len(STATES)]
    assert [text for *_, text in rows] == [title(state, LOSSES.thresholds) for state in STATES]
    assert {left for left, *_ in rows} == {rows[0][0]}
    heights = [y for _, y, _ in rows]
    assert {below - above for above, below in pairwise(heights)} == {20.0}


def test_badges_and_losses_stand_in_a_column_beside_the_states(painted):
    rest = words(painted)[len(STATES) :]
    assert [text for *_, text in rest[-3:]] == [
        "gradient of L1",
        "gradient of L2",
        "left out: no path to that loss",
    ]
    heights = [y for _, y, _ in rest]
    assert {below - above for above, below in pairwise(heights)} == {20.0}
    ((aside, _),) = [moved for moved in painted.of("translate") if len(moved) == 2]
    widest = max(
        QFontMetricsF(font(SMALL)).horizontalAdvance(title(s, Thresholds())) for s in STATES
    )
    assert aside == words(painted)[0][0] + widest + 24.0


def test_the_frame_is_as_large_as_the_legend_says_and_stands_where_it_was_put(painted):
    assert painted.of("translate")[0] == (QPointF(30.0, 40.0),)
    frame = painted.drawn("drawRoundedRect")[0]
    assert frame.arguments[0].size() == legend_size(LOSSES)
    assert frame.brush.color() == QColor(LIGHT.canvas)
    assert frame.pen.color() == QColor(LIGHT.hairline)
    last = max(y for _, y, _ in words(painted))
    assert last < frame.arguments[0].bottom() - 10.0


def test_its_height_follows_the_longer_column(qapp):
    few, many = LegendContent(losses=("a", "b")), LegendContent(losses=tuple("abcdefgh"))
    assert legend_size(many).height() - legend_size(few).height() == 6 * 20.0
    assert legend_size(LegendContent()).height() == 2 * 12.0 + 20.0 * len(STATES) - 4.0


def test_each_state_is_shown_by_its_lane_its_glyph_and_its_cut(painted):
    glyphs = {drawn.arguments[2]: drawn for drawn in painted.drawn("drawText")}
    for state in STATES:
        if (glyph := state.row.glyph) in glyphs:
            assert glyphs[glyph].pen.color().name() == LIGHT.lane(state).name()
    assert "37 %" in glyphs
    wires = [s.lines[0] for s in painted.strokes if s.colour == QColor(LIGHT.wire).name()]
    assert [float(y) for _, y, _, _ in wires] == [16.0 + 20.0 * row for row in range(len(STATES))]


def test_what_labels_a_lane_is_shown_on_a_lane_without_a_wire(painted):
    carries = LIGHT.lane(State.CARRIES).name()
    texts = {drawn.arguments[2]: drawn.arguments[0] for drawn in painted.drawn("drawText")}
    for label, loss in (("1/4", None), ("1", 0), ("2", 1)):
        colour = LIGHT.lane(State.CARRIES, loss).name()
        assert texts[label].center().y() in middles(painted.strokes, colour), label
    meanings = {text: y for _, y, text in words(painted)}
    assert texts["2"].center().y() == meanings["gradient of L2"]
    assert texts["1/4"].center().y() == meanings["leaves of a tree that carry gradient"]
    assert meanings["left out: no path to that loss"] not in middles(painted.strokes, carries)


def test_a_glyph_stands_in_the_middle_of_its_lane(painted):
    texts = {drawn.arguments[2]: drawn.arguments[0] for drawn in painted.drawn("drawText")}
    assert {texts[glyph].center().x() for glyph in ("37 %", "0", "NaN", "?")} == {47.0}
    assert {texts[label].center().x() for label in ("1/4", "1", "2")} == {40.0}


def test_all_words_are_in_ink_and_begin_at_the_left(painted):
    beside = [drawn for drawn in painted.drawn("drawText") if drawn.arguments[0].width() == 1.0]
    assert {drawn.pen.color().name() for drawn in beside} == {QColor(LIGHT.ink).name()}
    left = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    assert {drawn.arguments[1] & left for drawn in beside} == {left}


def test_the_origin_of_nan_is_shown_on_a_lane_that_is_not_finite(painted):
    lane = middles(painted.strokes, LIGHT.lane(State.NONFINITE).name())
    (height,) = [y for _, y, text in words(painted) if text.startswith("the first NaN")]
    assert height in lane
    assert ORIGIN not in [drawn.arguments[2] for drawn in painted.drawn("drawText")]


def test_a_badge_ends_where_the_samples_end(painted):
    boxes = {
        drawn.arguments[2]: drawn.arguments[0]
        for drawn in painted.drawn("drawText")
        if drawn.arguments[0].height() == 15.0
    }
    assert {"CANCELS", "UNOWNED", "✓", "✗", "STALE"} <= {*boxes}
    assert {round(box.right(), 6) for box in boxes.values()} == {74.0}
    pens = {drawn.arguments[2]: drawn.pen.color() for drawn in painted.drawn("drawText")}
    assert pens["✗"] == QColor(LIGHT.warning) != pens["✓"]


@pytest.mark.parametrize(
    ("value", "text"), [(1e-3, "10⁻³"), (3e-3, "0.003"), (0.0, "0"), (1e-12, "10⁻¹²")]
)
def test_a_power_of_ten_is_written_as_one(qapp, monkeypatch, value, text):
    painter = recorder(monkeypatch, lanes)
    paint_legend(painter, QPointF(), LIGHT, LegendContent(Thresholds(cancels=value)))
    said = f"the sum is below {text} of its largest term"
    assert said in [meaning for *_, meaning in words(painter)]
