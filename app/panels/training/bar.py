"""The bar below the canvas that plays a training: play, pause, step, and back to any step."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QComboBox, QLabel, QSlider, QToolButton, QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.bars.play_bar import PlayBar
from gradwire.app.panels.layouts import make_column, make_row, tool_button
from gradwire.app.services.theme import follow_theme, scaled, text_width
from gradwire.runtime.diagram import PortPath
from gradwire.runtime.flow import number

PACES = (1.0, 10.0, 100.0, None)
"""Steps a second; None for as many as possible."""
_LOSSES = 3
"""Losses that are named at most."""


class TrainingBar(PlayBar):
    """Buttons, the scale of steps that were reached, and how far the training is."""

    stepped = Signal()
    resetRequested = Signal()
    moved = Signal(int)
    """Go to a step that was reached."""
    paceChosen = Signal()
    curvesRequested = Signal()
    compareRequested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, labels.caption())
        self.reset = self.icon_button(self.tr("Back to the start"), self.resetRequested.emit)
        self.play = self.icon_button("", self.played.emit)
        self.step = self.icon_button(self.tr("One step"), self.stepped.emit)
        self.leave = self.icon_button(self.tr("Close this bar, and pause"), self.closed.emit)
        self.icons = {
            self.reset: "reset", self.play: "play", self.step: "forward", self.leave: "leave",
        }  # fmt: skip
        self.pace = QComboBox(self)
        for pace in PACES[:-1]:
            self.pace.addItem(self.tr("{0} a second").format(f"{pace:g}"), pace)
        self.pace.addItem(self.tr("Full speed"), None)
        self.pace.setCurrentIndex(len(PACES) - 1)
        self.pace.setAccessibleName(self.tr("Steps a second"))
        self.pace.setToolTip(self.pace.accessibleName())
        self.pace.currentIndexChanged.connect(lambda: self.paceChosen.emit())
        self.scale = QSlider(Qt.Orientation.Horizontal, self)
        self.scale.setAccessibleName(self.tr("Step of the training"))
        self.scale.setMinimumWidth(scaled(90))
        self.scale.setRange(0, 0)
        self.scale.valueChanged.connect(self.moved)
        self.count, self.losses, self.rate = (labels.plain(parent=self) for _ in range(3))
        self.curves = self._text_button(
            self.tr("Curves"), self.tr("Show the curves of the training"), self.curvesRequested.emit
        )
        self.compare = self._text_button(
            self.tr("Compare"),
            self.tr("Train with stops closed and open, side by side"),
            self.compareRequested.emit,
        )
        self.compare.setCheckable(True)
        self._lay_out()
        self.show_playing(is_playing=False)
        self.show_step(0, 0)
        self.hide()
        follow_theme(self)

    def _lay_out(self) -> None:
        upper = make_row(
            None,
            self.reset, self.play, self.step, self.pace, 4, (self.scale, 1), 4,
            self.count, 8, self.losses, 8, self.rate, 8, self.curves, self.compare, self.leave,
            spacing=4,
        )  # fmt: skip
        make_column(self, upper, self._text, margins=(12, 4, 6, 5), spacing=1)

    def _text_button(self, text: str, tip: str, pressed: Callable[[], object]) -> QToolButton:
        button = tool_button(self, text, pressed, tip=tip, flat=False)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        return button

    @property
    def chosen_pace(self) -> float | None:
        """Steps a second; None for as many as possible."""
        pace = self.pace.currentData()
        return None if pace is None else float(pace)

    def show_step(self, step: int, furthest: int, epoch: int | None = None) -> None:
        """Show the step that is shown, of those that were reached."""
        with QSignalBlocker(self.scale):
            self.scale.setMaximum(furthest)
            self.scale.setPageStep(max(1, furthest // 20))
            self.scale.setValue(step)
            self.scale.setEnabled(furthest > 0)
        text = self.tr("step {0}").format(f"{step:,}")
        if step < furthest:
            text = self.tr("step {0} of {1}").format(f"{step:,}", f"{furthest:,}")
        if epoch is not None:
            text = self.tr("{0}, epoch {1}").format(text, f"{epoch:,}")
        self._show(self.count, text)
        self.reset.setEnabled(furthest > 0)

    def show_losses(self, losses: Mapping[str, float]) -> None:
        """Show the losses of a step, by port."""
        texts = [f"{PortPath(name).block} {number(loss)}" for name, loss in losses.items()]
        more = len(texts) - _LOSSES
        self._show(self.losses, "   ".join(texts[:_LOSSES]) + (f"   +{more}" if more > 0 else ""))

    def show_rate(self, rate: float) -> None:
        """Show how many steps a second are made; nothing for 0."""
        shown = f"{rate:,.0f}" if rate >= 10.0 else f"{rate:.1f}"
        self._show(self.rate, self.tr("{0} steps/s").format(shown) if rate else "")

    def show_memory(self, text: str) -> None:
        """Say in the tip of the scale how far back it goes, and what memory that takes."""
        self.scale.setToolTip(text)
        self.scale.setAccessibleDescription(text)

    def show_playing(self, *, is_playing: bool) -> None:
        """Offer to pause, or to play."""
        name, tip = ("pause", self.tr("Pause")) if is_playing else ("play", self.tr("Play"))
        self.show_icon(self.play, name, tip)
        self.step.setEnabled(not is_playing)
        if not is_playing:
            self.show_rate(0.0)

    def _show(self, label: QLabel, text: str) -> None:
        """Show a text that changes all the time: its label only ever grows, so that nothing jumps.

        An empty one gives its room back.
        """
        label.setText(text)
        wide = round(text_width(text, self.font().pixelSize())) + 4 if text else 0
        label.setMinimumWidth(max(wide, label.minimumWidth()) if text else 0)
