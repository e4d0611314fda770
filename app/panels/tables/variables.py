"""The table of variables with their values and gradients."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from PySide6.QtCore import QMargins, QModelIndex, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from gradwire.app.canvas.input.previews import Previews
from gradwire.app.canvas.paint.blocks.faces import KNOB, draw_slider
from gradwire.app.canvas.state.formatting import dimensions
from gradwire.app.canvas.state.looks import SliderLook
from gradwire.app.document.numbers import Slider, array_of, read_number, slider_of
from gradwire.app.panels import labels, notation
from gradwire.app.panels.pacing import Paced
from gradwire.app.panels.tables.lines import Index, TableModel
from gradwire.app.panels.tables.scrubbing import ScrubTable
from gradwire.app.services.plain_text import tooltip
from gradwire.app.services.theme import current_theme
from gradwire.blocks.values import Array, Tensor
from gradwire.runtime.diagram import (
    MAIN,
    Address,
    Diagram,
    InstancePath,
    PortPath,
    SetParameters,
    resolve,
)
from gradwire.runtime.flow import dialects
from gradwire.runtime.flow import number as written

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from PySide6.QtGui import QShowEvent

    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.blocks.block import Block

_VALUE = 2
"""The column of values."""
_OF_VALUES = frozenset(
    {Qt.ItemDataRole.EditRole, Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole}
)
_SLIDER, _PAD = 72, 4
"""Width of a slider and room around it, px."""


class VariableModel(TableModel):
    """One row per variable: name, shape and dtype, value, gradient (or None and the reason)."""

    typed = Signal(int, object)
    """A row, and the number that was typed in place of its value."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._result: EvaluationResult | None = None
        self.diagram = Diagram()
        """The diagram as it is now, which may be newer than the result."""
        self.names: tuple[str, ...] = ()

    def set_result(self, result: EvaluationResult | None) -> None:
        """Show another result."""
        names = result.variables if result else ()
        if names != self.names:
            self.beginResetModel()
            self._result, self.names = result, names
            self.endResetModel()
        elif names:
            self._result = result
            self.dataChanged.emit(self.index(0, 0), self.index(len(names) - 1, 3))

    def size(self) -> tuple[int, int]:
        return len(self.names), 4

    def titles(self) -> tuple[str, ...]:
        return self.tr("Name"), self.tr("Shape"), self.tr("Value"), self.tr("Gradient")

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        is_number = index.column() == _VALUE and self.number(index.row()) is not None
        return flags | Qt.ItemFlag.ItemIsEditable if is_number else flags

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        number = self.number(index.row())
        if number is None:
            return False
        try:
            wanted = read_number(str(value), number.dtype)
        except ValueError:
            return False
        if wanted != number:
            self.typed.emit(index.row(), wanted)
        return True

    def number(self, row: int) -> np.generic | None:
        """The one number of a variable as a numpy scalar; None if it has several, or none."""
        block = self._block(row)
        array = None if block is None else array_of(block, "value", self._shown(self.names[row]))
        return None if array is None or array.shape else array.flat[0]

    def slider(self, row: int) -> Slider | None:
        """The limits of the number of a variable, if it has any."""
        block = self._block(row)
        return None if block is None else slider_of(block)

    def change(self, row: int, number: np.generic) -> SetParameters | None:
        """The change that gives a variable another number; None if it is gone."""
        address = self._address(row)
        if address is None:
            return None
        values = address.parameters(self.diagram, {"value": Tensor(number)})
        return SetParameters(address.name, dict(values), address.page)

    def _address(self, row: int) -> Address | None:
        return resolve(self.diagram, InstancePath(self.names[row]))

    def _block(self, row: int) -> Block | None:
        address = self._address(row)
        return None if address is None else address.block(self.diagram)

    def _shown(self, name: str) -> Array | None:
        return self._result.values.get(PortPath.named(name)) if self._result else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        name = self.names[index.row()]
        if index.column() == _VALUE and role in _OF_VALUES:
            return self._about_value(index.row(), role)
        if role == Qt.ItemDataRole.DisplayRole:
            return (self._name, self._kind, self._value, self._gradient)[index.column()](name)
        if role == Qt.ItemDataRole.ToolTipRole and index.column() == 3:
            return tooltip("\n".join([self._gradient(name), *self._fates(name)]))
        return None

    def _about_value(self, row: int, role: int) -> object:
        number = self.number(row)
        if number is None:
            return None
        if role == Qt.ItemDataRole.EditRole:
            return written(number)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self.tr(
                "Drag to change (Shift fine, Ctrl coarse), Left, Right and the wheel step, a "
                "double-click or F2 types."
            )
        slider, text = self.slider(row), f"{self.names[row]} = {written(number)}"
        if slider is None:
            return text
        ends = written(slider.least), written(slider.largest)
        return self.tr("{0}, slider from {1} to {2}").format(text, *ends)

    def _name(self, name: str) -> str:
        return name

    def _kind(self, name: str) -> str:
        value = self._shown(name)
        return "" if value is None else f"{dimensions(value.shape)} · {value.dtype}"

    def _value(self, name: str) -> str:
        value = self._shown(name)
        return "" if value is None else notation.glimpse(value)

    def _gradient(self, name: str) -> str:
        if self._result is not None and name not in self._result.gradients:
            return self.tr("hidden")
        gradient = self._result.gradients[name] if self._result else None
        if gradient is not None:
            return notation.glimpse(gradient)
        verdict = self._result.variable(name) if self._result else None
        return f"None — {verdict.sentence}" if verdict else "None"

    def _fates(self, name: str) -> list[str]:
        """What each of PyTorch's optimisers would do with the variable."""
        result = self._result
        if result is None or result.flow is None or result.is_partial:
            return []
        reports = dialects(result.flow, name, result.loss)
        fates = reports.fates[reports.reports[0].system]
        return [labels.fate(fate) for fate in fates]


class _ValueDelegate(QStyledItemDelegate):
    """Draws a number with its slider before it."""

    def __init__(self, table: VariablesTable) -> None:
        super().__init__(table)
        self._table = table

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        slider, number = self._table.slider_of(index.row()), self._table.number_of(index.row())
        if slider is None or number is None:
            super().paint(painter, option, index)
            return
        place = QRect(option.rect)
        option.rect = place.adjusted(_SLIDER + 2 * _PAD, 0, 0, 0)
        super().paint(painter, option, index)
        look = SliderLook(slider.share(number), slider.has(number))
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        room = QRectF(self._table.track_in(place)).adjusted(-KNOB, 0.0, KNOB, 0.0)
        draw_slider(painter, look, room, current_theme())
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        size = super().sizeHint(option, index)
        has_slider = self._table.slider_of(index.row()) is not None
        return size.grownBy(QMargins(_SLIDER + 2 * _PAD, 0, 0, 0)) if has_slider else size


class VariablesTable(ScrubTable):
    """The table of variables; a click or Enter requests the block, and numbers are dragged."""

    blockRequested = Signal(str)
    """Instance path of a variable."""
    changeRequested = Signal(object)
    previewRequested = Signal(object)
    """A Change to show without making it, or None to show the diagram without one."""
    numbers = _VALUE

    def __init__(
        self, parent: QWidget | None = None, is_previewing: Callable[[], bool] = lambda: False
    ) -> None:
        super().__init__(parent)
        self._is_previewing = is_previewing
        self._result: EvaluationResult | None = None
        self._results = Paced(self, self._show_result)
        self.table = VariableModel(self)
        self.lay_out(self.table, self.tr("Variables"))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        triggers = QAbstractItemView.EditTrigger
        self.setEditTriggers(triggers.DoubleClicked | triggers.EditKeyPressed)
        self.setMouseTracking(True)
        self.setItemDelegateForColumn(_VALUE, _ValueDelegate(self))
        self._explain_absence("")
        header = self.horizontalHeader()
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(3, QHeaderView.ResizeMode.Stretch)
        self._previews = Previews(self, self.previewRequested.emit)
        self.previewed.connect(self._preview)
        self.committed.connect(self._commit)
        self.table.typed.connect(self._commit)
        self.clicked.connect(self._click)
        self.activated.connect(self._request)

    def number_of(self, row: int) -> np.generic | None:
        return self.table.number(row) if 0 <= row < len(self.table.names) else None

    def slider_of(self, row: int) -> Slider | None:
        return self.table.slider(row)

    def track_in(self, cell: QRect) -> QRect:
        knob = math.ceil(KNOB)
        return QRect(cell.left() + _PAD + knob, cell.top(), _SLIDER - 2 * knob, cell.height())

    def set_diagram(self, diagram: Diagram, page: str = MAIN) -> None:
        """Change the numbers of another diagram."""
        self.table.diagram = diagram

    def set_result(self, result: EvaluationResult | None) -> None:
        """Show another result."""
        self._result = result
        self._explain_absence(labels.withheld(result))
        is_elsewhere = self._is_previewing() and not self._previews.is_moving
        self._previews.result_shown()
        self._results.follow(is_moving=is_elsewhere)

    def _show_result(self) -> None:
        if self.isVisible():
            self.table.set_result(self._result)

    def _explain_absence(self, withheld: str) -> None:
        none = self.tr("No variables. Training changes the numbers of Variable blocks.")
        self.set_placeholder(withheld or none)

    def showEvent(self, event: QShowEvent) -> None:
        self.table.set_result(self._result)
        super().showEvent(event)

    def _preview(self, row: int, number: np.generic | None) -> None:
        self._previews.put(None if number is None else self.table.change(row, number))

    def _commit(self, row: int, number: np.generic) -> None:
        self._previews.stop()
        if (change := self.table.change(row, number)) is not None:
            self.changeRequested.emit(change)

    def _click(self, index: QModelIndex) -> None:
        """A click on a number prepares it for keys; one elsewhere in the row shows the block."""
        if index.column() != _VALUE or self.number_of(index.row()) is None:
            self._request(index)

    def _request(self, index: QModelIndex) -> None:
        self.blockRequested.emit(self.table.names[index.row()])
