"""Uses of a page share its variables, as one module called twice does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gradwire.blocks.errors import FeedError
from gradwire.blocks.library.arithmetic import Mul
from gradwire.blocks.library.functions import Square
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.flatten import flatten
from gradwire.runtime.flow import State, WhatIf, ledger, observe
from gradwire.runtime.flow.analyse import analyse
from gradwire.runtime.flow.tools.contracts import check_contracts, is_blocked, parse_contracts
from gradwire.runtime.flow.tools.dialects import dialects
from gradwire.runtime.flow.tools.ledger import account as account_of
from gradwire.runtime.training.optimisers import SGD
from tests.runtime.engine.drawing import draw, page

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram.model import Diagram

SCALE = page(
    {"x": PageInput(), "w": Variable(value=3.0), "mul": Mul(), "y": PageOutput()},
    {"mul.a": "x", "mul.b": "w", "y.x": "mul"},
)
NEST = page(
    {
        "x": PageInput(),
        "own": PageBlock(page="scale", independent=True),
        "one": PageBlock(page="scale"),
        "y": PageOutput(),
    },
    {"own.x": "x", "one.x": "own.y", "y.x": "one.y"},
)


def chain(uses: dict[str, Block]) -> Diagram:
    """v → the uses, one after the other → square."""
    blocks: dict[str, Block] = {"v": Variable(value=1.0), **uses, "loss": Square()}
    wires, before = {}, "v"
    for name in uses:
        wires[f"{name}.x"], before = before, f"{name}.y"
    return draw(blocks, {**wires, "loss.x": before}, scale=SCALE, nest=NEST)


def twice(**second: Any) -> Diagram:
    return chain({"one": PageBlock(page="scale"), "two": PageBlock(page="scale", **second)})


def test_two_uses_are_one_variable_and_gradients_add_up() -> None:
    session = Session(twice())
    run = session.backward()
    assert list(session.values) == ["v", "one/w"]
    assert run.values["loss.out"] == 81
    assert run.gradients == {"v": 162, "one/w": 108}
    assert run.contributions["one/mul.b"] == run.contributions["two/mul.b"] == 54
    session.step(SGD(lr=0.01))
    assert session.values["two/w"] == session.values["one/w"] == pytest.approx(1.92)
    saved = Session(session.diagram_with_values())
    assert saved.values == session.values


def test_an_independent_use_has_variables_of_its_own() -> None:
    run = Session(twice(independent=True)).backward()
    assert run.gradients == {"v": 162, "one/w": 54, "two/w": 54}


def test_any_use_names_the_variable() -> None:
    session = Session(twice())
    session.set("two/w", 2.0)
    assert session.values["one/w"] == session.values["two/w"] == 2
    run = session.backward(wrt=["two/w"], feeds={"two/w": 1.0})
    assert list(run.gradients) == ["one/w"] and run.gradients["two/w"] == 4
    assert run.values["two/w.out"] == 1
    assert run.gradients.get("two/v") is None
    by_port = session.backward(wrt=["two/w.out"]).gradients
    assert by_port["two/w.out"] == by_port["one/w.out"]
    call = session.prepare(["two/w"], values=["loss"], wrt=["two/w"])
    assert [float(a) for a in call(1.0) if a is not None] == [1, 4]
    with pytest.raises(FeedError, match="fed twice"):
        session.run({"one/w": 1.0, "two/w": 2.0})


def assert_stored(session: Session) -> Diagram:
    """The diagram with the values: a session of it has the same values and gradients."""
    stored = session.diagram_with_values()
    again = Session(stored)
    assert again.values == session.values
    assert again.backward().gradients == session.backward().gradients
    return stored


def test_independent_uses_that_trained_apart_get_pages_of_their_own() -> None:
    session = Session(twice(independent=True))
    session.set("two/w", 2.0)
    stored = assert_stored(session)
    assert stored.pages.keys() - session.diagram.pages.keys() == {"scale1"}
    assert stored.main.wires == session.diagram.main.wires
    session.set("one/w", 2.0)
    assert session.diagram_with_values().pages.keys() == session.diagram.pages.keys()
    session.step(SGD(lr=0.01))
    assert_stored(session)


def test_what_uses_inside_an_independent_one_share_stays_shared() -> None:
    double = page(
        {"x": PageInput(), "p": PageBlock(page="scale"), "q": PageBlock(page="scale"),
         "y": PageOutput()},
        {"p.x": "x", "q.x": "p.y", "y.x": "q.y"},
    )  # fmt: skip
    uses = {"a": PageBlock(page="double"), "b": PageBlock(page="double", independent=True)}
    session = Session(chain(uses).with_page("double", double))
    session.set("b/p/w", 0.5)
    stored = Session(assert_stored(session))
    stored.set("b/q/w", 0.25)
    assert stored.values["b/p/w"] == 0.25
    assert stored.values["a/p/w"] == 3.0


@settings(max_examples=8, deadline=None)
@given(st.permutations(["a/own/w", "a/one/w", "b/own/w", "c/w", "d/own/w"]))
@example(["b/own/w", "a/own/w", "a/one/w", "c/w", "d/own/w"])
def test_values_of_nested_uses_are_stored_in_whatever_order(order: list[str]) -> None:
    session = Session(
        chain(
            {
                "a": PageBlock(page="nest"),
                "b": PageBlock(page="nest", independent=True),
                "c": PageBlock(page="scale"),
                "d": PageBlock(page="nest", independent=True),
            }
        )
    )
    for number, path in enumerate(order):
        session.set(path, 0.1 * number)
    assert_stored(session)


def test_the_first_use_is_the_one_nested_least() -> None:
    flat = flatten(chain({"a": PageBlock(page="nest"), "b": PageBlock(page="scale")}))
    assert flat.names("a/one/w") == ("b/w", "a/one/w")
    assert flat.names("a/own/w") == ("a/own/w",)


def test_an_independent_use_inside_a_shared_page_is_shared_with_it() -> None:
    flat = flatten(chain({"a": PageBlock(page="nest"), "b": PageBlock(page="nest")}))
    assert flat.names("b/own/w") == ("a/own/w", "b/own/w")
    assert flat.names("b/one/w") == ("a/one/w", "b/one/w")


def test_inside_an_independent_use_pages_share() -> None:
    double = page(
        {"x": PageInput(), "p": PageBlock(page="scale"), "q": PageBlock(page="scale"),
         "y": PageOutput()},
        {"p.x": "x", "q.x": "p.y", "y.x": "q.y"},
    )  # fmt: skip
    diagram = chain(
        {"a": PageBlock(page="double"), "b": PageBlock(page="double", independent=True)}
    )
    flat = flatten(diagram.with_page("double", double))
    assert flat.names("a/q/w") == ("a/p/w", "a/q/w")
    assert flat.names("b/q/w") == ("b/p/w", "b/q/w")


def test_new_numbers_in_a_shared_page_need_no_new_program() -> None:
    session = Session(twice())
    session.backward()
    content = session.diagram.pages["scale"]
    changed = replace(content, blocks={**content.blocks, "w": Variable(value=2.0)})
    assert session.update(session.diagram.with_page("scale", changed))
    assert session.backward().values["loss.out"] == 16
    assert not session.update(twice(independent=True))


def test_the_sentence_names_every_use() -> None:
    flow = analyse(Session(twice()).program)
    for name in ("one/w", "two/w"):
        assert "one/w and two/w are one variable" in flow.variable(name).sentence


def test_contracts_name_a_variable_by_any_use() -> None:
    flow = analyse(Session(twice()).program)
    for path in ("one/w", "two/w", "two/*"):
        (kept,) = check_contracts(parse_contracts(f"flows(loss -> {path})"), None, flow)
        (broken,) = check_contracts(parse_contracts(f"blocked(loss -> {path})"), None, flow)
        assert kept.kept and [b.subject for b in broken.breaches] == ["one/w"]
    (both, _) = check_contracts(
        parse_contracts("updates(d -> one/*)\nupdates(g -> two/*)"), None, flow
    )
    assert [b.sentence for b in both.breaches] == ["g updates one/w, too."]


def test_the_doctor_takes_a_contract_on_any_use() -> None:
    program = Session(twice()).program
    stated = parse_contracts("blocked(loss -> two/*)")
    assert is_blocked(program, stated, "one/w", "loss.out")


def test_dialects_and_adjoints_of_any_use() -> None:
    observed = observe(Session(twice()))
    assert dialects(observed, "two/w") == dialects(observed, "one/w")
    assert observed.arriving("two/w.out") == observed.arriving("one/w.out") == 108


def test_what_if_freezes_the_variable_in_all_uses() -> None:
    after = WhatIf(Session(twice())).freeze("two/w").compare().after
    assert after.variable("one/w").state is after.variable("two/w").state is State.FROZEN


def test_the_ledger_has_one_account_with_an_entry_for_each_use() -> None:
    session = Session(twice())
    for port in ("one/w.out", "two/w.out"):
        account = account_of(session.program, session.backward(), port)
        assert account is not None and account.total == 108
        assert {entry.by for entry in account.entries} == {"one/mul.b", "two/mul.b"}


USES = st.lists(
    st.tuples(st.sampled_from(["scale", "nest"]), st.booleans()), min_size=1, max_size=5
)


class ByHand:
    """The diagram of those uses without pages: what a program with modules would compute."""

    def __init__(self, uses: list[tuple[str, bool]]) -> None:
        self.blocks: dict[str, Block] = {"v": Variable(value=1.0)}
        self.wires: dict[str, str] = {}
        self.muls: dict[str, str] = {}
        """From the path of each Mul to its name here."""
        self.calls: dict[str, list[str]] = {"v": ["v"]}
        """From each variable here to its paths."""
        self.end = "v"
        shared: dict[str, Any] = {}
        for i, (name, independent) in enumerate(uses):
            module = {} if independent else shared
            if name == "scale":
                self.scale(module, f"use{i}")
            else:
                self.scale(module.setdefault("own", {}), f"use{i}/own")
                self.scale(module, f"use{i}/one")
        self.blocks["loss"], self.wires["loss.x"] = Square(), self.end
        self.diagram = draw(self.blocks, self.wires)

    def scale(self, module: dict[str, Any], path: str) -> None:
        w = module.setdefault("w", f"w{len(self.blocks)}")
        mul = f"mul{len(self.muls)}"
        self.blocks.setdefault(w, Variable(value=3.0))
        self.blocks[mul] = Mul()
        self.wires |= {f"{mul}.a": self.end, f"{mul}.b": w}
        self.muls[f"{path}/mul"], self.end = mul, mul
        self.calls.setdefault(w, []).append(f"{path}/w")


@given(USES)
def test_sharing_is_a_diagram_with_each_variable_once(uses: list[tuple[str, bool]]) -> None:
    """Values, gradients, contributions, states and steps are those of the diagram by hand."""
    blocks = {
        f"use{i}": PageBlock(page=name, independent=own) for i, (name, own) in enumerate(uses)
    }
    by_hand = ByHand(uses)
    one, other = Session(chain(blocks)), Session(by_hand.diagram)
    assert len(one.values) == len(other.values)
    for _ in range(2):
        ours, theirs = one.step(SGD(lr=1e-9)), other.step(SGD(lr=1e-9))
        assert ours.values["loss.out"] == pytest.approx(theirs.values["loss.out"], rel=1e-5)
    ours, theirs = one.backward(), other.backward()
    for name, paths in by_hand.calls.items():
        for path in paths:
            assert ours.gradients[path] == pytest.approx(theirs.gradients[name], rel=1e-5)
            assert one.values[path] == pytest.approx(other.values[name], rel=1e-5)
    flow, hand = observe(one), observe(other)
    for path, mul in by_hand.muls.items():
        for port in "ab":
            found, expected = f"{path}.{port}", f"{mul}.{port}"
            assert flow.state(found) is hand.state(expected)
            amount = theirs.contributions[expected]
            assert ours.contributions[found] == pytest.approx(amount, rel=1e-5)
    accounts = ledger(one.program, ours)
    for paths in by_hand.calls.values():
        account = accounts[one.program.flat.source(PortPath.named(paths[0]))]
        assert len(account.entries) == len(paths)
