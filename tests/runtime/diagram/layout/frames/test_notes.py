"""Notes move with what they stand beside and come to lie on nothing."""

from dataclasses import replace

from gradwire.runtime.diagram import Arrange, Diagram, Note, Point, apply
from gradwire.runtime.diagram.layout.measures import WIDTH, block_height
from tests.benchmarks.drawings import drawing
from tests.runtime.diagram.drawing import make, page


def arranged(notes, *, names=()):
    """x → a → add, x → add, spread out, and notes."""
    blocks = {"x": make("Variable"), "a": make("Tanh"), "add": make("Add")}
    made = page(blocks, {"a.x": "x.out", "add.a": "a.out", "add.b": "x.out"})
    layout = {"x": Point(0, 0), "a": Point(800, 400), "add": Point(1_600, 0)}
    diagram = Diagram({"main": replace(made, layout=layout, notes=notes)})
    found = apply(diagram, Arrange(names=names)).after
    assert drawing(found, "main", found.main.layout, found.main.routes).covered() == 0
    assert apply(found, Arrange(names=names)).after == found
    return found.main


def test_a_note_keeps_its_distance_and_side():
    found = arranged({
        "below": Note("", Point(810, 540), 200, 60),
        "right": Note("", Point(1_800, -20), 100, 60),
    })  # fmt: skip
    a, add = found.layout["a"], found.layout["add"]
    assert found.notes["below"].at == Point(a.x + 10, a.y + 140)
    assert found.notes["right"].at == Point(add.x + 200, add.y - 20)


def test_a_note_does_not_lie_on_a_wire():
    found = arranged({"between": Note("", Point(600, 420), 150, 60)})
    note, a = found.notes["between"], found.layout["a"]
    assert abs(note.at.x + 200 - a.x) + abs(note.at.y - 20 - a.y) < 200


def test_notes_that_stand_together_move_as_one():
    found = arranged({
        "one": Note("", Point(780, 510), 300, 60),
        "two": Note("", Point(780, 590), 200, 60),
        "three": Note("", Point(1_100, 510), 300, 100),
    })  # fmt: skip
    one, two, three = (found.notes[name].at for name in ("one", "two", "three"))
    assert (two.x - one.x, two.y - one.y) == (0, 80)
    assert (three.x - one.x, three.y - one.y) == (320, 0)


def test_notes_that_lie_on_each_other_part():
    arranged({
        "one": Note("", Point(780, 510), 300, 60),
        "two": Note("", Point(800, 520), 300, 60),
    })  # fmt: skip


def test_a_note_beside_a_frame_moves_with_its_border():
    frame = Note("Frame", Point(740, 300), 600, 400, frame=True)
    found = arranged({"frame": frame, "text": Note("", Point(1_360, 320), 120, 60)})
    frame, note = found.notes["frame"], found.notes["text"]
    assert note.at.x >= frame.at.x + frame.width
    assert abs(note.at.x - frame.at.x - frame.width - 20) + abs(note.at.y - frame.at.y - 20) < 250


def test_an_empty_frame_is_moved_out_of_the_way():
    found = arranged({"empty": Note("", Point(200, 0), 700, 300, frame=True)})
    frame = found.notes["empty"]
    for x, y in found.layout.values():
        beside = x >= frame.at.x + frame.width or x + WIDTH <= frame.at.x
        assert beside or y >= frame.at.y + frame.height or y + block_height(2) <= frame.at.y


def test_notes_of_blocks_that_are_not_arranged_stay():
    note = Note("", Point(1_650, 20), 100, 60)
    diagram = {"on_add": note}
    found = apply(
        Diagram({"main": replace(
            page({"x": make("Variable"), "a": make("Tanh"), "add": make("Add")}, {"a.x": "x.out"}),
            layout={"x": Point(0, 0), "a": Point(300, 200), "add": Point(1_600, 0)}, notes=diagram,
        )}),
        Arrange(names=("a", "x")),
    ).after.main  # fmt: skip
    assert found.notes["on_add"] == note
