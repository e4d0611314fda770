"""A session goes on with a changed diagram, and plans anew only where more than numbers changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gradwire.blocks.library.activations import Tanh
from gradwire.blocks.library.arithmetic import Add, Mul
from gradwire.blocks.library.sources import Constant, Input, Variable
from gradwire.runtime.diagram import (
    MAIN,
    AddBlock,
    Connect,
    Diagram,
    MoveBlocks,
    Point,
    PortName,
    RemoveBlocks,
    RenameBlock,
    SetParameters,
    SetTitle,
    apply,
    dumps,
    loads,
)  # fmt: skip
from gradwire.runtime.engine import Session, lower, lowering, rebind
from gradwire.runtime.engine.plan.numpy_engine import NumpyEngine
from gradwire.runtime.training.optimisers import SGD
from tests.runtime.engine.drawing import draw, page, seed


@pytest.fixture
def work(monkeypatch) -> Iterator[list[str]]:
    """What was traced and planned, in order."""
    done: list[str] = []

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            done.append(name)
            return function(*given, **named)

        return call

    monkeypatch.setattr("gradwire.runtime.engine.session.programs.lower", counted("lower", lower))
    monkeypatch.setattr(NumpyEngine, "plan", counted("plan", NumpyEngine.plan))
    for name in ("check", "flatten"):
        for user in (rebind, lowering):
            monkeypatch.setattr(user, name, counted(name, getattr(user, name)))
    return done


def same_as_new(session: Session) -> None:
    """The session gives what a new one gives, bit for bit."""
    ours, fresh = session.backward(), Session(session.diagram, partial=session.partial).backward()
    for found, expected in (
        (ours.values, fresh.values),
        (ours.gradients, fresh.gradients),
        (ours.contributions, fresh.contributions),
    ):
        assert found.keys() == expected.keys()
        for name, array in expected.items():
            assert (found[name] is None) == (array is None), name
            assert array is None or np.array_equal(found[name], array), name
    mine = Session(session.diagram, partial=session.partial)
    assert list(map(str, session.diagnostics)) == list(map(str, mine.diagnostics))


def edited(diagram: Diagram, *changes: Any) -> Diagram:
    for change in changes:
        diagram = apply(diagram, change).after
    return diagram


NUMBERS = {
    "a value": SetParameters("a", {"value": [[5, 6]]}),
    "a literal": SetParameters("triple", {"a": 4}),
    "a layout": MoveBlocks({"a": Point(70.0, 10.0)}),
    "a title": SetTitle("another", "text"),
    "an initialiser": SetParameters("drawn", {"seed": 9}),
}
MORE = {
    "a shape": [SetParameters("a", {"value": [[5, 6], [7, 8]]})],
    "a dtype": [SetParameters("a", {"value": [[1, 2]], "dtype": "float64"})],
    "whether it trains": [SetParameters("a", {"trainable": False})],
    "the shape of a literal": [SetParameters("triple", {"a": [1.0, 2.0]})],
    "a literal that float32 rounds": [SetParameters("triple", {"a": 2**24 + 1})],
    "the kind of a literal": [SetParameters("triple", {"a": 4.5})],
    "a parameter": [SetParameters("joined", {"dtype": "float64"})],
    "a wire": [Connect(PortName("a", "out"), PortName("stop", "x"))],
    "a name": [RenameBlock("a", "c")],
    "a block more": [AddBlock("more", Tanh(), Point(0.0, 0.0))],
    "a block less": [RemoveBlocks(["drawn"])],
}


def start() -> Diagram:
    return edited(
        seed(),
        AddBlock("drawn", Variable(shape=[2, 3]), Point(0.0, 300.0)),
        AddBlock("joined", Constant(value=[1, 2]), Point(0.0, 400.0)),
    )


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_alone_trace_and_plan_nothing(name: str, work: list[str]) -> None:
    session = Session(start())
    session.backward()
    work.clear()
    assert session.update(edited(session.diagram, NUMBERS[name]))
    session.backward()
    assert work == (["check"] if name == "a layout" else [])
    same_as_new(session)


@pytest.mark.parametrize("name", NUMBERS)
def test_equal_blocks_that_are_other_objects_plan_nothing(name: str, work: list[str]) -> None:
    session = Session(start())
    session.backward()
    work.clear()
    after = edited(start(), NUMBERS[name])
    assert session.update(loads(dumps(after)))
    session.backward()
    assert work == ["flatten", "check"]
    same_as_new(session)


@pytest.mark.parametrize("name", MORE)
def test_all_else_begins_anew(name: str, work: list[str]) -> None:
    session = Session(start(), partial=True)
    session.backward()
    work.clear()
    assert not session.update(edited(start(), *MORE[name]))
    session.backward()
    assert "lower" in work and "plan" in work
    same_as_new(session)


def test_what_was_set_stays_unless_the_diagram_says_otherwise():
    session = Session(start())
    session.set("a", [[8, 8]])
    session.set("b", [[9, 9]])
    assert session.update(edited(start(), SetParameters("a", {"value": [[5, 6]]})))
    assert session.values["a"].tolist() == [[5, 6]]
    assert session.values["b"].tolist() == [[9, 9]]


def test_prepared_calls_see_the_new_numbers():
    session = Session(seed())
    call = session.prepare(values=["plus.out"], wrt=())
    assert call()[0].tolist() == [[1, 5]]
    session.update(edited(seed(), SetParameters("triple", {"a": 10})))
    assert call()[0].tolist() == [[1, 12]]


def test_a_step_and_its_diagram_need_no_new_plan(work: list[str]) -> None:
    session = Session(seed())
    session.step(SGD(lr=0.1))
    work.clear()
    assert session.update(session.diagram_with_values())
    session.step(SGD(lr=0.1))
    assert work == []
    assert session.values["a"].tolist() == pytest.approx(np.float32([[0.8, 1.8]]))


def test_a_number_that_several_shapes_were_fed_with():
    diagram = draw(
        {"x": Input(shape=[None]), "scale": Mul(b=2.0), "shift": Add(b=1.0)},
        {"scale.a": "x", "shift.a": "scale"},
    )
    session = Session(diagram)
    feeds: list[dict[str, Any]] = [{"x": [1.0]}, {"x": [1.0, 2.0]}]
    for feed in feeds:
        session.run(feed)
    assert session.update(edited(diagram, SetParameters("scale", {"b": 3.0})))
    assert [session.run(feed).values["shift.out"].tolist() for feed in feeds] == [[4], [4, 7]]


def test_numbers_inside_a_page_and_literals_of_its_inputs(work: list[str]) -> None:
    from gradwire.blocks.library.pages import Page, PageInput, PageOutput

    layer = page({"x": PageInput(x=7.0), "mul": Mul(b=2.0), "y": PageOutput()},
                 {"mul.a": "x", "y.x": "mul"})  # fmt: skip
    blocks = {"a": Constant(value=5.0), "one": Page(page="layer", x=0.5), "two": Page(page="layer"),
              "wired": Page(page="layer", x=9.0)}  # fmt: skip
    diagram = draw(blocks, {"wired.x": "a"}, layer=layer)
    session = Session(diagram)
    session.run()
    for change in (
        SetParameters("mul", {"b": 3.0}, "layer"),
        SetParameters("one", {"x": 0.25}),
        SetParameters("wired", {"x": 1.0}),
        SetParameters("x", {"x": 8.0}, "layer"),
        SetParameters("a", {"value": 6.0}),
    ):
        diagram = edited(diagram, change)
        work.clear()
        assert session.update(diagram)
        assert work == []
        assert session.run().values == Session(diagram).run().values
    ends = [session.run().values[f"{use}/y.out"].item() for use in ("one", "two", "wired")]
    assert ends == [0.75, 24.0, 18.0]


def test_problems_are_those_of_the_new_diagram():
    diagram = edited(seed(), AddBlock("lonely", Add(), Point(0.0, 0.0)))
    session = Session(diagram, partial=True)
    assert session.update(edited(diagram, SetParameters("a", {"value": [[7, 7]]})))
    same_as_new(session)
    assert MAIN in session.diagram.pages


def test_a_literal_that_no_longer_fits_is_told_and_one_that_fits_needs_no_new_trace():
    blocks = {"x": Constant(value=[1, 2], dtype="int8"), "m": Mul(b=3)}
    session = Session(draw(blocks, {"m.a": "x"}))

    def give(number):
        after = apply(session.diagram, SetParameters("m", {"b": number})).after
        return session.update(after)

    assert give(5) and session.run().values["m.out"].tolist() == [5, 10]
    assert not give(300)
    (told,) = session.diagnostics
    assert (told.severity, told.location.block, told.location.port) == ("error", "m", "b")
    assert told.what == "300 doesn't fit int8."
