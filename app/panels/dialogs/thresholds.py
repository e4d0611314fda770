"""The dialog of thresholds: when a gradient counts as vanishing, exploding, and so on."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialogButtonBox, QFormLayout, QLineEdit

from gradwire.app.panels import labels
from gradwire.app.panels.focus_ring import Dialog
from gradwire.app.panels.layouts import make_column
from gradwire.app.services.translation import editor
from gradwire.runtime.flow import Thresholds

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget


class ThresholdsDialog(Dialog):
    """One field per threshold, applied when it loses the focus or Enter is pressed."""

    chosen = Signal(object)
    """The Thresholds, whenever one of them changes."""

    def __init__(self, shown: Thresholds, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Thresholds"))
        self.fields: dict[str, QLineEdit] = {}
        self._shown = shown
        self.error = labels.error()
        rows = QFormLayout()
        for name, words in self._words().items():
            line = QLineEdit(self)
            line.setAccessibleName(words)
            line.editingFinished.connect(self._take)
            self.fields[name] = line
            rows.addRow(words, line)
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.RestoreDefaults | QDialogButtonBox.StandardButton.Close
        )
        self.buttons.rejected.connect(self.reject)
        self.defaults = self.buttons.button(QDialogButtonBox.StandardButton.RestoreDefaults)
        self.defaults.setAutoDefault(False)
        self.defaults.clicked.connect(lambda: self._choose(Thresholds()))
        closing = self.buttons.button(QDialogButtonBox.StandardButton.Close)
        closing.setAutoDefault(False)  # Enter applies the field instead
        about = labels.caption(self.tr("The size of a gradient is its root mean square."))
        make_column(self, about, rows, self.error, self.buttons, margins=None)
        self._fill()

    def _words(self) -> dict[str, str]:
        return {field.name: editor.tr(field.metadata["words"]) for field in fields(Thresholds)}

    def _take(self) -> None:
        """Apply the fields if all are valid, or else show the error."""
        typed = {name: _number(line.text()) for name, line in self.fields.items()}
        wrong = [name for name, value in typed.items() if value is None]
        if wrong:
            words = self._words()[wrong[0]]
            text = self.tr("{0}: a number above 0, such as 0.1 or 1e-7.").format(words)
            labels.show_or_hide(self.error, text)
            return
        labels.show_or_hide(self.error, None)
        self._choose(replace(self._shown, **{n: v for n, v in typed.items() if v is not None}))

    def _choose(self, thresholds: Thresholds) -> None:
        changed, self._shown = thresholds != self._shown, thresholds
        self._fill()
        if changed:
            self.chosen.emit(thresholds)

    def _fill(self) -> None:
        for field in fields(self._shown):
            self.fields[field.name].setText(f"{getattr(self._shown, field.name):g}")


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0.0 < value < math.inf else None
