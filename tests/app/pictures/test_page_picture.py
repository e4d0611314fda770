"""What a picture of a page shows."""

from __future__ import annotations

import pytest

from gradwire.app.canvas.state.view_state import WireNumbers
from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.pictures.marks import TextMark, marks_of
from gradwire.app.pictures.options import LegendChoice, PictureOptions
from gradwire.app.pictures.page_picture import PagePicture, page_pictures, restricted
from gradwire.runtime.diagram import ROOT, Note, Point, apply, group
from tests.app.canvas.pages import block, diagram, seed


def texts(picture):
    return [mark.text for mark in marks_of(picture) if isinstance(mark, TextMark)]


def drawn(page, **options):
    return PagePicture(page, "main", evaluate(page), options=PictureOptions(**options))


@pytest.fixture(autouse=True)
def application(qapp):
    """Text is measured."""


@pytest.mark.parametrize(("numbers", "shown"), [(True, True), (False, False)])
def test_numbers_stand_beside_wires_as_on_the_canvas(numbers, shown):
    blocks = {"w": block("Variable", value=0.25), "loss": block("Loss")}
    layout = {"w": Point(0.0, 0.0), "loss": Point(500.0, 0.0)}
    page, chosen = (
        diagram(blocks, {"loss.x": "w.out"}, layout=layout),
        WireNumbers(True, True, True),
    )
    options = PictureOptions(numbers=numbers)
    picture = PagePicture(page, "main", evaluate(page), options=options, wires=chosen)
    assert ("∇ 1" in texts(picture)[-4:]) == shown
    assert ("0.25" in texts(picture)[-4:]) == shown


def test_the_legend_explains_only_what_occurs():
    shown = texts(drawn(seed(), legend=LegendChoice.OCCURRING))
    assert "carries gradient; width: its size" in shown
    assert "stopped by StopGradient" in shown
    assert "NaN or infinite" not in shown
    assert "CANCELS" not in shown


def test_a_badge_that_occurs_is_explained():
    blocks = {"w": block("Variable", value=1.0), "open": block("StopGradient", open=True)}
    page = diagram({**blocks, "loss": block("Loss")}, {"open.x": "w.out", "loss.x": "open.out"})
    shown = texts(drawn(page, legend=LegendChoice.OCCURRING))
    assert "a stop that lets gradient through" in shown
    assert "a stop without effect" not in shown


def test_a_page_without_gradient_has_no_legend():
    page = diagram({"c": block("Constant", value=1.0)})
    some, none = (
        drawn(page, legend=choice) for choice in (LegendChoice.OCCURRING, LegendChoice.NONE)
    )
    assert some.size == none.size


def test_the_whole_legend_and_none():
    sizes = {choice: drawn(seed(), legend=choice).size for choice in LegendChoice}
    area = {choice: size.width() * size.height() for choice, size in sizes.items()}
    assert area[LegendChoice.NONE] < area[LegendChoice.OCCURRING] < area[LegendChoice.ALL]
    assert "NaN or infinite" in texts(drawn(seed(), legend=LegendChoice.ALL))


def test_without_numbers_only_structure_is_left():
    small = diagram(
        {"w": block("Variable", value=1e-9), "sq": block("Mul"), "loss": block("Loss")},
        {"sq.a": "w.out", "sq.b": "w.out", "loss.x": "sq.out"},
    )
    options = {"legend": LegendChoice.NONE}
    assert any("10⁻⁹" in text for text in texts(drawn(small, **options)))
    without = texts(drawn(small, numbers=False, **options))
    assert not any(character.isdigit() for text in without for character in text)
    assert {"w", "sq", "loss"} <= set(without)


def test_a_selection_is_drawn_with_its_wires_and_notes_alone():
    notes = {"n": Note("seen", Point(0, 300)), "m": Note("unseen", Point(0, 500))}
    blocks = {name: block("Relu") for name in "abc"}
    whole = diagram(blocks, {"b.x": "a.out", "c.x": "b.out"}, notes=notes)
    part = restricted(whole, "main", {"a", "b"}, {"n"}).main
    assert set(part.blocks) == {"a", "b"}
    assert [str(target) for target in part.wires] == ["b.x"]
    assert set(part.notes) == {"n"}


def test_every_page_has_the_numbers_of_its_first_use():
    whole = apply(seed(), group(seed(), "main", ["mul1"])).after
    pictures = page_pictures(whole, evaluate(whole), PictureOptions())
    assert [picture.page for picture in pictures] == list(whole.pages)
    inner = texts(pictures[1])
    assert "[" not in inner
    assert inner.count("3") >= 1  # 3·b is computed inside


def test_an_unused_page_has_no_numbers():
    whole = seed().with_page("idle", seed().main)
    pictures = page_pictures(whole, evaluate(whole), PictureOptions(legend=LegendChoice.NONE))
    assert "∇" in texts(pictures[0])
    assert "∇" not in texts(pictures[1])


def test_the_scale_follows_the_width_on_paper():
    picture = drawn(seed(), width=10.0)
    assert picture.scale * picture.size.width() == pytest.approx(10.0)
    assert drawn(seed()).scale == pytest.approx(2.54 / 96.0)


def test_an_empty_page_has_a_size():
    picture = PagePicture(diagram({}), "main", None, ROOT)
    assert picture.size.width() > 100.0
