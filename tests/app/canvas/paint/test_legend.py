"""The legend tells the thresholds in force, the badges, and which lane is which loss's."""

from PySide6.QtCore import QPointF
from PySide6.QtGui import QImage, QPainter

from app.canvas.paint.legend import LegendContent, legend_content, legend_size, paint_legend, title
from app.canvas.scene.geometry import Scene
from app.canvas.state.annotations import resolve
from app.evaluation.result import Result
from app.services.theme import LIGHT
from runtime.flow import State, Thresholds
from tests.app.canvas.pages import seed


def test_titles_have_the_values_of_thresholds():
    thresholds = Thresholds()
    assert title(State.PARTIAL, thresholds) == "carries; at least 10 % of it is zero"
    assert title(State.FAINT, thresholds) == "vanishing: below 10⁻⁷, or 10⁻⁵ of the largest"
    assert title(State.FLOOD, thresholds) == "exploding: above 10⁴, or 10⁴ × the loss's own"
    other = Thresholds(partial=0.25, faint=3e-6, flood=2e3)
    assert "25 %" in title(State.PARTIAL, other)
    assert "3e−6" in title(State.FAINT, other)
    assert "2e3" in title(State.FLOOD, other)


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
    one = Result(shown, states={"loss.x": State.CARRIES}, loss="L1.out")
    both = Result(shown, apart=(one, Result(shown, loss="L2.out")))
    scene = Scene(shown, "main")
    assert legend_content(resolve(scene, None)) == LegendContent()
    assert legend_content(resolve(scene, one)).losses == ()
    assert legend_content(resolve(scene, both)).losses == ("L1", "L2")
