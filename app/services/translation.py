"""The languages of the editor: where a translation lies, and every text that it needs.

``python -m app.services.translation > gradwire_de.ts`` writes the file that Qt Linguist fills;
``lrelease`` makes ``assets/translations/gradwire_de.qm`` of it, which is taken where the system
speaks that language. Sentences that the runtime and the blocks tell (reasons, problems, docs) are
data in English.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from xml.sax.saxutils import escape

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from app.services.examples import ASSETS

FOLDER = ASSETS / "translations"
_ASKED_BY = ("tr", "_tr", "_say", "_said", "translated", "translate")


def install(app: QCoreApplication, locale: QLocale | None = None) -> list[QTranslator]:
    """Speak the system's language as far as there are translations, Qt's own words included."""
    spoken = locale or QLocale.system()
    places = (
        ("qtbase", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)),
        ("gradwire", str(FOLDER)),
    )
    installed = []
    for name, folder in places:
        translator = QTranslator(app)
        if translator.load(spoken, name, "_", folder) and app.installTranslator(translator):
            installed.append(translator)
    return installed


def texts() -> dict[str, list[str]]:
    """Every text of the editor by its context, in the order of the source."""
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        for context, text in _asked(ast.parse(file.read_text(encoding="utf-8"))):
            found[context][text] = None
    for context, text in _tables():
        found[context][text] = None
    return {context: list(found[context]) for context in sorted(found)}


def template() -> str:
    """A ``.ts`` file without translations."""
    contexts = "".join(
        f"<context>\n<name>{escape(context)}</name>\n{''.join(map(_message, asked))}</context>\n"
        for context, asked in texts().items()
    )
    head = '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n'
    return f'{head}<TS version="2.1" sourcelanguage="en">\n{contexts}</TS>\n'


def _message(text: str) -> str:
    source = f"<source>{escape(text)}</source>"
    return f'<message>{source}<translation type="unfinished"></translation></message>\n'


def _asked(module: ast.Module) -> Iterator[tuple[str, str]]:
    """The literal texts that a module asks for; a method asks in the context of its class."""
    own = _context_of(module)
    waiting: list[tuple[ast.AST, str]] = [(module, "")]
    while waiting:
        node, where = waiting.pop(0)
        where = node.name if isinstance(node, ast.ClassDef) else where
        waiting += [(child, where) for child in ast.iter_child_nodes(node)]
        if not isinstance(node, ast.Call) or _name(node) not in _ASKED_BY:
            continue
        said = [a.value for a in node.args if isinstance(a, ast.Constant)]
        words = [text for text in said if isinstance(text, str)]
        if _name(node) == "translate" and len(words) == 2:
            yield words[0], words[1]
        elif words and _name(node) != "translate":
            yield (_asker(node, where) if _name(node) == "tr" else own), words[0]


def _asker(call: ast.Call, where: str) -> str:
    """The class of what ``tr`` is called on: ``self``, or a ``window`` or ``inspector``."""
    on = call.func.value if isinstance(call.func, ast.Attribute) else None
    if not isinstance(on, ast.Name) or on.id == "self":
        return where
    return "MainWindow" if on.id == "window" else on.id.capitalize()


def _context_of(module: ast.Module) -> str:
    """The context in which the functions of a module ask, from their call of ``translate``."""
    named = {
        target.id: node.value.value
        for node in module.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and _name(node) == "translate" and node.args:
            first = node.args[0]
            found = first.value if isinstance(first, ast.Constant) else None
            found = named.get(first.id) if isinstance(first, ast.Name) else found
            if isinstance(found, str):
                return found
    return ""


def _name(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _tables() -> Iterator[tuple[str, str]]:
    """The texts that stand in tables, not where they are asked for."""
    from app.canvas.input import keys, mouse_help
    from app.panels.inspector import array_tools
    from app.shell import actions
    from runtime.flow.badges import Mark
    from runtime.flow.numbers.rules import Thresholds
    from runtime.flow.words.states import STATES

    rows = [text for row in actions.TABLE for text in (row.text, row.tip)]
    pressed = [text for row in keys.KEYS for text in (row.text, row.shown)]
    pointed = [text for row in mouse_help.MOUSE for text in (row.mouse, row.text, row.keys)]
    held = {
        "actions": [*actions.MENUS.values(), *rows],
        "keys": [*pressed, *pointed],
        "legend": [row.legend for row in STATES.values()],
        "spoken": [row.spoken for row in STATES.values()],
        "badges": [mark.value for mark in Mark],
        "ThresholdsDialog": [field.metadata["words"] for field in fields(Thresholds)],
        "Why": [row.title for row in STATES.values()],
        "Generate": [*array_tools.RULES.values(), *array_tools.NUMBERS.values()],
    }
    for context, words in held.items():
        yield from ((context, text) for text in words if text)


if __name__ == "__main__":
    print(template(), end="")
