"""Changes the number of a field by dragging its label, or by arrows and wheel in the field."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent

from gradwire.app.canvas.input.numbers import PIXELS, factor_of
from gradwire.app.document.numbers import Scrub

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QLabel, QWidget

    from gradwire.app.document.numbers import Slider

_STEPS = {Qt.Key.Key_Up: 1.0, Qt.Key.Key_Down: -1.0}
_NOTCH = 120.0
"""Eighths of a degree that one notch of a wheel turns."""
_CLICK = 3.0
"""How far the pointer may move during a click, px."""


class Scrubber(QObject):
    """Watches the label and the line of one field.

    ``number`` returns the number that the field shows; None if it shows none, and nothing happens.
    ``slider`` returns its limits, if it has any.
    """

    previewed = Signal(object)
    """The number on the way; None if the drag is taken back."""
    committed = Signal(object)
    """The number that is wanted."""

    def __init__(
        self,
        label: QLabel,
        line: QWidget,
        number: Callable[[], object],
        slider: Callable[[], Slider | None] = lambda: None,
    ) -> None:
        super().__init__(label)
        self._label, self._line, self._number, self._slider = label, line, number, slider
        self._scrub: Scrub | None = None
        self._steps: Scrub | None = None
        """Of arrows and wheel, which keep the size of their steps as long as nothing else does."""
        self._before: object = None
        self._start = self._last = 0.0
        self._drags = False
        label.installEventFilter(self)
        line.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._label:
            return self._on_label(event)
        return self._on_line(event)

    def _on_label(self, event: QEvent) -> bool:
        kind = event.type()
        if kind == QEvent.Type.Enter:
            has_number = self._number() is not None
            shape = Qt.CursorShape.SizeHorCursor if has_number else Qt.CursorShape.ArrowCursor
            self._label.setCursor(shape)
        elif isinstance(event, QMouseEvent) and kind == QEvent.Type.MouseButtonPress:
            return self._press(event)
        elif self._scrub is None:
            return False
        elif isinstance(event, QMouseEvent) and kind == QEvent.Type.MouseMove:
            self._move(event)
        elif isinstance(event, QMouseEvent) and kind == QEvent.Type.MouseButtonRelease:
            self._release()
        elif isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            self._end()
            self.previewed.emit(None)
            return True
        return False

    def _press(self, event: QMouseEvent) -> bool:
        self._before = self._number()
        if event.button() != Qt.MouseButton.LeftButton or self._before is None:
            return False
        self._scrub = Scrub(self._before, self._slider())
        self._start = self._last = event.globalPosition().x()
        return True

    def _move(self, event: QMouseEvent) -> None:
        at = event.globalPosition().x()
        if not self._drags:
            if abs(at - self._start) <= _CLICK:
                return
            self._drags = True
            self._label.grabKeyboard()  # Esc takes the drag back, wherever the keyboard is
        assert self._scrub is not None
        value = self._scrub.value
        if self._scrub.by((at - self._last) / PIXELS, factor_of(event.modifiers())) != value:
            self.previewed.emit(self._scrub.value)
        self._last = at

    def _release(self) -> None:
        scrub, drags = self._scrub, self._drags
        self._end()
        if not drags:
            self._line.setFocus(Qt.FocusReason.MouseFocusReason)
        elif scrub is not None and scrub.value != self._before:
            self.committed.emit(scrub.value)
        else:
            self.previewed.emit(None)

    def _end(self) -> None:
        if self._drags:
            self._label.releaseKeyboard()
        self._scrub, self._drags = None, False

    def _on_line(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            steps = _STEPS.get(Qt.Key(event.key()), 0.0)
        elif isinstance(event, QWheelEvent) and self._line.hasFocus():
            turned = event.angleDelta().y() or event.angleDelta().x()
            steps = turned / _NOTCH
        else:
            return False
        before = self._number()
        if not steps or before is None:
            return False
        if self._steps is None or self._steps.value != before:
            self._steps = Scrub(before, self._slider())
        scrub = self._steps
        if scrub.by(steps, factor_of(event.modifiers())) != before:
            self.committed.emit(scrub.value)
        return True
