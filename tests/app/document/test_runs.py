"""A run advances the diagram; whatever it changes in one go is one undo."""

import pytest

from gradwire.app.document.document import Document
from gradwire.runtime.build import build, loss, variable
from gradwire.runtime.diagram import SetParameters, apply, save


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


def test_an_edit_during_a_run_is_an_undo_of_its_own(document):
    advance(document, 2.0, 3.0)
    document.apply(to(7.0, "x"))
    advance(document, 4.0, 5.0)
    seen = []
    while document.undo_stack.canUndo():
        document.undo_stack.undo()
        seen.append((value(document.diagram), value(document.diagram, "x")))
    assert seen == [(3.0, 7.0), (3.0, 5.0), (1.0, 5.0)]


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
