"""The typeface of the editor and its pictures: Noto Sans, carried by the package pymupdf-fonts.

It is chosen for small numbers and formulas: open shapes at 9 px, figures of one width, Greek
upright and slanted, letters above and below the line, and mathematical signs of the same design.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from threading import Thread

from PySide6.QtCore import QByteArray
from PySide6.QtGui import QFontDatabase, QGuiApplication

PACKAGE = "pymupdf-fonts"
"""What to install if the typeface is missing."""
TEXT, SIGNS, SYMBOLS = "Noto Sans", "Noto Sans Math", "Noto Sans Symbols2"
FAMILIES = (TEXT, SIGNS, SYMBOLS)
"""The families of the typeface; each has signs that those before it lack."""


@dataclass(frozen=True, slots=True)
class Face:
    """One font of the typeface, and the module of the package that carries it."""

    family: str
    module: str
    bold: bool = False
    italic: bool = False

    def content(self) -> bytes:
        """The font file. It is unpacked while its module is imported, which happens once."""
        content: bytes = importlib.import_module(f"pymupdf_fonts.{self.module}").fontbuffer
        return content


FACES = (
    Face(TEXT, "NotoSans_Regular"),
    Face(TEXT, "NotoSans_Bold", bold=True),
    Face(TEXT, "NotoSans_Italic", italic=True),
    Face(SIGNS, "NotoSansMath_Regular"),
    Face(SYMBOLS, "NotoSansSymbols2_Regular"),
)


def preload() -> None:
    """Unpack the fonts beside other work: that takes longer than to give them to Qt."""
    Thread(target=_contents, name="typeface", daemon=True).start()


@cache
def install() -> bool:
    """Give the fonts to Qt, once; False if the package is missing. Needs a QGuiApplication."""
    for content in _contents():
        QFontDatabase.addApplicationFontFromData(QByteArray(content))
    return is_carried()


def families() -> tuple[str, ...]:
    """The families to draw with: those of the typeface, or of the application without it."""
    return FAMILIES if install() else tuple(QGuiApplication.font().families())


def is_carried() -> bool:
    """Whether the package with the fonts is installed."""
    return find_spec("pymupdf_fonts") is not None


def _contents() -> list[bytes]:
    return [face.content() for face in FACES] if is_carried() else []
