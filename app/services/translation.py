"""Translations of the editor, and the context for texts outside widget classes.

A widget translates its own texts with its ``tr``; all other texts use that of :data:`editor`.
``python -m gradwire.app.services.translation gradwire_de.ts`` creates or updates the file to fill
in with Qt Linguist. ``pyside6-lrelease`` compiles it to ``assets/translations/gradwire_de.qm``,
which is loaded if it matches the language of the system. Sentences of the runtime and the blocks
(reasons, problems, docs) stay in English; their words for states, thresholds and badges are
translated.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import PySide6
from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from gradwire.app.services.examples import ASSETS
from gradwire.runtime.flow import STATES, BadgeKind, Thresholds

FOLDER = ASSETS / "translations"


class Texts:
    """The texts of one context; lupdate uses the name of the variable as the context."""

    def __init__(self, context: str) -> None:
        self._context = context

    def tr(self, text: str) -> str:
        """``text`` in the user's language."""
        return QCoreApplication.translate(self._context, text) if text else ""

    def noop(self, text: str) -> str:
        """Mark a text in a table, which is translated when it is shown; return it unchanged."""
        return text


editor = Texts("editor")
"""The context for functions, tables, and classes that are not a QObject."""


def install(app: QCoreApplication, locale: QLocale | None = None) -> list[QTranslator]:
    """Install the translations for ``locale`` or the system's language, including Qt's own."""
    language = locale or QLocale.system()
    places = (
        ("qtbase", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)),
        ("gradwire", str(FOLDER)),
    )
    installed = []
    for name, folder in places:
        translator = QTranslator(app)
        if translator.load(language, name, "_", folder) and app.installTranslator(translator):
            installed.append(translator)
    return installed


def update(file: Path) -> None:
    """Write every text of the editor to a ``.ts`` file, keeping its existing translations."""
    with tempfile.TemporaryDirectory() as folder:
        words = Path(folder) / "words.py"
        words.write_text("".join(f"editor.noop({text!r})\n" for text in _runtime_words()))
        sources = [str(Path(__file__).parents[1]), str(words)]
        options = ["-silent", "-extensions", "py", "-tr-function-alias", "QT_TR_NOOP+=noop"]
        places = ["-no-obsolete", "-locations", "none"]
        lupdate = Path(PySide6.__file__).with_name("lupdate")
        subprocess.run([lupdate, *options, *places, *sources, "-ts", file], check=True)


def _runtime_words() -> Iterator[str]:
    """The words of the runtime's tables, which can't be marked in place."""
    for row in STATES.values():
        yield from (row.legend, row.spoken, row.title)
    yield from (field.metadata["words"] for field in fields(Thresholds))
    yield from (mark.value for mark in BadgeKind)


if __name__ == "__main__":
    update(Path(sys.argv[1]))
