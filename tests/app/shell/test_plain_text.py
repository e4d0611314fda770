"""No text of a file is taken for markup, wherever the editor shows it."""

import json
import re

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QAccessible, QHelpEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QLabel,
    QMenu,
    QMessageBox,
    QTabBar,
    QTextEdit,
    QToolTip,
    QWidget,
)

from gradwire.app.panels.dialogs.command_palette import CommandPalette
from gradwire.blocks.library.arithmetic import Add
from gradwire.runtime.diagram import Diagram, Page, SetTitle
from tests.app.services.test_journal import left_behind

PICTURE = '<img src="/dev/zero">'
"""What Qt would read a file for."""
KEY = '<img src="%2Fdev%2Fzero">'
"""The same as one part of a path of leaves."""
NAME = "<s>w&z"
"""Markup and the mark of a key, in what a name may be."""
ITEM_ROLES = (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.WhatsThisRole)
SPOKEN = (QAccessible.Text.Name, QAccessible.Text.Description, QAccessible.Text.Value)
MARKUP = re.compile(r'<img (?!src="data:)|<s>')


def diagram(*, runs):
    """A file with markup in every field; a block of it is unknown unless it ``runs``."""
    w, stop, loss, other, page = (f"{NAME}{name}" for name in ("", "stop", "loss", "2", "page"))
    blocks = {
        w: {"type": "Variable", "value": [1.0, 2.0]},
        other: {"type": "Variable", "value": [0.0, 2.0]},
        stop: {"type": "StopGradient"},
        "add": {"type": "Add"},
        "sum": {"type": "Sum"},
        loss: {"type": "Loss"},
        f"{loss}2": {"type": "Loss"},
        "pack": {"type": "Pack", "keys": [KEY, "b"], "extras": {f"e{KEY}": PICTURE}},
        "shown": {"type": "Display"},
        "unknown": {"type": PICTURE, PICTURE: PICTURE},
        "use": {"type": "Page", "page": page},
    }
    wires = {
        f"{stop}.x": f"{w}.out",
        "add.a": f"{stop}.out",
        "add.b": f"{other}.out",
        "sum.x": "add.out",
        f"{loss}.x": "sum.out",
        f"{loss}2.x": "sum.out",
        "pack.items.0": f"{w}.out",
        "pack.items.1": f"{other}.out",
        "shown.x": "pack.out",
        f"add.{PICTURE}": f"{w}.{PICTURE}",
    }
    if runs:
        del blocks["unknown"], wires[f"add.{PICTURE}"]
    inner = {
        "blocks": {NAME: {"type": "Constant", "value": 1.0}, "out": {"type": "PageOutput"}},
        "wires": {"out.x": f"{NAME}.out"},
    }
    notes = {NAME: {"text": PICTURE, "at": [0, 300], "width": 100, "height": 80}}
    return {
        "gradwire": 1,
        "title": PICTURE,
        "description": PICTURE,
        "contracts": [f"flows({NAME}loss -> {NAME})", f"flows({PICTURE} -> {PICTURE})"],
        "pages": {
            "main": {"blocks": blocks, "wires": wires, "notes": notes},
            page: inner,
            f"{page}2": inner,
        },
    }


@pytest.fixture(params=[True, False], ids=["runs", "does not run"])
def opened(request, window, qtbot, tmp_path):
    """A window with such a file, all its panels in sight."""
    path = tmp_path / f"{NAME}[*].gradwire.json"
    path.write_text(json.dumps(diagram(runs=request.param)), encoding="utf-8")
    assert window.open_path(path)
    for name, dock in window.docks.by_name.items():
        dock.show()
        window.docks.bring_up(name)
        QApplication.processEvents()
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    return window


def texts(root):
    """What Qt may take for markup: (where, text), and then what it shows as it is."""
    for widget in (root, *root.findChildren(QWidget)):
        where = f"{type(widget).__name__} {widget.objectName()}"
        yield f"tooltip of {where}", widget.toolTip(), Qt.TextFormat.AutoText
        yield f"help on {where}", widget.whatsThis(), Qt.TextFormat.AutoText
        if isinstance(widget, QTabBar):
            for tab in range(widget.count()):
                yield f"tab of {where}", widget.tabToolTip(tab), Qt.TextFormat.AutoText
        if isinstance(widget, QLabel):
            yield where, widget.text(), widget.textFormat()
        if isinstance(widget, QTextEdit):
            yield where, widget.toHtml(), Qt.TextFormat.RichText
        if isinstance(widget, QAbstractItemView) and widget.model() is not None:
            yield from item_texts(widget)
        for action in widget.actions():
            yield f"tooltip of an action of {where}", action.toolTip(), Qt.TextFormat.AutoText
            yield f"help on an action of {where}", action.whatsThis(), Qt.TextFormat.AutoText


def item_texts(view):
    """Tooltips of rows and of headers."""
    model, parents = view.model(), [view.rootIndex()]
    while parents:
        parent = parents.pop()
        for row in range(model.rowCount(parent)):
            parents.append(model.index(row, 0, parent))
            for column in range(model.columnCount(parent)):
                for role in ITEM_ROLES:
                    text = model.index(row, column, parent).data(role)
                    yield f"{type(model).__name__} {role}", text or "", Qt.TextFormat.AutoText
    for section in range(model.columnCount()):
        text = model.headerData(section, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole)
        yield f"header of {type(model).__name__}", text or "", Qt.TextFormat.AutoText


def markup_in(root):
    """Where a text of the file is markup, and how many times one is shown."""
    wrong, seen = [], 0
    for where, text, form in texts(root):
        seen += any(mark in text for mark in ("<img", "&lt;img", NAME, "&lt;s&gt;"))
        if form != Qt.TextFormat.PlainText and MARKUP.search(text):
            wrong.append(f"{where}: {text[:120]}")
    return wrong, seen


def looked_at(window):
    wrong, seen = markup_in(window)
    assert not wrong, "\n".join(wrong)
    return seen


@pytest.mark.night
def test_no_text_of_a_file_is_markup(opened, qtbot):
    assert looked_at(opened) > 5


@pytest.mark.night
def test_no_block_that_is_selected_is_markup(opened, qtbot):
    page = opened.document.diagram.pages["main"]
    seen = 0
    for name in page.blocks:
        opened.canvas.select([name])
        QApplication.processEvents()
        seen += looked_at(opened)
    opened.canvas.select(list(page.blocks))
    assert seen + looked_at(opened) > 3 * len(page.blocks)


@pytest.mark.night
def test_no_wire_that_is_selected_is_markup(opened, qtbot):
    page = opened.document.diagram.pages["main"]
    opened.docks.bring_up("why")
    for target in map(str, page.wires):
        opened.canvas.select_wire(target)
        QApplication.processEvents()
        qtbot.waitUntil(lambda: not opened.evaluator.busy)
        qtbot.waitUntil(lambda: not opened.explanation.worker.is_pending("why"))
        assert looked_at(opened) > 2


@pytest.mark.night
def test_no_tip_of_the_canvas_is_markup(opened, monkeypatch):
    tips = []
    monkeypatch.setattr(QToolTip, "showText", lambda at, text, *rest: tips.append(text))
    opened.canvas.zoom_to_fit()
    widget = opened.canvas
    for x in range(0, widget.width(), 12):
        for y in range(0, widget.height(), 12):
            at = QPoint(x, y)
            QApplication.sendEvent(
                widget, QHelpEvent(QEvent.Type.ToolTip, at, widget.mapToGlobal(at))
            )
    assert sum("&lt;s&gt;w" in tip for tip in tips) > 5
    assert not [tip for tip in tips if MARKUP.search(tip)]


def test_what_is_read_aloud_is_the_text_of_the_file(opened):
    found = QAccessible.queryAccessibleInterface(opened.canvas)
    children = [found.child(i) for i in range(found.childCount())]
    spoken = [child.text(role) for child in children for role in SPOKEN]
    assert sum(NAME in text for text in spoken) > 5
    assert any(PICTURE in text for text in spoken)  # a note
    assert not any("&lt;" in text for text in spoken)


@pytest.mark.night
def test_no_dialog_takes_the_text_of_a_file_for_markup(opened, tmp_path):
    text = f"{PICTURE}{NAME}"
    left_behind(tmp_path, mine=(Diagram({"main": Page({"a": Add()})}, text), opened.document.path))
    opened.settings.remember(opened.document.path)
    recovery = opened.windows.offer_recovery()
    assert recovery is not None
    palette = CommandPalette(opened.menus.by_name, (), opened)
    opened.welcome.show_recent([opened.document.path])
    for root in (recovery, palette, opened.welcome):
        wrong, seen = markup_in(root)
        assert not wrong, "\n".join(wrong)
        assert seen > 0, root
    recovery.reject()


def test_no_page_of_a_trail_is_markup(opened, qtbot):
    opened.breadcrumbs.show_trail((NAME,), f"{NAME}page2")
    assert looked_at(opened) > 0
    buttons = opened.breadcrumbs.findChildren(QAbstractButton)
    assert {b.text() for b in buttons} >= {NAME.replace("&", "&&")}
    assert all(b.shortcut().isEmpty() for b in buttons)


def test_no_name_of_a_file_is_markup_or_marks_a_key(opened):
    opened.settings.remember(opened.document.path)
    for menu in opened.findChildren(QMenu):
        menu.aboutToShow.emit()
    texts = [action.text() for menu in opened.findChildren(QMenu) for action in menu.actions()]
    named = [text for text in texts if "<s>" in text]
    assert len(named) >= 2
    assert all("&z" not in text.replace("&&", "") for text in named)
    assert "[*][*]" in opened.windowTitle()


def test_a_box_shows_the_name_of_a_file_as_it_is(opened, monkeypatch):
    opened.document.apply(SetTitle("changed"))
    boxes = []

    def seen(box):
        boxes.append((box.textFormat(), box.text()))
        return QMessageBox.StandardButton.Cancel

    monkeypatch.setattr(QMessageBox, "exec", seen)
    assert not opened.files.may_leave()
    assert boxes == [(Qt.TextFormat.PlainText, boxes[0][1])]
    assert NAME in boxes[0][1]


def test_messages_are_shown_as_they_are(opened):
    opened.notice.show_message(PICTURE)
    opened.canvas.statusMessage.emit(PICTURE)
    assert opened.notice.text() == PICTURE == opened.statusBar().currentMessage()
    looked_at(opened)
