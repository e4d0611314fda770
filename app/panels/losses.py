"""The losses: how large each is, and which of them the lanes are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QWidget

from app.panels import labels

if TYPE_CHECKING:
    from app.evaluator import Reading


class Losses(QWidget):
    """Values of the losses, and a switch that is there as soon as there are several."""

    lossChosen = Signal(object)
    """Port of the loss that everything shall be about; None for all together."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._reading: Reading | None = None
        self._about: Reading | None = None
        self.label = QLabel(self)
        self.switch = QComboBox(self)
        self.switch.setAccessibleName(self.tr("Gradient of"))
        self.switch.setToolTip(self.tr("Which loss lanes, gradients and reasons are about"))
        self.switch.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.switch.hide()
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 0, 8, 0)
        row.setSpacing(8)
        row.addWidget(self.switch)
        row.addWidget(self.label)
        self.switch.currentIndexChanged.connect(self._choose)
        self._fill(())

    @property
    def chosen(self) -> str | None:
        """The loss that everything is about; None for all together."""
        found = self.switch.currentData()
        return found if isinstance(found, str) else None

    def choices(self) -> list[tuple[str, str | None]]:
        """What can be chosen: words, and the port of the loss."""
        rows = range(self.switch.count())
        return [(self.switch.itemText(row), self.switch.itemData(row)) for row in rows]

    def choose(self, loss: str | None) -> None:
        """Let everything be about one loss, or all of them."""
        ports = [port for _, port in self.choices()]
        if loss in ports:
            self.switch.setCurrentIndex(ports.index(loss))

    def about(self, reading: Reading) -> Reading:
        """``reading`` as to the chosen loss, which stays chosen while there is one of its name."""
        if reading is not self._reading:
            self._reading, self._about = reading, None
            self._fill(reading.losses)
            self.label.setText(labels.losses(reading))
        if self._about is None:
            self._about = reading.of(self.chosen)
        return self._about

    def _fill(self, losses: tuple[str, ...]) -> None:
        offered: list[str | None] = [None, *(losses if len(losses) > 1 else ())]
        if [port for _, port in self.choices()] == offered:
            return
        before = self.chosen
        with QSignalBlocker(self.switch):
            self.switch.clear()
            for port in offered:
                name = self.tr("All losses") if port is None else port.removesuffix(".out")
                self.switch.addItem(name, port)
            self.switch.setCurrentIndex(offered.index(before) if before in offered else 0)
        self.switch.setVisible(len(offered) > 1)

    def _choose(self) -> None:
        self._about = None
        self.lossChosen.emit(self.chosen)
