"""The slider of a source's number, under its field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QSlider, QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.layouts import make_column
from gradwire.runtime.flow import number as written

if TYPE_CHECKING:
    import numpy as np
    from PySide6.QtGui import QKeyEvent, QWheelEvent

    from gradwire.app.document.numbers import Slider


class NumberSlider(QWidget):
    """Drags one number within the limits of its slider; hidden without a slider or a number."""

    previewed = Signal(object)
    """The number on the way; None if the drag is taken back."""
    committed = Signal(object)
    """The number that is wanted."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._slider: Slider | None = None
        self._number: Any = None
        self._before = 0
        self._is_shown = False
        self.bar = _Bar(Qt.Orientation.Horizontal, self)
        self.bar.setAccessibleName(self.tr("Slider of the value"))
        self.about = labels.caption()
        make_column(self, self.bar, self.about, spacing=0)
        self.setFocusProxy(self.bar)
        self.bar.sliderPressed.connect(self._press)
        self.bar.sliderReleased.connect(self._release)
        self.bar.valueChanged.connect(self._change)
        self.bar.taken_back.connect(self._take_back)
        self.hide()

    def show_number(self, number: object, slider: Slider | None) -> None:
        """Show a numpy scalar on a slider; nothing if either is None."""
        self._number, self._slider = number, slider
        self.setVisible(number is not None and slider is not None)
        if number is None or slider is None:
            return
        count = max(1, round((slider.largest - slider.least) / slider.grain()))
        self._is_shown = True
        self.bar.setRange(0, count)
        self.bar.setPageStep(max(1, count // 10))
        if not self.bar.isSliderDown():
            self.bar.setValue(round(slider.share(number) * count))
        self._is_shown = False
        ends = f"{written(slider.least)} … {written(slider.largest)}"
        inside = slider.has(number)
        self.about.setText(ends if inside else self.tr("outside {0}").format(ends))

    def _number_at(self, place: int) -> np.generic:
        assert self._slider is not None
        return self._slider.at(place / self.bar.maximum(), self._number.dtype)

    def _press(self) -> None:
        self._before = self.bar.value()

    def _change(self, place: int) -> None:
        if not self._is_shown:
            moves = self.previewed if self.bar.isSliderDown() else self.committed
            moves.emit(self._number_at(place))

    def _release(self) -> None:
        if self.bar.value() != self._before:
            self.committed.emit(self._number_at(self.bar.value()))
        else:
            self.previewed.emit(None)

    def _take_back(self) -> None:
        self._is_shown = True
        self.bar.setValue(self._before)
        self.bar.setSliderDown(False)
        self._is_shown = False


class _Bar(QSlider):
    """A slider that Esc takes back, and that the wheel moves only while it has the focus."""

    taken_back = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.isSliderDown():
            self.taken_back.emit()
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()
