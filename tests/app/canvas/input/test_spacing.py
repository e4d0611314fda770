"""Blocks that come onto a page cover nothing, and it is one change."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QByteArray, QMimeData, QPoint, Qt
from PySide6.QtTest import QTest

from gradwire.app.canvas.input.dropping import BLOCK_MIME
from gradwire.app.canvas.input.entry.quick_add import QuickAdd
from gradwire.app.canvas.input.spacing import in_vacancy, make_space
from gradwire.app.canvas.scene.geometry import Scene
from gradwire.runtime.diagram import (
    AddBlock,
    Batch,
    BendWire,
    Connect,
    Note,
    Point,
    PortName,
    apply,
)
from tests.app.canvas.pages import Shell, block, diagram, drag
from tests.app.mouse import drop


def covered(canvas) -> set[frozenset[str]]:
    """Pairs of blocks that cover each other on the canvas."""
    scene = canvas.view.scene
    low, high = scene.rects[:, :2], scene.rects[:, :2] + scene.rects[:, 2:]
    both = (low[:, None] < high[None]).all(axis=2) & (high[:, None] > low[None]).all(axis=2)
    return {frozenset((scene.names[i], scene.names[j])) for i, j in np.argwhere(both) if i < j}


def narrow(notes=None, bends=None):
    """a, neg and tanh in a row with little room between, and two blocks after them."""
    return diagram(
        {
            "a": block("Variable", value=[1.0]),
            "neg": block("Neg"),
            "tanh": block("Tanh"),
            "exp": block("Exp"),
            "other": block("Variable", value=[1.0]),
        },
        {"neg.x": "a.out", "tanh.x": "neg.out", "exp.x": "tanh.out"},
        {"a": (0, 0), "neg": (200, 0), "tanh": (400, 0), "exp": (600, 120), "other": (400, 200)},
        notes,
        bends,
    )


def onto(canvas, kind: str, wire: str) -> None:
    mime = QMimeData()
    mime.setData(BLOCK_MIME, QByteArray(kind.encode()))
    rect = canvas.block_rect("neg")
    assert drop(canvas, mime, canvas.wire_position(wire) - QPoint(rect.width(), rect.height()) / 2)


def test_a_block_dropped_on_a_wire_moves_what_follows(canvas):
    shell = Shell(canvas, narrow())
    before = dict(shell.main.layout)
    onto(canvas, "Relu", "tanh.x")
    assert shell.main.wires[PortName("tanh", "x")] == PortName("relu1", "out")
    assert len(shell.changes) == 1 and shell.changes[0].label == (
        "Insert relu1 into the wire to tanh.x"
    )
    assert not covered(canvas)
    after = shell.main.layout
    assert {name for name in before if after[name] != before[name]} == {"tanh", "exp"}
    assert after["tanh"].x - before["tanh"].x == after["exp"].x - before["exp"].x > 0


def test_a_block_that_is_dragged_onto_a_wire_makes_room_as_one_change(canvas):
    shell = Shell(canvas, narrow())
    shell._apply(AddBlock("relu", block("Relu"), Point(0, 300)))
    shell.changes.clear()
    canvas.zoom_to_fit()
    header = QPoint(0, 8)
    middle = canvas.wire_position("tanh.x") - header
    drag(canvas, canvas.block_rect("relu").center() - header, middle)
    assert len(shell.changes) == 1
    assert shell.main.wires[PortName("relu", "x")] == PortName("neg", "out")
    assert not covered(canvas)


def test_a_block_added_by_typing_makes_room(canvas):
    shell = Shell(canvas, narrow())
    canvas.quick_add(canvas.block_rect("neg").center().toPointF())
    (box,) = canvas.findChildren(QuickAdd)
    QTest.keyClicks(box.line, "relu")
    QTest.keyClick(box.line, Qt.Key.Key_Return)
    assert "relu1" in shell.main.blocks and len(shell.changes) == 1
    assert not covered(canvas)


def test_where_there_is_room_nothing_is_added_to_the_change():
    scene = Scene(narrow(), "main")
    change = AddBlock("b", block("Relu"), Point(0, 400))
    assert make_space(scene, change, ["b"]) is change
    assert in_vacancy(scene, change, ["b"], ()) is change


def test_what_is_not_possible_is_left_to_the_document():
    scene = Scene(narrow(), "main")
    change = AddBlock("a", block("Relu"), Point(0, 0))
    assert make_space(scene, change, ["a"]) is change


def test_the_first_block_of_a_page_needs_no_room():
    scene = Scene(diagram({}), "main")
    change = AddBlock("b", block("Relu"), Point(0, 0))
    assert make_space(scene, change, ["b"]) is change


def test_bends_between_blocks_that_move_move_along():
    shown = narrow(bends={"exp.x": [(580, 60)], "tanh.x": [(380, 40)]})
    scene = Scene(shown, "main")
    change = make_space(scene, AddBlock("b", block("Relu"), Point(400, 0)), ["b"])
    page = apply(shown, change).after.main
    moved = page.layout["tanh"].x - 400
    assert moved > 0 and page.layout["exp"].x == 600
    joined = Batch(
        "Insert",
        (
            AddBlock("b", block("Relu"), Point(400, 0)),
            Connect(PortName("neg", "out"), PortName("b", "x")),
            Connect(PortName("b", "out"), PortName("tanh", "x")),
        ),
    )
    page = apply(shown, make_space(scene, joined, ["b"])).after.main
    moved = page.layout["tanh"].x - 400
    assert page.layout["exp"].x == 600 + moved
    assert page.bends[PortName("exp", "x")] == (Point(580 + moved, 60),)


def test_routes_between_blocks_that_move_alike_move_along():
    shown = narrow()
    between = PortName("exp", "x"), PortName("tanh", "x")
    routed = (BendWire(between[0], (), route=(580.0,)), BendWire(between[1], (), route=(380.0,)))
    shown = apply(shown, Batch("Route", routed)).after
    assert set(shown.main.routes) == set(between)
    joined = Batch(
        "Insert",
        (
            AddBlock("b", block("Relu"), Point(400, 0)),
            Connect(PortName("neg", "out"), PortName("b", "x")),
            Connect(PortName("b", "out"), PortName("tanh", "x")),
        ),
    )
    page = apply(shown, make_space(Scene(shown, "main"), joined, ["b"])).after.main
    moved = page.layout["tanh"].x - 400
    assert moved > 0 and page.layout["exp"].x == 600 + moved
    assert page.routes == {between[0]: (580.0 + moved,)}


def test_frames_move_with_their_contents_or_grow():
    whole = {"frame": Note("", Point(390, -40), 400, 280, frame=True)}
    part = {"frame": Note("", Point(190, -40), 400, 120, frame=True)}
    add = AddBlock("b", block("Relu"), Point(380, 0))
    for notes, edge in ((whole, False), (part, True)):
        shown = narrow(notes)
        page = apply(shown, make_space(Scene(shown, "main"), add, ["b"])).after.main
        before, after = notes["frame"], page.notes["frame"]
        moved = page.layout["tanh"].x - 400
        assert moved > 0
        right = page.layout["tanh"].x + 160
        assert after.at.x + after.width >= right
        assert (after.width > before.width) == (after.at == before.at)
        if edge:
            assert after == Note("", before.at, before.width + moved, before.height, frame=True)


def test_what_is_pasted_without_a_place_goes_to_the_nearest_vacancy():
    shown = narrow()
    scene = Scene(shown, "main")
    change = Batch(
        "Paste",
        (AddBlock("b", block("Relu"), Point(24, 24)), AddBlock("c", block("Relu"), Point(224, 24))),
    )
    edit = apply(shown, in_vacancy(scene, change, ["b", "c"], ()))
    page = edit.after.main
    assert edit.label == "Paste"
    assert {name: page.layout[name] for name in shown.main.layout} == dict(shown.main.layout)
    assert page.layout["c"].x - page.layout["b"].x == 200
    assert page.layout["b"].y == page.layout["c"].y > 72
