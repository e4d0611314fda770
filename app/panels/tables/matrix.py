"""The matrix of losses × variables: size and direction of each gradient, and conflicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QBrush, QColor

from gradwire.app.panels.tables.lines import Index, PlainTable, TableModel
from gradwire.app.services.plain_text import tooltip
from gradwire.app.services.theme import current_theme
from gradwire.runtime.flow import number

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from gradwire.runtime.diagram import PortPath
    from gradwire.runtime.flow import LossMatrix

_AGAINST = -0.1
"""Cosine below which two losses conflict."""
_BESIDE = 2
"""Columns besides those of losses: the variable, and which losses train it."""


class MatrixModel(TableModel):
    """One row per variable: name, a cell per loss, and the losses that train it or conflict.

    A cell is ``1.732 · cos 0.71``: the root mean square of the gradient, and the cosine of its
    angle with the gradient of all losses together; ``None`` if no path connects them.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.matrix: LossMatrix | None = None
        self._placeholder = ""

    def show_matrix(self, matrix: LossMatrix | None, placeholder: str) -> None:
        """Show a matrix, or ``placeholder`` unless that is empty."""
        self.beginResetModel()
        self.matrix, self._placeholder = matrix if not placeholder else None, placeholder
        self.endResetModel()

    def size(self) -> tuple[int, int]:
        if self.matrix is None:
            return bool(self._placeholder), 1
        return len(self.matrix.variables), len(self.matrix.losses) + _BESIDE

    def titles(self) -> tuple[str, ...]:
        losses = [loss.block for loss in self.matrix.losses] if self.matrix else []
        return self.tr("Variable"), *losses, self.tr("Trained by")

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        is_loss = orientation == Qt.Orientation.Horizontal and self.loss_at(section) is not None
        if role == Qt.ItemDataRole.ToolTipRole and is_loss:
            return self.tr("Size of the gradient (rms), and its cosine with that of all losses")
        return super().headerData(section, orientation, role) if self.matrix else None

    def loss_at(self, column: int) -> PortPath | None:
        """The loss of a column; None for other columns."""
        losses = self.matrix.losses if self.matrix else ()
        return losses[column - 1] if 0 < column <= len(losses) else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        matrix = self.matrix
        if matrix is None:
            return self._placeholder if role == Qt.ItemDataRole.DisplayRole else None
        name, loss = matrix.variables[index.row()], self.loss_at(index.column())
        if role == Qt.ItemDataRole.DisplayRole:
            if loss is not None:
                return self._cell(name, loss)
            return name if index.column() == 0 else self._trained_by(name)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tooltip("\n".join(self._pairs(name)))
        if role == Qt.ItemDataRole.AccessibleTextRole and loss is not None:
            return f"{name}, {loss.block}: {self._cell(name, loss)}"
        if role == Qt.ItemDataRole.ForegroundRole and loss is None and index.column():
            return QBrush(QColor(current_theme().warning)) if self._conflicts(name) else None
        return None

    def _cell(self, name: str, loss: PortPath) -> str:
        assert self.matrix is not None
        norm, cosine = self.matrix.norms[loss][name], self.matrix.cosines[loss][name]
        if norm is None:
            return "None"
        return number(norm) if cosine is None else f"{number(norm)} · cos {number(cosine)}"

    def _trained_by(self, name: str) -> str:
        """The losses that give the variable a gradient, then their conflicts."""
        assert self.matrix is not None
        norms = self.matrix.norms
        moving = [loss.block for loss in self.matrix.losses if norms[loss][name]]
        text = ", ".join(moving) or self.tr("none")
        return "; ".join([text, *self._conflicts(name)])

    def _conflicts(self, name: str) -> list[str]:
        """``L1 against L2: −1`` for each pair of conflicting losses."""
        assert self.matrix is not None
        against = self.tr("{0} against {1}: {2}")
        return [
            against.format(a.block, b.block, number(cosine))
            for (a, b), cosine in self.matrix.between[name].items()
            if cosine is not None and cosine < _AGAINST
        ]

    def _pairs(self, name: str) -> list[str]:
        assert self.matrix is not None
        return [
            f"cos({a.block}, {b.block}) = {number(cosine)}"
            for (a, b), cosine in self.matrix.between[name].items()
            if cosine is not None
        ]


class Matrix(PlainTable):
    """A click on a loss chooses it; a click or Enter on a cell shows the variable for that loss."""

    lossRequested = Signal(str)
    """Port of a loss."""
    variableRequested = Signal(str, object)
    """Path of a variable, and the port of a loss or None."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.table = MatrixModel(self)
        self.lay_out(self.table, self.tr("Losses and variables"))
        header = self.horizontalHeader()
        header.setSectionsClickable(True)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setStretchLastSection(True)
        header.sectionClicked.connect(self._choose)
        self.clicked.connect(self._request)
        self.activated.connect(self._request)

    def show_matrix(self, matrix: LossMatrix | None, placeholder: str = "") -> None:
        """Show a matrix, or ``placeholder`` unless that is empty."""
        self.table.show_matrix(matrix, placeholder)
        self.horizontalHeader().setVisible(self.table.matrix is not None)

    def _choose(self, section: int) -> None:
        loss = self.table.loss_at(section)
        if loss is not None:
            self.lossRequested.emit(loss)

    def _request(self, index: QModelIndex) -> None:
        if self.table.matrix is not None:
            name = self.table.matrix.variables[index.row()]
            self.variableRequested.emit(name, self.table.loss_at(index.column()))
