"""A scene follows an edit of numbers without laying out anything again."""

import pytest

from app.canvas.scene.geometry import Scene
from runtime.diagram import (
    Connect,
    MoveBlocks,
    Point,
    PortName,
    RemoveBlocks,
    RenameBlock,
    SetNote,
    SetParameters,
    apply,
)
from runtime.diagram.model import Note
from tests.app.canvas.pages import seed


@pytest.mark.parametrize(
    ("change", "blocks"),
    [
        (SetParameters("a", {"value": [[3, 4]]}), [0]),
        (SetParameters("mul1", {"a": 5}), [2]),
        (SetParameters("a", {"value": [[1, 2, 3]]}), [0]),
    ],
)
def test_numbers_are_followed(change, blocks):
    before = seed()
    scene = Scene(before, "main")
    version, after = scene.version, apply(before, change).after
    assert scene.follow_numbers(after) == blocks
    assert scene.blocks == list(after.main.blocks.values())
    assert scene.diagram is after
    assert scene.version == version


@pytest.mark.parametrize(
    "change",
    [
        SetParameters("a", {"trainable": False}),  # its face has a line less
        MoveBlocks({"a": Point(1, 2)}),
        RenameBlock("a", "c"),
        RemoveBlocks(("a",)),
        Connect(PortName("b", "out"), PortName("add1", "b")),
        SetNote("n", Note("why")),
    ],
)
def test_whatever_else_has_changed_is_left_to_an_update(change):
    before = seed()
    scene = Scene(before, "main")
    after = apply(before, change).after
    assert scene.follow_numbers(after) is None
    assert scene.diagram is before
    scene.update(after)
    assert scene.names == list(after.main.blocks)


def test_the_same_diagram_is_no_edit():
    before = seed()
    assert Scene(before, "main").follow_numbers(before) is None
