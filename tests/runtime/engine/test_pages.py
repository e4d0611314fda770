"""Pages used as blocks: scopes, literals, reuse, nesting, recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.blocks.library.arithmetic import Add, Mul
from gradwire.blocks.library.functions import Square
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.engine import Session
from gradwire.runtime.training.optimisers import SGD
from tests.runtime.engine.drawing import draw, page

if TYPE_CHECKING:
    from gradwire.runtime.diagram.model import Diagram

SCALE = page(
    {"x": PageInput(), "w": Variable(value=3.0), "mul": Mul(), "y": PageOutput()},
    {"mul.a": "x", "mul.b": "w", "y.x": "mul"},
)


def twice() -> Diagram:
    """w → scale → scale → square: (3·3·w)²."""
    return draw(
        {
            "w": Variable(value=1.0),
            "one": PageBlock(page="scale"),
            "two": PageBlock(page="scale", independent=True),
            "loss": Square(),
        },
        {"one.x": "w", "two.x": "one.y", "loss.x": "two.y"},
        scale=SCALE,
    )


def test_a_page_is_a_scope_and_independent_uses_have_variables_of_their_own() -> None:
    session = Session(twice())
    run = session.backward()
    assert run.values["loss.out"] == 81
    assert {name: float(g) for name, g in run.gradients.items() if g is not None} == {
        "w": 162,
        "one/w": 54,
        "two/w": 54,
    }
    assert {"one.x", "one/mul.a", "one/y.x", "two.x", "loss.x"} <= set(run.contributions)
    session.step(SGD(lr=0.01), wrt=["one/w"])
    assert session.values["one/w"] != session.values["two/w"]


def test_an_output_of_a_page_block_can_be_named() -> None:
    session = Session(twice())
    assert session.run(ports=["two.y"]).values == {"two/y.out": 9}
    assert session.backward(["two.y"]).losses == ("two/y.out",)


def test_a_literal_of_the_use_feeds_the_page_input() -> None:
    session = Session(
        draw({"use": PageBlock(page="scale", literals={"x": 2}), "out": Square()},
             {"out.x": "use.y"}, scale=SCALE)
    )  # fmt: skip
    assert session.run().values["out.out"] == 36


def test_pages_nest() -> None:
    outer = page(
        {"a": PageInput(), "in": PageBlock(page="scale"), "add": Add(b=1), "b": PageOutput()},
        {"in.x": "a", "add.a": "in.y", "b.x": "add"},
    )
    session = Session(
        draw({"w": Variable(value=2.0), "use": PageBlock(page="outer"), "loss": Square()},
             {"use.a": "w", "loss.x": "use.b"}, outer=outer, scale=SCALE)
    )  # fmt: skip
    run = session.backward()
    assert run.values["loss.out"] == 49
    assert run.gradients["use/in/w"] == 28


def test_a_page_within_itself_is_a_problem_and_harms_nothing_else() -> None:
    loop = page({"x": PageInput(), "again": PageBlock(page="loop"), "y": PageOutput()},
                {"again.x": "x", "y.x": "again.y"})  # fmt: skip
    session = Session(
        draw({"w": Variable(value=2.0), "use": PageBlock(page="loop"), "loss": Square()},
             {"use.x": "w", "loss.x": "w"}, loop=loop),
        partial=True,
    )  # fmt: skip
    assert session.run().values["loss.out"] == 4
    assert any(d.severity == "error" for d in session.diagnostics)
