"""Frames as a tree: what lies in which."""

from gradwire.runtime.diagram import Note, Point
from gradwire.runtime.diagram.layout.frames.notes import FrameGroup, groups_of


def frame(x, y, width, height):
    return Note("", Point(x, y), width, height, frame=True)


def block(x, y):
    return (x, y, x + 160.0, y + 70.0)


def test_blocks_and_notes_are_in_the_smallest_frame_around_them():
    notes = {
        "outer": frame(0, 0, 900, 400),
        "inner": frame(20, 20, 300, 300),
        "text": Note("", Point(30, 200), 100, 60),
        "beside": Note("", Point(500, 200), 100, 60),
        "apart": Note("", Point(2_000, 0), 100, 60),
    }
    tree = groups_of(notes, [block(40, 40), block(400, 40), block(2_000, 300), None])
    inner = FrameGroup("inner", [0], notes=["text"])
    assert tree == FrameGroup("", [2, 3], [FrameGroup("outer", [1], [inner], ["beside"])])


def test_frames_without_blocks_or_with_foreign_ones_are_none():
    notes = {"empty": frame(0, 0, 500, 500), "mixed": frame(900, 0, 900, 400)}
    tree = groups_of(notes, [block(1_000, 40)], [block(1_300, 40)])
    assert tree == FrameGroup("", [0])


def test_of_frames_that_overlap_the_smaller_has_what_lies_in_both():
    notes = {"large": frame(0, 0, 700, 300), "small": frame(300, -10, 600, 300)}
    tree = groups_of(notes, [block(40, 40), block(320, 40), block(720, 40)])
    assert tree.groups == [FrameGroup("small", [1, 2]), FrameGroup("large", [0])]


def test_a_frame_around_the_same_blocks_is_inside_the_larger_one():
    notes = {"wide": frame(0, 0, 700, 300), "high": frame(20, -10, 300, 400)}
    tree = groups_of(notes, [block(40, 40)])
    assert tree.groups == [FrameGroup("wide", [], [FrameGroup("high", [0])])]
