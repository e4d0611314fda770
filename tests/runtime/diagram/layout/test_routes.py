"""Wires have tracks of their own, with room for the lanes beside them."""

from itertools import combinations, pairwise

import pytest

from gradwire.runtime.diagram.layout.arranging import arrangement
from gradwire.runtime.diagram.layout.graph import LayoutGraph, ShownSizes
from gradwire.runtime.diagram.layout.measures import LANE_PITCH, PITCH, block_height, port_offset
from tests.benchmarks.drawings import drawing
from tests.benchmarks.graphs import example_pages, random_graph
from tests.runtime.diagram.drawing import draw, make

GRAPHS = {"random": (random_graph(60), "main"), **example_pages()}


def bundles(found, lanes):
    """The vertical stretches of wires with their lanes, which are on the right of them, as (left,
    right, top, bottom, output), clear of the turns.
    """
    for line, output in zip(found.lines, found.outputs.tolist(), strict=True):
        for (x, y), (end_x, end_y) in pairwise(line.tolist()):
            if x == end_x and abs(end_y - y) > 24:
                beside = LANE_PITCH * (lanes - 1) * (1 if end_y < y else -1)
                low, high = sorted((x, x + beside))
                yield low, high, min(y, end_y) + 12, max(y, end_y) - 12, output


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("name", ["random", "gan/main", "vq_vae/main", "dqn_target_stopped/main"])
def test_bundles_that_run_beside_each_other_do_not_touch(name, lanes):
    diagram, page = GRAPHS[name]
    shown = ShownSizes(lanes=dict.fromkeys(diagram.pages[page].wires, lanes))
    found = drawing(diagram, page, *arrangement(diagram, page, shown=shown)[:3])
    assert (found.behind(), found.overlaps(), found.covered()) == (0, 0, 0)
    for one, other in combinations(bundles(found, lanes), 2):
        if one[4] != other[4] and one[2] < other[3] and other[2] < one[3]:
            assert max(one[0], other[0]) - min(one[1], other[1]) >= PITCH


def test_only_wires_with_several_lanes_take_more_room():
    diagram, page = GRAPHS["gan/main"]
    (target, *_) = diagram.pages[page].wires
    assert (
        LayoutGraph.of(diagram, page, shown=ShownSizes(lanes={target: 1})).nodes[0].lanes_room(37.0)
        == 0
    )
    usual = arrangement(diagram, page)
    assert arrangement(diagram, page, shown=ShownSizes(lanes={target: 1})) == usual


def test_blocks_keep_clear_of_the_lanes_of_a_wire_that_passes():
    names = [f"t{i}" for i in range(4)]
    diagram = draw(
        {"x": make("Variable"), "add": make("Add"), **{name: make("Tanh") for name in names}},
        {f"{b}.x": f"{a}.out" for a, b in pairwise(["x", *names])}
        | {"add.a": "x.out", "add.b": "t3.out"},
    )
    target = next(t for t in diagram.main.wires if str(t) == "add.a")
    for lanes in (1, 4):
        found = arrangement(diagram, "main", shown=ShownSizes(lanes={target: lanes})).places
        wire = found["add"].y + port_offset(0)
        room = [found[name].y - wire for name in names if found[name].y > wire]
        above = [wire - found[name].y - block_height(2) for name in names if found[name].y < wire]
        assert min([*room, *above]) >= (18 + LANE_PITCH * (lanes - 1) if room else 18)
        assert room
