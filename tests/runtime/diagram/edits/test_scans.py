"""Scans follow edits of the page that they run."""

from __future__ import annotations

from typing import Any

import pytest

from gradwire.blocks.errors import ChangeError
from gradwire.blocks.library.arithmetic import Add
from gradwire.blocks.library.pages import PageInput, PageOutput, Scan
from gradwire.blocks.library.sources import Variable
from gradwire.blocks.library.views import Field
from gradwire.runtime.diagram import (
    Diagram,
    Page,
    RemoveBlocks,
    RenameBlock,
    RenamePage,
    apply,
    check,
    dumps,
    loads,
)
from gradwire.runtime.diagram.diff import diff
from gradwire.runtime.diagram.edits.clipboard import copied, pasted
from gradwire.runtime.diagram.edits.grouping import own_page
from gradwire.runtime.diagram.edits.ungrouping import ungroup
from gradwire.runtime.diagram.model import Point
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.engine import Session
from gradwire.runtime.formulas.adding import add_formula
from gradwire.runtime.formulas.writing import formula_of, python_of
from tests.runtime.engine.drawing import draw, page

CELL = page(
    {"x": PageInput(), "h": PageInput(), "add": Add(), "h_n": PageOutput(), "y": PageOutput()},
    {"add.a": "x", "add.b": "h", "h_n.x": "add", "y.x": "add"},
)
SCAN = Scan(page="cell", steps=3, carry={"h": "h_n"}, over=("x",), h=0.5)


def diagram(**fields: Any) -> Diagram:
    made = draw(
        {"xs": Variable(value=[1.0, 2.0, 3.0]), "rnn": SCAN, "sum": Add()},
        {"rnn.x": "xs", "sum.a": "rnn.y", "sum.b": "rnn.h_n"},
        cell=CELL,
    )
    return Diagram(made.pages, **fields)


def result(of: Diagram) -> Any:
    return Session(of).run().values["sum.out"].tolist()


def scan(of: Diagram) -> Any:
    return of.main.blocks["rnn"]


@pytest.mark.parametrize(("old", "new"), [("x", "in"), ("h", "state"), ("h_n", "next"), ("y", "z")])
def test_a_renamed_port_keeps_its_role(old: str, new: str) -> None:
    after = apply(diagram(), RenameBlock(old, new, "cell")).after
    assert not check(after)
    assert result(after) == result(diagram())
    named = {old: new}
    assert scan(after).carry == {named.get("h", "h"): named.get("h_n", "h_n")}
    assert scan(after).over == (named.get("x", "x"),)


def test_paths_into_steps_follow_new_names() -> None:
    lines = ("flows(rnn/2/add -> xs)", "flows(rnn.y -> rnn/h)")
    before = diagram(contracts=lines)
    before = before.with_page(
        "main",
        Page({**before.main.blocks, "f": Field(page="cell", use="rnn/1")}, before.main.wires),
    )
    after = apply(before, RenameBlock("add", "plus", "cell")).after
    after = apply(after, RenameBlock("rnn", "loop")).after
    after = apply(after, RenameBlock("h", "state", "cell")).after
    after = apply(after, RenameBlock("y", "z", "cell")).after
    assert after.contracts == ("flows(loop/2/plus -> xs)", "flows(loop.z -> loop/state)")
    assert after.main.blocks["f"].use == "loop/1"
    changes = diff(diagram(), apply(diagram(), RenameBlock("add", "plus", "cell")).after)
    assert changes.renamed(InstancePath("rnn/2/add")) == "rnn/2/plus"


def test_a_removed_port_loses_its_role() -> None:
    after = apply(diagram(), RemoveBlocks(("h",), "cell")).after
    assert (scan(after).carry, scan(after).over) == ({}, ("x",))
    assert "h" not in scan(after).literals
    assert scan(apply(diagram(), RemoveBlocks(("h_n",), "cell")).after).carry == {}
    assert scan(apply(diagram(), RemoveBlocks(("x",), "cell")).after).over == ()


def test_a_scan_follows_its_page() -> None:
    renamed = apply(diagram(), RenamePage("cell", "step")).after
    own = apply(diagram(), own_page(diagram(), "main", "rnn")).after
    paste = pasted(diagram(), "main", copied(diagram(), "main", ["rnn"]), Point(0.0, 0.0))
    after = apply(diagram(), paste.change).after
    assert (scan(renamed).page, scan(own).page) == ("step", "cell1")
    assert result(renamed) == result(own) == result(diagram())
    assert after.main.blocks["rnn2"] == SCAN


def test_a_scan_can_not_be_ungrouped() -> None:
    with pytest.raises(ChangeError, match="runs its page once per step"):
        ungroup(diagram(), "main", "rnn")


def test_a_scan_is_written_and_read() -> None:
    assert loads(dumps(diagram())) == diagram()
    written = "rnn = gw.scan(cell, xs, 0.5, steps=3, carry={'h': 'h_n'}, over=['x'], name='rnn')"
    assert written in python_of(diagram(), "main", ["rnn"]).splitlines()
    text = formula_of(diagram(), "main", ["rnn", "sum"])
    bare = Diagram({**diagram().pages, "main": Page({"xs": Variable(value=[1.0, 2.0, 3.0])})})
    after = apply(bare, add_formula(bare, text).change).after
    (again,) = (block for block in after.main.blocks.values() if isinstance(block, Scan))
    assert again == SCAN
