"""Shows the values of the losses, and chooses the one that lanes and gradients belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, QSize, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QComboBox, QWidget

from gradwire.app.canvas.paint.wires import swatches
from gradwire.app.canvas.state.annotations import loss_colour
from gradwire.app.evaluation.result import MAX_SIDE_BY_SIDE
from gradwire.app.panels import labels
from gradwire.app.panels.layouts import make_row
from gradwire.app.services import theme
from gradwire.runtime.diagram import PortPath

if TYPE_CHECKING:
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.services.theme import Theme


APART = "*"
"""The choice of all losses with lanes side by side; no port has this name."""


class Losses(QWidget):
    """Values of the losses, and a switch between them if there are several.

    Losses whose lanes can be shown side by side have a piece of their lane beside their name.
    """

    lossChosen = Signal(object)
    """Port of the chosen loss; None for all together."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._result: EvaluationResult | None = None
        self._overlaid: EvaluationResult | None = None
        self._swatches: tuple[Theme, list[str | None], list[str]] | None = None
        """The theme, the ports and the colours of the swatches that are shown."""
        self._theme: Theme = theme.LIGHT
        self.label = labels.ReadoutLabel(self)
        self.switch = QComboBox(self)
        self.switch.setAccessibleName(self.tr("Gradient of"))
        self.switch.setToolTip(self.tr("The loss for lanes, gradients and explanations"))
        self.switch.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.switch.setIconSize(QSize(swatches.WIDTH, swatches.HEIGHT))
        self.switch.hide()
        make_row(self, self.switch, self.label, margins=(8, 0, 8, 0), spacing=8)
        self.switch.currentIndexChanged.connect(self._choose)
        self._fill(())
        theme.follow_theme(self)

    def set_theme(self, theme: Theme) -> None:
        """Draw the swatches in the colours of ``theme``."""
        self._theme = theme
        self._draw_swatches()

    @property
    def chosen(self) -> str | None:
        """Port of the chosen loss; None for all together."""
        found = self.switch.currentData()
        return found if isinstance(found, str) and found != APART else None

    @property
    def apart(self) -> bool:
        """Whether the lanes of all losses are shown side by side."""
        return bool(self.switch.currentData() == APART)

    def choices(self) -> list[tuple[str, str | None]]:
        """The choices: text, and port of the loss; None or :data:`APART` for all."""
        rows = range(self.switch.count())
        return [(self.switch.itemText(row), self.switch.itemData(row)) for row in rows]

    def swatch(self, loss: str | None, width: int = swatches.WIDTH) -> QIcon:
        """A piece of the lane of a loss, as it is side by side with others; none for other rows."""
        result = self._result
        if result is None or not result.is_by_loss or loss not in result.losses[:MAX_SIDE_BY_SIDE]:
            return QIcon()
        port = PortPath(loss)
        number, colour = result.losses.index(port), loss_colour(result.diagram, port)
        return swatches.loss_swatch(self._theme, number, colour, width)

    def choose(self, loss: str | None) -> None:
        """Choose one loss, or all together (None), or all side by side (:data:`APART`)."""
        ports = [port for _, port in self.choices()]
        if loss in ports:
            self.switch.setCurrentIndex(ports.index(loss))

    def overlay(self, result: EvaluationResult) -> EvaluationResult:
        """``result`` for the chosen loss, which stays chosen while a loss of that name exists."""
        if result is not self._result:
            self._result, self._overlaid = result, None
            self._fill(result.losses, apart=result.is_by_loss)
            self._draw_swatches()
        if self._overlaid is None:
            self._overlaid = result.side_by_side() if self.apart else result.of(self.chosen)
        return self._overlaid

    def show_values(self, result: EvaluationResult) -> None:
        """Show the values of the losses as far as ``result`` has them."""
        lossless = (result.is_partial or bool(result.states)) and result.is_lossless
        values = labels.losses(result, numbered=self.apart)
        self.label.setText(self.tr("No loss, so no gradient") if lossless else values)

    def _fill(self, losses: tuple[str, ...], *, apart: bool = False) -> None:
        single = losses if len(losses) > 1 else ()
        offered: list[str | None] = [None, *([APART] if apart else []), *single]
        if [port for _, port in self.choices()] == offered:
            return
        before = self.switch.currentData()
        with QSignalBlocker(self.switch):
            self.switch.clear()
            for port in offered:
                self.switch.addItem(self._named(port, len(losses)), port)
            self.switch.setCurrentIndex(offered.index(before) if before in offered else 0)
        self.switch.setVisible(len(offered) > 1)

    def _draw_swatches(self) -> None:
        """Draw the swatches, unless those of the result before look the same."""
        result, ports = self._result, [port for _, port in self.choices()]
        colours: list[str] = []
        if result is not None and result.is_by_loss:
            colours = [loss_colour(result.diagram, loss) for loss in result.losses]
        shown = self._theme, ports, colours
        if shown == self._swatches:
            return
        self._swatches = shown
        for row in range(self.switch.count()):
            self.switch.setItemIcon(row, self.swatch(self.switch.itemData(row)))

    def _named(self, port: str | None, count: int) -> str:
        if port is None:
            return self.tr("All losses")
        if port != APART:
            return PortPath(port).short
        if count > MAX_SIDE_BY_SIDE:
            return self.tr("The first {0}, side by side").format(MAX_SIDE_BY_SIDE)
        return self.tr("All, side by side")

    def _choose(self) -> None:
        self._overlaid = None
        self.lossChosen.emit(self.chosen)
