"""What the rows of forms have in common: the label of a field, and dragging by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.app.panels import labels
from gradwire.app.panels.inspector.scrubbing import Scrubber
from gradwire.app.services.plain_text import unmarked

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QLabel, QWidget

    from gradwire.app.document.numbers import Slider
    from gradwire.app.panels.inspector.fields import ValueField


def name_label(text: str, buddy: QWidget) -> QLabel:
    """The label of a field, which also names it for assistive technology."""
    label = labels.plain(unmarked(text))
    label.setForegroundRole(labels.Role.PlaceholderText)
    label.setContentsMargins(0, 4, 0, 0)
    label.setBuddy(buddy)
    label.setToolTip(buddy.toolTip())
    buddy.setAccessibleName(text)
    return label


def let_drag(
    label: QLabel,
    field: ValueField,
    preview: Callable[[object], None],
    slider: Callable[[], Slider | None] = lambda: None,
) -> None:
    """Let a number of the field be changed by its label, by arrows and by the wheel.

    ``preview`` gets the value while it is dragged, as JSON data, and None if it is taken back;
    ``slider`` returns the limits of the number, if it has any.
    """
    line = field.line_edit()
    if line is not None:
        scrubber = Scrubber(label, line, field.number, slider)
        scrubber.previewed.connect(
            lambda number: preview(None if number is None else field.data_of(number))
        )
        scrubber.committed.connect(lambda number: field.committed.emit(field.data_of(number)))
