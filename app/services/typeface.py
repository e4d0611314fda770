"""The typeface of the editor and its pictures: Noto Sans, carried by the package pymupdf-fonts.

It is chosen for small numbers and formulas: open shapes at 9 px, figures of one width, Greek
upright and slanted, letters above and below the line, and mathematical signs of the same design.
The package is of 2021, and fonts do not age. No font file is copied into the repository.
"""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from threading import Thread

from PySide6.QtCore import QByteArray
from PySide6.QtGui import QFontDatabase, QGuiApplication

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime import extras
from gradwire.runtime.diagram.files import stored

PACKAGE = "pymupdf-fonts"
"""What to install if the typeface is missing."""
TEXT, SIGNS, SYMBOLS = "Noto Sans", "Noto Sans Math", "Noto Sans Symbols2"
FAMILIES = (TEXT, SIGNS, SYMBOLS)
"""The families of the typeface; each has signs that those before it lack."""


@dataclass(frozen=True, slots=True)
class FontFace:
    """One font of the typeface, and the module of the package that carries it."""

    family: str
    module: str
    bold: bool = False
    italic: bool = False

    def content(self) -> bytes:
        """The font file. It is unpacked while its module is imported, once for many starts."""
        package = extras.place("pymupdf_fonts") or Path()
        packed = package.parent / f"{self.module}.py"
        name = _key(packed)
        content = stored.load(name) if name else None
        if content is None:
            content = importlib.import_module(f"pymupdf_fonts.{self.module}").fontbuffer
            if name:
                stored.keep(name, content)
        return content


def _key(packed: Path) -> str:
    """The name under which what a module unpacks is stored; empty where there is no such file."""
    try:
        found = packed.stat()
    except OSError:
        return ""  # of another packaging
    return stored.key(["font", str(packed), str(found.st_size), str(found.st_mtime_ns)])


FACES = (
    FontFace(TEXT, "NotoSans_Regular"),
    FontFace(TEXT, "NotoSans_Bold", bold=True),
    FontFace(TEXT, "NotoSans_Italic", italic=True),
    FontFace(SIGNS, "NotoSansMath_Regular"),
    FontFace(SYMBOLS, "NotoSansSymbols2_Regular"),
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
    return extras.installed("pymupdf_fonts")


def _contents() -> list[bytes]:
    return [face.content() for face in FACES] if is_carried() else []
