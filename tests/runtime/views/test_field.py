"""Fields: a page over a plane, with the variables that the user means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradwire as gw
from gradwire.blocks.library.views import Field
from gradwire.runtime.diagram import Diagram
from gradwire.runtime.engine import Session
from gradwire.runtime.views.pictures import FieldPicture, NoPicture
from gradwire.runtime.views.views import Views

RESOLUTION = 24


def linear(scale: float) -> Any:
    @gw.page("line")
    def line(p: Any) -> Any:
        return p @ gw.variable("w", [[scale], [0.0]])

    return line


def picture(diagram: Diagram, session: Session | None = None, name: str = "field") -> Any:
    session = session or Session(diagram)
    shown = Views().pictures(session.diagram, session.program, session.run().values)
    return shown[name]


def field(**parameters: Any) -> Any:
    span = {"x_min": -1.0, "x_max": 1.0, "y_min": -1.0, "y_max": 1.0}
    given = {"page": "line", "resolution": RESOLUTION, "name": "field"}
    return gw.field(**{**span, **given, **parameters})


def test_a_field_is_what_the_page_computes_at_each_point() -> None:
    line = linear(2.0)
    points = gw.constant("points", [[0.0, 0.0]])
    found = picture(gw.build(gw.loss(gw.sum(line(points, name="use"))), field()))
    assert isinstance(found, FieldPicture)
    assert (found.low, found.high, found.centre) == (-2.0, 2.0, 0.0)
    levels = found.levels.astype(float)
    assert found.levels.shape == (RESOLUTION, RESOLUTION)
    expected = np.round(1 + 254 * (np.linspace(-2, 2, RESOLUTION) + 2) / 4)
    np.testing.assert_array_equal(levels, np.tile(expected, (RESOLUTION, 1)))
    assert found.summary == "line: −2 … 2, 50 % above 0"


def test_the_first_row_is_at_the_top() -> None:
    @gw.page
    def up(p: Any) -> Any:
        return p[:, 1]

    used = gw.loss(gw.sum(up(gw.constant("points", [[0.0, 0.0]]))))
    levels = picture(gw.build(used, field(page="up"))).levels
    assert (levels[0] == 255).all() and (levels[-1] == 1).all()


def test_a_field_follows_training() -> None:
    line = linear(1.0)
    target = gw.loss(gw.mean((line(gw.constant("points", [[1.0, 0.0]]), name="use") - 3.0) ** 2))
    session = Session(gw.build(target, field()))
    views = Views()

    def high() -> float:
        shown = views.pictures(session.diagram, session.program, session.run().values)["field"]
        assert isinstance(shown, FieldPicture)
        return shown.high

    before = high()
    for _ in range(40):
        session.step(gw.SGD(lr=0.1))
    assert before == pytest.approx(1.0)
    assert high() == pytest.approx(float(session.values["use/w"][0, 0]))
    assert high() > 2.9


def test_two_inputs_get_x_and_y_as_the_use_has_them() -> None:
    @gw.page
    def product(a: Any, b: Any) -> Any:
        return a * b

    a, b = gw.constant("a", [1.0, 2.0]), gw.constant("b", [1.0, 2.0])
    shown = picture(gw.build(gw.loss(gw.sum(product(a, b))), field(page="product")))
    levels = shown.levels
    assert levels[0, -1] == levels[-1, 0] == 255 and levels[0, 0] == levels[-1, -1] == 1

    @gw.page
    def columns(a: Any, b: Any) -> Any:
        return gw.matmul(a, [[1.0]]) + gw.matmul(b, [[1.0]])

    a, b = gw.constant("a", [[1.0]]), gw.constant("b", [[2.0]])
    shown = picture(gw.build(gw.loss(gw.sum(columns(a, b))), field(page="columns")))
    assert shown.levels[0, -1] == 255 and shown.levels[-1, 0] == 1


def test_several_columns_show_the_largest_or_one_of_them() -> None:
    @gw.page
    def scores(p: Any) -> Any:
        return p @ gw.variable("w", [[-1.0, 1.0], [0.0, 0.0]])

    used = gw.loss(gw.sum(scores(gw.constant("points", [[0.0, 0.0]]))))
    classes = picture(gw.build(used, field(page="scores")))
    assert classes.scale == "classes" and classes.labels == ("0", "1")
    half = RESOLUTION // 2
    assert (classes.levels[:, :half] == 1).all() and (classes.levels[:, half:] == 2).all()
    used = gw.loss(gw.sum(scores(gw.constant("points", [[0.0, 0.0]]))))
    first = picture(gw.build(used, field(page="scores", column=0)))
    assert first.levels[0, 0] == 255 and first.levels[0, -1] == 1
    used = gw.loss(gw.sum(scores(gw.constant("points", [[0.0, 0.0]]))))
    assert "2 columns" in picture(gw.build(used, field(page="scores", column=5))).summary


def test_the_decision_line_is_where_the_page_gives_the_centre() -> None:
    line = linear(1.0)
    used = gw.loss(gw.sum(line(gw.constant("points", [[0.0, 0.0]]))))
    shown = picture(gw.build(used, field(centre=0.25)))
    pieces = shown.lines
    assert len(pieces) >= RESOLUTION - 1
    np.testing.assert_allclose(pieces[:, [0, 2]], 0.25, atol=1e-6)
    length = np.hypot(pieces[:, 2] - pieces[:, 0], pieces[:, 3] - pieces[:, 1]).sum()
    assert length == pytest.approx(2.0)
    half = shown.levels[0, int(0.625 * RESOLUTION)]
    assert abs(int(half) - 128) <= 12, "the centre has the middle colour"


def twice(*, independent: bool, use: str = "") -> Diagram:
    line = linear(1.0)
    points = gw.constant("points", [[1.0, 0.0]])
    one = line(points, name="one", independent=independent)
    other = line(points, name="other", independent=independent)
    return gw.build(gw.loss(gw.sum(one) + gw.sum(other)), field(use=use))


def test_uses_that_share_their_variables_need_no_name() -> None:
    assert isinstance(picture(twice(independent=False)), FieldPicture)


def test_of_independent_uses_one_must_be_named() -> None:
    why = picture(twice(independent=True))
    assert isinstance(why, NoPicture)
    assert why.summary == "line has different variables in one, other: name one as use"
    diagram = twice(independent=True, use="other")
    session = Session(diagram)
    session.set("other/w", [[5.0], [0.0]])
    assert picture(diagram, session).high == pytest.approx(5.0)
    session.set("one/w", [[9.0], [0.0]])
    assert picture(diagram, session).high == pytest.approx(5.0)


def test_variables_of_pages_inside_are_those_of_the_use() -> None:
    @gw.page
    def inner(p: Any) -> Any:
        return p @ gw.variable("w", [[1.0], [0.0]])

    @gw.page
    def outer(p: Any) -> Any:
        return inner(p, name="deep") * gw.variable("scale", 1.0)

    used = gw.loss(gw.sum(outer(gw.constant("points", [[0.0, 0.0]]), name="use")))
    diagram = gw.build(used, field(page="outer"))
    session = Session(diagram)
    session.set("use/deep/w", [[3.0], [0.0]])
    session.set("use/scale", 2.0)
    assert picture(diagram, session).high == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"page": ""}, "choose a page"),
        ({"page": "lime"}, "no page 'lime'. Did you mean line?"),
        ({"page": "pair"}, "pair needs one or two inputs and one output"),
        ({"page": "idle"}, "no block uses page 'idle'"),
        ({"use": "useless"}, "'useless' is no use of line."),
        ({"page": "wide"}, "wide gives ("),
    ],
)
def test_what_cannot_be_drawn_says_why(parameters: dict[str, Any], why: str) -> None:
    @gw.page
    def pair(p: Any) -> Any:
        return p, p

    @gw.page
    def wide(p: Any) -> Any:
        return gw.sum(p)

    points = gw.constant("points", [[0.0, 0.0]])
    first, _ = pair(points)
    used = gw.sum(linear(1.0)(points, name="use")) + gw.sum(first) + wide(points)
    diagram = gw.build(gw.loss(used), field(**parameters))
    pages = {**diagram.pages, "idle": diagram.pages["line"]}
    shown = picture(Diagram(pages))
    assert isinstance(shown, NoPicture) and shown.summary.startswith(why)


def test_nan_has_a_level_of_its_own_and_is_counted() -> None:
    @gw.page
    def root(p: Any) -> Any:
        return gw.sqrt(p[:, 0])

    used = gw.loss(gw.sum(root(gw.constant("points", [[1.0, 0.0]]))))
    shown = picture(gw.build(used, field(page="root", colours="sequential")))
    half = RESOLUTION // 2
    assert (shown.levels[:, :half] == 0).all() and (shown.levels[:, half:] > 0).all()
    assert shown.notes == (f"{half * RESOLUTION} not finite",)


def test_values_beyond_the_scale_are_said() -> None:
    line = linear(4.0)
    used = gw.loss(gw.sum(line(gw.constant("points", [[0.0, 0.0]]))))
    shown = picture(gw.build(used, field(low=-1.0, high=1.0)))
    beyond = (np.abs(4.0 * np.linspace(-1, 1, RESOLUTION)) > 1.0).sum() * RESOLUTION
    assert shown.notes == (f"{beyond} beyond the range",)


def test_an_edit_of_the_page_is_followed() -> None:
    line = linear(1.0)
    diagram = gw.build(gw.loss(gw.sum(line(gw.constant("points", [[0.0, 0.0]])))), field())
    views, session = Views(), Session(diagram)

    def high() -> float:
        values = session.run().values
        return views.pictures(session.diagram, session.program, values)["field"].high  # type: ignore

    assert high() == 1.0
    blocks = dict(diagram.pages["line"].blocks)
    blocks["w"] = blocks["w"].with_parameters(value=[[7.0], [0.0]])
    from dataclasses import replace

    session.update(diagram.with_page("line", replace(diagram.pages["line"], blocks=blocks)))
    assert high() == pytest.approx(7.0)
    wider = session.diagram.main.blocks["field"]
    assert isinstance(wider, Field)
    main = dict(session.diagram.main.blocks)
    main["field"] = wider.with_parameters(x_max=2.0)
    session.update(session.diagram.with_page("main", replace(session.diagram.main, blocks=main)))
    assert high() == pytest.approx(14.0)


@pytest.mark.parametrize(("labels", "levels"), [
    ([0.0, 1.0], [1, 2]),
    ([1.0, -1.0], [2, 1]),
    ([True, False], [2, 1]),
    ([1.0, 1.0], [2, 2]),
    ([0.0, 0.0], [1, 1]),
    ([-1, -1], [1, 1]),
])  # fmt: skip
def test_the_greater_of_two_classes_is_that_of_high_values(labels: Any, levels: Any) -> None:
    points = gw.constant("points", [[-0.5, 0.0], [0.5, 0.0]])
    used = gw.loss(gw.sum(linear(2.0)(points, name="use")))
    (marks,) = picture(gw.build(used, field(points=points, colour=np.array(labels)))).marks
    assert marks.scale == "classes"
    assert marks.levels.tolist() == levels


@pytest.mark.parametrize("kind", [np.int64, np.float32])
def test_points_over_classes_have_the_colour_of_their_column(kind: Any) -> None:
    @gw.page
    def scores(p: Any) -> Any:
        return p @ gw.variable("w", np.ones((2, 3)))

    points = gw.constant("points", [[-0.5, 0.0], [0.5, 0.0]])
    used = gw.loss(gw.sum(scores(points, name="use")))
    labels = np.array([0, 2], kind)
    found = picture(gw.build(used, field(page="scores", points=points, colour=labels)))
    assert found.scale == "classes" and found.labels == ("0", "1", "2")
    assert found.marks[0].levels.tolist() == [1, 3], "no point has class 1"
