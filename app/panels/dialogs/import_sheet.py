"""How to import a model: asked before it is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QCheckBox, QDialogButtonBox, QFormLayout, QLineEdit, QPlainTextEdit

from gradwire.app.panels import labels
from gradwire.app.panels.focus_ring import Dialog
from gradwire.app.panels.layouts import make_column
from gradwire.app.services.plain_text import window_title
from gradwire.runtime.interchange import ImportOptions, parse_shape

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtWidgets import QWidget

_LINES = 3
"""Lines of the field for shapes."""


class ImportSheet(Dialog):
    """Chooses the options of an import; what is left empty is found in the model."""

    def __init__(self, path: Path, parent: QWidget) -> None:
        super().__init__(parent)
        self.path = path
        self.setWindowTitle(window_title(self.tr("Import {0}").format(path.name)))
        self.loss = QLineEdit(self)
        self.loss.setPlaceholderText(self.tr("the only output, if it is one number"))
        self.training = QCheckBox(self.tr("BatchNorm, Dropout and the like as in training"), self)
        self.shapes = QPlainTextEdit(self)
        self.shapes.setPlaceholderText(self.tr("x = 2, 3, 224, 224"))
        self.shapes.setTabChangesFocus(True)
        self.shapes.setFixedHeight(self.fontMetrics().lineSpacing() * _LINES + 14)
        self.mistake = labels.error()
        self._arrange()

    @property
    def options(self) -> ImportOptions:
        """The chosen options; raises ValueError where shapes are none."""
        lines = filter(str.strip, self.shapes.toPlainText().splitlines())
        return ImportOptions(
            dict(map(parse_shape, lines)), self.loss.text().strip(), self.training.isChecked()
        )

    def accept(self) -> None:
        """Close the sheet, unless something on it is wrong."""
        try:
            _ = self.options
        except ValueError as error:
            labels.show_or_hide(self.mistake, self.tr("{0} is no shape.").format(error))
            self.shapes.setFocus()
            return
        super().accept()

    def _arrange(self) -> None:
        form = QFormLayout()
        for text, field in (
            (self.tr("&Loss"), self.loss),
            (self.tr("&Training"), self.training),
            (self.tr("&Shapes of inputs"), self.shapes),
        ):
            form.addRow(text, field)
            field.setAccessibleName(text.replace("&", ""))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel, self)
        start = buttons.addButton(self.tr("&Import"), QDialogButtonBox.ButtonRole.AcceptRole)
        start.setDefault(True)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        text = self.tr("Shapes are needed only where the model leaves lengths open.")
        make_column(self, form, self.mistake, labels.caption(text), buttons, margins=None)
        self.resize(460, 0)
