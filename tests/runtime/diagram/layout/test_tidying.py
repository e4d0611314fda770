"""Arrange keeps what the user placed about where it is: the laws of it, and a few pictures."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocks.errors import ChangeError
from runtime.diagram import (
    Arrange,
    BendWire,
    Diagram,
    MoveBlocks,
    Note,
    Page,
    Point,
    PortName,
    SetNote,
    apply,
    arrange,
)
from runtime.diagram.layout.arranging import Graph
from runtime.diagram.layout.measures import WIDTH
from runtime.diagram.model import own_ports
from tests.runtime.diagram.drawing import draw, make, page, seed
from tests.strategies import diagrams, pages

P = PortName.parse


def in_order(content: Page, names=()) -> Page:
    return apply(Diagram({"main": content}), Arrange(names=names)).after.main


def rects(content: Page):
    heights = dict(zip(content.blocks, Graph.of(content).heights, strict=True))
    return {
        name: (at.x, at.y, at.x + WIDTH, at.y + heights[name])
        for name, at in content.layout.items()
    }


def overlaps(content: Page) -> list[tuple[str, str]]:
    return [
        (one, other)
        for (one, a), (other, b) in combinations(rects(content).items(), 2)
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ]


@st.composite
def placed(draw: st.DrawFn) -> Page:
    """Pages with a place for every block."""
    content = draw(pages())
    places = st.tuples(st.integers(-900, 900), st.integers(-900, 900))
    layout = {name: Point(*map(float, draw(places))) for name in content.blocks}
    return replace(content, layout=layout)


def row() -> Page:
    """A tidy page: three readers of one variable, one above the other."""
    blocks = {"w": make("Variable"), **{f"t{i}": make("Tanh") for i in range(3)}}
    content = page(blocks, {f"t{i}.x": "w.out" for i in range(3)})
    layout = {"w": Point(0, 120)} | {f"t{i}": Point(260, 120.0 * i) for i in range(3)}
    return replace(content, layout=layout)


class TestLaws:
    @given(placed())
    def test_twice_is_once(self, content):
        once = in_order(content)
        assert in_order(once) == once

    @given(diagrams())
    def test_twice_is_once_where_places_are_missing_too(self, diagram):
        once = apply(diagram, Arrange()).after
        assert apply(once, Arrange()).after == once

    @given(placed())
    def test_no_blocks_overlap(self, content):
        assert overlaps(in_order(content)) == []

    @given(placed())
    def test_a_block_reads_from_its_left(self, content):
        tidy = in_order(content)
        for target, source in tidy.wires.items():
            if source.block != target.block:
                assert tidy.layout[source.block].x < tidy.layout[target.block].x

    @given(placed())
    def test_what_no_wire_parts_keeps_to_its_side(self, content):
        """Without wires, nothing that lay to the left or above changes sides."""
        free = replace(content, wires={}, bends={})
        tidy = in_order(free)
        for one, other in combinations(free.blocks, 2):
            a, b = free.layout[one], free.layout[other]
            x, y = tidy.layout[one], tidy.layout[other]
            assert (a.x - b.x) * (x.x - y.x) >= 0
            if x.x == y.x and a.y != b.y:
                assert (a.y - b.y) * (x.y - y.y) > 0

    @given(placed(), st.data())
    def test_only_what_is_named_moves(self, content, data):
        if len(content.blocks) < 2:
            return
        names = data.draw(st.sets(st.sampled_from(list(content.blocks)), min_size=2))
        tidy = in_order(content, sorted(names))
        moved = {name for name, at in tidy.layout.items() if at != content.layout[name]}
        assert moved <= names
        assert in_order(tidy, sorted(names)) == tidy

    @given(placed())
    def test_nothing_but_places_changes(self, content):
        tidy = in_order(content)
        assert (tidy.blocks, tidy.wires) == (content.blocks, content.wires)
        assert {t: len(b) for t, b in tidy.bends.items()} == {
            t: len(b) for t, b in content.bends.items()
        }


class TestNearness:
    def test_a_tidy_page_stays(self):
        assert in_order(row()) == row()

    def test_a_layout_from_scratch_stays(self):
        content = replace(seed().main, layout=arrange(seed().main))
        assert in_order(content) == content

    def test_a_small_disorder_is_put_right_by_small_moves(self):
        rough = replace(row(), layout=row().layout | {"t1": Point(272, 128), "w": Point(-9, 126)})
        tidy = in_order(rough)
        assert len({tidy.layout[f"t{i}"].x for i in range(3)}) == 1
        for name, at in tidy.layout.items():
            assert abs(at.x - rough.layout[name].x) <= 12
            assert abs(at.y - rough.layout[name].y) <= 12
        port = own_ports(tidy, "t1").inputs[0]
        assert port == "x"
        assert tidy.layout["t1"].y == tidy.layout["w"].y

    def test_it_moves_less_than_a_layout_from_scratch(self):
        """Over a grid of blocks that its user placed in another order than the wires suggest."""
        count = 24
        blocks = {f"b{i}": make("Variable" if i < 4 else "Tanh") for i in range(count)}
        wires = {f"b{i}.x": f"b{i - 4}.out" for i in range(4, count)}
        content = page(blocks, wires)
        layout = {
            f"b{i}": Point(250.0 * (i // 4) + 7 * (i % 3), 130.0 * ((i * 3) % 4) + 5 * (i % 2))
            for i in range(count)
        }
        content = replace(content, layout=layout)

        def mean(places):
            dx = [places[name].x - at.x for name, at in layout.items()]
            dy = [places[name].y - at.y for name, at in layout.items()]
            right, down = sum(dx) / count, sum(dy) / count
            return sum(abs(x - right) + abs(y - down) for x, y in zip(dx, dy, strict=True)) / count

        near = mean(in_order(content).layout)
        assert near < 20
        assert near < 0.25 * mean(arrange(content))

    def test_a_reader_placed_left_of_its_source_goes_behind_it(self):
        content = replace(row(), layout=row().layout | {"t1": Point(-300, 0)})
        tidy = in_order(content)
        assert tidy.layout["t1"].x > tidy.layout["w"].x
        assert tidy.layout["t0"].x == 260

    def test_a_source_that_strayed_comes_back_before_its_readers(self):
        diagram = Diagram({"main": in_order(replace(seed().main, layout=arrange(seed().main)))})
        was = diagram.main.layout
        far = apply(diagram, MoveBlocks({"a": Point(5000.0, 5000.0)})).after.main
        tidy = in_order(far)
        assert tidy.layout["a"].x < tidy.layout["add"].x
        assert {n: at for n, at in tidy.layout.items() if n != "a"} == {
            n: at for n, at in was.items() if n != "a"
        }

    def test_blocks_on_one_spot_come_apart(self):
        heap = replace(row(), layout=dict.fromkeys(row().blocks, Point(50, 50)))
        tidy = in_order(heap)
        assert overlaps(tidy) == []
        assert max(abs(at.y - 50) for at in tidy.layout.values()) < 200


class TestWhatGoesAlong:
    def test_bends_move_half_way_with_each_end(self):
        diagram = apply(
            Diagram({"main": row()}),
            MoveBlocks({"t0": Point(80, -100)}, bends={P("t0.x"): (Point(100, 50),)}),
        ).after
        tidy = apply(diagram, Arrange()).after.main
        dx = (tidy.layout["t0"].x - 80 + tidy.layout["w"].x - diagram.main.layout["w"].x) / 2
        dy = (tidy.layout["t0"].y + 100 + tidy.layout["w"].y - diagram.main.layout["w"].y) / 2
        assert tidy.bends[P("t0.x")] == (Point(100 + round(dx), 50 + round(dy)),)

    def test_bends_of_a_tidy_page_stay(self):
        diagram = apply(Diagram({"main": row()}), BendWire(P("t0.x"), (Point(1, 2),))).after
        assert apply(diagram, Arrange()).after == diagram

    def test_frames_hold_what_they_held(self):
        crowded = replace(row(), layout=row().layout | {"t1": Point(270, 40), "t2": Point(265, 70)})
        frame = Note("", Point(220, -40), 260, 260, frame=True)
        diagram = apply(Diagram({"main": crowded}), SetNote("f", frame)).after
        tidy = apply(diagram, Arrange()).after.main
        after = tidy.notes["f"]
        for name in ("t0", "t1", "t2"):
            left, top, right, bottom = rects(tidy)[name]
            assert after.at.x <= left and after.at.y <= top
            assert right <= after.at.x + after.width and bottom <= after.at.y + after.height
        assert apply(Diagram({"main": tidy}), Arrange()).after.main == tidy

    def test_one_undo_and_no_unknown_names(self):
        edit = apply(Diagram({"main": row()}), Arrange(names=("t0", "t1")))
        assert (edit.label, edit.before.main) == ("Arrange", row())
        with pytest.raises(ChangeError, match="There is no block 'who'"):
            apply(draw({}), Arrange(names=("who",)))
