"""A scene follows an edit of numbers without laying out anything again."""

from dataclasses import replace

import pytest

from gradwire.app.canvas.scene.geometry import Scene
from gradwire.blocks.library.arithmetic import Add, Mul
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.pages import PageInput, PageOutput
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram import (
    Connect,
    Diagram,
    MoveBlocks,
    Point,
    PortName,
    RemoveBlocks,
    RenameBlock,
    SetNote,
    SetParameters,
    apply,
)
from gradwire.runtime.diagram.model import Note, Page
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


def within(weight, name="m"):
    """A page that is used once, with a weight of its own."""
    inner = Page({"x": PageInput(), "w": Variable(value=weight), name: Mul(), "y": PageOutput()})
    return Diagram({"main": Page({"use": PageBlock(page="inner")}), "inner": inner})


def test_numbers_of_other_pages_leave_this_one_as_it_is():
    before = within(1.0)
    pages = {"main": before.main, "inner": within(2.0).pages["inner"]}
    inner = replace(before.pages["inner"], blocks=pages["inner"].blocks)
    after = Diagram({**pages, "inner": inner})
    scene = Scene(before, "main")
    version = scene.version
    assert scene.follow_numbers(after) == []
    assert scene.diagram is after
    assert scene.version == version


def test_other_blocks_of_other_pages_are_left_to_an_update():
    before = within(1.0)
    blocks = {**before.pages["inner"].blocks, "m": Add()}
    after = before.with_page("inner", replace(before.pages["inner"], blocks=blocks))
    assert Scene(before, "main").follow_numbers(after) is None
