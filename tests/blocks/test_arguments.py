"""Which argument is named where a call fails, and which errors pass as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest

import gradwire.runtime.build as b
from gradwire.blocks.arguments import explained
from gradwire.blocks.errors import FeedError, RunError
from gradwire.runtime.diagram import check, dumps, load, loads
from gradwire.runtime.engine import Session
from gradwire.runtime.flow import diagnose, fix, observe, parse_contracts
from gradwire.runtime.flow.analyse import analyse

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram


@explained
def fail(
    name: str,
    names: Sequence[str] | None = None,
    table: Mapping[str, float] | None = None,
    kind: Literal["a", "b"] = "a",
    diagram: Diagram | None = None,
    anything: Any = None,
    *more: int,
) -> None:
    """A function that fails whatever it is given."""
    raise AttributeError("the function's own")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (dict(name=3), "fail can't use this as 'name'. Expected str, got int 3."),
        (dict(name="x", names=3), "'names'. Expected Sequence[str] | None, got int 3"),
        (dict(name="x", names=[3]), "'names'"),
        (dict(name="x", names=np.array("x")), "'names'"),
        (dict(name="x", table={"x": "y"}), "'table'"),
        (dict(name="x", table={1: 2}), "'table'"),
        (dict(name="x", kind="c"), "'kind'"),
        (dict(name="x", diagram="d"), "'diagram'. Expected Diagram | None, got str 'd'"),
    ],
)
def test_the_wrong_argument_is_named(arguments, expected):
    with pytest.raises(RunError) as caught:
        fail(**arguments)
    assert expected in str(caught.value)
    assert isinstance(caught.value.__cause__, AttributeError)


def test_one_of_several_is_named():
    with pytest.raises(RunError, match=r"'more'\. Expected int, got str 'x'"):
        fail("x", None, None, "a", None, None, 1, "x")


@pytest.mark.parametrize(
    "arguments",
    [
        ("x",),
        ("x", ["a"], {"x": 1}, "b", b.build(b.variable("v", 1.0)), object(), 1, 2),
        ("x", "one name", {"x": 1.5}),
    ],
)
def test_the_error_of_a_call_with_right_arguments_is_its_own(arguments):
    with pytest.raises(AttributeError, match="the function's own"):
        fail(*arguments)


def test_python_says_what_is_missing():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        fail()


def test_errors_of_gradwire_pass():
    session = Session(b.build(b.loss(b.variable("x", 1.0))))
    with pytest.raises(FeedError, match="no variable"):
        session.run({"y": 1.0})


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    "call",
    [
        lambda session: session.backward(3),
        lambda session: session.run(feeds=3),
        lambda session: session.update("x"),
        lambda session: session.infer_shapes([("x", 1)]),
        lambda session: analyse(session.program).verdict(slice(None)),
        lambda session: fix(session, 3),
        lambda session: observe("d.json"),
        lambda session: diagnose(session.program),
        lambda session: dumps(session),
        lambda session: check(None),
        lambda session: load({}),
        lambda session: loads(3),
        lambda session: parse_contracts(["flows(a -> b)"]),
        lambda session: b.variable(3),
        lambda session: b.page(3),
    ],
)
def test_public_functions_say_which_argument_is_wrong(call):
    with pytest.raises(RunError, match="can't use this as '"):
        call(Session(b.build(b.loss(b.variable("x", 1.0)))))
