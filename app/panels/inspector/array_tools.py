"""The tools for a whole array: load, generate, edit a part, save."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QStatusTipEvent
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QInputDialog,
    QLineEdit,
    QToolButton,
    QWidget,
)
from shiboken6 import isValid

from gradwire.app.canvas.state.formatting import dimensions
from gradwire.app.document import arrays
from gradwire.app.panels import labels
from gradwire.app.panels.focus_ring import Dialog
from gradwire.app.panels.inspector.grid import ArrayGrid
from gradwire.app.panels.layouts import path_to_open, path_to_save
from gradwire.app.panels.menu import Menu
from gradwire.app.services.background import Cancelled, JobRunner
from gradwire.app.services.translation import editor
from gradwire.blocks.errors import FileError, GradwireError, reason_of
from gradwire.blocks.values import DTYPES, Array, Tensor

RULE_NAMES: Mapping[str, str] = {
    "zeros": editor.noop("zeros"),
    "ones": editor.noop("ones"),
    "constant": editor.noop("constant"),
    "normal": editor.noop("normal"),
    "uniform": editor.noop("uniform"),
    "linspace": editor.noop("evenly spaced"),
    "identity": editor.noop("identity"),
}
"""Labels of the rules in :data:`gradwire.app.document.arrays.RULES`."""
NUMBER_NAMES: Mapping[str, str] = {
    "value": editor.noop("Value"),
    "mean": editor.noop("Mean"),
    "deviation": editor.noop("Standard deviation"),
    "minimum": editor.noop("Minimum"),
    "maximum": editor.noop("Maximum"),
    "first": editor.noop("First"),
    "last": editor.noop("Last"),
    "seed": editor.noop("Seed"),
}
"""Labels of their parameters."""
MAX_CELLS = 2_500
"""Largest number of elements of a part that is shown cell by cell."""


class ArrayTools(QToolButton):
    """A button with a menu of tools; ``made`` emits the resulting array."""

    made = Signal(object)
    """The Tensor to replace the current one."""
    failed = Signal(str)
    """Why a tool failed."""

    def __init__(self, runner: JobRunner, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._runner = runner
        self._tensor: Tensor | None = None
        self.setText("⋯")
        self.setAutoRaise(True)
        self.setPopupMode(self.ToolButtonPopupMode.InstantPopup)
        self.setToolTip(self.tr("Load, generate, edit or save the array"))
        self.setAccessibleName(self.tr("Array tools"))
        menu = Menu(self)
        load = menu.addAction(self.tr("&Load from File…"))
        # After the menu has closed, since another block may be shown while a file is read.
        load.triggered.connect(self.load, Qt.ConnectionType.QueuedConnection)
        menu.addAction(self.tr("&Generate…"), self.generate)
        self._needs_value = [
            menu.addAction(self.tr("&Edit a Part…"), self.change_part),
            menu.addAction(self.tr("&Save to File…"), self.save),
        ]
        self.setMenu(menu)
        self.show_tensor(None)

    def show_tensor(self, tensor: Tensor | None) -> None:
        """Work on another array; None if there is none yet."""
        self._tensor = tensor
        for action in self._needs_value:
            action.setEnabled(tensor is not None)

    def load(self) -> None:
        """Ask for a file, and which of its arrays to load if it has several."""
        kinds = self.tr("Arrays (*.npy *.npz *.safetensors *.csv *.tsv *.txt)")
        path = path_to_open(self, self.tr("Load an array"), kinds)
        found = None if path is None else self._read(path)
        chosen = None if found is None else self._choose(found)
        if chosen is not None:
            self._accept(chosen)

    def generate(self) -> None:
        """Ask for a rule and a shape, and generate the array."""
        self._ask(Generate(self._tensor, self))

    def change_part(self) -> None:
        """Ask for a part and its new values."""
        if self._tensor is not None:
            self._ask(PartDialog(self._tensor.array, self))

    def save(self) -> None:
        """Ask for a file and save the array."""
        if self._tensor is None:
            return
        kinds = self.tr("Array (*.npy);;Rows (*.csv *.tsv)")
        path = path_to_save(self, self.tr("Save the array"), kinds)
        if path is None:
            return
        path = path if path.suffix else path.with_name(path.name + ".npy")
        try:
            arrays.write(path, self._tensor.array)
        except FileError as error:
            self.failed.emit(str(error))
        else:
            self.failed.emit("")
            said = QStatusTipEvent(self.tr("Saved {0}").format(path.name))
            QApplication.sendEvent(self, said)

    def _read(self, path: Path) -> dict[str, Array] | None:
        """The arrays of a file; None on failure, or if this widget was deleted meanwhile."""
        text = self.tr("Reading {0}").format(path.name)
        try:
            found = self._runner(text, lambda pulse: arrays.read(path), pure=True)
        except Cancelled:
            return None
        except GradwireError as error:
            if isValid(self):
                self.failed.emit(str(error))
            return None
        return found if isValid(self) else None  # deleted if another block is shown by now

    def _ask(self, dialog: Generate | PartDialog) -> None:
        if dialog.exec() == QDialog.DialogCode.Accepted:
            self.made.emit(Tensor(dialog.array))
        dialog.deleteLater()

    def _choose(self, found: dict[str, Array]) -> Array | None:
        if len(found) == 1:
            return next(iter(found.values()))
        labelled = {f"{name}   {dimensions(array.shape)}": array for name, array in found.items()}
        title = self.tr("Load an array")
        text, accepted = QInputDialog.getItem(
            self, title, self.tr("Array"), list(labelled), 0, False
        )
        return labelled.get(text) if accepted else None

    def _accept(self, array: Array) -> None:
        if array.dtype.name in DTYPES:
            self.made.emit(Tensor(np.ascontiguousarray(array)))
        else:
            self.failed.emit(
                self.tr("Arrays of dtype {0} are not supported. Expected one of: {1}.").format(
                    array.dtype, ", ".join(DTYPES)
                )
            )


class _ArrayDialog(Dialog):
    """A form with OK and Cancel; OK is enabled while the fields are valid."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.array = np.zeros(())
        self.rows = QFormLayout(self)
        self.about = labels.caption()
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)

    def description(self) -> str:
        """A description of the array; raises ValueError if the fields are invalid."""
        raise NotImplementedError  # each dialog has its own

    def make(self) -> Array:
        """The array; raises ValueError if the fields are invalid."""
        raise NotImplementedError  # each dialog has its own

    def finish_form(self) -> None:
        """Add the description and the buttons below the fields."""
        self.rows.addRow(self.about)
        self.rows.addRow(self.buttons)
        self.look()

    def look(self) -> None:
        """Show the description or the error, and fit the height."""
        self._try(lambda: self.about.setText(self.description()))
        self.resize(max(self.width(), 480), self.sizeHint().height())

    def number(self, text: str) -> float:
        """Parse a number; raises ValueError."""
        try:
            return float(text.strip().replace("−", "-"))
        except ValueError:
            raise ValueError(self.tr("{0} is not a number.").format(repr(text.strip()))) from None

    def accept(self) -> None:
        if self._try(self._keep):
            super().accept()

    def _keep(self) -> None:
        self.array = self.make()

    def _try(self, act: Callable[[], None]) -> bool:
        possible = True
        try:
            act()
        except (ValueError, OverflowError, MemoryError) as error:
            self.about.setText(reason_of(error) if isinstance(error, MemoryError) else str(error))
            possible = False
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setEnabled(possible)
        return possible


class Generate(_ArrayDialog):
    """Generates an array by a rule, with the dtype of the previous array."""

    def __init__(self, tensor: Tensor | None, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Generate an array"))
        self._dtype = "float64" if tensor is None else tensor.dtype
        self.kind = QComboBox(self)
        for kind in arrays.RULES:
            self.kind.addItem(editor.tr(RULE_NAMES[kind]), kind)
        self.shape_line = QLineEdit("" if tensor is None else ", ".join(map(str, tensor.shape)))
        self.numbers = {name: QLineEdit(str(n)) for name, n in arrays.DEFAULTS.items()}
        self.rows.addRow(self.tr("Rule"), self.kind)
        self.rows.addRow(self.tr("Shape"), self.shape_line)
        for name, line in self.numbers.items():
            self.rows.addRow(editor.tr(NUMBER_NAMES[name]), line)
            line.textChanged.connect(self.look)
        self.kind.currentIndexChanged.connect(self.look)
        self.shape_line.textChanged.connect(self.look)
        self.finish_form()

    def look(self) -> None:
        for name, line in self.numbers.items():
            self.rows.setRowVisible(line, name in arrays.RULES[self.kind.currentData()])
        super().look()

    def description(self) -> str:
        shape = arrays.parse_shape(self.shape_line.text())
        self._generate(tuple(min(length, 1) for length in shape))
        return f"{dimensions(shape)} · {self._dtype}"

    def make(self) -> Array:
        return self._generate(arrays.parse_shape(self.shape_line.text()))

    def _generate(self, shape: tuple[int, ...]) -> Array:
        kind = self.kind.currentData()
        numbers = {name: self.number(self.numbers[name].text()) for name in arrays.RULES[kind]}
        return arrays.generate(kind, shape, self._dtype, numbers)


class PartDialog(_ArrayDialog):
    """Edits a part of an array cell by cell, or fills it with one number."""

    def __init__(self, array: Array, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Edit a part"))
        self._before = array
        self._cells: Array | None = None
        self.line = QLineEdit(", ".join("0" if n == 1 else f"0:{min(n, 8)}" for n in array.shape))
        self.line.setToolTip(self.tr("One index per axis: 3, 0:5, : or ..."))
        self.fill = QLineEdit(self)
        self.fill.setPlaceholderText(self.tr("unchanged"))
        self.grid = ArrayGrid(self)
        self.grid.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.grid.committed.connect(self._edit)
        self.rows.addRow(self.tr("Part"), self.line)
        self.rows.addRow(self.tr("Fill with"), self.fill)
        self.rows.addRow(self.grid)
        self.line.textChanged.connect(self._show_part)
        self.fill.textChanged.connect(self.look)
        self.finish_form()

    def description(self) -> str:
        self.grid.hide()
        part = np.asarray(self._before[self._index()])
        description = f"{dimensions(part.shape)} · {part.dtype}"
        if self.fill.text().strip():
            self._filling(part)
        elif 1 <= part.ndim <= 2 and 0 < part.size <= MAX_CELLS:
            self.grid.show_array(part if self._cells is None else self._cells)
            self.grid.show()
        elif self._cells is None:
            hint = self.tr("Cells are shown for one or two axes and up to {0} elements.")
            description = f"{description}. {hint.format(f'{MAX_CELLS:,}')}"
        return description

    def make(self) -> Array:
        index = self._index()
        if self.fill.text().strip():
            return arrays.with_part(self._before, index, self._filling(self._before[index]))
        part = self._before[index] if self._cells is None else self._cells
        return arrays.with_part(self._before, index, part)

    def _index(self) -> arrays.Index:
        return arrays.parse_index(self.line.text(), self._before.shape)

    def _filling(self, part: Array) -> object:
        return np.asarray(self.number(self.fill.text())).astype(np.asarray(part).dtype)

    def _show_part(self) -> None:
        self._cells = None
        self.look()

    def _edit(self, cells: ArrayLike) -> None:
        part = np.asarray(self._before[self._index()])
        self._cells = Tensor(cells).array.astype(part.dtype).reshape(part.shape)
        self.look()
