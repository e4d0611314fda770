"""Badges of blocks: words in a rounded box on the lower edge of a face, each with its sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from app.theme import SMALL, Theme, font

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.badges import Badges

HEIGHT = 15.0
"""Height of a pill, px at 100 %."""
_PAD = 6.0
_GAP = 4.0
CANCELS, IDLE, UNOWNED, SURROGATE, STALE = (
    "CANCELS", "cuts nothing", "UNOWNED", "≈", "STALE",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pill:
    """Words on a face; what is ``grave`` asks to be looked at."""

    words: str
    grave: bool = False


def pills_of(
    badges: Badges | None, path: str, outputs: Sequence[str], *, surrogate: bool
) -> list[tuple[Pill, str]]:
    """The pills of the block at an instance path, each with its sentence."""
    found: list[tuple[Pill, str]] = []
    if badges is not None:
        if path in badges.unowned:
            found.append((Pill(UNOWNED, grave=True), badges.unowned[path]))
        for port in outputs:
            if (sentence := badges.cancels.get(f"{path}.{port}")) is not None:
                words = CANCELS if len(outputs) == 1 else f"{CANCELS} {port}"
                found.append((Pill(words, grave=True), sentence))
        if path in badges.idle:
            found.append((Pill(_tr(IDLE)), badges.idle[path]))
    if surrogate:
        sentence = _tr("≈ The gradient is deliberately not the derivative: a surrogate.")
        found.append((Pill(SURROGATE), sentence))
    return found


def draw_pills(painter: QPainter, pills: Sequence[Pill], start: QPointF, theme: Theme) -> None:
    """Draw pills one after the other from the left, ``start`` in the middle of their left end."""
    left = start.x()
    for pill in pills:
        size = pill_width(pill)
        draw_pill(painter, pill, QRectF(left, start.y() - HEIGHT / 2.0, size, HEIGHT), theme)
        left += size + _GAP


def pill_width(pill: Pill) -> float:
    """Width of a pill, px at 100 %."""
    return max(HEIGHT, QFontMetricsF(font(SMALL, bold=True)).horizontalAdvance(pill.words)) + _PAD


def draw_pill(painter: QPainter, pill: Pill, box: QRectF, theme: Theme) -> None:
    """Draw one pill that fills ``box``."""
    colour = QColor(theme.warning if pill.grave else theme.ink_soft)
    painter.setPen(QPen(colour, 1.0))
    painter.setBrush(QColor(theme.canvas))
    painter.drawRoundedRect(box, HEIGHT / 2.0, HEIGHT / 2.0)
    painter.setPen(colour)
    painter.setFont(font(SMALL, bold=True))
    painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextDontClip), pill.words)


def _tr(text: str) -> str:
    return QCoreApplication.translate("pills", text)
