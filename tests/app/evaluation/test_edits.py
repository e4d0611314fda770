"""Results after edits: new numbers work out numbers alone, and nothing is ever out of date."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradwire.app.evaluation.evaluator import Evaluation, evaluate
from gradwire.blocks.errors import ChangeError
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram import Connect, Diagram, PortName, SetParameters, apply
from gradwire.runtime.engine import lowering, rebind
from gradwire.runtime.flow.analyse import Flow
from gradwire.runtime.flow.structure.reachability import FlowGraph
from gradwire.runtime.flow.structure.searches import WireStates
from tests.app.canvas.pages import block, diagram, page
from tests.strategies import changes, diagrams

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gradwire.app.evaluation.result import EvaluationResult


def two_losses() -> Diagram:
    """Two losses over a page that is used twice, a stop, a tree, and a frozen variable."""
    layer = page(
        {
            "in": block("PageInput"),
            "w": block("Variable", value=0.5),
            "mul": block("Mul"),
            "y": block("PageOutput"),
        },
        {"mul.a": "in.out", "mul.b": "w.out", "y.x": "mul.out"},
    )
    shown = diagram(
        {
            "x": block("Variable", value=[1.0, 2.0]),
            "frozen": block("Variable", value=3.0, trainable=False),
            "one": block("Page", page="layer"),
            "two": block("Page", page="layer"),
            "stop": block("StopGradient"),
            "pack": block("Pack", keys=("a", "b")),
            "pick": block("Pick", path="b"),
            "bent": block("Mul", b=2.0),
            "total": block("Sum"),
            "loss": block("Loss"),
            "aside": block("Loss"),
        },
        {
            "one.in": "x.out",
            "two.in": "one.y",
            "stop.x": "two.y",
            "pack.items.0": "stop.out",
            "pack.items.1": "two.y",
            "pick.x": "pack.out",
            "bent.a": "pick.out",
            "total.x": "bent.out",
            "loss.x": "total.out",
            "aside.x": "frozen.out",
        },
    )
    return Diagram({**shown.pages, "layer": layer})


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What was worked out of the structure, in order."""
    done: list[str] = []

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            done.append(name)
            return function(*given, **named)

        return call

    for name in ("check", "flatten"):
        for user in (rebind, lowering):
            monkeypatch.setattr(user, name, counted(name, getattr(user, name)))
    for user, name in (
        ("gradwire.runtime.engine.session.programs", "lower"),
        ("gradwire.runtime.engine.session.execution", "compile_request"),
        ("gradwire.runtime.flow.analyse", "Flow"),
        ("gradwire.runtime.flow.structure.searches", "FlowGraph"),
    ):
        kept = {"Flow": Flow, "FlowGraph": FlowGraph}.get(name)
        module = __import__(user, fromlist=[name])
        monkeypatch.setattr(module, name, counted(name, kept or getattr(module, name)))
    monkeypatch.setattr(WireStates, "of_wire", counted("state", WireStates.of_wire))
    monkeypatch.setattr(Flow, "arrives", counted("arrives", Flow.arrives))
    return done


NUMBERS = {
    "a variable": SetParameters("x", {"value": [5.0, -1.0]}),
    "one inside a page": SetParameters("w", {"value": 0.0}, "layer"),
    "one that is frozen": SetParameters("frozen", {"value": 8.0}),
    "a literal": SetParameters("bent", {"b": -4.0}),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_new_numbers_leave_the_structure_alone(name: str, work: list[str]) -> None:
    evaluation, before = Evaluation(), two_losses()
    evaluation(before)
    assert {"lower", "compile_request", "Flow", "FlowGraph", "state", "arrives"} <= set(work)
    work.clear()
    after = apply(before, NUMBERS[name]).after
    result = evaluation(after)
    assert work == []
    same(result, evaluate(after))


def test_a_new_wire_is_a_new_structure(work: list[str]) -> None:
    evaluation, before = Evaluation(), two_losses()
    evaluation(before)
    work.clear()
    after = apply(before, Connect(PortName("x", "out"), PortName("aside", "x"))).after
    result = evaluation(after)
    assert {"lower", "compile_request", "Flow", "FlowGraph", "state"} <= set(work)
    same(result, evaluate(after))


@pytest.mark.night
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=40)
@given(st.data())
def test_after_any_edits_a_result_is_what_it_would_be_alone(data: st.DataObject) -> None:
    evaluation, shown = Evaluation(), data.draw(diagrams() | st.just(two_losses()))
    evaluation(shown)
    for _ in range(data.draw(st.integers(1, 4))):
        try:
            shown = apply(shown, data.draw(numbers(shown) | changes(shown))).after
        except ChangeError:
            continue
        same(evaluation(shown), evaluate(shown))


def numbers(shown: Diagram) -> st.SearchStrategy[SetParameters]:
    """Other numbers of the same kind for one of the variables."""
    found = [
        (name, where, held.value.array)
        for where, content in shown.pages.items()
        for name, held in content.blocks.items()
        if isinstance(held, Variable) and held.value is not None
    ]
    if not found:
        return st.nothing()

    def changed(chosen: tuple[str, str, NDArray[Any]], factor: np.int8) -> SetParameters:
        name, where, array = chosen
        with np.errstate(invalid="ignore"):  # zero times infinity
            return SetParameters(name, {"value": array * factor}, where)

    return st.builds(changed, st.sampled_from(found), st.sampled_from([0, 1, 3]).map(np.int8))


def same(found: EvaluationResult | None, expected: EvaluationResult | None) -> None:
    """Two results say the same, bit for bit."""
    assert found is not None and expected is not None
    assert found.error == expected.error
    assert list(map(str, found.diagnostics)) == list(map(str, expected.diagnostics))
    assert (found.losses, found.states, found.badges) == (
        expected.losses,
        expected.states,
        expected.badges,
    )
    for table in ("values", "gradients", "contributions", "norms", "zeros"):
        one, two = getattr(found, table), getattr(expected, table)
        assert one.keys() == two.keys(), table
        for name, value in two.items():
            assert (one[name] is None) == (value is None), (table, name)
            assert value is None or np.array_equal(one[name], value, equal_nan=True), (table, name)
    for loss in (None, *expected.losses):
        for wire in expected.states:
            assert found.verdict(wire, loss) == expected.verdict(wire, loss)
