"""Blocks whose numbers an edit may change; all others have the same ones afterwards."""

import numpy as np
import pytest

from app.evaluation.evaluator import evaluate
from app.evaluation.outdated import outdated_blocks
from runtime.build import build, loss, stop_gradient, tanh, variable
from runtime.diagram import (
    ROOT,
    AddBlock,
    Connect,
    Disconnect,
    InstancePath,
    MoveBlocks,
    Point,
    PortName,
    RemoveBlocks,
    SetParameters,
    Style,
    StyleBlocks,
    apply,
    group,
)
from runtime.engine import Session
from tests.runtime.diagram.drawing import make

P = PortName.parse


def diagram():
    """one = tanh(a) · b and two = b², where b goes into both and c into neither."""
    a, b, c = variable("a", 0.5), variable("b", 2.0), variable("c", 1.0)
    return build(
        loss(tanh(a, name="bend") * b, name="one"),
        loss(stop_gradient(b * b, name="wall"), name="two"),
        tanh(c, name="aside"),
    )


EDITS = [
    SetParameters("a", {"value": 0.7}),
    SetParameters("b", {"value": 3.0}),
    SetParameters("c", {"value": 3.0}),
    Disconnect(P("bend.x")),
    Disconnect(P("one.x")),
    Connect(P("c.out"), P("bend.x")),
    RemoveBlocks(["bend"]),
    RemoveBlocks(["one"]),
    RemoveBlocks(["wall"]),
    RemoveBlocks(["aside"]),
    AddBlock("new", make("Variable")),
    SetParameters("wall", {"bypassed": True}),
    SetParameters("wall", {"open": True}),
]


@pytest.mark.parametrize("edit", EDITS, ids=str)
def test_the_numbers_of_all_others_are_the_same(edit):
    was = diagram()
    now = apply(was, edit).after
    before, after = evaluate(was), evaluate(now)
    for name in now.main.blocks.keys() - outdated_blocks(was, now, "main", ROOT):
        path = InstancePath(name).port("out")
        assert np.array_equal(before.values.get(path), after.values.get(path)), name
        old, new = before.gradients.get(name), after.gradients.get(name)
        assert (old is None) == (new is None), name
        assert old is None or np.array_equal(old, new), name


@pytest.mark.parametrize(
    ("edit", "outdated"),
    [
        (SetParameters("a", {"value": 0.7}), {"a", "b", "bend", "mul1", "one"}),
        (SetParameters("c", {"value": 0.7}), {"c", "aside"}),
        (Disconnect(P("one.x")), {"a", "b", "one"}),
        (Disconnect(P("aside.x")), {"c", "aside"}),
    ],
    ids=lambda part: ",".join(sorted(part)) if isinstance(part, set) else str(part),
)
def test_only_what_depends_on_the_edit_is_outdated(edit, outdated):
    was = diagram()
    assert outdated_blocks(was, apply(was, edit).after, "main", ROOT) == outdated


@pytest.mark.parametrize(
    "edit", [MoveBlocks({"a": Point(5, 5)}), StyleBlocks({"a": Style("red")})], ids=str
)
def test_looks_and_places_outdate_nothing(edit):
    was = diagram()
    assert outdated_blocks(was, apply(was, edit).after, "main", ROOT) == frozenset()


def test_a_change_inside_a_page_outdates_its_use_and_all_that_the_page_shows():
    was = apply(diagram(), group(diagram(), "main", ["bend"])).after
    (page,) = was.pages.keys() - {"main"}
    now = apply(was, SetParameters("bend", {"bypassed": True}, page)).after
    outdated = outdated_blocks(was, now, "main", ROOT)
    assert {page, "mul1", "one", "a", "b"} <= outdated
    assert not {"two", "aside", "c"} & outdated
    inside = outdated_blocks(was, now, page, InstancePath(page))
    assert inside == now.pages[page].blocks.keys()


def test_an_owner_of_variables_is_outdated_by_what_follows_it():
    was = diagram()
    was = apply(was, AddBlock("fc", make("Linear", units=1))).after
    was = apply(was, Connect(P("fc.out"), P("aside.x"))).after
    now = apply(was, SetParameters("aside", {"bypassed": True})).after
    owns = bool(Session(was, partial=True).diagram.main.blocks["fc"].owned)
    assert ("fc" in outdated_blocks(was, now, "main", ROOT)) == owns
