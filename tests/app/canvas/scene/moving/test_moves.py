"""What an edit has moved on a page."""

from __future__ import annotations

from dataclasses import replace

from gradwire.app.canvas.scene.moves import FEW, moves_of
from gradwire.runtime.diagram import MoveBlocks, Page, Point, PortName, SetNote, apply
from gradwire.runtime.diagram.model import Note
from tests.app.canvas.pages import seed


def test_a_move_is_its_blocks():
    before = seed()
    after = apply(before, MoveBlocks({"a": Point(7, 9)})).after
    moves = moves_of(before.main, after.main)
    assert moves is not None
    assert moves.blocks == {"a": (7, 9)} and not moves.routes


def test_a_note_moves_nothing():
    before = seed()
    moves = moves_of(before.main, apply(before, SetNote("n", Note("text"))).after.main)
    assert moves is not None
    assert not moves.blocks and not moves.routes


def test_a_route_that_is_gone_is_empty():
    main, target = seed().main, PortName("loss", "x")
    before = replace(main, routes={target: (1.0,)})
    moves = moves_of(before, replace(before, routes={}))
    assert moves is not None
    assert moves.routes == {"loss.x": ()}


def test_many_moves_all_moves_and_bends_are_no_few_moves():
    names = [f"b{i}" for i in range(FEW + 2)]
    blocks = dict.fromkeys(names, seed().main.blocks["a"])
    page = Page(blocks, {}, {name: Point(0.0, 0.0) for name in names})
    few = {name: Point(1.0, 1.0) for name in names[:FEW]}
    assert moves_of(page, replace(page, layout={**page.layout, **few})) is not None
    many = {name: Point(1.0, 1.0) for name in names[: FEW + 1]}
    assert moves_of(page, replace(page, layout={**page.layout, **many})) is None
    main = seed().main
    everywhere = {name: Point(1.0, 1.0) for name in main.blocks}
    assert moves_of(main, replace(main, layout=everywhere)) is None
    assert moves_of(main, replace(main, layout={})) is None
    assert moves_of(main, replace(main, bends={})) is None
