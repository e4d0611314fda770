"""Conflicts of a merge side by side, and the choice between them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QDialogButtonBox

from gradwire.app.panels.dialogs.merging import Merging
from gradwire.app.panels.focus_ring import Dialog
from gradwire.app.services.theme import DARK
from gradwire.blocks.registry import registry
from gradwire.runtime.cli.entry import main
from gradwire.runtime.diagram import (
    AddBlock,
    Connect,
    InsertPage,
    PortName,
    RemoveBlocks,
    apply,
    load,
    save,
)
from gradwire.runtime.diagram import SetParameters as Set
from gradwire.runtime.diagram.edits.changes import SetTitle
from gradwire.runtime.diagram.merging import Three
from tests.app.document.test_diff import seed

FACTOR, STOP, TITLE = "page main: mul1: literals", "page main: block stop", "title"


def changed(diagram, *changes):
    for change in changes:
        diagram = apply(diagram, change).after
    return diagram


def versions():
    base = seed()
    ours = changed(base, Set("mul1", {"a": 5}), RemoveBlocks(["stop"]), SetTitle("Ours"))
    uses = (
        AddBlock("new", registry().get("Tanh")()),
        Connect(PortName("stop", "out"), PortName("new", "x")),
    )
    opened = Set("stop", {"open": True}), SetTitle("Theirs")
    theirs = changed(base, Set("mul1", {"a": 7}), *opened, *uses)
    return Three(base, ours, theirs)


@pytest.fixture
def dialog(qtbot):
    made = Merging(versions(), "m.gradwire.json", {}, None)
    qtbot.addWidget(made)
    made.show()
    return made


def rows(dialog):
    items = [dialog.list.topLevelItem(i) for i in range(dialog.list.topLevelItemCount())]
    return {item.text(0): [item.text(part) for part in (1, 2, 3)] for item in items}


def select(dialog, *names):
    items = [dialog.list.findItems(name, Qt.MatchFlag.MatchExactly)[0] for name in names]
    dialog.list.setCurrentItem(items[0])
    for item in items:
        item.setSelected(True)


def saves(dialog):
    return dialog.buttons.button(QDialogButtonBox.StandardButton.Save)


def test_both_sides_are_listed_and_drawn(dialog):
    assert rows(dialog)[TITLE] == ["Ours", "Theirs", "not chosen yet"]
    assert rows(dialog)[FACTOR][:2] == ['{"a": 5}', '{"a": 7}']
    ours, theirs = (dialog.previews[side] for side in ("ours", "theirs"))
    assert ours.isVisible() and theirs.isVisible() and ours.x() + ours.width() <= theirs.x()
    assert ours.grab().toImage() != theirs.grab().toImage()
    assert ours.accessibleName() and theirs.accessibleName() and dialog.list.accessibleName()


def test_a_side_is_chosen_of_each_and_then_it_can_be_saved(dialog, qtbot):
    assert not saves(dialog).isEnabled()
    select(dialog, FACTOR)
    qtbot.mouseClick(dialog.keep_theirs, Qt.MouseButton.LeftButton)
    assert rows(dialog)[FACTOR][2] == "Theirs"
    select(dialog, *[name for name in rows(dialog) if name != FACTOR])
    assert not saves(dialog).isEnabled()
    qtbot.mouseClick(dialog.keep_ours, Qt.MouseButton.LeftButton)
    assert saves(dialog).isEnabled()
    assert dialog.choices[FACTOR] == "theirs" and dialog.choices[STOP] == "ours"
    qtbot.mouseClick(saves(dialog), Qt.MouseButton.LeftButton)
    assert dialog.result() == Merging.DialogCode.Accepted


def test_a_choice_can_be_changed_and_what_follows_from_it_is_listed(dialog, qtbot):
    wire = "page main: wire into new.x"
    select(dialog, STOP)
    before = set(rows(dialog))
    qtbot.mouseClick(dialog.keep_ours, Qt.MouseButton.LeftButton)
    assert rows(dialog).keys() - before == {wire}
    assert rows(dialog)[wire] == ["–", "stop.out", "neither: connect it in the editor"]
    qtbot.mouseClick(dialog.keep_theirs, Qt.MouseButton.LeftButton)  # it is still selected
    assert rows(dialog)[STOP][2] == "Theirs" and set(rows(dialog)) == before


def test_a_wire_that_no_side_can_have_is_not_chosen(dialog):
    select(dialog, STOP)
    dialog.keep_ours.click()
    select(dialog, "page main: wire into new.x")
    assert not dialog.keep_ours.isEnabled() and not dialog.keep_theirs.isEnabled()


def test_the_page_of_the_conflict_is_shown_or_that_a_side_has_none(qtbot):
    base = changed(seed(), InsertPage("inner", seed().main))
    ours, theirs = changed(base, Set("mul1", {"a": 5})), changed(base, Set("mul1", {"a": 7}))
    pages = {**theirs.pages, "inner": changed(seed(), Set("mul1", {"a": 9})).main}
    gone = {name: page for name, page in ours.pages.items() if name != "inner"}
    dialog = Merging(
        Three(base, replace(ours, pages=gone), replace(theirs, pages=pages)), "m", {}, None
    )
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.previews["ours"].isVisible()
    select(dialog, "page inner")
    assert not dialog.previews["ours"].isVisible() and dialog.previews["theirs"].isVisible()
    select(dialog, FACTOR)
    assert dialog.previews["ours"].isVisible()


def test_pictures_have_the_theme(dialog):
    before = dialog.previews["ours"].grab().toImage()
    dialog.set_theme(DARK)
    assert dialog.previews["ours"].grab().toImage() != before


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / f"{name}.gradwire.json" for name in ("base", "ours", "theirs")]
    for diagram, path in zip(versions(), paths, strict=True):
        save(diagram, path)
    return paths


def answer(do):
    """Let ``do`` have the dialog as soon as it is open."""

    def look():
        (shown,) = [w for w in QApplication.topLevelWidgets() if isinstance(w, Merging)]
        do(shown)
        shown.deleteLater()

    QTimer.singleShot(0, look)


def test_the_command_saves_what_was_chosen(qtbot, files, tmp_path, capsys):
    out = tmp_path / "out.gradwire.json"

    def choose(dialog):
        dialog.list.selectAll()
        dialog.keep_theirs.click()
        saves(dialog).click()

    answer(choose)
    assert main(["merge", *map(str, files), "-o", str(out), "--open"]) == 0
    assert load(out).title == "Theirs" and load(out).main.blocks["stop"].open
    assert f"{out}: merged" in capsys.readouterr().out


def test_the_command_writes_nothing_when_the_dialog_is_closed(qtbot, files, tmp_path, capsys):
    out = tmp_path / "out.gradwire.json"
    answer(lambda dialog: dialog.reject())
    assert main(["merge", *map(str, files), "-o", str(out), "--open"]) == 1
    assert not out.exists() and "Nothing was written." in capsys.readouterr().err


def test_nothing_opens_where_nothing_is_to_choose(qtbot, files):
    base, ours, _ = files
    assert main(["merge", str(base), str(ours), str(base), "--open"]) == 0


def test_a_dialog_fits_the_screen(qtbot):
    dialog = Dialog()
    qtbot.addWidget(dialog)
    dialog.resize(dialog.screen().availableSize() * 2)
    dialog.show()
    screen = dialog.screen().availableSize()
    assert dialog.width() <= screen.width() and dialog.height() < screen.height()
