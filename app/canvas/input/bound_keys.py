"""What a pressed key stands for, whatever the user's keys are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QKeyCombination, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence

from gradwire.app.canvas.input.bindings import KEYS

if TYPE_CHECKING:
    from collections.abc import Mapping


class BoundKey(NamedTuple):
    """A method, and the key of the table that the pressed key stands for."""

    method: str
    key: QKeyCombination

    def in_place_of(self, event: QKeyEvent) -> QKeyEvent:
        """The event as if the key of the table had been pressed."""
        key, held = self.key.key(), self.key.keyboardModifiers()
        return QKeyEvent(event.type(), key, held, event.text(), event.isAutoRepeat())


def bound_keys(keys: Mapping[str, tuple[str, ...]]) -> dict[QKeySequence, BoundKey]:
    """Keys by what the user presses; ``keys`` has them by method, in the order of the table."""
    return {
        QKeySequence(name): BoundKey(row.method, _combination(default))
        for row in KEYS
        for name, default in zip(keys[row.method], row.keys, strict=True)
        if name
    }


def _combination(name: str) -> QKeyCombination:
    combination: QKeyCombination = QKeySequence(name)[0]  # type: ignore[index]  # not in Qt's stubs
    return combination


def pressed(event: QKeyEvent) -> QKeySequence:
    """The key with its modifiers; regardless of the keypad, and of how ``?`` is typed."""
    held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    if event.key() == Qt.Key.Key_Question:
        held &= ~Qt.KeyboardModifier.ShiftModifier
    return QKeySequence(held.value | event.key())
