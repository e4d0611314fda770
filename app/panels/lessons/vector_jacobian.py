"""A large Jacobian: the gradients before and behind it, and its rows one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy import typing as npt
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.lessons.heatmap import GradientTable, LabelledHeatmap, element

if TYPE_CHECKING:
    from gradwire.runtime.lessons import VectorJacobian

Array = npt.NDArray[Any]


class ProductView(QWidget):
    """What arrives, what goes back, and the row of the element of the output pointed at."""

    rowRequested = Signal(object, int)
    """The product, and the element of the output of which the row is to be shown."""

    def __init__(self, product: VectorJacobian, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.product = product
        self.arriving = LabelledHeatmap(
            GradientTable(product.arriving, "g"),
            self.tr("Gradient that arrives at y"),
            self.tr("Point at an element of y for its row of the Jacobian."),
        )
        self.arriving.heatmap.pointed.connect(
            lambda index: self.rowRequested.emit(self.product, index)
        )
        returned = LabelledHeatmap(
            GradientTable(product.returned, f"g_{product.port}"),
            self.tr("Gradient that goes back to {0}").format(product.port),
            self.tr("Point at a cell."),
        )
        self._row, self._parts = QVBoxLayout(), list[QWidget]()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(labels.caption(self.tr("What arrives, g")))
        column.addWidget(self.arriving)
        column.addLayout(self._row)
        column.addWidget(labels.caption(self.tr("What goes back")))
        column.addWidget(returned)

    def show_row(self, index: int, row: Array) -> None:
        """Show the row of the Jacobian for one element of the output."""
        output = element("y", self.product.arriving.shape, index)
        name = f"∂{output}/∂{self.product.port}"
        heading = self.tr("Row of the Jacobian: {0}").format(name)
        shown = LabelledHeatmap(GradientTable(row, name), heading, self.tr("Point at a cell."))
        for old in self._parts:
            old.deleteLater()
        self._parts = [labels.caption(heading), shown]
        for part in self._parts:
            self._row.addWidget(part)
