"""Sizes of views: stored with their looks, and respected by layout and routes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradwire.blocks.errors import ChangeError, FileError
from gradwire.runtime.diagram import Diagram, Point, apply, arrange, dumps, loads
from gradwire.runtime.diagram.edits.changes import StyleBlocks
from gradwire.runtime.diagram.edits.grouping import box_around
from gradwire.runtime.diagram.layout.graph import BlockFace
from gradwire.runtime.diagram.layout.measures import HEADER, VIEW_SIZE, WIDTH, block_height
from gradwire.runtime.diagram.model import MOST_SIZE, PLAIN, Size, Style, same_meaning
from gradwire.runtime.diagram.paths import PortName
from tests.runtime.diagram.drawing import make, page

LARGE = Size(500.0, 400.0)
NEG = PortName.parse("neg.x")


def shown(**styles: Style) -> Diagram:
    """One variable in two views, and another block beside them."""
    blocks = {"w": make("Variable", value=[1.0]), "one": make("Histogram"),
              "two": make("Histogram"), "last": make("Neg")}  # fmt: skip
    wires = {"one.x": "w.out", "two.x": "w.out", "last.x": "w.out"}
    drawn = Diagram({"main": page(blocks, wires)})
    return arrange(apply(drawn, StyleBlocks(styles)).after if styles else drawn)


def box(diagram: Diagram, name: str):
    return box_around(diagram.main, [name])


def apart(diagram: Diagram, one: str, other: str) -> bool:
    a, b = box(diagram, one), box(diagram, other)
    return a.right <= b.left or b.right <= a.left or a.bottom <= b.top or b.bottom <= a.top


def test_a_view_has_the_usual_size_or_its_own():
    face = BlockFace.of(shown(), "main", "one")
    assert (face.width, face.height) == VIEW_SIZE
    face = BlockFace.of(shown(one=Style(size=LARGE)), "main", "one")
    assert (face.width, face.height) == LARGE


def test_a_collapsed_view_is_a_title():
    face = BlockFace.of(shown(one=Style(collapsed=True, size=LARGE)), "main", "one")
    assert (face.width, face.height) == (WIDTH, HEADER)


def test_other_blocks_do_not_follow_a_size():
    diagram = shown(last=Style(size=LARGE))
    face = BlockFace.of(diagram, "main", "last")
    assert (face.width, face.height) == (WIDTH, block_height(2))


def test_a_view_has_room_for_its_ports():
    blocks = {f"v{i}": make("Constant", value=1.0) for i in range(12)}
    blocks["plot"] = make("Plot")
    wires = {f"plot.values.{i}": f"v{i}.out" for i in range(12)}
    face = BlockFace.of(Diagram({"main": page(blocks, wires)}), "main", "plot")
    assert face.height == block_height(13)


def test_arrange_keeps_what_is_large_apart():
    usual, large = shown(), shown(one=Style(size=LARGE))
    names = ["w", "one", "two", "last"]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    assert all(apart(usual, *pair) for pair in pairs)
    assert all(apart(large, *pair) for pair in pairs)
    assert box(large, "one").right - box(large, "one").left == LARGE.width


def test_a_size_is_stored_and_has_no_meaning():
    diagram = shown()
    sized = apply(diagram, StyleBlocks({"one": Style(size=LARGE)}))
    assert same_meaning(sized.before, sized.after)
    assert '"size": [500, 400]' in dumps(sized.after)
    assert loads(dumps(sized.after)) == sized.after
    assert apply(sized.after, StyleBlocks({"one": PLAIN})).after.main.styles == {}


@pytest.mark.parametrize("size", [(10.0, 10.0), (119.0, 200.0), (2000.0, 2001.0), (1e9, 200.0)])
def test_sizes_that_no_view_can_have_are_refused(size):
    diagram = shown()
    with pytest.raises(ChangeError, match="can't have this size"):
        apply(diagram, StyleBlocks({"one": Style(size=Size(*size))}))
    text = dumps(apply(diagram, StyleBlocks({"one": Style(size=LARGE)})).after)
    with pytest.raises(FileError, match="out of range"):
        loads(text.replace("[500, 400]", str([*size])))
    assert max(size) > MOST_SIZE.width or min(size) < 120


def test_a_route_behind_a_view_that_grows_is_given_up():
    blocks = {"w": make("Variable", value=[1.0]), "view": make("Histogram"), "neg": make("Neg")}
    layout = {"w": Point(0, 300), "view": Point(240, 0), "neg": Point(700, 300)}
    drawn = page(blocks, {"neg.x": "w.out"})
    diagram = Diagram({"main": replace(drawn, layout=layout, routes={NEG: (400.0,)})})
    nearer = apply(diagram, StyleBlocks({"view": Style(size=Size(300.0, 240.0))})).after
    assert NEG in nearer.main.routes
    over = apply(diagram, StyleBlocks({"view": Style(size=Size(300.0, 400.0))})).after
    assert NEG not in over.main.routes
