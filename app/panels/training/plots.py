"""The plots of curves, drawn by pyqtgraph, with the names of their lines where no line is.

Importing this takes a while: see ``curves``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QBuffer, QByteArray, QEvent, QIODevice, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFontMetricsF, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtSvg import QSvgGenerator

from gradwire.app.canvas.paint.views.lines import crosses
from gradwire.app.services import theme as themes
from gradwire.runtime.flow import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from PySide6.QtCore import QSizeF
    from PySide6.QtWidgets import QWidget

    from gradwire.app.panels.training.curves import CurveGroup, CurveLine
    from gradwire.app.services.theme import Theme
    from gradwire.blocks.values import Array
    from gradwire.runtime.training import Points


class Corner(NamedTuple):
    """A corner of a plot: as shares of its width and height, and how far names stand off, px."""

    at: tuple[float, float]
    offset: tuple[int, int]


CORNERS = (
    Corner((1.0, 0.0), (-6, 4)),
    Corner((0.0, 0.0), (6, 4)),
    Corner((1.0, 1.0), (-6, -4)),
    Corner((0.0, 1.0), (6, -4)),
)
"""Where the names of lines may stand in a plot, the usual corner first."""
_ROOM = 14.0
"""Free space around names in a corner that they come to, px: they should stay there."""

_WIDTH, _FAINT = 1.6, 70
"""Width of a line, px, and the opacity of what is behind a smoothed one, 0 … 255."""
_NAMED = 6
"""Lines that a plot names at most."""

pg.setConfigOptions(antialias=True, exitCleanup=False)


class Plots(pg.GraphicsLayoutWidget):  # type: ignore[misc]  # pyqtgraph has no annotations
    """Plots side by side over the same steps. The pointer, or ← and →, read numbers out."""

    readOut = Signal(str)
    """The numbers at the step under the pointer; empty if there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Curves"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.ci.layout.setContentsMargins(4, 4, 8, 2)
        self.ci.layout.setSpacing(12)
        self._theme = themes.LIGHT
        self._plots: dict[CurveGroup, _Plot] = {}
        self._log = (False, False)
        self._step: int | None = None
        self.took = 0.0
        """Seconds of processor time of the last drawing."""
        self._shown = 0.0
        self.scene().sigMouseMoved.connect(self._point)
        themes.follow_theme(self)

    def show_lines(
        self,
        lines: Mapping[CurveGroup, Sequence[CurveLine]],
        smoothing: float,
        *,
        log: tuple[bool, bool],
    ) -> None:
        """Draw these lines; ``smoothing`` is a weight of ``Points.smoothed``, ``log`` is of the
        axes of steps and of numbers.
        """
        began = time.thread_time()
        if [*lines] != [*self._plots] or log != self._log:
            self._arrange([*lines], log)
        for group, plot in self._plots.items():
            plot.show_lines(lines[group], smoothing, log, self._theme)
        self._read()
        self._shown = time.thread_time() - began

    def paintEvent(self, event: QPaintEvent) -> None:
        began = time.thread_time()
        super().paintEvent(event)
        self.took = self._shown + time.thread_time() - began

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of ``theme``."""
        self._theme = theme
        self.setBackground(QColor(theme.field))
        for plot in self._plots.values():
            plot.set_theme(theme)

    def svg(self) -> bytes:
        """The plots as an SVG drawing."""
        buffer = QByteArray()
        device = QBuffer(buffer)
        device.open(QIODevice.OpenModeFlag.WriteOnly)
        made = QSvgGenerator()
        made.setOutputDevice(device)
        made.setSize(self.size())
        made.setViewBox(QRectF(0.0, 0.0, self.width(), self.height()))
        made.setTitle(self.accessibleName())
        self._draw_paths(whole=True)
        with QPainter(made) as painter:
            painter.fillRect(QRectF(self.rect()), QColor(self._theme.field))
            self.scene().render(painter, QRectF(self.rect()), QRectF(self.rect()))
        self._draw_paths(whole=False)
        device.close()
        return bytes(buffer.data())

    def _draw_paths(self, *, whole: bool) -> None:
        for plot in self._plots.values():
            plot.draw_paths(whole=whole)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._step = None
        self._read()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Read out the numbers of the step before or after."""
        by = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        steps = [plot.steps for plot in self._plots.values() if len(plot.steps)]
        if by is None or not steps:
            super().keyPressEvent(event)
            return
        known = np.unique(np.concatenate(steps))
        at = len(known) if self._step is None else int(np.searchsorted(known, self._step))
        self._step = int(known[min(max(at + by, 0), len(known) - 1)])
        self._read()

    def _arrange(self, groups: Sequence[CurveGroup], log: tuple[bool, bool]) -> None:
        self.clear()
        self._plots, self._log = {}, log
        for group in groups:
            plot = _Plot(group.title, self._theme, log)
            first = next(iter(self._plots.values()), None)
            if first is not None:
                plot.item.setXLink(first.item)
            self.addItem(plot.item)
            self._plots[group] = plot

    def _point(self, at: object) -> None:
        """Read out where the pointer is."""
        self._step = None
        for plot in self._plots.values():
            if plot.item.vb.sceneBoundingRect().contains(at):
                x = plot.item.vb.mapSceneToView(at).x()
                self._step = round(10.0**x if self._log[0] else x)
        self._read()

    def _read(self) -> None:
        texts = []
        for plot in self._plots.values():
            texts += plot.mark(self._step, self._log[0])
        if self._step is None or not texts:
            self.readOut.emit("")
            return
        step = self.tr("step {0}").format(f"{self._step:,}")
        self.readOut.emit("   ".join([step, *texts]))


class _Plot:
    """One plot: axes, lines and the mark of a step."""

    def __init__(self, title: str, theme: Theme, log: tuple[bool, bool]) -> None:
        self.steps = np.zeros(0, np.int64)
        self._title = title
        self._drawn: list[tuple[CurveLine, Points]] = []
        self.item = pg.PlotItem(enableMenu=False)
        self.item.hideButtons()
        self.item.setLogMode(*log)
        self.item.showGrid(x=True, y=True, alpha=0.15)
        self.item.getAxis("left").enableAutoSIPrefix(False)
        self.item.getAxis("bottom").enableAutoSIPrefix(False)
        self.item.vb.setDefaultPadding(0.03)
        self._legend = self.item.addLegend(offset=CORNERS[0].offset, labelTextSize="11px")
        self._corner: Corner | None = CORNERS[0]
        """Where the names stand; None: beside the title."""
        self._written = ""
        self._theme = theme
        self._mark = pg.InfiniteLine(angle=90, movable=False)
        self._mark.hide()
        self.item.addItem(self._mark, ignoreBounds=True)
        self._items: dict[tuple[int, str], tuple[pg.PlotDataItem, pg.PlotDataItem]] = {}
        self._named: list[str] = []
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        self._theme, self._written = theme, ""
        self._entitle()
        for side in ("left", "bottom"):
            axis = self.item.getAxis(side)
            axis.setPen(theme.hairline)
            axis.setTextPen(theme.ink_soft)
            axis.setStyle(tickFont=themes.font(themes.scaled(10)))
        self._mark.setPen(pg.mkPen(theme.ink_faint, width=1))
        ground = QColor(theme.field)
        ground.setAlpha(200)
        self._legend.setBrush(ground)
        self._legend.setLabelTextColor(theme.ink)

    def show_lines(
        self, lines: Sequence[CurveLine], smoothing: float, log: tuple[bool, bool], theme: Theme
    ) -> None:
        keys = [(id(line.run), line.name) for line in lines]
        for key in self._items.keys() - set(keys):
            for item in self._items.pop(key):
                self.item.removeItem(item)
        self._drawn = [(line, line.run.recording.points(line.name)) for line in lines]
        steps = [points.steps for _, points in self._drawn]
        self.steps = _union(steps) if steps else self.steps
        for key, (line, points) in zip(keys, self._drawn, strict=True):
            if key not in self._items:
                self._items[key] = pg.PlotDataItem(), pg.PlotDataItem()
                for item in self._items[key]:
                    item.setDownsampling(auto=True, method="peak")
                    item.opts["autoDownsampleFactor"] = 1.0
                    self.item.addItem(item)
            self._draw(*self._items[key], line, points, smoothing, log)
        self._name(lines)
        self._place_names(log)

    def _place_names(self, log: tuple[bool, bool]) -> None:
        """Put the names into a corner where no line is, or beside the title if there is none."""
        self.item.vb.updateAutoRange()
        shown, area = self.item.vb.viewRect(), self.item.vb.rect()
        if not self._drawn or not shown.width() or not shown.height() or area.isEmpty():
            return
        paths = [
            placed(item.getOriginalDataset(), log, shown, area)
            for line, _ in self._drawn
            for item in self._items[id(line.run), line.name]
        ]
        size = self._legend.boundingRect().size()
        self._corner = free_corner(self._corner, size, area, paths)
        if self._corner is not None:
            self._legend.anchor(self._corner.at, self._corner.at, self._corner.offset)
        self._legend.setVisible(self._corner is not None)
        self._entitle()

    def _entitle(self) -> None:
        """Write the title, with the names of lines that find no place in the plot."""
        ink, size = self._theme.ink_soft, f"{themes.scaled(11)}px"
        title = escaped(self._title)
        if self._corner is None and self._drawn:
            lines = [line for line, _ in self._drawn[:_NAMED]]
            title += beside(self._title, lines, self.item.vb.rect().width())
        if title != self._written:
            self._written = title
            self.item.setTitle(title, color=ink, size=size)
            self.item.titleLabel.setMinimumWidth(0)  # or the plot could not become narrower

    def _draw(
        self, faint: pg.PlotDataItem, clear: pg.PlotDataItem, line: CurveLine, points: Points,
        smoothing: float, log: tuple[bool, bool],
    ) -> None:  # fmt: skip
        behind = QColor(line.colour)
        behind.setAlpha(_FAINT)
        is_merged = bool(np.any(points.low < points.high))
        if is_merged:
            x = np.repeat(points.steps, 2).astype(float)
            y = np.column_stack([points.low, points.high]).ravel()
        else:
            x, y = points.steps.astype(float), points.mean
        shows_raw = smoothing > 0.0 or is_merged
        faint.setData(*_drawable(x, y, log) if shows_raw else ([], []), connect="finite")
        faint.setPen(pg.mkPen(behind, width=1))
        smooth = points.smoothed(smoothing)
        x, y = _drawable(points.steps.astype(float), smooth, log)
        is_dot = len(x) == 1 and bool(np.isfinite([x, y]).all())  # no line goes through one point
        clear.setData(
            x, y, connect="finite", symbol="o" if is_dot else None, symbolSize=5,
            symbolBrush=line.colour, symbolPen=None,
        )  # fmt: skip
        clear.setPen(pg.mkPen(line.colour, width=_WIDTH, style=line.dash))
        clear.curve.setSegmentedLineMode(_mode(line))

    def draw_paths(self, *, whole: bool) -> None:
        """Draw each line as one path from now on, as a file should have it, or as is fastest."""
        for line, _ in self._drawn:
            clear = self._items[id(line.run), line.name][1]
            clear.curve.setSegmentedLineMode("off" if whole else _mode(line))

    def _name(self, lines: Sequence[CurveLine]) -> None:
        """Name the lines, unless the title of the plot says all."""
        names = [f"{line.label} {line.colour.name()} {line.dash}" for line in lines]
        if names == self._named:
            return
        self._named = names
        self._legend.clear()
        self._legend.setVisible(len(lines) > 0 and self._corner is not None)
        self._legend.setColumnCount(2 if len(lines) > 2 else 1)  # plots are wide and low
        for line in lines[:_NAMED]:
            item = self._items[id(line.run), line.name][1]
            self._legend.addItem(item, escaped(line.label))

    def mark(self, step: int | None, is_log: bool) -> list[str]:
        """Mark a step, and return what each line has there: its last number until then."""
        self._mark.setVisible(step is not None and step > 0)
        if step is None or not (step > 0 or not is_log):
            return []
        self._mark.setPos(math.log10(step) if is_log else step)
        texts = []
        for line, points in self._drawn:
            at = int(np.searchsorted(points.steps, step, side="left"))
            if 0 <= at < len(points.steps):
                low, mean, high = points.low[at], points.mean[at], points.high[at]
                spread = f" ({number(low)} … {number(high)})" if low < high else ""
                texts.append(f"{line.label} {number(float(mean))}{spread}")
        return texts


def _mode(line: CurveLine) -> str:
    """How pyqtgraph draws a line: segment by segment takes an eighth of the time of a path that is
    wider than a pixel; dashes would begin anew with each.
    """
    return "on" if line.dash is Qt.PenStyle.SolidLine else "off"


def _union(steps: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """All steps in order; mostly lines have the same ones."""
    first = steps[0]
    if all(np.array_equal(other, first) for other in steps[1:]):
        return first
    return np.unique(np.concatenate(steps))


def _drawable(x: Array, y: Array, log: tuple[bool, bool]) -> tuple[Array, Array]:
    """The numbers that an axis can show: a logarithmic one has no place for 0 and below."""
    x, y = x.copy(), y.copy()
    y[~np.isfinite(y)] = np.nan
    if log[0]:
        x[x <= 0] = np.nan
    if log[1]:
        y[y <= 0] = np.nan
    return x, y


def placed(
    points: tuple[Array, Array], log: tuple[bool, bool], shown: QRectF, area: QRectF
) -> NDArray[np.float64]:
    """Where a drawn line lies in the area of its plot, px: rows of x and y."""
    x, y = points
    if x is None or y is None:
        return np.zeros((0, 2))
    x, y = np.log10(x) if log[0] else x, np.log10(y) if log[1] else y
    across = area.left() + (x - shown.left()) / shown.width() * area.width()
    down = area.bottom() - (y - shown.top()) / shown.height() * area.height()
    return np.column_stack([across, down])


def free_corner(
    now: Corner | None, size: QSizeF, area: QRectF, paths: Sequence[NDArray[np.float64]]
) -> Corner | None:
    """A corner of an area where names of a size cover no path, first the one where they are."""
    for corner in sorted(CORNERS, key=lambda corner: corner is not now):
        box = _box(corner, size, 2.0 if corner is now else _ROOM)
        box.moveTo(
            area.left() + corner.at[0] * (area.width() - box.width()),
            area.top() + corner.at[1] * (area.height() - box.height()),
        )
        if area.contains(box) and not any(crosses(path, box) for path in paths):
            return corner
    return None


def beside(title: str, lines: Sequence[CurveLine], width: float) -> str:
    """HTML of names of lines, with how each is drawn, that fit beside a title in a width, px."""
    metrics = QFontMetricsF(themes.font(themes.scaled(11)))
    room = width - metrics.horizontalAdvance(title)
    each = room / len(lines) - metrics.horizontalAdvance("\u2003\u2501\u2501 ") - 2.0
    html = ""
    for line in lines:
        mark = "\u2501\u2501" if line.dash is Qt.PenStyle.SolidLine else "\u254d\u254d"
        name = metrics.elidedText(line.label, Qt.TextElideMode.ElideMiddle, max(each, 12.0))
        html += f'\u2003<span style="color: {line.colour.name()}">{mark}</span> {escaped(name)}'
    return html


def _box(corner: Corner, size: QSizeF, margin: float) -> QRectF:
    """What names of a size cover with their distance from the edges and a margin."""
    wide, high = (abs(offset) + margin for offset in corner.offset)
    return QRectF(0.0, 0.0, size.width() + wide, size.height() + high)


def escaped(text: str) -> str:
    """Text for a label that reads HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
