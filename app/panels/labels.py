"""Labels in the text sizes of the theme's style sheet, coloured by the palette."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QPalette
from PySide6.QtWidgets import QLabel, QLayout, QSizePolicy, QWidget

from gradwire.app.services.translation import editor
from gradwire.runtime.flow import number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.runtime.diagram import PortPath
    from gradwire.runtime.flow import OptimiserFate

Role = QPalette.ColorRole
_SPARE = 12
"""Characters that a readout may be wider than its text."""


def plain(text: str = "", parent: QWidget | None = None) -> QLabel:
    """A line of plain text."""
    label = QLabel(text, parent)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


def say(owner: QWidget, label: QLabel, text: str) -> None:
    """Show another text in a label of ``owner``, and announce it to screen readers."""
    if text != label.text():
        label.setText(text)
        announce(owner, text)


def announce(owner: QWidget, text: str) -> None:
    """Let screen readers say a text."""
    QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(owner, text))


class ReadoutLabel(QLabel):
    """A line of plain text with numbers that follow a hand.

    It keeps its width until a text needs more, or much less: so what stands beside it stays where
    it is, and another number has nothing laid out again.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self._fit()

    def setText(self, text: str) -> None:
        if text != self.text():
            super().setText(text)
            self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._fit()

    def _fit(self) -> None:
        # The label's own hint is never below its fixed size.
        metrics = self.fontMetrics()
        wanted = metrics.size(Qt.TextFlag.TextSingleLine, self.text())
        most = wanted.width() + _SPARE * metrics.averageCharWidth()
        fits = wanted.width() <= self.minimumWidth() <= most
        if not fits or self.minimumHeight() != wanted.height():
            self.setFixedSize(wanted)


def heading(text: str) -> QLabel:
    """The title of a section."""
    label = plain(text)
    label.setProperty("type", "heading")
    label.setForegroundRole(Role.PlaceholderText)
    label.setContentsMargins(0, 8, 0, 0)
    return label


def strong(text: str = "") -> QLabel:
    """A line of bold text."""
    label = plain(text)
    label.setProperty("type", "strong")
    return label


def caption(text: str = "", *, role: Role = Role.PlaceholderText) -> QLabel:
    """Small text that wraps, unobtrusive unless ``role`` says otherwise."""
    label = _wrapping(text)
    label.setProperty("type", "caption")
    label.setForegroundRole(role)
    return label


def body(text: str = "") -> QLabel:
    """Plain text that wraps and can be selected."""
    label = _wrapping(text)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextBrowserInteraction)
    return label


def rich(html: str = "") -> QLabel:
    """HTML that wraps and can be selected; the caller escapes text of the diagram.

    Its links can be reached by keyboard.
    """
    label = body()
    label.setTextFormat(Qt.TextFormat.RichText)
    label.setText(html)
    return label


def error(text: str = "") -> QLabel:
    """The error of the input above it; hidden while empty."""
    label = caption(text, role=Role.BrightText)
    label.setVisible(bool(text))
    return label


def show_or_hide(label: QLabel, text: str | None) -> None:
    """Show ``text`` on ``label``, or hide the label if there is none."""
    label.setText(text or "")
    label.setVisible(bool(text))


def link(target: str, text: str | None = None) -> str:
    """HTML of a link; ``target`` is the argument of the label's ``linkActivated``."""
    return f'<a href="{escape(target)}" style="text-decoration:none">{escape(text or target)}</a>'


def linked(text: str, names: Iterable[str]) -> str:
    """``text`` as HTML, with a link wherever one of these block names occurs as a word."""
    known = sorted(set(names), key=len, reverse=True)
    if not known:
        return escape(text)
    words = "|".join(map(re.escape, known))
    parts = re.split(rf"(?<![\w/])({words})(?![\w/])", text)
    return "".join(link(part) if i % 2 else escape(part) for i, part in enumerate(parts))


def clear(layout: QLayout) -> None:
    """Remove everything from ``layout``, and delete it after the current event."""
    while (item := layout.takeAt(0)) is not None:
        widget, inner = item.widget(), item.layout()
        if isinstance(widget, QWidget):
            widget.hide()
            widget.deleteLater()
        elif inner is not None:
            clear(inner)
            inner.deleteLater()


def _wrapping(text: str) -> QLabel:
    label = plain(text)
    label.setWordWrap(True)
    label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    return label


def losses(result: EvaluationResult, *, numbered: bool = False) -> str:
    """``loss 0.693``; the sum if a loss has several elements.

    ``numbered`` as the lanes of several are: ``1 D_loss 1.5   2 G_loss 0.49``. A loss that is
    withheld is said to be hidden.
    """
    shown = [
        (f"{place} " if numbered else "") + f"{name.block} {_loss_value(result, name)}"
        for place, name in enumerate(result.losses, start=1)
        if name in result.values or result.is_partial
    ]
    return "   ".join(shown[:3])


def _loss_value(result: EvaluationResult, name: PortPath) -> str:
    value = result.values.get(name)
    return editor.tr("hidden") if value is None else number(value.sum())


def withheld(result: EvaluationResult | None) -> str:
    """Why only a part of a result is shown; empty if all of it is."""
    if result is None or not result.is_partial:
        return ""
    if result.hidden:
        return editor.tr("Hidden until you have predicted.")
    return editor.tr("Hidden until the timeline has come to its end.")


def fate(fate: OptimiserFate) -> str:
    """``SGD: stays unchanged``, and what weight decay changes about that, if anything."""
    if fate.plain == fate.decayed:
        return f"{fate.optimiser}: {fate.plain}"
    text = editor.tr("{0}: {1}; with weight decay: {2}")
    return text.format(fate.optimiser, fate.plain, fate.decayed)
