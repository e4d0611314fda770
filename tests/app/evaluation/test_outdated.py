"""Blocks whose numbers an edit may change; all others have the same ones afterwards."""

from contextlib import suppress
from dataclasses import replace
from itertools import islice
from random import Random

import numpy as np
import pytest

from gradwire.app.evaluation.evaluator import evaluate
from gradwire.app.evaluation.outdated import outdated_blocks
from gradwire.blocks.errors import GradwireError
from gradwire.runtime.build import build, loss, stop_gradient, tanh, variable
from gradwire.runtime.diagram import (
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
from gradwire.runtime.diagram.pages import uses_of
from gradwire.runtime.engine import Session
from tests.fuzz.drawing import drawn
from tests.runtime.diagram.drawing import make
from tests.together import together

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


def nested():
    """The diagram with ``bend`` and its product on a page, and ``bend`` on one inside that."""
    was = apply(diagram(), group(diagram(), "main", ["bend", "mul1"])).after
    (outer,) = was.pages.keys() - {"main"}
    now = apply(was, group(was, outer, ["bend"])).after
    (inner,) = now.pages.keys() - was.pages.keys()
    return now, {outer: InstancePath(outer), inner: InstancePath.of(outer, inner)}


def twice():
    """The same page on both ways of two variables to their losses."""
    a, b = variable("a", 0.5), variable("b", 2.0)
    was = build(loss(tanh(a, name="bend") * 3.0, name="one"), loss(b * 2.0, name="two"))
    was = apply(was, group(was, "main", ["bend"])).after
    (page,) = was.pages.keys() - {"main"}
    (use,) = (name for name, block in was.main.blocks.items() if type(block).__name__ == "Page")
    (port,) = (t.port for t in was.main.wires if t.block == use)
    (out,) = (s.port for s in was.main.wires.values() if s.block == use)
    was = apply(was, AddBlock("again", was.main.blocks[use])).after
    was = apply(was, Connect(P("b.out"), PortName("again", port))).after
    was = apply(was, Connect(PortName("again", out), P("two.x"))).after
    was = apply(was, AddBlock("w", make("Variable", value=2.0), page=page)).after
    was = apply(was, AddBlock("scale", make("Mul"), page=page)).after
    was = apply(was, Connect(P("bend.out"), P("scale.a"), page)).after
    was = apply(was, Connect(P("w.out"), P("scale.b"), page)).after
    was = apply(was, Connect(P("scale.out"), PortName(out, "x"), page)).after
    return was, page, [InstancePath(use), InstancePath("again")]


def assert_others_are_the_same(was, now, page, use):
    """The blocks that are outdated, after a check of all others."""
    before, after = evaluate(was), evaluate(now)
    outdated = outdated_blocks(was, now, page, use)
    for name in now.pages[page].blocks.keys() - outdated:
        path = (use / name).port("out")
        assert np.array_equal(before.values.get(path), after.values.get(path)), name
        old, new = before.gradients.get(use / name), after.gradients.get(use / name)
        assert (old is None) == (new is None), name
        assert old is None or np.array_equal(old, new), name
    return outdated


@pytest.mark.night
@together("edit", EDITS[:8] + EDITS[10:], ids=str)
@together("depth", [0, 1])
def test_on_pages_inside_pages_too_all_others_are_the_same(edit, depth):
    was, uses = nested()
    page, use = [*uses.items()][depth]
    places = ["main", *uses]
    for where in places:
        try:
            now = apply(was, replace(edit, page=where)).after
        except GradwireError:
            continue  # what it changes lies on another page
        assert_others_are_the_same(was, now, page, use)


def test_on_a_page_only_what_depends_on_the_edit_is_outdated():
    was, uses = nested()
    (outer, at), (inner, below) = uses.items()

    def outdated(edit, page, use):
        return assert_others_are_the_same(was, apply(was, edit).after, page, use)

    c, one = SetParameters("c", {"value": 0.7}), SetParameters("a", {"value": 0.7})
    assert outdated(c, outer, at) == outdated(c, inner, below) == frozenset()
    assert {"mul1", inner} <= outdated(one, outer, at) < was.pages[outer].blocks.keys()
    assert outdated(one, inner, below) == was.pages[inner].blocks.keys()
    b = SetParameters("b", {"value": 3.0})
    assert "mul1" in outdated(b, outer, at)
    assert inner not in outdated(b, outer, at)
    assert "bend" not in outdated(b, inner, below)
    inside = SetParameters("mul1", {"bypassed": True}, outer)
    assert "mul1" in outdated(inside, outer, at)
    assert inner not in outdated(inside, outer, at)


def test_what_is_shared_by_uses_learns_from_all_of_them():
    was, page, uses = twice()
    now = apply(was, Disconnect(P("one.x"))).after
    for use in uses:
        outdated = assert_others_are_the_same(was, now, page, use)
        assert "w" in outdated
    assert "bend" not in outdated  # the other use
    alone = apply(was, RemoveBlocks(["again"])).after
    assert "w" in assert_others_are_the_same(was, alone, page, uses[0])


def test_another_choice_of_losses_outdates_all_gradients():
    was, uses = nested()
    for page, use in (("main", ROOT), *uses.items()):
        now = apply(was, RemoveBlocks(["one", "two"])).after
        outdated = assert_others_are_the_same(was, now, page, use)
        assert page != "main" or {"a", "b", "c"} <= outdated


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("seed", range(8))
def test_on_random_diagrams_all_others_are_the_same(seed):
    rng = Random(seed)
    was = drawn(rng)
    for page in (*was.pages, *was.pages):
        names = rng.sample([*was.pages[page].blocks], min(3, len(was.pages[page].blocks)))
        with suppress(GradwireError):
            was = apply(was, group(was, page, names)).after
    page = rng.choice([*was.pages])
    name = rng.choice([*was.pages[page].blocks])
    now = apply(was, RemoveBlocks([name], page)).after
    for shown in now.pages:
        for use in islice(uses_of(now, shown), 2):
            assert_others_are_the_same(was, now, shown, use)


def test_an_owner_of_variables_is_outdated_by_what_follows_it():
    was = diagram()
    was = apply(was, AddBlock("fc", make("Linear", units=1))).after
    was = apply(was, Connect(P("fc.out"), P("aside.x"))).after
    now = apply(was, SetParameters("aside", {"bypassed": True})).after
    owns = bool(Session(was, partial=True).diagram.main.blocks["fc"].owned)
    assert ("fc" in outdated_blocks(was, now, "main", ROOT)) == owns
