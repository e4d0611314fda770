"""Every text that is shown can be translated: a language in which all is bracketed is tried on."""

import ast
import html
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import PySide6
import pytest
from PySide6.QtCore import QLocale, Qt, QTranslator
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QDockWidget,
    QLabel,
    QLineEdit,
    QMenu,
    QWidget,
)

from gradwire.app.canvas.input.bindings import KEYS, MOUSE
from gradwire.app.panels.dialogs.shortcuts import ShortcutSheet
from gradwire.app.panels.inspector.array_tools import Generate, PartDialog
from gradwire.app.services import translation
from gradwire.app.services.examples import examples, lessons
from gradwire.app.services.translation import editor
from gradwire.app.shell.main_window import MainWindow
from gradwire.runtime.build import build, loss, stop_gradient, variable
from tests.app.closing import give_up


class Bracketed(QTranslator):
    """Puts every text that is asked for in brackets, and keeps what was asked."""

    def __init__(self, parent=None):
        super().__init__(parent)
        self.asked = set()

    def isEmpty(self):
        return False

    def translate(self, context, text, disambiguation=None, n=-1):
        self.asked.add((context, text))
        return f"⟦{text}⟧"


@pytest.fixture
def language(qapp):
    made = Bracketed(qapp)
    qapp.installTranslator(made)
    yield made
    qapp.removeTranslator(made)


@pytest.fixture
def window(qtbot, language, settings):
    made = MainWindow(settings)
    made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    made.show()
    yield made
    for each in made.windows.listed:
        give_up(each)


def texts(widget):
    """What a widget says, with where it says it."""
    yield "tool tip", widget.toolTip()
    yield "status tip", widget.statusTip()
    yield "accessible name", widget.accessibleName()
    match widget:
        case QLabel() | QAbstractButton():
            yield "text", widget.text()
        case QLineEdit():
            yield "placeholder", widget.placeholderText()
        case QComboBox():
            yield from (("item", widget.itemText(i)) for i in range(widget.count()))
        case QMenu():
            yield "title", widget.title()
        case QDockWidget():
            yield "title", widget.windowTitle()
        case QAbstractItemView() if widget.model() is not None:
            model = widget.model()
            for section in range(model.columnCount()):
                words = model.headerData(section, Qt.Orientation.Horizontal)
                yield "head", words if isinstance(words, str) else ""
    for action in widget.actions():
        yield "action", action.text()
        yield "status tip", action.statusTip()


def on_cards(window):
    """The titles and versions of the diagrams on the start page, which are those of files."""
    for card in window.welcome.cards:
        yield from (card.title, *(version.label for version in card.versions if version.label))


TRANSLATED = r"⟦[^⟦⟧]*⟧"


def untranslated(window, known=()):
    found = set()
    known = sorted({*known, *on_cards(window)}, key=len, reverse=True)
    for widget in [window, *window.findChildren(QWidget)]:
        for where, text in texts(widget):
            left = html.unescape(text or "")
            while re.search(TRANSLATED, left):  # from the inside out: one may stand in another
                left = re.sub(TRANSLATED, "", left)
            left = re.sub(r"<[^>]*>|&\w+;", "", left)
            for name in known:
                left = left.replace(name, "")
            if re.search(r"[A-Za-z]{2,}", left):
                found.add((type(widget).__name__, where, text))
    return found


def drawn(window, qtbot):
    a, b = variable("a", [[1.0, 2.0]]), variable("b", [[0.0, 1.0]])
    window.document._begin(build(loss(stop_gradient(3 * b, name="stop") + a), title="Seed"), None)
    qtbot.waitUntil(lambda: not window.evaluator.busy)


DATA = (
    ["main", "containers", "stacked"]
    + [text for e in examples() for text in (e.title, e.description, e.description.split(". ")[0])]
    + [text for lesson in lessons() for text in (lesson.title, lesson.goal)]
)
"""The first page, values of parameters, and what the files of examples and lessons say."""


def test_an_empty_window(window):
    assert untranslated(window, DATA) == set()


def test_panels_of_a_diagram_bars_and_dialogs(window, qtbot):
    drawn(window, qtbot)
    window.canvas.select({"stop"})
    window.canvas.select_wire("stop.x")
    window.actions_by_name["find"].trigger()
    window.document.problem.emit("")
    window.files.offer_reload()
    window.progress.show_progress("", 0.5)
    qtbot.wait(300)
    sheet = ShortcutSheet(window.windows.keymap, window)
    dialogs = [sheet, PartDialog(np.zeros((2, 2)), window), Generate(None, window)]
    names = {"stop", "a", "b", "loss", "mul1", "Seed"}
    found = {
        (kind, where, text)
        for kind, where, text in untranslated(window, DATA)
        if not (
            kind in ("QLabel", "Readout") and ("⟦" not in text or "<table>" in text)
        )  # sentences, docs and names: data
        and not (kind.endswith("Field") or kind in ("Formula", "ChoiceField", "Array"))
        and text not in names
    }
    assert found == set()
    assert dialogs
    assert all("⟦" in line.text(0) for line in sheet.lines())


def test_every_heading_and_button_of_the_inspector(window, qtbot):
    drawn(window, qtbot)
    window.canvas.select({"a"})
    headings = [
        label.text()
        for label in window.inspector.findChildren(QLabel)
        if label.property("type") == "heading"
    ]
    assert headings
    assert all(text.startswith("⟦") for text in headings)


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """The file that Qt Linguist fills, as it is without a translation."""
    file = tmp_path_factory.mktemp("texts") / "gradwire_de.ts"
    translation.update(file)
    return file


def test_what_is_asked_for_is_in_the_template(window, qtbot, language, template):
    drawn(window, qtbot)
    window.canvas.select({"stop"})
    window.canvas.select_wire("stop.x")
    window.actions_by_name["legend"].trigger()
    qtbot.wait(300)
    listed = {
        (context.findtext("name"), message.findtext("source"))
        for context in ElementTree.parse(template).getroot()
        for message in context.iter("message")
    }
    own = {(c, t) for c, t in language.asked if not re.match(r"Q[A-Z]|MAC|Accel", c)}
    assert len(own) > 200
    texts = {text for _, text in listed}  # a class also finds what its base classes ask for
    missing = {(c, t) for c, t in own - listed if c == "editor" or t not in texts}
    assert missing == set()


def test_every_key_and_mouse_action_is_in_the_template(template):
    listed = {m.findtext("source") for m in ElementTree.parse(template).getroot().iter("message")}
    shown = {text for row in KEYS for text in (row.text, row.shown) if text}
    shown |= {text for row in MOUSE for text in (row.mouse, row.text, row.keys)}
    assert shown - listed == set()


@pytest.mark.night
def test_no_text_is_asked_for_inside_an_f_string():
    """lupdate reads an f-string as one text, and finds nothing in it."""
    hidden = [
        f"{file.name}:{call.lineno}"
        for file in sorted(Path(translation.__file__).parents[1].rglob("*.py"))
        for text in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(text, ast.JoinedStr)
        for call in ast.walk(text)
        if isinstance(call, ast.Call) and getattr(call.func, "attr", "") == "tr"
        if isinstance(call.args[0], ast.Constant)
    ]
    assert hidden == []


def test_the_system_s_language_is_spoken(qapp, tmp_path, template, monkeypatch):
    filled = re.sub(
        r'(<source>&amp;File</source>\s*)<translation type="unfinished"></translation>',
        r"\1<translation>&amp;Datei</translation>",
        template.read_text(encoding="utf-8"),
    )
    (tmp_path / "gradwire_de.ts").write_text(filled, encoding="utf-8")
    lrelease = Path(PySide6.__file__).with_name("lrelease")
    subprocess.run([lrelease, "-silent", tmp_path / "gradwire_de.ts"], check=True)
    monkeypatch.setattr(translation, "FOLDER", tmp_path)
    installed = translation.install(qapp, QLocale(QLocale.Language.German))
    assert editor.tr("&File") == "&Datei"
    assert editor.tr("&Edit") == "&Edit"  # what is not translated stays English
    for translator in installed:
        qapp.removeTranslator(translator)


SHOWN = {
    "setText", "setToolTip", "setStatusTip", "setWindowTitle", "setPlaceholderText",
    "setAccessibleName", "setAccessibleDescription", "setInformativeText", "setLabelText",
    "setTitle", "setHtml", "setItemText", "addAction", "addMenu", "addButton", "addItem", "addTab",
    "addRow", "hint", "show_message", "show_progress", "show_trial", "showMessage", "heading",
    "caption", "body", "error", "show_error", "set_placeholder",
    "show_or_hide", "QLabel", "QPushButton", "QToolButton", "QCheckBox", "QAction", "QMenu",
    "QDockWidget", "getItem", "getText", "getDouble", "information", "warning", "question",
    "critical",
}  # fmt: skip
"""Calls whose texts are seen or heard."""


def literals(call):
    """Texts with words that stand in a call as they are."""
    for given in [*call.args, *(keyword.value for keyword in call.keywords)]:
        parts = given.values if isinstance(given, ast.JoinedStr) else [given]
        parts = [given.body, given.orelse] if isinstance(given, ast.IfExp) else parts
        for part in parts:
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                if re.search("[A-Za-z]{2,}", re.sub("<[^>]*>?|&[a-z]+;", "", part.value)):
                    yield part.value


@pytest.mark.night
def test_no_text_is_shown_without_being_asked_for():
    found = []
    for file in sorted(Path(translation.__file__).parents[1].rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                function = node.func
                name = getattr(function, "attr", None) or getattr(function, "id", "")
                found += [(file.name, text) for text in literals(node) if name in SHOWN]
    assert found == [("main_window.py", "[*] — Gradwire")]
