"""Numbers on faces under mouse and keyboard: dragging them sideways, stepping and typing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPointF, Qt

from gradwire.app.canvas.accessibility import speak
from gradwire.app.canvas.input.gestures.base import Gesture
from gradwire.app.canvas.paint.blocks.faces import KNOB
from gradwire.app.canvas.paint.blocks.numbers import (
    number_at,
    number_box,
    number_boxes,
    slider_track,
)
from gradwire.app.document.numbers import (
    COARSE,
    FINE,
    NumberCell,
    Scrub,
    Slider,
    array_of,
    read_number,
    set_number,
    slider_of,
)
from gradwire.app.services.translation import editor
from gradwire.runtime.diagram import PortName
from gradwire.runtime.flow import number as written

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.app.canvas.context import CanvasContext
    from gradwire.runtime.diagram import SetParameters

PIXELS = 4.0
"""How far the pointer moves for one step, widget px."""


class ChangeNumber(Gesture):
    """Changes a number with the pointer.

    The diagram follows as a preview, which becomes one edit at the end.
    """

    cursor = Qt.CursorShape.SizeHorCursor

    def __init__(
        self,
        context: CanvasContext,
        start: QPointF,
        before: Any,
        change: Callable[[object], SetParameters],
    ) -> None:
        super().__init__(context, start)
        self._change = change
        self._before = self._shown = before

    def value_at(self, at: QPointF) -> Any:
        """The number for a pointer that has moved to ``at``."""
        raise NotImplementedError  # each gesture has its own

    def move(self, at: QPointF) -> None:
        value = self.value_at(at)
        if value != self._shown:
            self._shown = value
            self.context.previews.put(self._change(value))

    def finish(self, at: QPointF) -> None:
        self.move(at)
        if self._shown == self._before:
            self.context.previews.put(None)
        else:
            self.context.request(self._change(self._shown))

    def cancel(self) -> None:
        self.context.previews.put(None)


class ScrubNumber(ChangeNumber):
    """Moves a number by steps while the pointer moves sideways; Shift is slower, Ctrl faster."""

    def __init__(
        self,
        context: CanvasContext,
        start: QPointF,
        scrub: Scrub,
        change: Callable[[object], SetParameters],
    ) -> None:
        super().__init__(context, start, scrub.value, change)
        self._scrub = scrub
        self._last = start.x()

    def value_at(self, at: QPointF) -> Any:
        steps, self._last = (at.x() - self._last) / PIXELS, at.x()
        return self._scrub.by(steps, factor_of(self.modifiers))


class SlideNumber(ChangeNumber):
    """Moves the knob of a slider under the pointer; each place on the track is one number."""

    def __init__(
        self,
        context: CanvasContext,
        start: QPointF,
        before: Any,
        number_at: Callable[[float], Any],
        change: Callable[[object], SetParameters],
    ) -> None:
        super().__init__(context, start, before, change)
        self._number_at = number_at

    def value_at(self, at: QPointF) -> Any:
        return self._number_at(at.x())


def factor_of(modifiers: Qt.KeyboardModifier) -> float:
    """By how much the held keys make a step larger or smaller."""
    if modifiers & Qt.KeyboardModifier.ShiftModifier:
        return FINE
    return COARSE if modifiers & Qt.KeyboardModifier.ControlModifier else 1.0


_NOTCH = 120.0
"""Eighths of a degree that one notch of a wheel turns."""


class NumberEditing:
    """Changes numbers on the faces of one canvas; at most one of them takes keys and the wheel."""

    def __init__(self, context: CanvasContext) -> None:
        self._context = context
        self._scrub: Scrub | None = None
        self._turned = 0.0
        self._told = ""
        """What is said of the active number while it stays; empty once something else is said."""

    # Finding

    def at(self, at: QPointF) -> NumberCell | None:
        """The number at a point of the widget."""
        view = self._context.view
        block = self._context.places.block_at(at)
        return None if block is None else number_at(view, block, at)

    def value(self, number: NumberCell) -> Any:
        """The value of a number that exists."""
        array = self._array(number)
        assert array is not None
        return array[number.cell]

    def exists(self, number: NumberCell) -> bool:
        """Whether a number is still on the page."""
        array = self._array(number)
        return array is not None and all(
            i < length for i, length in zip(number.cell, array.shape, strict=False)
        )

    def hover(self, number: NumberCell | None) -> None:
        """Mark the number under the pointer, and say what can be done with it."""
        view = self._context.view
        if number == view.near_number:
            return
        self._context.show(near_number=number)
        hint = editor.tr(
            "{0}: drag to change (Shift fine, Ctrl coarse), click for arrows and wheel, "
            "double-click to type."
        )
        text = "" if number is None else hint.format(self._written(number))
        self._told = ""
        self._context.hint(text)

    # Changing

    def drag(self, number: NumberCell, start: QPointF) -> Gesture:
        """The gesture that changes a number from ``start`` on."""

        def change(value: Any) -> SetParameters:
            hint = editor.tr("{0} = {1}. Shift is fine, Ctrl coarse, Esc takes it back.")
            self._told = ""
            self._context.hint(hint.format(_name(number), written(value)))
            return self._change(number, value)

        number_at = self._on_slider(number, start)
        if number_at is not None:
            return SlideNumber(self._context, start, self.value(number), number_at, change)
        return ScrubNumber(self._context, start, self._scrub_of(number), change)

    def click(self, number: NumberCell, at: QPointF) -> None:
        """Give a number the keys and the wheel; on its slider, move the knob there."""
        number_at = self._on_slider(number, at)
        if number_at is not None and (value := number_at(at.x())) != self.value(number):
            self._context.request(self._change(number, value))
        self.activate(number)

    def activate(self, number: NumberCell | None) -> None:
        """Give a number the keys and the wheel, or take them away."""
        view = self._context.view
        if number != view.number:
            self._context.show(number=number)
        self._turned = 0.0
        self._scrub = None if number is None else self._scrub_of(number)
        if number is not None:
            self._tell(number)

    def update(self) -> None:
        """Take the keys from a number that is no longer there, or whose block is not selected."""
        view = self._context.view
        near, number = view.near_number, view.number
        if near is not None and not self.exists(near):
            self._context.view = view = replace(view, near_number=None)
        selected = number is not None and view.selection.blocks == {number.block}
        if number is None:
            return
        if not (selected and self.exists(number)):
            self.activate(None)
            if self._told:
                self._context.hint("")
            self._told = ""
        elif self._told and self._told != self._written(number):  # typed, or undone
            self._tell(number)

    def leave(self) -> bool:
        """Take the keys from the number that has them; False if none does."""
        had = self._context.view.number is not None
        self.activate(None)
        self._told = ""
        if had:
            self._context.hint("")
        return had

    def step(self, steps: float, modifiers: Qt.KeyboardModifier) -> bool:
        """Change the active number by steps; False if none is active."""
        number = self._context.view.number
        if number is None or not self.exists(number):
            return False
        before = self.value(number)
        if self._scrub is None or self._scrub.value != before:
            self._scrub = self._scrub_of(number)
        value = self._scrub.by(steps, factor_of(modifiers))
        if value != before:
            self._context.request(self._change(number, value))
            if self._told != self._written(number):
                self._tell(number)
        return True

    def wheel(self, at: QPointF, turned: float, modifiers: Qt.KeyboardModifier) -> bool:
        """Change the active number by the wheel; False unless the pointer is on it."""
        number = self._context.view.number
        box = None if number is None else number_box(self._context.view, number)
        if box is None or not box.contains(at):
            return False
        self._turned += turned / _NOTCH
        whole = int(self._turned)
        self._turned -= whole
        return self.step(whole, modifiers) if whole else True

    def go(self, by: int, block: str | None = None) -> bool:
        """Activate the next number of a block, or the previous one; False without any."""
        view = self._context.view
        name = block or (view.number.block if view.number else None)
        if name is None:
            return False
        numbers = list(number_boxes(view.annotations, view.scene.index[name], 1.0))
        if not numbers:
            self._context.hint(
                editor.tr("{0} has no number that can be changed here.").format(name)
            )
            return False
        place = numbers.index(view.number) + by if view.number in numbers else 0
        self.activate(numbers[place % len(numbers)])
        return True

    def edit(self, text: str = "") -> bool:
        """Type the active number; False if none is active."""
        number = self._context.view.number
        if number is not None:
            self._context.inline_editor.edit_number(number, text)
        return number is not None

    def typed(self, number: NumberCell, text: str) -> SetParameters:
        """The change that a typed text makes; raises ValueError if it is no number that fits."""
        array = self._array(number)
        if array is None:
            raise ValueError(text)
        return self._change(number, read_number(text, array.dtype))

    def _change(self, number: NumberCell, value: Any) -> SetParameters:
        scene = self._context.view.scene
        block = scene.page.blocks[number.block]
        return set_number(block, number, value, self._shown(number), scene.page_name)

    def _scrub_of(self, number: NumberCell) -> Scrub:
        return Scrub(self.value(number), self._slider(number))

    def _slider(self, number: NumberCell) -> Slider | None:
        return slider_of(self._context.view.scene.page.blocks[number.block], number.key)

    def _on_slider(self, number: NumberCell, at: QPointF) -> Callable[[float], Any] | None:
        """The number for each x on the slider at a point of the widget; None beside it."""
        slider, track = self._slider(number), slider_track(self._context.view, number.block)
        if slider is None or track is None or at.x() > track.right() + KNOB:
            return None
        dtype, left, width = self.value(number).dtype, track.left(), track.width()
        return lambda x: slider.at((x - left) / width, dtype)

    def _written(self, number: NumberCell) -> str:
        """``w = 0.5``, with the limits of its slider."""
        value, slider = self.value(number), self._slider(number)
        text = f"{_name(number)} = {written(value)}"
        if slider is None:
            return text
        template = (
            editor.tr("{0}, from {1} to {2}")
            if slider.has(value)
            else editor.tr("{0}, outside its limits {1} to {2}")
        )
        return template.format(text, written(slider.least), written(slider.largest))

    def _array(self, number: NumberCell) -> Any:
        block = self._context.view.scene.page.blocks.get(number.block)
        return None if block is None else array_of(block, number.key, self._shown(number))

    def _shown(self, number: NumberCell) -> Any:
        return self._context.view.annotations.page.value(number.block, "out")

    def _tell(self, number: NumberCell) -> None:
        self._told = text = self._written(number)
        speak(self._context.widget, text)
        self._context.hint(
            editor.tr(
                "{0}. Up and Down change it, Left and Right go to the next number, Enter types, "
                "Esc ends."
            ).format(text)
        )


def _name(number: NumberCell) -> str:
    """``W[0, 1]``, or ``mul1.b`` for an input."""
    name = number.block if number.key == "value" else str(PortName(number.block, number.key))
    return f"{name}[{', '.join(map(str, number.cell))}]" if number.cell else name
