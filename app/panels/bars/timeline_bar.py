"""The bar below the canvas with the timeline of a training step: play, step, scrub, and words."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QPointF, QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QComboBox, QSizePolicy, QSlider, QToolButton, QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.bars.play_bar import PlayBar
from gradwire.app.panels.layouts import make_column, make_row, tool_button
from gradwire.app.panels.menu import Menu
from gradwire.app.services.theme import current_theme, follow_theme
from gradwire.runtime.lessons import Detail, Phase

SPEEDS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Events a second."""
_BAND = 4.0
"""Height of the coloured line of a phase, px."""
_HANDLE = 14.0
_GAP = 5.0
"""Between the line and the names of the phases, px."""


class TimelineBar(PlayBar):
    """Buttons, the scale of events, and the sentence about the current one."""

    stepped = Signal(int)
    """Go so many events forward, or back if negative."""
    moved = Signal(int)
    """Go to a position."""
    reachedRequested = Signal()
    """Run until gradient reaches a selected block."""
    exceededRequested = Signal()
    """Run until a gradient exceeds a limit that is to be asked for."""
    notFiniteRequested = Signal()
    """Run until the first value or gradient that is NaN or infinite."""
    detailChosen = Signal(object)
    """Show steps of this Detail."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, labels.body(), lines=2)
        self.scale = _Scale(self)
        self.scale.valueChanged.connect(self.moved)
        self.first = self.icon_button(self.tr("To the start (Home)"), lambda: self.moved.emit(0))
        self.back = self.icon_button(self.tr("One event back (←)"), lambda: self.stepped.emit(-1))
        self.play = self.icon_button(self.tr("Play (Space)"), self.played.emit)
        self.forward = self.icon_button(
            self.tr("One event forward (→)"), lambda: self.stepped.emit(1)
        )
        self.last = self.icon_button(
            self.tr("To the end (End)"), lambda: self.moved.emit(self.scale.maximum())
        )
        self.leave = self.icon_button(self.tr("Leave the timeline (Esc)"), self.closed.emit)
        self.icons = {
            self.first: "first", self.back: "back", self.play: "play",
            self.forward: "forward", self.last: "last", self.leave: "leave",
        }  # fmt: skip
        self.speed = QComboBox(self)
        for speed in SPEEDS:
            self.speed.addItem(self.tr("{0} a second").format(f"{speed:g}"), speed)
        self.speed.setCurrentIndex(SPEEDS.index(1.0))
        self.speed.setAccessibleName(self.tr("Speed"))
        self.detail = QComboBox(self)
        self.detail.addItem(self.tr("By block"), Detail.BLOCK)
        self.detail.addItem(self.tr("By primitive"), Detail.PRIMITIVE)
        self.detail.setAccessibleName(self.tr("Steps"))
        self.detail.setToolTip(
            self.tr("Steps by block (↑), or by the primitives inside blocks (↓)")
        )
        self.detail.currentIndexChanged.connect(lambda: self.detailChosen.emit(self.chosen_detail))
        self.until = tool_button(self, self.tr("Run Until"), flat=False, kind="menu")
        self.until.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.until.setMenu(self._breakpoints())
        self._count = labels.plain(parent=self)
        self._text.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._lay_out()
        self.hide()
        follow_theme(self)

    def _lay_out(self) -> None:
        """Two rows, so that large type fits beside a panel too."""
        buttons = self.first, self.back, self.play, self.forward, self.last
        upper = make_row(None, *buttons, (self.scale, 1), self._count, self.leave, spacing=4)
        choices = self.detail, self.speed, self.until
        lower = make_row(None, (self._text, 1), *choices)
        for choice in choices:
            lower.setAlignment(choice, Qt.AlignmentFlag.AlignTop)
        make_column(self, upper, lower, margins=(12, 4, 6, 6), spacing=2)

    def _breakpoints(self) -> Menu:
        menu = Menu(self)
        for text, requested in (
            (self.tr("Gradient &Reaches the Selection"), self.reachedRequested),
            (self.tr("A Gradient &Exceeds …"), self.exceededRequested),
            (self.tr("The First &NaN or ∞"), self.notFiniteRequested),
        ):
            menu.addAction(text).triggered.connect(lambda _, signal=requested: signal.emit())
        return menu

    @property
    def interval(self) -> int:
        """Milliseconds between events while playing."""
        return round(1000.0 / float(self.speed.currentData()))

    @property
    def chosen_detail(self) -> Detail:
        """What the steps are to be."""
        return Detail(self.detail.currentData())

    def wait(self) -> None:
        """Show that the timeline is being recorded."""
        self.scale.setEnabled(False)
        self.show_text(self.tr("Recording …"))

    def set_phases(self, length: int, phases: Mapping[Phase, range]) -> None:
        """Show a timeline of so many events, with these phases."""
        with QSignalBlocker(self.scale):
            self.scale.setEnabled(True)
            self.scale.set_phases(length, phases)

    def show_position(self, position: int, text: str) -> None:
        """Show a position and what has just happened there."""
        with QSignalBlocker(self.scale):
            self.scale.setValue(position)
        last = self.scale.maximum()
        self._count.setText(self.tr("{0} of {1}").format(position, last))
        for button in (self.first, self.back):
            button.setEnabled(position > 0)
        for button in (self.forward, self.last):
            button.setEnabled(position < last)
        self.show_text(text)

    def show_playing(self, *, is_playing: bool) -> None:
        """Offer to pause, or to play."""
        name, tip = ("pause", self.tr("Pause (Space)")) if is_playing else (
            "play", self.tr("Play (Space)")
        )  # fmt: skip
        self.show_icon(self.play, name, tip)


class _Scale(QSlider):
    """A slider over the events, on a line with a named and coloured stretch for each phase."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._phases: Mapping[Phase, range] = {}
        self._names = {
            Phase.FORWARD: self.tr("forward"),
            Phase.SEED: self.tr("seed"),
            Phase.BACKWARD: self.tr("backward"),
            Phase.UPDATE: self.tr("update"),
        }
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(self.tr("Timeline"))

    def set_phases(self, length: int, phases: Mapping[Phase, range]) -> None:
        """Cover positions 0 to ``length``."""
        self._phases = phases
        self.setRange(0, length)
        self.setPageStep(max(1, length // 10))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, round(self._top + _BAND + _GAP) + QFontMetrics(self.font()).height())

    def minimumSizeHint(self) -> QSize:
        return QSize(80, self.sizeHint().height())

    @property
    def _top(self) -> float:
        """Where the line of the phases begins."""
        return _HANDLE / 2.0 + 2.0 - _BAND / 2.0

    def _x(self, position: float) -> float:
        """Where a position is."""
        return _HANDLE / 2.0 + (self.width() - _HANDLE) * position / max(1, self.maximum())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._go_to(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._go_to(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def _go_to(self, event: QMouseEvent) -> None:
        """Go to the position under the pointer."""
        share = (event.position().x() - _HANDLE / 2.0) / max(1.0, self.width() - _HANDLE)
        self.setValue(round(share * self.maximum()))
        event.accept()

    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            for phase, span in self._phases.items():
                self._paint_phase(painter, phase, self._x(span[0] - 1), self._x(span[-1]))
            if self.isEnabled():
                self._paint_handle(painter)

    def _paint_phase(self, painter: QPainter, phase: Phase, left: float, right: float) -> None:
        metrics, name = QFontMetrics(self.font()), self._names[phase]
        line = QRectF(left + 0.5, self._top, max(1.0, right - left - 1.0), _BAND)
        painter.fillRect(line, self._colour(phase))
        if metrics.horizontalAdvance(name) <= right - left:
            painter.setPen(QColor(current_theme().ink_soft))
            box = QRectF(left, line.bottom() + _GAP, right - left, metrics.height())
            painter.drawText(box, int(Qt.AlignmentFlag.AlignHCenter), name)

    def _paint_handle(self, painter: QPainter) -> None:
        theme, centre = current_theme(), QPointF(self._x(self.value()), self._top + _BAND / 2.0)
        painter.setPen(QPen(QColor(theme.accent if self.hasFocus() else theme.ink), 2.0))
        painter.setBrush(QColor(theme.surface))
        painter.drawEllipse(centre, _HANDLE / 2.0 - 1.0, _HANDLE / 2.0 - 1.0)

    def _colour(self, phase: Phase) -> QColor:
        theme = current_theme()
        return {
            Phase.FORWARD: QColor(theme.wire),
            Phase.SEED: theme.symbol("losses"),
            Phase.BACKWARD: QColor(theme.accent),
            Phase.UPDATE: theme.symbol("sources"),
        }[phase]
