"""Records what is painted, call by call, so that tests look at structure and not at pixels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QBrush, QFont, QFontMetricsF, QPen, QTransform

if TYPE_CHECKING:
    import numpy as np


@dataclass
class Stroke:
    """Lines that were drawn in one call, and the pen that drew them."""

    colour: str
    width: float
    cap: Any
    style: Any
    lines: np.ndarray


@dataclass
class Drawn:
    """One call that draws, and what it drew with."""

    arguments: tuple[Any, ...]
    pen: QPen
    brush: QBrush
    font: QFont


@dataclass
class Recorder:
    """Stands in for a QPainter: remembers its calls in order, and the lines that were drawn."""

    calls: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    strokes: list[Stroke] = field(default_factory=list)
    pen: QPen = field(default_factory=QPen)
    scaled: QTransform = field(default_factory=QTransform)

    def setPen(self, pen: Any) -> None:
        self.pen = QPen(pen)
        self.calls.append(("setPen", (pen,)))

    def transform(self) -> QTransform:
        """That of the painter before all that is recorded."""
        return self.scaled

    def window(self) -> QRect:
        """What is painted on."""
        return QRect(0, 0, 1400, 400)

    def draw_lines(self, lines: np.ndarray) -> None:
        pen = self.pen
        self.strokes.append(
            Stroke(pen.color().name(), pen.widthF(), pen.capStyle(), pen.style(), lines.copy())
        )

    def of(self, name: str) -> list[tuple[Any, ...]]:
        """Arguments of all calls of that name."""
        return [arguments for called, arguments in self.calls if called == name]

    def drawn(self, name: str) -> list[Drawn]:
        """All calls of that name, each with the pen, brush and font in force."""
        found, pen, brush, font = [], QPen(), QBrush(), QFont()
        for called, arguments in self.calls:
            if called == "setPen":
                pen = QPen(*arguments)
            elif called == "setBrush":
                brush = QBrush(*arguments)
            elif called == "setFont":
                font = QFont(*arguments)
            elif called == name:
                found.append(Drawn(arguments, pen, brush, font))
        return found

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.calls.append((name, arguments))


@dataclass
class Text:
    """Words that were drawn, the size of their letters and the place of their ink, widget px."""

    words: str
    pixels: float
    ink: QRectF


def texts(found: Recorder) -> list[Text]:
    """All text that was drawn, with the transformations that were in force."""
    drawn, transform, saved, font = [], QTransform(), [], QFont()
    for called, arguments in found.calls:
        if called == "save":
            saved.append((QTransform(transform), font))
        elif called == "restore":
            transform, font = saved.pop()
        elif called == "translate":
            point = arguments[0] if len(arguments) == 1 else QPointF(*arguments)
            transform = QTransform.fromTranslate(point.x(), point.y()) * transform
        elif called == "scale":
            transform = QTransform.fromScale(*arguments) * transform
        elif called == "setFont":
            font = arguments[0]
        elif called == "drawText":
            place, flags, words = arguments
            ink = transform.mapRect(_ink(QRectF(place), int(flags), words, font))
            drawn.append(Text(words, font.pixelSize() * transform.m11(), ink))
    return drawn


def _ink(place: QRectF, flags: int, words: str, font: QFont) -> QRectF:
    metrics = QFontMetricsF(font)
    box = metrics.boundingRect(place, flags, words)
    if flags & int(Qt.TextFlag.TextWordWrap):
        return box
    tight = metrics.tightBoundingRect(words)
    top = box.top() + metrics.ascent() + tight.top()
    return QRectF(box.left(), top, box.width(), tight.height())


def recorder(monkeypatch, *modules) -> Recorder:
    """A recorder that also gets the lines that ``modules`` draw."""
    for module in modules:
        monkeypatch.setattr(module, "draw_lines", lambda painter, lines: painter.draw_lines(lines))
    return Recorder()
