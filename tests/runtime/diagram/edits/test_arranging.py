"""Arrange lays a page out anew, in the order and at the place that its user gave it."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.blocks.errors import ChangeError
from gradwire.runtime.diagram import (
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
from gradwire.runtime.diagram.layout.graph import LayoutGraph, ShownSizes
from gradwire.runtime.diagram.layout.measures import WIDTH, block_height
from tests.runtime.diagram.drawing import draw, make, page, seed
from tests.strategies import diagrams, pages

P = PortName.parse


def in_order(content: Page, names=()) -> Page:
    return apply(Diagram({"main": content}), Arrange(names=names)).after.main


def rects(content: Page):
    graph = LayoutGraph.of(Diagram({"main": content}), "main")
    heights = dict(zip(graph.names, [node.height for node in graph.nodes], strict=True))
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


def readers() -> Page:
    """Three readers of one variable, in another order than they were written."""
    blocks = {"w": make("Variable"), **{f"t{i}": make("Tanh") for i in range(3)}}
    content = page(blocks, {f"t{i}.x": "w.out" for i in range(3)})
    layout = {
        "w": Point(10, 120),
        "t1": Point(270, 0),
        "t0": Point(255, 130),
        "t2": Point(262, 300),
    }
    return replace(content, layout=layout)


class TestLaws:
    @given(placed())
    def test_twice_is_once(self, content):
        once = in_order(content)
        assert in_order(once) == once

    @pytest.mark.night
    @given(diagrams())
    def test_twice_is_once_where_places_are_missing_too(self, diagram):
        once = apply(diagram, Arrange()).after
        assert apply(once, Arrange()).after == once

    @given(placed())
    def test_no_blocks_overlap_and_the_page_begins_where_it_did(self, content):
        tidy = in_order(content)
        assert overlaps(tidy) == []
        for axis in (0, 1):
            was, now = ([at[axis] for at in p.layout.values()] for p in (content, tidy))
            assert min(was, default=0.0) == min(now, default=0.0)

    @given(placed(), st.data())
    def test_only_what_is_named_moves_and_nothing_comes_to_lie_on_the_rest(self, content, data):
        if len(content.blocks) < 2:
            return
        names = data.draw(st.sets(st.sampled_from(list(content.blocks)), min_size=2))
        tidy = in_order(content, sorted(names))
        moved = {name for name, at in tidy.layout.items() if at != content.layout[name]}
        assert moved <= names
        assert not [pair for pair in overlaps(tidy) if not names.isdisjoint(pair)]
        assert in_order(tidy, sorted(names)) == tidy

    @given(placed())
    def test_blocks_wires_and_bends_stay(self, content):
        tidy = in_order(content)
        assert (tidy.blocks, tidy.wires) == (content.blocks, content.wires)
        assert {t: len(b) for t, b in tidy.bends.items()} == {
            t: len(b) for t, b in content.bends.items()
        }
        assert tidy.routes.keys() <= tidy.wires.keys() - tidy.bends.keys()


class TestOrder:
    def test_blocks_of_a_column_keep_their_order(self):
        tidy = in_order(readers())
        assert sorted(("t0", "t1", "t2"), key=lambda name: tidy.layout[name].y) == [
            "t1",
            "t0",
            "t2",
        ]

    def test_unless_another_order_crosses_less(self):
        content = page(
            {"x": make("Variable"), "w": make("Variable"), "m": make("Mul")},
            {"m.a": "x.out", "m.b": "w.out"},
        )
        layout = {"x": Point(0, 300), "w": Point(0, 0), "m": Point(300, 100)}
        tidy = in_order(replace(content, layout=layout))
        assert tidy.layout["x"].y < tidy.layout["w"].y

    def test_an_arranged_page_moved_as_a_whole_stays(self):
        content = arrange(seed()).main
        far = {name: Point(1000 + x, 500 + y) for name, (x, y) in content.layout.items()}
        diagram = apply(Diagram({"main": content}), MoveBlocks(far)).after
        assert apply(diagram, Arrange()).after == diagram


class TestSelection:
    def test_a_selection_goes_where_there_is_room(self):
        content = readers()
        wall = {f"v{i}": make("Variable") for i in range(3)}
        places = {name: Point(240.0 + 60 * i, -30.0 + 90 * i) for i, name in enumerate(wall)}
        content = replace(
            content, blocks={**content.blocks, **wall}, layout={**content.layout, **places}
        )
        tidy = in_order(content, ["w", "t0", "t1", "t2"])
        assert {name: tidy.layout[name] for name in wall} == places
        assert not [pair for pair in overlaps(tidy) if not set(wall) >= set(pair)]

    @pytest.mark.parametrize("frame", [True, False], ids=["frame", "note"])
    def test_a_selection_avoids_notes_and_frames_of_others(self, frame):
        content = readers()
        blocks = {**content.blocks, "v": make("Variable")}
        layout = {**content.layout, "v": Point(260, 620)}
        foreign = Note("", Point(240, 520), 220, 320 if frame else 80, frame=frame)
        own = Note("", Point(260, 380), 200, 40)
        content = replace(
            content, blocks=blocks, layout=layout, notes={"foreign": foreign, "own": own}
        )
        names = ["w", "t0", "t1", "t2"]
        lines = dict.fromkeys(names, 7)
        tidy = apply(
            Diagram({"main": content}), Arrange(names=names, shown=ShownSizes(lines))
        ).after.main
        assert (tidy.notes["foreign"], tidy.layout["v"]) == (foreign, layout["v"])
        x, y = foreign.at
        for name in names:
            left, top = tidy.layout[name]
            height = block_height(7)
            beside = left >= x + foreign.width or left + WIDTH <= x
            assert beside or top >= y + foreign.height or top + height <= y, name
        again = apply(
            Diagram({"main": tidy}), Arrange(names=names, shown=ShownSizes(lines))
        ).after.main
        assert again == tidy

    def test_one_undo_and_no_unknown_names(self):
        edit = apply(Diagram({"main": readers()}), Arrange(names=("t0", "t1")))
        assert (edit.label, edit.before.main) == ("Arrange", readers())
        with pytest.raises(ChangeError, match="There is no block 'who'"):
            apply(draw({}), Arrange(names=("who",)))


class TestWhatGoesAlong:
    def test_bends_move_half_way_with_each_end_and_replace_a_route(self):
        diagram = apply(
            Diagram({"main": readers()}),
            MoveBlocks({"t0": Point(80, -100)}, bends={P("t0.x"): (Point(100, 50),)}),
        ).after
        tidy = apply(diagram, Arrange()).after.main
        dx = (tidy.layout["t0"].x - 80 + tidy.layout["w"].x - diagram.main.layout["w"].x) / 2
        dy = (tidy.layout["t0"].y + 100 + tidy.layout["w"].y - diagram.main.layout["w"].y) / 2
        assert tidy.bends[P("t0.x")] == (Point(100 + round(dx), 50 + round(dy)),)
        assert P("t0.x") not in tidy.routes

    def test_bends_of_an_arranged_page_stay(self):
        arranged = Diagram({"main": in_order(readers())})
        diagram = apply(arranged, BendWire(P("t1.x"), (Point(1, 2),))).after
        assert apply(diagram, Arrange()).after == diagram

    def test_frames_keep_enclosing_the_same_blocks(self):
        frame = Note("", Point(220, -40), 260, 460, frame=True)
        diagram = apply(Diagram({"main": readers()}), SetNote("f", frame)).after
        tidy = apply(diagram, Arrange()).after.main
        after = tidy.notes["f"]
        for name in ("t0", "t1", "t2"):
            left, top, right, bottom = rects(tidy)[name]
            assert after.at.x <= left and after.at.y <= top
            assert right <= after.at.x + after.width and bottom <= after.at.y + after.height
        assert apply(Diagram({"main": tidy}), Arrange()).after.main == tidy

    def test_notes_stay_beside_their_blocks_and_lie_on_none(self):
        notes = {
            "under": Note("", Point(260, 390), 200, 60),
            "far": Note("", Point(10, 40), 90, 60),
        }
        content = replace(readers(), notes=notes)
        tidy = in_order(content)
        boxes = list(rects(tidy).values())
        for name, note in tidy.notes.items():
            x, y = note.at
            for left, top, right, bottom in boxes:
                assert x >= right or y >= bottom or x + note.width <= left or y + note.height <= top
            assert note == replace(notes[name], at=note.at)
        assert abs(tidy.notes["under"].at.y - rects(tidy)["t2"][3]) < 60
        assert in_order(tidy) == tidy

    def test_blocks_make_room_for_the_text_on_faces(self):
        tall = Arrange(shown=ShownSizes({"t0": 9, "t1": 9}))
        tidy = apply(Diagram({"main": readers()}), tall).after.main
        assert tidy.layout["t0"].y - tidy.layout["t1"].y > 9 * 18
