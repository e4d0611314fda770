"""Scans: steps as uses of a page, what is carried between them, conditions, errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gradwire as gw
from gradwire.blocks.errors import NotRunnableError
from gradwire.blocks.library.activations import Tanh
from gradwire.blocks.library.arithmetic import Add, Mul
from gradwire.blocks.library.containers import Pack, Unpack
from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.library.logic import Less
from gradwire.blocks.library.losses import Loss
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput, Scan
from gradwire.blocks.library.parts import Concat, Slice, Stack
from gradwire.blocks.library.reduce import Sum
from gradwire.blocks.library.shape import Reshape
from gradwire.blocks.library.sources import Constant, Variable
from gradwire.runtime.diagram import SetParameters, apply
from gradwire.runtime.diagram.model import MAIN
from gradwire.runtime.engine import Session
from gradwire.runtime.flow.analyse import analyse
from tests.runtime.engine.drawing import draw, page

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gradwire.blocks import Block
    from gradwire.runtime.diagram.edits.changes import Change
    from gradwire.runtime.diagram.model import Diagram, Page

CELL = page(
    {"x": PageInput(), "h": PageInput(), "k": PageInput(x=1.0), "w": Variable(value=0.5),
     "mul": Mul(), "add": Add(), "tanh": Tanh(), "scale": Mul(),
     "next": PageOutput(), "y": PageOutput()},
    {"mul.a": "w", "mul.b": "x", "add.a": "mul", "add.b": "h", "tanh.x": "add", "next.x": "tanh",
     "scale.a": "tanh", "scale.b": "k", "y.x": "scale"},
)  # fmt: skip
"""next = tanh(w x + h); y = k next."""


def rnn(steps: int, **parameters: Any) -> Scan:
    return Scan(page="cell", steps=steps, carry={"h": "next"}, over=("x",), **parameters)


def edited(diagram: Diagram, change: Change) -> Diagram:
    return apply(diagram, change).after


def around(scan: Block, xs: NDArray[Any], h: NDArray[Any], cell: Page = CELL) -> Diagram:
    """The loss is the sum of the stacked outputs and twice that of what is carried out."""
    return draw(
        {"xs": Variable(value=xs, dtype="float64"), "h": Variable(value=h, dtype="float64"),
         "rnn": scan, "ys": Sum(), "last": Sum(), "twice": Mul(b=2), "add": Add(), "loss": Loss()},
        {"rnn.x": "xs", "rnn.h": "h", "ys.x": "rnn.y", "last.x": "rnn.next", "twice.a": "last",
         "add.a": "ys", "add.b": "twice", "loss.x": "add"},
        cell=cell,
    )  # fmt: skip


def by_hand(order: list[int], xs: NDArray[Any], h: NDArray[Any]) -> Diagram:
    """The same with a use of the page for each step."""
    blocks: dict[str, Block] = {
        "xs": Variable(value=xs, dtype="float64"), "h": Variable(value=h, dtype="float64"),
        "stack": Stack(), "ys": Sum(), "last": Sum(), "twice": Mul(b=2), "add": Add(),
        "loss": Loss(),
    }  # fmt: skip
    wires = {"ys.x": "stack", "twice.a": "last", "add.a": "ys", "add.b": "twice", "loss.x": "add"}
    before = "h"
    for t in order:
        blocks[f"x{t}"] = Slice(begin=(t,), size=(1,))
        blocks[f"flat{t}"] = Reshape(shape=xs.shape[1:])
        blocks[f"use{t}"] = PageBlock(page="cell")
        wires |= {f"x{t}.x": "xs", f"flat{t}.x": f"x{t}", f"use{t}.x": f"flat{t}"}
        wires |= {f"use{t}.h": before, f"stack.parts.{t}": f"use{t}.y"}
        before = f"use{t}.next"
    return draw(blocks, wires | {"last.x": before}, cell=CELL)


@given(
    steps=st.integers(1, 5),
    shape=st.lists(st.integers(1, 3), max_size=2).map(tuple),
    reverse=st.booleans(),
    seed=st.integers(0, 99),
)
def test_a_scan_is_its_steps_one_after_the_other(
    steps: int, shape: tuple[int, ...], reverse: bool, seed: int
) -> None:
    draws = np.random.default_rng(seed)
    xs, h = draws.normal(size=(steps, *shape)), draws.normal(size=shape)
    order = list(range(steps))[:: -1 if reverse else 1]
    found = Session(around(rnn(steps, reverse=reverse), xs, h)).backward()
    hand = Session(by_hand(order, xs, h)).backward()
    assert found.values["rnn.y"].tolist() == hand.values["stack.out"].tolist()
    assert found.values["rnn.next"].tolist() == hand.values[f"use{order[-1]}.next"].tolist()
    for name, use in (("xs", "xs"), ("h", "h"), ("rnn/0/w", "use0/w")):
        np.testing.assert_allclose(
            found.gradients[name], hand.gradients[use], rtol=1e-12, strict=True
        )


def test_wires_into_a_scan_have_one_contribution_that_is_the_sum_over_the_steps() -> None:
    xs = np.array([[1.0], [2.0], [3.0]])
    diagram = around(rnn(3), xs, np.zeros(1))
    main = diagram.main
    wires = {**main.wires, **page({}, {"rnn.k": "k"}).wires}
    blocks = {**main.blocks, "k": Variable(value=2.0, dtype="float64")}
    diagram = diagram.with_page(MAIN, type(main)(blocks, wires))
    run = Session(diagram).backward()
    parts = [run.contributions[f"rnn/{t}.k"] for t in range(3)]
    assert run.contributions["rnn.k"] == pytest.approx(sum(parts))
    assert run.gradients["k"] == run.contributions["rnn.k"]
    assert run.contributions["rnn.x"].shape == (3, 1)
    assert run.contributions["rnn/1.x"] == run.contributions["rnn.x"][1]


def test_variables_are_found_under_each_step_and_the_scan_can_have_its_own() -> None:
    blocks: dict[str, Block] = {
        "xs": Constant(value=[1.0, 2.0]),
        "a": rnn(2, h=0),
        "b": rnn(2, h=0, independent=True),
    }
    wires = {"a.x": "xs", "b.x": "xs"}
    session = Session(draw(blocks, wires, cell=CELL))
    assert {*session.program.trainable} == {"a/0/w", "b/0/w"}
    assert set(session.program.flat.names("b/1/w")) == {"b/0/w", "b/1/w"}
    session.set("b/1/w", 3.0)
    stored = session.diagram_with_values()
    assert Session(stored).values["a/0/w"] == 0.5
    assert Session(stored).values["b/1/w"] == 3.0


def test_literals_feed_a_scan_and_new_ones_need_no_new_trace() -> None:
    cell = page(
        {"x": PageInput(), "k": PageInput(x=2.0), "mul": Mul(), "y": PageOutput()},
        {"mul.a": "x", "mul.b": "k", "y.x": "mul"},
    )
    diagram = draw({"s": Scan(page="cell", steps=3, over=("x",), x=[1, 2, 3])}, {}, cell=cell)
    session = Session(diagram)
    program = session.program
    assert session.run().values["s.y"].tolist() == [2, 4, 6]
    diagram = edited(diagram, SetParameters("k", {"x": 3.0}, "cell"))
    diagram = edited(diagram, SetParameters("s", {"x": [1, 2, 4]}))
    session.update(diagram)
    assert session.program is program
    assert session.run().values["s.y"].tolist() == [3, 6, 12]


def halving(start: float, **initial: Any) -> Diagram:
    """Halves x until it is below 1; y is what each step begins with."""
    cell = page(
        {"x": PageInput(), "go": PageInput(x=True), "half": Mul(b=0.5), "small": Less(a=1.0),
         "next": PageOutput(), "more": PageOutput(), "y": PageOutput()},
        {"half.a": "x", "small.b": "half", "next.x": "half", "more.x": "small", "y.x": "x"},
    )  # fmt: skip
    scan = Scan(page="cell", steps=6, carry={"x": "next"}, condition="more", **initial)
    return draw(
        {"start": Variable(value=start), "s": scan, "loss": Sum()},
        {"s.x": "start", "loss.x": "s.next"},
        cell=cell,
    )


def test_a_condition_ends_the_loop_and_its_gradient_is_that_of_the_steps_that_ran() -> None:
    run = Session(halving(5.0)).backward()
    assert run.values["s.next"] == 0.625
    assert run.values["s.y"].tolist() == [5, 2.5, 1.25, 0, 0, 0]
    assert run.values["s.more"].tolist() == [True, True, False, False, False, False]
    assert run.gradients["start"] == 0.125
    stacked = Session(halving(5.0)).backward(["s.y"], out_gradients={"s.y": np.ones(6)})
    assert stacked.gradients["start"] == 1.75


def test_a_condition_that_is_carried_may_leave_out_the_first_step() -> None:
    carried = {"x": "next", "go": "more"}
    for go, last, gradient in ((True, 0.625, 0.125), (False, 5.0, 1.0)):
        diagram = edited(halving(5.0), SetParameters("s", {"carry": carried, "go": go}))
        run = Session(diagram).backward()
        assert (run.values["s.next"], run.gradients["start"]) == (last, gradient)
        assert run.values["s.more"] == False  # noqa: E712


def test_scans_nest() -> None:
    outer = page(
        {"x": PageInput(), "h": PageInput(), "inner": rnn(2), "next": PageOutput(),
         "y": PageOutput()},
        {"inner.x": "x", "inner.h": "h", "next.x": "inner.next", "y.x": "inner.y"},
    )  # fmt: skip
    xs = np.arange(6.0).reshape(3, 2) / 10
    whole = Scan(page="outer", steps=3, carry={"h": "next"}, over=("x",))
    diagram = around(whole, xs, np.array(0.1)).with_page("outer", outer)
    flat = around(rnn(6), xs.reshape(6), np.array(0.1))
    run, alike = Session(diagram).backward(), Session(flat).backward()
    assert run.values["rnn.y"].reshape(6).tolist() == alike.values["rnn.y"].tolist()
    np.testing.assert_allclose(run.gradients["rnn/0/inner/0/w"], alike.gradients["rnn/0/w"])
    assert run.values["rnn/2/inner/1/x.out"] == 0.5


def test_trees_can_be_carried_and_stacked() -> None:
    cell = page(
        {"s": PageInput(), "un": Unpack(paths=("a", "b")), "add": Add(), "pack": Pack(keys="a, b"),
         "next": PageOutput(), "y": PageOutput()},
        {"un.x": "s", "add.a": "un.a", "add.b": "un.b", "pack.items.0": "un.b",
         "pack.items.1": "add", "next.x": "pack", "y.x": "pack"},
    )  # fmt: skip
    scan = Scan(page="cell", steps=5, carry={"s": "next"})
    diagram = draw(
        {"a": Variable(value=0.0), "b": Variable(value=1.0), "pack": Pack(keys="a, b"), "s": scan},
        {"pack.items.0": "a", "pack.items.1": "b", "s.s": "pack"},
        cell=cell,
    )
    values = Session(diagram).run().values
    assert values["s/y.out:b"].tolist() == [1, 2, 3, 5, 8]
    assert values["s/4/next.out:a"] == 5


def test_a_scan_of_no_steps_gives_out_what_is_carried_in_but_can_not_stack() -> None:
    cell = page({"h": PageInput(), "neg": Mul(b=-1), "next": PageOutput()},
                {"neg.a": "h", "next.x": "neg"})  # fmt: skip
    scan = Scan(page="cell", steps=0, carry={"h": "next"}, h=2.0)
    diagram = draw({"s": scan, "sum": Sum()}, {"sum.x": "s.next"}, cell=cell)
    assert Session(diagram).run().values["sum.out"] == 2
    stacking = draw({"s": Scan(page="cell", steps=0, h=2.0), "sum": Sum()}, {"sum.x": "s.next"},
                    cell=cell)  # fmt: skip
    with pytest.raises(NotRunnableError, match="0 steps can't stack"):
        Session(stacking).run()


def test_an_open_variable_gets_the_shape_that_the_steps_need() -> None:
    xs = np.ones((4, 3))
    diagram = around(rnn(4), xs, np.ones(3))
    blocks = {**diagram.main.blocks, "h": Variable()}
    diagram = diagram.with_page(MAIN, type(diagram.main)(blocks, diagram.main.wires))
    assert Session(diagram).values["h"].shape == (3,)


def one_error(diagram: Diagram) -> str:
    session = Session(diagram)
    (error,) = (d for d in session.program.diagnostics if d.severity == "error")
    with pytest.raises(NotRunnableError):
        session.backward()
    return str(error)


def test_an_input_must_have_an_element_for_each_step() -> None:
    text = one_error(around(rnn(3), np.ones((4, 2)), np.zeros(2)))
    assert "rnn/x" in text
    assert "length 3" in text
    assert "[4, 2]" in text


def test_what_is_carried_keeps_its_shape_unless_it_is_a_scalar_at_first() -> None:
    text = one_error(around(rnn(3), np.ones((3, 2)), np.zeros(1)))
    assert "'h' does not keep its shape" in text
    assert "float64 [1], as in step 0" in text
    assert "float64 [2] in step 1" in text
    assert Session(around(rnn(3), np.ones((3, 2)), np.array(0.0))).run().values["rnn.next"].shape
    growing = page(
        {"x": PageInput(), "h": PageInput(), "join": Concat(), "next": PageOutput(),
         "y": PageOutput()},
        {"join.parts.0": "x", "join.parts.1": "h", "next.x": "join", "y.x": "join"},
    )  # fmt: skip
    assert "[3] in step 1" in one_error(around(rnn(3), np.ones((3, 2)), np.ones(1), growing))


def test_a_condition_must_be_a_single_boolean() -> None:
    assert "no boolean" in one_error(around(rnn(3, condition="y"), np.ones(3), np.array(0.0)))


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"carry": {"hh": "next"}}, "carry names 'hh', which is no input of the page."),
        ({"carry": {"h": "nxt"}}, "carry names 'nxt', which is no output"),
        ({"over": ("x", "next")}, "over names 'next', which is no input"),
        ({"condition": "x"}, "condition names 'x', which is no output"),
    ],
)
def test_parameters_must_name_ports_of_the_page(parameters: dict[str, Any], said: str) -> None:
    scan = Scan.from_record({**rnn(3).to_record(), **parameters})
    assert said in one_error(around(scan, np.ones(3), np.array(0.0)))


def test_a_port_can_not_have_the_name_of_a_step() -> None:
    cell = page({"0": PageInput(), "y": PageOutput()}, {"y.x": "0"})
    diagram = draw({"c": Constant(value=1.0), "s": Scan(page="cell", steps=2), "sum": Sum()},
                   {"s.0": "c", "sum.x": "s.y"}, cell=cell)  # fmt: skip
    assert "names its steps by number" in one_error(diagram)


def test_a_stop_in_the_page_cuts_each_step() -> None:
    cut = page({**CELL.blocks, "stop": StopGradient()},
               {"mul.a": "w", "mul.b": "x", "stop.x": "h", "add.a": "mul", "add.b": "stop",
                "tanh.x": "add", "next.x": "tanh", "scale.a": "tanh", "scale.b": "k",
                "y.x": "scale"})  # fmt: skip
    session = Session(around(rnn(3), np.ones(3), np.array(0.0), cut))
    run = session.backward(adjoints="stops")
    assert run.gradients["h"] is None
    assert run.adjoints["rnn/2/stop.out"] is not None
    assert run.contributions["rnn/2.h"] is None
    flow = analyse(session.program)
    assert flow.variable("h").sentence.startswith("rnn/0/stop, rnn/1/stop and rnn/2/stop stop")
    assert flow.verdict("rnn/2.h").sentence == "rnn/2/stop stops every route to loss."
    assert flow.verdict("rnn/0/next.x").sentence.startswith("rnn/1/stop and rnn/2/stop stop")


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_is_that_of_jax(reverse: bool) -> None:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        draws = np.random.default_rng(1)
        xs, h = draws.normal(size=(4, 3)), draws.normal(size=3)

        def loss(w: Any, xs: Any, h: Any) -> Any:
            def step(h: Any, x: Any) -> Any:
                new = jax.numpy.tanh(w * x + h)
                return new, new

            last, ys = jax.lax.scan(step, h, xs, reverse=reverse)
            return ys.sum() + 2 * last.sum()

        value, wanted = jax.value_and_grad(loss, (0, 1, 2))(0.5, xs, h)
        run = Session(around(rnn(4, reverse=reverse), xs, h)).backward()
        assert run.values["loss.out"] == pytest.approx(float(value), rel=1e-6)
        for name, gradient in zip(("rnn/0/w", "xs", "h"), wanted, strict=True):
            np.testing.assert_allclose(run.gradients[name], gradient, rtol=1e-6)


def test_the_elements_of_many_steps_stay_in_order() -> None:
    cell = page({"x": PageInput(), "y": PageOutput()}, {"y.x": "x"})
    xs = np.arange(281.0)
    diagram = draw(
        {"xs": Variable(value=xs), "s": Scan(page="cell", steps=281, over=("x",)), "sum": Sum()},
        {"s.x": "xs", "sum.x": "s.y"},
        cell=cell,
    )
    run = Session(diagram).backward(["s.y"], out_gradients={"s.y": xs})
    assert run.values["s.y"].tolist() == run.gradients["xs"].tolist() == xs.tolist()


@pytest.mark.parametrize("reverse", [False, True])
def test_what_is_carried_may_be_read_by_what_else_is_carried_alone(reverse: bool) -> None:
    @gw.page("cell")
    def cell(h: gw.Expression, c: gw.Expression) -> dict[str, gw.Expression]:
        return {"h_n": c + 1.0, "c_n": h * 2.0}

    h, c = gw.constant("h", [1.0]), gw.constant("c", [3.0])
    found = gw.scan(cell, h, c, steps=12, carry={"h": "h_n", "c": "c_n"}, reverse=reverse, name="s")
    run = gw.Session(gw.build(gw.loss(gw.sum(found["h_n"]), name="loss"))).run()
    one, other = 1.0, 3.0
    for _ in range(12):
        one, other = other + 1.0, one * 2.0
    assert run.values["loss.out"] == one
