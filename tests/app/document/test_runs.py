"""A run advances the diagram; whatever it changes in one go is one undo."""

import pytest

from gradwire.app.document.document import Document
from gradwire.runtime.build import build, loss, variable
from gradwire.runtime.diagram import MoveBlocks, Point, SetParameters, SetTitle, apply, save


def to(value, name="w"):
    return SetParameters(name, {"value": value})


def value(diagram, name="w"):
    return diagram.main.blocks[name].value.array.item()


@pytest.fixture
def document(qtbot):
    made = Document()
    made._begin(build(loss(variable("w", 1.0) * variable("x", 5.0))), None)
    return made


def advance(document, *values):
    for number in values:
        document.advance(lambda diagram, new=number: apply(diagram, to(new)).after, "Train")


def test_a_run_is_one_undo(document):
    advance(document, 2.0, 3.0, 4.0)
    assert value(document.diagram) == 4.0
    assert document.undo_stack.count() == 1
    document.undo_stack.undo()
    assert value(document.diagram) == 1.0
    document.undo_stack.redo()
    assert value(document.diagram) == 4.0


def test_the_next_run_is_another_undo(document):
    advance(document, 2.0)
    document.settle()
    advance(document, 3.0, 4.0)
    document.undo_stack.undo()
    assert value(document.diagram) == 2.0


def undone(document):
    """The values of both variables after each undo."""
    seen = []
    while document.undo_stack.canUndo():
        document.undo_stack.undo()
        seen.append((value(document.diagram), value(document.diagram, "x")))
    return seen


def test_an_edit_of_a_variable_during_a_run_is_an_undo_of_its_own(document):
    advance(document, 2.0, 3.0)
    document.apply(to(7.0, "x"))
    advance(document, 4.0, 5.0)
    assert undone(document) == [(3.0, 7.0), (3.0, 5.0), (1.0, 5.0)]


def test_so_is_one_that_was_previewed_while_the_run_went_on(document):
    advance(document, 2.0)
    document.preview(to(7.0, "x"))
    advance(document, 3.0)
    document.apply(to(7.0, "x"))
    advance(document, 4.0)
    assert undone(document) == [(3.0, 7.0), (3.0, 5.0), (1.0, 5.0)]


def test_another_edit_is_undone_and_redone_while_the_run_goes_on(document):
    first = document.diagram
    advance(document, 2.0)
    document.apply(SetTitle("other"))
    document.apply(MoveBlocks({"w": Point(1.0, 2.0)}))
    advance(document, 3.0)
    for _ in range(2):
        document.undo_stack.undo()
        document.undo_stack.undo()
        assert (document.diagram.title, value(document.diagram)) == ("", 3.0)
        advance(document, 4.0)
        document.undo_stack.redo()
        assert (document.diagram.title, value(document.diagram)) == ("other", 4.0)
        advance(document, 3.0)
        document.undo_stack.redo()
        assert document.diagram.main.layout["w"] == Point(1.0, 2.0)
        assert value(document.diagram) == 3.0
    assert document.undo_stack.count() == 3
    document.jump(0)
    assert document.diagram == first
    advance(document, 9.0)
    assert document.undo_stack.count() == 1


def test_a_run_never_goes_on_below_what_was_saved(document, tmp_path):
    advance(document, 2.0)
    document.save_as(tmp_path / "d.gradwire.json")
    document.apply(SetTitle("other"))
    advance(document, 3.0)
    document.undo_stack.undo()
    document.undo_stack.undo()
    assert document.is_clean
    assert value(document.diagram) == 2.0


def test_a_run_never_changes_what_was_saved_or_undone(document, tmp_path):
    advance(document, 2.0)
    document.save_as(tmp_path / "d.gradwire.json")
    advance(document, 3.0)
    assert not document.is_clean
    document.undo_stack.undo()
    assert value(document.diagram) == 2.0
    assert document.is_clean
    advance(document, 9.0)
    document.undo_stack.undo()
    assert value(document.diagram) == 2.0


def test_a_preview_goes_on_while_the_run_does(document):
    advance(document, 2.0)
    document.preview(to(7.0, "x"))
    advance(document, 3.0)
    assert document.is_previewing
    assert (value(document.diagram), value(document.diagram, "x")) == (3.0, 7.0)
    document.preview(None)
    assert (value(document.diagram), value(document.diagram, "x")) == (3.0, 5.0)
    document.undo_stack.undo()
    assert value(document.diagram) == 1.0


def test_reading_the_file_again_ends_the_run(document, tmp_path):
    save(document.diagram, path := tmp_path / "d.gradwire.json")
    advance(document, 2.0)
    assert document.open(path)
    advance(document, 3.0)
    document.undo_stack.undo()
    assert value(document.diagram) == 1.0
