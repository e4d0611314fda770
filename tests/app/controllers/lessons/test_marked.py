"""Marks of a lesson's texts in the window: nobody reads or hears a raw backtick or asterisk."""

import json
import re
from html import unescape

import pytest
from PySide6.QtGui import QAccessible, QAction
from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget

from gradwire.app.services import examples
from gradwire.runtime.diagram import SetParameters, dumps, save
from gradwire.runtime.diagram.paths import WirePath
from gradwire.runtime.flow import State
from tests.runtime.lessons.marked import ANSWERED, RAW, marked_lesson, plainly

PREDICT, KNOWN, PAINT, CHANGE, BUILD, CHECK = range(1, 7)


@pytest.fixture
def announced(monkeypatch):
    """What screen readers are told."""
    found = []

    def take(event):
        found.append(event.message() if hasattr(event, "message") else "")

    monkeypatch.setattr(QAccessible, "updateAccessibility", take)
    return found


@pytest.fixture
def window(window, qtbot, tmp_path):
    window.settings.reduced_motion = True
    path = tmp_path / "marked.gradwire.json"
    save(marked_lesson(), path)
    assert window.windows.start_lesson(path, window)
    shown(window, qtbot)
    return window


def shown(window, qtbot):
    qtbot.waitUntil(lambda: not window.evaluator.busy)
    qtbot.waitUntil(lambda: not window.lazy.player.worker.is_pending("goals"))


def words(window):
    """All that can be read in the window; fields in which the author writes have it as it is."""
    found = [window.windowTitle(), *(a.statusTip() for a in window.findChildren(QAction))]
    for widget in window.findChildren(QWidget):
        found += [widget.toolTip(), widget.statusTip(), widget.accessibleName()]
        found.append(widget.accessibleDescription())
        if isinstance(widget, QLabel | QAbstractButton):
            found.append(widget.text())
    return "\n".join(unescape(re.sub(r"<[^>]*>", "", text)) for text in found)


def answer(window, qtbot, step):
    """Answer a step as ``ANSWERED`` says."""
    player, panel = window.lazy.player, window.lazy.player.panel
    if step in (PREDICT, KNOWN):
        player._type("7" if step == PREDICT else "3")
        player._commit(75)
    elif step == PAINT:
        player.painting.wires[WirePath("mul1.b")] = State.CARRIES
        player._commit(75)
    elif step == CHANGE:
        window.document.apply(SetParameters("x", {"value": 10.0}))
        window.document.apply(SetParameters("sg", {"open": True}))
        qtbot.waitUntil(lambda: player.walk.is_done)
    elif step == CHECK:
        panel.options.committed.emit(0)


def test_nobody_reads_or_hears_a_mark(window, qtbot, announced):
    player, all_words = window.lazy.player, []
    for step in range(7):
        player.hint()
        shown(window, qtbot)
        all_words.append(words(window))
        if step != BUILD:
            answer(window, qtbot, step)
            shown(window, qtbot)
        all_words.append(words(window))
        player.show_answer()
        all_words.append(words(window))
        if step < 6:
            player.advance()
            shown(window, qtbot)
    text = "\n".join([*all_words, *announced])
    assert not (raw := RAW.search(text)), text[max(0, raw.start() - 80) : raw.end() + 40]
    assert [name for name in ANSWERED if plainly(name) not in text] == []
    assert any(plainly("own-3") in said for said in announced)


def test_a_lesson_is_offered_without_marks(opened):
    window = opened(marked_lesson())
    text = words(window)
    assert plainly("goal") in text and not RAW.search(text)


def test_the_start_page_and_the_menus_show_no_marks(tmp_path):
    path = tmp_path / "01_marked.gradwire.json"
    path.write_text(dumps(marked_lesson()), encoding="utf-8")
    assert json.loads(path.read_text())["lesson"]["goal"] != plainly("goal")
    assert examples.lesson_file(path).goal == plainly("goal")
    assert examples._example(path).description == plainly("description")
