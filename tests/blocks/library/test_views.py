"""Views: they show values, and leave every run, gradient and verdict as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import gradwire as gw
from gradwire.blocks.errors import BuildError, ShapeError
from gradwire.blocks.library.views import Field, ViewBlock, images_of
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram.edits.applying import apply
from gradwire.runtime.diagram.edits.changes import RenameBlock, RenamePage
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import State, diagnose
from gradwire.runtime.flow.analyse import analyse

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram

VIEWS = [cls for cls in registry().classes.values() if issubclass(cls, ViewBlock)]
POINTS = np.array([[0.0, 1.0], [2.0, -1.0], [0.5, 0.5]])


def diagram(*, views: bool) -> Diagram:
    """A page used on three points, its loss, and a variable that no loss reads."""

    @gw.page
    def net(p: Any) -> Any:
        return p @ gw.variable("w", [[1.0], [2.0]], dtype="float64")

    points = gw.constant("points", POINTS)
    score, idle = net(points, name="net"), gw.variable("idle", [1.0, 2.0])
    loss = gw.loss(gw.mean(score**2), name="loss")
    shown = [
        gw.scatter(points, score, name="scatter"),
        gw.field(points, page="net", use="net", name="field"),
        gw.plot(loss, gw.mean(idle), name="plot"),
        gw.histogram(score, name="histogram"),
        gw.image(score, name="image"),
    ]
    return gw.build(loss, gw.display(idle, name="display"), *(shown if views else ()))


def test_all_views_are_sinks() -> None:
    names = {cls.type_name() for cls in VIEWS}
    assert names == {"Plot", "Scatter", "Image", "Histogram", "Field"}
    assert all(cls.outputs == () and cls.family == "views" for cls in VIEWS)
    assert all(not port.required for cls in VIEWS for port in cls.inputs if not port.variadic)


def test_views_change_no_value_gradient_or_verdict() -> None:
    with_views, without = Session(diagram(views=True)), Session(diagram(views=False))
    assert with_views.losses == without.losses
    shown, plain = with_views.backward(), without.backward()
    for name, gradient in plain.gradients.items():
        np.testing.assert_array_equal(shown.gradients[name], gradient)
    states, before = analyse(with_views.program), analyse(without.program)
    assert before.states().items() <= states.states().items()
    for name in ("net/w", "idle"):
        assert states.variable(name).state is before.variable(name).state
        assert states.variable(name).sentence == before.variable(name).sentence
    found, known = diagnose(with_views), diagnose(without)
    assert [(x.key, x.sentence) for x in found] == [(x.key, x.sentence) for x in known]


def test_a_wire_into_a_view_says_that_it_is_only_shown() -> None:
    flow = analyse(diagram(views=True))
    verdict = flow.verdict("scatter.points")
    assert verdict.state is State.OFF_ROUTE
    assert verdict.sentence == "This is only shown, in scatter: a view takes no part in training."
    assert flow.program.shown == {
        "scatter.points", "scatter.colour", "field.points", "plot.values.0", "plot.values.1",
        "histogram.x", "image.x",
    } | {"mean2.x"}  # fmt: skip
    assert "plot" in flow.verdict("mean2.x").sentence
    assert "display.x" not in flow.program.shown


def test_a_number_that_only_views_read_is_a_loss_without_a_loss_block() -> None:
    total = gw.sum(gw.variable("w", [1.0, 2.0]), name="total")
    assert Session(gw.build(gw.plot(total))).losses == ["total.out"]


def test_views_cost_a_training_step_nothing() -> None:
    """The values of a plan are as many as without them."""
    counts = []
    for views in (True, False):
        session = Session(diagram(views=views))
        counts.append(len(session.prepare(values=["loss.out"]).plan.leaves))
        program = session.program
        owners = {program.flat.instances[v.owner].block.type_name() for v in program.trace.values
                  if v.owner in program.flat.instances and v.primitive.name != "wire"}  # fmt: skip
        assert not owners & {cls.type_name() for cls in VIEWS}
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    ("view", "shape", "port"),
    [
        ("Scatter", (3,), "points"),
        ("Scatter", (3, 3), "points"),
        ("Field", (2, 3), "points"),
        ("Image", (3,), "x"),
        ("Image", (2, 5, 8, 8), "x"),
    ],
)
def test_what_cannot_be_shown_is_a_warning_and_breaks_nothing(
    view: str, shape: tuple[int, ...], port: str
) -> None:
    w = gw.variable("w", np.ones(shape))
    x = w * 2.0
    session = Session(gw.build(gw.loss(gw.sum(x), name="loss"), gw.block(view, x, name="view")))
    (found,) = session.diagnostics
    assert (found.severity, found.code, found.location.block) == ("warning", "not-shown", "view")
    assert found.location.port == port and str(list(shape)) in (found.got or "")
    assert session.backward().gradients["w"] is not None
    assert analyse(session.program).verdict(f"view.{port}").state is State.OFF_ROUTE


def test_colours_belong_to_points() -> None:
    points = gw.constant("points", POINTS)
    session = Session(gw.build(gw.scatter(points, [1, 2]), gw.loss(gw.sum(points))))
    assert [(d.code, d.location.port) for d in session.diagnostics] == [("not-shown", "colour")]


def test_a_broken_block_before_a_view_says_nothing_about_what_else_it_reads() -> None:
    w = gw.variable("w", [[1.0, 2.0]])
    bad = gw.matmul(gw.variable("a", [[1.0]]), gw.constant("b", [[1.0], [2.0]]), name="bad")
    built = gw.build(gw.loss(gw.sum(gw.variable("v", [1.0]))), gw.scatter(w, bad, name="view"))
    assert analyse(built).verdict("view.points").state is State.OFF_ROUTE


@pytest.mark.parametrize(
    ("shape", "height", "expected"),
    [
        ((4, 5), 0, ((1, 4, 5), False)),
        ((4, 5, 3), 0, ((1, 4, 5, 3), False)),
        ((6, 4, 5), 0, ((6, 4, 5), False)),
        ((6, 4, 5, 1), 0, ((6, 4, 5), False)),
        ((6, 3, 4, 5), 0, ((6, 3, 4, 5), True)),
        ((6, 1, 4, 5), 0, ((6, 4, 5), False)),
        ((6, 64), 8, ((6, 8, 8), False)),
        ((64,), 8, ((1, 8, 8), False)),
    ],
)
def test_shapes_of_images(shape: Any, height: int, expected: Any) -> None:
    assert images_of(shape, height) == expected


def test_rows_that_are_no_images_are_refused() -> None:
    with pytest.raises(ShapeError, match="whole rows"):
        images_of((6, 63), 8)


def test_nothing_reads_a_view() -> None:
    with pytest.raises(BuildError, match="only shows values"):
        gw.plot(gw.variable("w", 1.0)) + 1
    with pytest.raises(BuildError, match="no block for np"):
        np.histogram(gw.variable("w", [1.0]))


def test_a_page_function_keeps_its_views() -> None:
    @gw.page
    def net(p: Any) -> Any:
        gw.histogram(p, name="inside")
        return p * 2.0

    built = gw.build(net(gw.variable("w", [1.0])))
    assert "inside" in built.pages["net"].blocks
    assert Session(built).program.shown == {"net1/inside.x"}


def test_a_field_follows_new_names() -> None:
    built = diagram(views=True)
    renamed = apply(built, RenamePage("net", "critic")).after
    field = renamed.main.blocks["field"]
    assert isinstance(field, Field)
    assert (field.page, field.use) == ("critic", "net")
    renamed = apply(renamed, RenameBlock("net", "judge")).after
    field = renamed.main.blocks["field"]
    assert isinstance(field, Field) and field.use == "judge"


@pytest.mark.parametrize(
    ("page", "said"), [("nat", "no page 'nat'"), ("two", "no function of a point")]
)
def test_a_page_that_a_field_cannot_draw_is_a_warning(page: str, said: str) -> None:
    @gw.page
    def two(p: Any) -> Any:
        return p, p * 2.0

    loss = gw.loss(gw.sum(two(gw.variable("w", [1.0]))), name="loss")
    session = Session(gw.build(loss, gw.field(page=page, name="field")))
    (found,) = session.diagnostics
    assert found.severity == "warning" and said in found.what
    assert found.location.block == "field"
    assert session.backward().losses == ("loss.out",)
