"""Badges of blocks: words in a rounded box on the lower edge of a face, each with its sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from app.services.theme import SMALL, Theme, font
from runtime.flow.badges import Mark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.evaluation.badges import Badges

HEIGHT = 15.0
"""Height of a pill, px at 100 %."""
_PAD = 6.0
_GAP = 4.0
_ON_FACES = (Mark.UNOWNED, Mark.CANCELS, Mark.OPEN_STOP, Mark.IDLE_STOP)
_GRAVE = (Mark.UNOWNED, Mark.CANCELS, Mark.STALE)
_SIGNS = {Mark.SURROGATE: "≈"}


@dataclass(frozen=True, slots=True)
class Pill:
    """Words on a face; what is ``grave`` asks to be looked at."""

    words: str
    grave: bool = False


def pill_of(mark: Mark) -> Pill:
    """How a badge is drawn."""
    return Pill(_SIGNS.get(mark) or _tr(mark.value), grave=mark in _GRAVE)


def pills_of(badges: Badges, path: str, outputs: Sequence[str]) -> list[tuple[Pill, str]]:
    """The pills of the block at an instance path, each with its sentence.

    What cancels at one of several outputs is said with the name of the port.
    """
    about = badges.about.get(path, ())
    found = [badge for badge in about if badge.mark in _ON_FACES]
    told = [(pill_of(badge.mark), badge.sentence) for badge in found]
    for port in outputs:
        for badge in badges.about.get(f"{path}.{port}", ()):
            pill = pill_of(badge.mark)
            several = len(outputs) > 1
            words = f"{pill.words} {port}" if several else pill.words
            told.append((Pill(words, pill.grave), badge.sentence))
    if (check := badges.checks.get(path)) is not None:
        told.append((Pill(check.sentence[0], check.is_wrong), check.sentence))
        if not check.agrees:  # it says that, too
            return told
    return told + [(pill_of(b.mark), b.sentence) for b in about if b.mark is Mark.SURROGATE]


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
