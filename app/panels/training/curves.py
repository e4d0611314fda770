"""The panel of curves: a list to choose from, and plots beside it."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QIcon, QPixmap, QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QSlider,
    QSplitter,
    QToolButton,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from gradwire.app.panels import labels
from gradwire.app.panels.layouts import line_edit, make_column, make_row, tool_button
from gradwire.app.panels.menu import Menu
from gradwire.app.services.colours import oklch
from gradwire.app.services.theme import LIGHT, follow_theme, scaled
from gradwire.app.services.translation import editor
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.diagram import PortPath

if TYPE_CHECKING:
    from gradwire.app.panels.training.plots import Plots
    from gradwire.app.services.theme import Theme
    from gradwire.runtime.training import CurveRecording

_HUES = (255.0, 35.0, 150.0, 310.0, 75.0, 200.0, 350.0, 115.0)
"""OKLCH hues of successive lines, degrees: neighbours differ most."""
_DASHES = (
    Qt.PenStyle.SolidLine,
    Qt.PenStyle.DashLine,
    Qt.PenStyle.DotLine,
    Qt.PenStyle.DashDotLine,
)


class CurveGroup(Enum):
    """The plots: the prefix of the names of their curves, and their title."""

    LOSSES = ("", editor.noop("Losses"))
    PORTS = ("", editor.noop("Ports"))
    OPTIMISERS = ("grad_norm/", editor.noop("Gradient norms by optimiser"))
    GRADIENTS = ("gradient/", editor.noop("Gradient norms by variable"))
    UPDATES = ("update/", editor.noop("Update ÷ size by variable"))
    DEAD = ("dead/", editor.noop("Share of dead units"))
    RATES = ("lr/", editor.noop("Learning rates"))

    @property
    def title(self) -> str:
        """What the curves are, for people."""
        return editor.tr(self.value[1])


def group_of(name: str, losses: Iterable[str]) -> CurveGroup:
    """The plot of a curve, given the names of the losses of its run."""
    if name.removeprefix("validation/") in losses:
        return CurveGroup.LOSSES
    for group in CurveGroup:
        if group.value[0] and name.startswith(group.value[0]):
            return group
    return CurveGroup.PORTS


def label_of(name: str, group: CurveGroup) -> str:
    """A curve's name without what the title of its plot says."""
    if name.startswith("validation/"):
        return editor.tr("{0} (validation)").format(short(name.removeprefix("validation/")))
    return name.removeprefix(group.value[0]) if group.value[0] else short(name)


def short(name: str) -> str:
    """A port's name without that of an only output, which goes without saying."""
    return str(PortPath(name).short)


@dataclass(eq=False)
class ListedRun:
    """A recording that is listed, its place among the colours, and whether it is drawn."""

    recording: CurveRecording
    place: int = 0
    shown: bool = True


class CurveLine(NamedTuple):
    """A curve of a run as it is drawn."""

    run: ListedRun
    name: str
    label: str
    colour: QColor
    dash: Qt.PenStyle


def colour_of(place: int, theme: Theme) -> QColor:
    """The colour of the line with this number."""
    lightness, chroma = (0.78, 0.13) if theme.dark else (0.53, 0.17)
    return oklch(lightness, chroma, _HUES[place % len(_HUES)])


def lines_of(
    runs: Sequence[ListedRun], chosen: Iterable[str], theme: Theme
) -> dict[CurveGroup, list[CurveLine]]:
    """The lines of each plot. One run has a colour for each curve; of several, each has its own."""
    shown = [run for run in runs if run.shown]
    found: dict[CurveGroup, list[CurveLine]] = {}
    for name in chosen:
        for run in shown:
            if name not in run.recording.names:
                continue
            group = group_of(name, run.recording.losses)
            lines = found.setdefault(group, [])
            names = dict.fromkeys(line.name for line in lines)
            place = [*names, name].index(name)
            label = label_of(name, group)
            if len(shown) > 1:
                label = f"{run.recording.name} · {label}"
            colour = colour_of(run.place if len(shown) > 1 else place, theme)
            dash = _DASHES[place % len(_DASHES)] if len(shown) > 1 else _DASHES[0]
            lines.append(CurveLine(run, name, label, colour, dash))
    return {group: found[group] for group in CurveGroup if group in found}


_PLOTS = "gradwire.app.panels.training.plots"
_EVERY = 100
"""Milliseconds between two drawings of curves that grow, at least."""
_SHARE = 0.1
"""Share of the window's time that drawing curves that grow may take."""
_LOADING = 30
_NAME = Qt.ItemDataRole.UserRole
_STRONGEST = 0.995
"""The largest weight of smoothing."""


class Curves(QWidget):
    """Curves of several runs, chosen from a list. The plots are loaded when they are first seen."""

    csvRequested = Signal()
    svgRequested = Signal()
    openRequested = Signal()
    """Runs are to be read from files."""
    runForgotten = Signal(object)
    """A Run that is to be removed from the list."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.plots: Plots | None = None
        """The plots; None until they are loaded."""
        self.chosen: list[str] = []
        """The names of the curves that are drawn."""
        self.runs: list[ListedRun] = []
        """The runs that are listed."""
        self._listed: tuple[object, ...] = ()
        self._theme = LIGHT
        self._touched = False
        """Whether the user has chosen curves."""
        self.search = line_edit(self, self.tr("Find a curve"), clears=True)
        self.search.textChanged.connect(self._filter)
        self.list = QTreeWidget(self)
        self.list.setHeaderHidden(True)
        self.list.setAccessibleName(self.tr("Runs and curves"))
        self.list.setEditTriggers(QTreeWidget.EditTrigger.DoubleClicked)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.customContextMenuRequested.connect(self._show_menu)
        self.list.itemChanged.connect(self._take_change)
        self._make_controls()
        self._text = labels.plain()
        self._text.setProperty("type", "caption")
        self._loading = QTimer(self, interval=_LOADING)
        self._loading.timeout.connect(self._show_plots)
        self._later = QTimer(self, singleShot=True, interval=_EVERY)
        self._later.timeout.connect(self.draw)
        self._lay_out()
        follow_theme(self)

    def _make_controls(self) -> None:
        self.log_numbers = QCheckBox(self.tr("log y"), self)
        self.log_numbers.setToolTip(self.tr("A logarithmic axis of numbers"))
        self.log_steps = QCheckBox(self.tr("log x"), self)
        self.log_steps.setToolTip(self.tr("A logarithmic axis of steps"))
        for box in (self.log_numbers, self.log_steps):
            box.toggled.connect(self.draw)
        self.smoothing = QSlider(Qt.Orientation.Horizontal, self)
        self.smoothing.setRange(0, 100)
        self.smoothing.setFixedWidth(scaled(90))
        self.smoothing.setAccessibleName(self.tr("Smoothing"))
        self.smoothing.setToolTip(self.tr("Smooth the curves; their numbers stay behind, faint"))
        self.smoothing.valueChanged.connect(self.draw)
        tip = self.tr("Show a run of gradwire train, or exported curves, as well")
        request = self.openRequested.emit
        self.open = tool_button(self, self.tr("Open Run…"), request, tip=tip, flat=False)
        tip = self.tr("Write the curves to a file")
        self.export = tool_button(self, self.tr("Export"), tip=tip, flat=False, kind="menu")
        self.export.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = Menu(self.export)
        menu.addAction(self.tr("&Numbers (CSV)…")).triggered.connect(self.csvRequested)
        menu.addAction(self.tr("&Drawing (SVG)…")).triggered.connect(self.svgRequested)
        self.export.setMenu(menu)

    def _lay_out(self) -> None:
        left = QWidget(self)
        make_column(left, self.search, (self.list, 1), spacing=2)
        right = QWidget(self)
        caption = labels.plain(self.tr("Smoothing"), self)
        smoothing = caption, self.smoothing, self.log_steps, self.log_numbers
        parts = (self._text, 1), *smoothing, self.open, self.export
        head = make_row(None, *parts, margins=(8, 2, 6, 2), spacing=10)
        self._empty = labels.body(self.tr("Curves appear here when a training runs."))
        self._empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._column = make_column(right, head, (self._empty, 1), spacing=0)
        split = QSplitter(self)
        split.addWidget(left)
        split.addWidget(right)
        split.setStretchFactor(1, 1)
        split.setSizes([scaled(190), scaled(700)])
        split.setCollapsible(1, False)
        make_row(self, split)

    def sizeHint(self) -> QSize:
        return QSize(scaled(700), scaled(190))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._load()
        self.draw()

    def show_runs(self, runs: Sequence[ListedRun]) -> None:
        """List these runs; their curves may go on growing: see :meth:`grow`."""
        self.runs = list(runs)
        self._relist()
        self.draw()

    def grow(self) -> None:
        """Draw what was added to the curves, soon: the later, the longer it takes."""
        if not self._later.isActive():
            took = 0.0 if self.plots is None else self.plots.took
            self._later.start(max(_EVERY, round(1e3 * took / _SHARE)))

    def draw(self) -> None:
        """Draw the curves as they are now."""
        self._relist()
        if self.plots is None or not self.isVisible():
            return
        lines = lines_of(self.runs, self.chosen, self._theme)
        self._empty.setVisible(not lines)
        self.plots.setVisible(bool(lines))
        if lines:
            weight = min(self.smoothing.value() / 100.0, _STRONGEST)
            log = self.log_steps.isChecked(), self.log_numbers.isChecked()
            self.plots.show_lines(lines, weight, log=log)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of ``theme``."""
        self._theme = theme
        self._listed = ()
        self.draw()

    def text(self) -> str:
        """What is read out of the curves."""
        return self._text.text()

    # ---- loading -------------------------------------------------------------------------------

    def _load(self) -> None:
        """Load the plots in a thread: their library takes too long for the window to wait."""
        if self.plots is None and not self._loading.isActive():
            if _PLOTS not in sys.modules:
                threading.Thread(
                    target=importlib.import_module, args=(_PLOTS,), name="plots", daemon=True
                ).start()
            self._loading.start()

    def _show_plots(self) -> None:
        module = sys.modules.get(_PLOTS)
        spec = getattr(module, "__spec__", None)
        if module is None or getattr(spec, "_initializing", False):
            return
        self._loading.stop()
        made: Plots = module.Plots(self)
        made.readOut.connect(self._text.setText)
        made.hide()
        self._column.addWidget(made, 1)
        self.plots = made
        self.draw()

    # ---- the list ------------------------------------------------------------------------------

    def _relist(self) -> None:
        """List runs and curves anew if there are others than before."""
        names = list(dict.fromkeys(name for run in self.runs for name in run.recording.names))
        key = (
            self._theme,
            tuple(names),
            tuple((id(run), run.recording.name, run.place, run.shown) for run in self.runs),
        )
        if key == self._listed:
            return
        self._listed = key
        losses = [name for run in self.runs for name in run.recording.losses]
        if not self._touched:
            self.chosen = [name for name in names if group_of(name, losses) is CurveGroup.LOSSES]
        self.list.blockSignals(True)
        at = self.list.verticalScrollBar().value()
        closed = self._closed()
        self.list.clear()
        self._list_runs()
        self._list_curves(names, losses, closed)
        self.list.blockSignals(False)
        self._filter(self.search.text())
        self.list.verticalScrollBar().setValue(at)

    def _list_runs(self) -> None:
        if not self.runs:
            return
        top = QTreeWidgetItem(self.list, [self.tr("Runs")])
        top.setFlags(Qt.ItemFlag.ItemIsEnabled)
        several = sum(run.shown for run in self.runs) > 1
        for run in self.runs:
            item = QTreeWidgetItem(top, [run.recording.name])
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
            item.setCheckState(0, _check(run.shown))
            item.setData(0, _NAME, run)
            item.setToolTip(0, self.tr("Double-click to rename"))
            if several:
                item.setIcon(0, _swatch(colour_of(run.place, self._theme)))
        top.setExpanded(True)

    def _list_curves(self, names: Sequence[str], losses: Sequence[str], closed: set[str]) -> None:
        several = sum(run.shown for run in self.runs) > 1
        tops: dict[CurveGroup, QTreeWidgetItem] = {}
        by_group = {name: group_of(name, losses) for name in names}
        for group in CurveGroup:
            members = [name for name in names if by_group[name] is group]
            if not members:
                continue
            top = tops[group] = QTreeWidgetItem(self.list, [group.title])
            top.setFlags(Qt.ItemFlag.ItemIsEnabled)
            drawn = [name for name in self.chosen if by_group.get(name) is group]
            for name in members:
                item = QTreeWidgetItem(top, [label_of(name, group)])
                item.setCheckState(0, _check(name in self.chosen))
                item.setData(0, _NAME, name)
                item.setToolTip(0, name)
                if name in drawn and not several:
                    item.setIcon(0, _swatch(colour_of(drawn.index(name), self._theme)))
            is_open = group is CurveGroup.LOSSES or bool(drawn)
            top.setExpanded(is_open and group.title not in closed)

    def _closed(self) -> set[str]:
        """The titles of groups that were closed although curves of them are drawn."""
        tops = (self.list.topLevelItem(i) for i in range(self.list.topLevelItemCount()))
        return {
            top.text(0)
            for top in tops
            if top is not None and not top.isExpanded() and _any_checked(top)
        }

    def _filter(self, text: str) -> None:
        """Show only curves whose names contain ``text``; runs stay."""
        wanted = text.strip().casefold()
        for i in range(self.list.topLevelItemCount()):
            top = self.list.topLevelItem(i)
            assert top is not None
            found = 0
            for item in _children(top):
                name = item.data(0, _NAME)
                fits = not isinstance(name, str) or wanted in name.casefold()
                item.setHidden(not fits)
                found += fits
            top.setHidden(not found)
            if wanted and found:
                top.setExpanded(True)

    def _take_change(self, item: QTreeWidgetItem) -> None:
        about, is_on = item.data(0, _NAME), item.checkState(0) is Qt.CheckState.Checked
        if isinstance(about, ListedRun):
            about.shown = is_on
            about.recording.name = item.text(0).strip() or about.recording.name
        elif isinstance(about, str):
            self._touched = True
            others = [name for name in self.chosen if name != about]
            self.chosen = [*others, about] if is_on else others
        QTimer.singleShot(0, self, self._redraw)  # not while the list handles its event

    def _redraw(self) -> None:
        self._listed = ()
        self.draw()

    def _show_menu(self, at: QPoint) -> None:
        item = self.list.itemAt(at)
        about = None if item is None else item.data(0, _NAME)
        if not isinstance(about, ListedRun) or item is None:
            return
        menu = Menu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        rename = menu.addAction(self.tr("&Rename"))
        rename.triggered.connect(lambda: self.list.editItem(item, 0))
        forget = menu.addAction(self.tr("&Forget"))
        forget.triggered.connect(lambda: self.runForgotten.emit(about))
        menu.popup(self.list.viewport().mapToGlobal(at))


def _check(is_on: bool) -> Qt.CheckState:
    return Qt.CheckState.Checked if is_on else Qt.CheckState.Unchecked


def _any_checked(top: QTreeWidgetItem) -> bool:
    return any(child.checkState(0) is Qt.CheckState.Checked for child in _children(top))


def _children(top: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    found = map(top.child, range(top.childCount()))
    return [child for child in found if child is not None]


def _swatch(colour: QColor) -> QIcon:
    picture = QPixmap(10, 10)
    picture.fill(colour)
    return QIcon(picture)
