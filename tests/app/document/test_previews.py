"""A preview shows what an edit would be; it becomes one undo, or leaves no trace."""

import pytest

from gradwire.app.document.document import Document
from gradwire.runtime.build import build, loss, variable
from gradwire.runtime.diagram import SetParameters, load


def to(value):
    return SetParameters("w", {"value": value})


def value(diagram):
    return diagram.main.blocks["w"].value.array.item()


@pytest.fixture
def document(qtbot):
    made = Document()
    made._begin(build(loss(variable("w", 1.0) * 2)), None)
    return made


@pytest.fixture
def shown(document):
    seen = []
    document.diagramChanged.connect(lambda diagram: seen.append(value(diagram)))
    return seen


def test_a_preview_is_shown_but_not_in_the_history(document, shown):
    document.preview(to(2.0))
    document.preview(to(3.0))
    assert shown == [2.0, 3.0]
    assert value(document.diagram) == 3.0
    assert document.undo_stack.count() == 0
    assert document.is_clean


def test_what_is_made_in_the_end_is_one_undo(document, shown):
    for number in (2.0, 3.0, 4.0):
        document.preview(to(number))
    before = document.diagram
    document.apply(to(4.0))
    assert document.diagram is before  # so that it is not evaluated again
    assert document.undo_stack.count() == 1
    document.undo_stack.undo()
    assert value(document.diagram) == 1.0
    document.undo_stack.redo()
    assert value(document.diagram) == 4.0


def test_two_drags_shortly_after_each_other_are_two_undos(document):
    for number in (2.0, 3.0):
        document.preview(to(number))
        document.apply(to(number))
    assert document.undo_stack.count() == 2


def test_a_preview_that_is_taken_back_leaves_no_trace(document, shown):
    document.apply(to(5.0))
    document.undo_stack.undo()
    before = document.diagram
    document.preview(to(2.0))
    document.preview(None)
    assert document.diagram is before
    assert shown[-1] == 1.0
    assert document.undo_stack.canRedo()
    document.preview(None)
    assert len(shown) == 4


def test_an_edit_that_ends_where_it_began_shows_the_diagram_before(document, shown):
    before = document.diagram
    document.preview(to(2.0))
    assert document.apply(to(1.0))
    assert document.diagram is before
    assert shown[-1] == 1.0
    assert document.undo_stack.count() == 0


def test_another_edit_replaces_the_preview(document):
    document.preview(to(2.0))
    document.apply(SetParameters("w", {"trainable": False}))
    assert value(document.diagram) == 1.0
    assert not document.diagram.main.blocks["w"].trainable


def test_a_preview_that_is_refused_shows_the_diagram_before(document, shown):
    problems = []
    document.problem.connect(problems.append)
    document.preview(to(2.0))
    assert not document.preview(to("seven"))
    assert problems
    assert value(document.diagram) == 1.0
    assert not document.apply(to("seven"))
    assert value(document.diagram) == 1.0


def test_an_undo_ends_the_preview(document):
    document.apply(to(2.0))
    document.preview(to(3.0))
    document.undo_stack.undo()
    assert value(document.diagram) == 1.0
    document.preview(None)
    assert value(document.diagram) == 1.0


def test_a_file_never_holds_a_preview(document, tmp_path):
    document.preview(to(2.0))
    assert document.save_as(tmp_path / "d.gradwire.json")
    assert value(load(tmp_path / "d.gradwire.json")) == 1.0
    assert document.is_clean
