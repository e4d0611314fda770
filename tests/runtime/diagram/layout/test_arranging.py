"""A new layout of a page: nothing overlaps, data flows to the right, and a few pictures."""

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from gradwire.runtime.diagram import Diagram, Page, Point
from gradwire.runtime.diagram.layout import ordering, tracks
from gradwire.runtime.diagram.layout.arranging import arrangement
from gradwire.runtime.diagram.layout.measures import (
    COLUMN_GAP,
    HEADER,
    ROW,
    ROW_GAP,
    VALUE_LINES,
    WIDTH,
    block_height,
)
from gradwire.runtime.diagram.model import own_ports
from gradwire.runtime.diagram.paths import PortName
from tests.runtime.diagram.drawing import draw, make, page, seed
from tests.strategies import broken_diagrams, pages

STEP = WIDTH + COLUMN_GAP


def arrange(content):
    """Positions for a page on its own, from scratch."""
    bare = Page(content.blocks, content.wires)
    return arrangement(Diagram({"main": bare}), "main").places


def chain(length):
    names = [f"s{i}" for i in range(length)]
    return page(
        {"a": make("Variable"), **{name: make("StopGradient") for name in names}},
        {f"{b}.x": f"{a}.out" for a, b in pairwise(["a", *names])},
    )


def residual(skip):
    """x → skip blocks → add, and x → add past them."""
    inner = chain(skip)
    last = f"s{skip - 1}"
    return page(
        {**inner.blocks, "add": make("Add")},
        {str(t): str(s) for t, s in inner.wires.items()}
        | {"add.a": f"{last}.out", "add.b": "a.out"},
    )


def height(content, name):
    found = own_ports(content, name)
    return block_height(max(len(found.inputs) + len(found.free), len(found.outputs), VALUE_LINES))


def overlapping(content, places):
    boxes = {name: (at.x, at.y, at.x + WIDTH, at.y + height(content, name))
             for name, at in places.items()}  # fmt: skip
    return [
        (a, b)
        for (a, p), (b, q) in combinations(boxes.items(), 2)
        if p[0] < q[2] and q[0] < p[2] and p[1] < q[3] and q[1] < p[3]
    ]


def port_height(content, places, end):
    found = own_ports(content, end.block)
    side = (*found.inputs, *found.free)
    index = (side if end.port in side else found.outputs).index(end.port)
    return places[end.block].y + HEADER + ROW * (index + 0.5)


@given(pages() | broken_diagrams().map(lambda d: next(iter(d.pages.values()), Page())))
def test_every_block_has_a_place_of_its_own_always_the_same(content):
    places = arrange(content)
    assert list(places) == list(content.blocks)
    assert overlapping(content, places) == []
    assert arrange(Page(content.blocks, content.wires)) == places
    assert not places or (
        min(x for x, _ in places.values()),
        min(y for _, y in places.values()),
    ) == (0, 0)


@given(pages())
def test_data_flows_to_the_right(content):
    places = arrange(content)
    for target, source in content.wires.items():
        assert places[source.block].x + STEP <= places[target.block].x


def test_nothing_to_arrange():
    assert arrange(Page()) == {}
    assert arrange(page({"a": make("Variable")})) == {"a": Point(0, 0)}


def test_a_chain_is_a_straight_line():
    assert arrange(chain(4)) == {
        name: Point(i * STEP, 0) for i, name in enumerate(["a", "s0", "s1", "s2", "s3"])
    }


def test_a_long_wire_is_straight_and_blocks_give_way():
    content = residual(4)
    places = arrange(content)
    ends = PortName("a", "out"), PortName("add", "b")
    start, end = (port_height(content, places, name) for name in ends)
    assert abs(start - end) <= 2
    for i in range(4):
        top = places[f"s{i}"].y
        assert top > start + 8 or top + height(content, f"s{i}") < start - 8


def test_inputs_stand_in_the_order_of_the_ports():
    names = ["x", "w", "b"]
    content = page(
        {name: make("Variable") for name in reversed(names)} | {"linear": make("Linear")},
        {"linear.x": "x.out", "linear.weight": "w.out", "linear.bias": "b.out"},
    )
    places = arrange(content)
    assert sorted(names, key=lambda name: places[name].y) == names
    assert places["linear"].x == STEP


def test_a_source_stands_beside_its_reader():
    content = page(
        {**chain(3).blocks, "w": make("Variable"), "add": make("Add")},
        {str(t): str(s) for t, s in chain(3).wires.items()} | {"add.a": "s2.out", "add.b": "w.out"},
    )
    places = arrange(content)
    assert places["w"].x == places["s2"].x


def test_parts_stand_one_below_the_other_and_lone_blocks_in_rows():
    twice = {f"{prefix}{name}": block for prefix in "pq" for name, block in chain(2).blocks.items()}
    links = {f"{prefix}{t}": f"{prefix}{s}" for prefix in "pq" for t, s in chain(2).wires.items()}
    alone = {f"v{i}": make("Variable") for i in range(4)}
    places = arrange(page({**alone, **twice}, links))
    assert places["pa"].y + block_height(VALUE_LINES) + ROW_GAP < places["qa"].y < places["v0"].y
    assert [places[f"v{i}"].x for i in range(4)] == [0, STEP, 2 * STEP, 0]
    assert places["v0"].y == places["v2"].y < places["v3"].y


def test_a_cycle_is_laid_out_too():
    content = page({"s": make("StopGradient"), "t": make("StopGradient")},
                   {"s.x": "t.out", "t.x": "s.out"})  # fmt: skip
    assert {at.x for at in arrange(content).values()} == {0, STEP}


def test_the_seed_has_no_crossing():
    places = arrange(seed().main)
    assert places["stop"].y < places["a"].y
    assert places["stop"].x == places["a"].x
    assert draw({}).main.layout == {}


def test_neighbours_are_swapped_where_that_saves_a_crossing():
    """The target of a loss, written first, stands below the prediction, as the ports do."""
    content = page(
        {
            "t": make("Variable"),
            **residual(2).blocks,
            "loss": make("MeanSquaredError"),
        },
        {str(target): str(source) for target, source in residual(2).wires.items()}
        | {"loss.prediction": "add.out", "loss.target": "t.out"},
    )
    places = arrange(content)
    assert places["t"].x == places["add"].x
    assert places["t"].y > places["add"].y


def test_very_many_wires_are_laid_out_without_comparing_every_pair(monkeypatch):
    """As with many more blocks than a page has: by other ways to count and to assign tracks."""
    content = residual(4)
    usual = arrange(content)
    monkeypatch.setattr(ordering, "_MANY", 0)
    monkeypatch.setattr(tracks, "_MANY", 0)
    assert overlapping(content, arrange(content)) == []
    assert arrange(content).keys() == usual.keys()


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12))
def test_inversions_are_counted_alike_one_by_one_and_in_pairs(lines):
    near, far = [a for a, _ in lines], [b for _, b in lines]
    pairs = combinations(lines, 2)
    expected = sum((a - c) * (b - d) < 0 for (a, b), (c, d) in pairs)
    assert ordering._inversions(near, far) == expected
