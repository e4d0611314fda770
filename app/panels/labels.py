"""Labels in the sizes of type that the theme's sheet knows, coloured by the palette."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QLabel, QLayout, QSizePolicy, QWidget

from app.canvas.state.formatting import number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.evaluation.result import Result

Role = QPalette.ColorRole


def plain(text: str = "", parent: QWidget | None = None) -> QLabel:
    """A line of text, shown as the characters it has."""
    label = QLabel(text, parent)
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


def heading(text: str) -> QLabel:
    """The title of a section."""
    label = plain(text)
    label.setProperty("type", "heading")
    label.setForegroundRole(Role.PlaceholderText)
    label.setContentsMargins(0, 8, 0, 0)
    return label


def caption(text: str = "", *, role: Role = Role.PlaceholderText) -> QLabel:
    """Small text, quiet unless ``role`` says more; wraps."""
    label = _wrapping(text)
    label.setProperty("type", "caption")
    label.setForegroundRole(role)
    return label


def body(text: str = "") -> QLabel:
    """Running text that can be selected, shown as the characters it has."""
    label = _wrapping(text)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextBrowserInteraction)
    return label


def rich(html: str = "") -> QLabel:
    """Running text written in HTML, every text of a diagram in it escaped.

    It can be selected, and its links can be reached by keyboard.
    """
    label = body()
    label.setTextFormat(Qt.TextFormat.RichText)
    label.setText(html)
    return label


def error(text: str = "") -> QLabel:
    """What is wrong with the input above it; hidden while there is nothing to say."""
    label = caption(text, role=Role.BrightText)
    label.setVisible(bool(text))
    return label


def show_or_hide(label: QLabel, text: str | None) -> None:
    """Give ``label`` its text, and take it off the page when there is none."""
    label.setText(text or "")
    label.setVisible(bool(text))


def link(target: str, text: str | None = None) -> str:
    """HTML for a link; ``target`` is what the label's ``linkActivated`` carries."""
    return f'<a href="{escape(target)}" style="text-decoration:none">{escape(text or target)}</a>'


def linked(text: str, names: Iterable[str]) -> str:
    """``text`` as HTML, the blocks of these names made links wherever they stand as a word."""
    known = sorted(set(names), key=len, reverse=True)
    if not known:
        return escape(text)
    words = "|".join(map(re.escape, known))
    parts = re.split(rf"(?<![\w/])({words})(?![\w/])", text)
    return "".join(link(part) if i % 2 else escape(part) for i, part in enumerate(parts))


def clear(layout: QLayout) -> None:
    """Take everything out of ``layout`` and delete it once the running event is over."""
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


def losses(result: Result) -> str:
    """``loss 0.693``, the sum where a loss has several elements."""
    shown = [name for name in result.losses if name in result.values][:3]
    return "   ".join(f"{name.block} {number(result.values[name].sum())}" for name in shown)
