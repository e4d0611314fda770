"""One undo for each change, exact both ways; files that fail lose nothing."""

from pathlib import Path

import pytest

from gradwire.app.document.document import Document
from gradwire.blocks.library.arithmetic import Add, Mul
from gradwire.blocks.library.data import Dataset
from gradwire.blocks.library.pages import PageInput
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.build import build, loss, stop_gradient, variable
from gradwire.runtime.data.files import access
from gradwire.runtime.diagram import (
    AddBlock,
    Arrange,
    Batch,
    Connect,
    Disconnect,
    InsertPage,
    MoveBlocks,
    Note,
    Page,
    Point,
    PortName,
    RemoveBlocks,
    RemovePage,
    RenameBlock,
    RenamePage,
    SetNote,
    SetParameters,
    SetTitle,
    dumps,
    load,
)
from gradwire.runtime.engine import Session

PAGES = Path(__file__).parents[2] / "runtime/diagram/files/golden/version1_pages.gradwire.json"


def seed():
    a, b = variable("a", [[1.0, 2.0]]), variable("b", [[0.0, 1.0]])
    return build(loss(stop_gradient(3 * b) + a), title="Seed")


@pytest.fixture
def document(qtbot):
    made = Document()
    made._begin(seed(), None)
    return made


@pytest.fixture
def told(document):
    problems = []
    document.problem.connect(problems.append)
    return problems


def port(text):
    return PortName.parse(text)


CHANGES = [
    AddBlock("new", Mul(a=3), Point(10, 20)),
    RemoveBlocks(("a", "b")),
    RenameBlock("a", "alpha"),
    MoveBlocks({"a": Point(500.0, 500.0)}),
    SetParameters("a", {"value": [[5.0, 6.0]]}),
    SetParameters("mul1", {"a": 4}),
    Connect(port("a.out"), port("mul1.b")),
    Disconnect(port("loss.x")),
    SetNote("n1", Note("Why?", Point(0, 0))),
    SetTitle("Another", "with words"),
    InsertPage("inner", Page({"x": PageInput()})),
    Batch("Both", (AddBlock("c", Variable(value=1.0)), MoveBlocks({"a": Point(1.0, 2.0)}))),
    Batch("Far", (MoveBlocks({"a": Point(-900.0, 0.0)}), Arrange())),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: type(change).__name__)
def test_every_change_is_one_undo_and_comes_back_exactly(document, change):
    before = document.diagram
    assert document.apply(change)
    after = document.diagram
    assert after != before
    assert document.undo_stack.count() == 1
    assert document.undo_stack.undoText()
    document.undo_stack.undo()
    assert document.diagram is before
    document.undo_stack.redo()
    assert document.diagram is after


def test_pages_are_renamed_and_removed_with_undo(document):
    document.apply(InsertPage("inner", Page()))
    for change in (RenamePage("inner", "deeper"), RemovePage("deeper")):
        before = document.diagram
        assert document.apply(change)
        document.undo_stack.undo()
        assert document.diagram is before
        document.undo_stack.redo()


def test_undoing_everything_gives_the_file_back_byte_for_byte(document):
    text = dumps(document.diagram)
    for change in CHANGES:
        document.apply(change)
    while document.undo_stack.canUndo():
        document.undo_stack.undo()
    assert dumps(document.diagram) == text


def test_removed_blocks_come_back_in_their_order_with_their_wires(document):
    before = document.diagram.main
    document.apply(RemoveBlocks(("mul1", "a")))
    document.undo_stack.undo()
    assert list(document.diagram.main.blocks) == list(before.blocks)
    assert list(document.diagram.main.wires.items()) == list(before.wires.items())


def test_a_refused_change_is_told_and_leaves_no_trace(document, told):
    before = document.diagram
    assert not document.apply(Connect(port("loss.out"), port("mul1.b")))
    assert not document.apply(RenameBlock("a", "b"))
    assert not document.apply(SetParameters("a", {"trainable": "perhaps"}))
    assert document.diagram is before
    assert document.undo_stack.count() == 0
    assert "cycle" in told[0]
    assert "already" in told[1]
    assert "trainable" in told[2]


def test_a_change_that_changes_nothing_is_no_undo(document):
    assert document.apply(RenameBlock("a", "a"))
    assert document.apply(SetParameters("mul1", {"a": 3}))
    assert document.undo_stack.count() == 0
    assert document.is_clean


class TestMerging:
    def test_nudges_of_the_same_blocks_are_one_undo(self, document):
        before = document.diagram
        for x in (10.0, 20.0, 30.0):
            document.apply(MoveBlocks({"a": Point(x, 0.0)}))
        assert document.undo_stack.count() == 1
        document.undo_stack.undo()
        assert document.diagram is before
        document.undo_stack.redo()
        assert document.diagram.main.layout["a"] == Point(30.0, 0.0)

    def test_edits_of_the_same_field_are_one_undo(self, document):
        for value in (4, 5, 6):
            document.apply(SetParameters("mul1", {"a": value}))
        assert document.undo_stack.count() == 1

    def test_other_blocks_and_other_fields_are_undos_of_their_own(self, document):
        document.apply(MoveBlocks({"a": Point(1.0, 0.0)}))
        document.apply(MoveBlocks({"b": Point(1.0, 0.0)}))
        document.apply(SetParameters("a", {"trainable": False}))
        document.apply(SetParameters("a", {"value": [[9.0, 9.0]]}))
        assert document.undo_stack.count() == 4

    def test_a_pause_begins_another_undo(self, document, monkeypatch):
        now = [100.0]
        monkeypatch.setattr("gradwire.app.document.document.time.monotonic", lambda: now[0])
        document.apply(MoveBlocks({"a": Point(1.0, 0.0)}))
        now[0] += 1.5
        document.apply(MoveBlocks({"a": Point(2.0, 0.0)}))
        assert document.undo_stack.count() == 2

    def test_an_edit_after_an_undo_begins_another_undo(self, document):
        document.apply(SetParameters("mul1", {"a": 4}))
        document.apply(MoveBlocks({"a": Point(1.0, 0.0)}))
        document.undo_stack.undo()
        document.apply(SetParameters("mul1", {"a": 5}))
        assert document.undo_stack.count() == 2

    def test_an_edit_after_saving_makes_the_document_dirty(self, document, tmp_path):
        document.apply(SetParameters("mul1", {"a": 4}))
        document.save_as(tmp_path / "d.gradwire.json")
        assert document.is_clean
        document.apply(SetParameters("mul1", {"a": 5}))
        assert not document.is_clean
        document.undo_stack.undo()
        assert document.is_clean


class TestFiles:
    def test_saving_and_opening_gives_the_same_diagram(self, document, qtbot, tmp_path):
        path = tmp_path / "seed.gradwire.json"
        document.apply(AddBlock("c", Add()))
        with qtbot.waitSignals([document.pathChanged, document.cleanChanged]):
            assert document.save_as(path)
        assert document.is_clean
        assert document.path == path
        other = Document()
        assert other.open(path)
        assert dumps(other.diagram) == dumps(document.diagram)
        assert not other.undo_stack.canUndo()

    def test_a_save_without_a_file_asks_for_one(self, document):
        assert not document.save()

    @pytest.mark.parametrize("text", ["", "{", '{"gradwire": 3, "pages": {}, "x": 1}', "\0"])
    def test_a_broken_file_leaves_what_is_open(self, document, told, tmp_path, text):
        path = tmp_path / "broken.gradwire.json"
        path.write_text(text, encoding="utf-8")
        document.apply(AddBlock("c", Add()))
        before = document.diagram
        assert not document.open(path)
        assert document.diagram is before
        assert document.undo_stack.canUndo()
        assert document.path is None
        assert "broken.gradwire.json" in told[0]

    def test_a_file_that_is_gone_leaves_what_is_open(self, document, told, tmp_path):
        before = document.diagram
        assert not document.open(tmp_path / "nowhere.gradwire.json")
        assert document.diagram is before
        assert told

    def test_a_folder_that_can_not_be_written_leaves_it_unsaved(self, document, told, tmp_path):
        document.apply(AddBlock("c", Add()))
        assert not document.save_as(tmp_path / "no" / "such" / "d.gradwire.json")
        assert not document.is_clean
        assert document.path is None
        assert "was not saved" in told[0]

    def test_a_copy_has_no_file_to_overwrite(self, document, tmp_path):
        path = tmp_path / "seed.gradwire.json"
        document.save_as(path)
        other = Document()
        other.adopt(other.read(path).copy())
        assert other.path is None
        assert not other.save()
        assert load(path) is not None

    def test_a_new_document_forgets_file_and_history(self, document, tmp_path):
        document.save_as(tmp_path / "d.gradwire.json")
        document.apply(AddBlock("c", Add()))
        document.new()
        assert document.path is None
        assert document.is_clean
        assert not document.diagram.main.blocks
        assert not document.undo_stack.canUndo()


def test_opening_an_older_file_tells_what_changed_and_saving_it_does_not(document, tmp_path):
    heard, older = [], tmp_path / "older.gradwire.json"
    document.upgraded.connect(heard.append)
    older.write_text(PAGES.read_text(encoding="utf-8"), encoding="utf-8")
    assert document.open(older)
    assert ["these uses are now independent: one on page main" in text for text in heard] == [True]
    assert document.save() and document.open(older)
    assert len(heard) == 1


def test_a_use_is_made_independent_and_shared_again_by_undo(document):
    assert document.open(PAGES)
    assert document.apply(SetParameters("one", {"independent": False}))
    assert not document.diagram.main.blocks["one"].independent
    document.undo_stack.undo()
    assert document.diagram.main.blocks["one"].independent
    document.undo_stack.redo()
    assert not document.diagram.main.blocks["one"].independent


class TestDataFiles:
    """Paths of data files are relative to the folder of the diagram's file."""

    @pytest.fixture
    def reading(self, tmp_path, monkeypatch):
        """A document in a folder, whose table is in a folder inside."""
        monkeypatch.setattr(access, "_allowed", set())
        for name in ("tables", "other"):
            (tmp_path / name).mkdir()
        (tmp_path / "tables" / "a.csv").write_text("x\n1\n2\n")
        block = Dataset(source="csv", path="tables/a.csv", columns={"x": {}}, shuffle=False)
        document = Document()
        document.apply(AddBlock("data", block))
        assert document.save_as(tmp_path / "d.gradwire.json")
        return document

    def read(self, document):
        session = Session(document.diagram)
        assert not session.diagnostics
        assert session.run(ports=["data.x"]).values["data.x"].tolist() == [1, 2]
        return document.diagram.main.blocks["data"].path

    def test_a_new_file_has_a_folder_at_once(self, reading):
        assert self.read(reading) == "tables/a.csv"

    def test_after_save_as_the_data_is_still_found(self, reading, tmp_path):
        path = tmp_path / "other" / "d.gradwire.json"
        assert reading.save_as(path)
        assert reading.is_clean and reading.matches_file()
        assert self.read(reading) == "../tables/a.csv"
        assert load(path) == reading.diagram

    def test_undo_past_save_as_finds_the_data_and_saves_to_the_new_file(self, reading, tmp_path):
        reading.apply(AddBlock("c", Add()))
        reading.apply(RemoveBlocks(("c",)))
        assert reading.save_as(tmp_path / "other" / "d.gradwire.json")
        for way in ("undo", "undo", "redo", "redo"):
            getattr(reading.undo_stack, way)()
            assert reading.diagram.folder == tmp_path / "other"
            assert reading.diagram.main.blocks["data"].path == "../tables/a.csv"
        assert self.read(reading) == "../tables/a.csv"
        assert reading.is_clean and reading.matches_file()

    def test_a_link_to_the_file_counts_as_the_file(self, reading, tmp_path):
        link = tmp_path / "other" / "link.gradwire.json"
        link.symlink_to(tmp_path / "d.gradwire.json")
        assert reading.save_as(link)
        assert self.read(reading) == "tables/a.csv"
