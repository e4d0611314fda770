"""What is in a frame is laid out on its own, and wires pass its border on the left and right."""

from dataclasses import replace
from itertools import pairwise

import pytest

from gradwire.runtime.diagram import Arrange, Diagram, Note, Point, PortName, apply
from gradwire.runtime.diagram.layout.arranging import arrange
from gradwire.runtime.diagram.layout.measures import HEADER, ROW, WIDTH, block_height
from tests.benchmarks.graphs import example_pages
from tests.runtime.diagram.drawing import make, page

P = PortName.parse


def content(frames, *, notes=None):
    """x → a → b → c → d, x → c, all in a row; frames are by the first and the last block inside."""
    names = ["x", "a", "b", "c", "d"]
    kinds = dict(zip(names, ["Variable", "Tanh", "Tanh", "Add", "Loss"], strict=True))
    wires = {"a.x": "x.out", "b.x": "a.out", "c.a": "b.out", "c.b": "x.out", "d.x": "c.out"}
    made = page({name: make(kind) for name, kind in kinds.items()}, wires)
    layout = {name: Point(300.0 * i, 0.0) for i, name in enumerate(names)}
    boxes = {
        f"{first}-{last}": Note(
            title,
            Point(layout[first].x - 40 - pad, -60 - pad),
            layout[last].x - layout[first].x + WIDTH + 80 + 2 * pad,
            220 + 2 * pad,
            frame=True,
        )
        for pad, (first, last, title) in enumerate(frames)
    }
    return replace(made, layout=layout, notes=boxes | (notes or {}))


def arranged(*frames, notes=None):
    diagram = Diagram({"main": content(frames, notes=notes)})
    return apply(diagram, Arrange()).after.main


def box(found, name):
    if name in found.notes:
        note = found.notes[name]
        return (*note.at, note.at.x + note.width, note.at.y + note.height)
    x, y = found.layout[name]
    return x, y, x + WIDTH, y + block_height(2)


def inside(found, name, frame):
    (a, b, c, d), (left, top, right, bottom) = box(found, name), box(found, frame)
    return left < a and top + 24 < b and c < right and d < bottom


def apart(found, name, frame):
    (a, b, c, d), (left, top, right, bottom) = box(found, name), box(found, frame)
    return c <= left or a >= right or d <= top or b >= bottom


def test_blocks_of_a_frame_stay_inside_and_others_outside():
    found = arranged(("a", "b", "Twice"))
    assert all(inside(found, name, "a-b") for name in "ab")
    assert all(apart(found, name, "a-b") for name in "xcd")


def test_frames_lie_in_frames():
    found = arranged(("a", "b", "Twice"), ("a", "c", "And then"))
    assert inside(found, "a-b", "a-c") and inside(found, "c", "a-c")
    assert apart(found, "c", "a-b") and apart(found, "d", "a-c")


def test_a_chain_through_frames_is_level():
    found = arranged(("a", "b", "Twice"))
    assert found.layout["a"].y == found.layout["b"].y
    assert P("b.x") not in found.routes


def test_a_wire_past_a_frame_runs_around_it():
    found = arranged(("a", "b", "Twice"))
    left, top, right, bottom = box(found, "a-b")
    xs = [found.layout["x"].x + WIDTH, *found.routes.get(P("c.b"), ())[::2], found.layout["c"].x]
    start = found.layout["x"].y + HEADER + ROW / 2
    ys = [start, *found.routes.get(P("c.b"), ())[1::2], found.layout["c"].y + HEADER + 1.5 * ROW]
    for (one, other), y in zip(pairwise(xs), ys, strict=False):
        assert not (min(one, other) < right and max(one, other) > left and top < y < bottom)


@pytest.mark.parametrize("title", ["", "Short", "A long title. " * 12])
def test_the_title_has_room(title):
    found = arranged(("a", "a", title))
    frame = found.notes["a-a"]
    lines = -(-len(title) * 7 // (frame.width - 20))
    assert found.layout["a"].y >= frame.at.y + 24 + 16 * (lines - 1)
    assert frame.width == (WIDTH + 48 if len(title) < 20 else 320)


@pytest.mark.parametrize(("y", "above"), [(-55.0, True), (110.0, False)])
def test_a_note_in_a_frame_stays_in_it_on_its_side(y, above):
    note = Note("Text", Point(320.0, y), 150.0, 40.0)
    found = arranged(("a", "b", ""), notes={"text": note})
    assert inside(found, "text", "a-b") or above
    assert (found.notes["text"].at.y < found.layout["a"].y) is above


def test_a_cycle_through_a_frame_is_laid_out():
    found = arranged(("a", "a", ""), ("c", "d", ""))
    wires = {**found.wires, P("a.x"): P("c.out")}
    tidy = apply(Diagram({"main": replace(found, wires=wires)}), Arrange()).after.main
    assert inside(tidy, "c", "c-d") and apart(tidy, "b", "c-d") and apart(tidy, "c", "a-a")


def test_a_part_of_a_frame_is_arranged_and_the_frame_follows():
    diagram = Diagram({"main": content([("a", "c", "All")])})
    found = apply(diagram, Arrange(names=("a", "b"))).after.main
    assert found.layout["c"] == diagram.main.layout["c"]
    assert all(inside(found, name, "a-c") for name in "abc")


def test_what_can_be_read_unfolded_is_not_folded():
    """A page with frames is wider than its layers make it seem."""
    em, _ = example_pages()["em_stopped/main"]
    arranged = arrange(em).main
    for target, source in arranged.wires.items():
        assert arranged.layout[target.block].x > arranged.layout[source.block].x
    rows = {at.y for at in arranged.layout.values()}
    assert max(rows) - min(rows) < 500.0
