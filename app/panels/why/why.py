"""The Why panel: the verdict on a wire's gradient, and which blocks cut it."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from gradwire.app.canvas.state.formatting import dimensions
from gradwire.app.panels import labels, notation
from gradwire.app.panels.inspector.grid import ArrayGrid
from gradwire.app.panels.inspector.texts import linked
from gradwire.app.panels.layouts import STRETCH, Sheet, make_column, make_row, push_button
from gradwire.app.services.theme import LIGHT, Theme, follow_theme
from gradwire.app.services.translation import editor
from gradwire.blocks.paths import path_text
from gradwire.runtime.diagram import MAIN, ROOT, Diagram, InstancePath, PortName, WirePath
from gradwire.runtime.flow import MANY, State, Verdict, number
from gradwire.runtime.flow.words import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.app.evaluation.answers import Reasons
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.blocks.trees import Tree
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram import PortPath
    from gradwire.runtime.flow import Account, Dialects, Fix

WIRE = "wire:"
"""Prefix of link targets that are wires, followed by the key of the wire."""


class Repair(QWidget):
    """The cheapest repair and its effect, with buttons to try and apply it."""

    linkActivated = Signal(str)
    tried = Signal(object)
    """The Fix."""
    applied = Signal(object)
    """The Fix."""

    def __init__(self, found: Fix, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        names = (*found.opened, *found.straight_through, *found.trained)
        sentence = labels.rich(labels.linked(found.sentence, names))
        sentence.linkActivated.connect(self.linkActivated)
        tip = editor.tr("Show the effect without changing the diagram")
        take = partial(self.tried.emit, found)
        self.try_button = push_button(self, editor.tr("&Try"), take, tip=tip)
        tip, take = editor.tr("Change the diagram, as one undo"), partial(self.applied.emit, found)
        self.apply_button = push_button(self, editor.tr("A&pply"), take, tip=tip)
        buttons = self.try_button, self.apply_button
        for button in buttons:
            button.setAccessibleDescription(found.sentence)
            button.setVisible(found.change is not None)
        heading = labels.heading(editor.tr("How to let the gradient through"))
        make_column(self, heading, sentence, make_row(None, *buttons, STRETCH), spacing=6)


def sections(answers: Reasons) -> list[QLabel]:
    """Labels from top to bottom; links lead to blocks, or to wires with :data:`WIRE`."""
    shown: list[QLabel] = []
    if answers.dialects:
        shown.append(labels.heading(editor.tr("In other systems")))
        shown += [_dialect(about) for about in answers.dialects]
    if answers.account is not None:
        shown.append(labels.heading("Σ " + editor.tr("Contributions at {0}").format(answers.port)))
        shown.append(_ledger(answers.account))
    return shown


def _dialect(about: Dialects) -> QLabel:
    rows = "".join(
        f"<tr><td>{escape(report.system)}&nbsp;&nbsp;</td>"
        f"<td><b>{escape(report.says).replace('rms ', 'rms&nbsp;')}</b>&nbsp;&nbsp;</td>"
        f"<td><small>{escape(report.by)}</small></td></tr>{_because(report.because)}"
        for report in about.reports
    )
    fates = about.fates[about.reports[0].system]
    ends = "<br>".join(escape(labels.fate(fate)) for fate in fates)
    name = labels.link(about.variable)
    after = escape(editor.tr("Optimisers in {0}").format(about.reports[0].system))
    return labels.rich(f"{name}<table>{rows}</table><small>{after}<br>{ends}</small>")


def _because(reason: str) -> str:
    return f"<tr><td></td><td colspan='2'><small>{escape(reason)}</small></td></tr>" * bool(reason)


def _ledger(account: Account) -> QLabel:
    rows = []
    shares = account.shares
    for entry in account.entries:
        share = shares.get(entry.by)
        by = labels.link(WIRE + entry.by, entry.by) if entry.kind == "wire" else escape(entry.by)
        part = "" if share is None else f"{100.0 * share:+.0f} %".replace("-", "−")
        rows.append(_row(by, notation.glimpse(entry.amount), part, sign(entry.amount)))
    total = "None" if account.total is None else notation.glimpse(account.total)
    rows.append(_row("<b>Σ</b>", f"<b>{escape(total)}</b>", "", "", escaped=True))
    return labels.rich(f"<table cellspacing='4'>{''.join(rows)}</table>")


def _row(by: str, amount: str, share: str, mark: str, *, escaped: bool = False) -> str:
    shown = amount if escaped else escape(amount)
    cells = f"<td>{shown}</td><td align='right'>{share}</td><td>{mark}</td>"
    return f"<tr><td>{by}</td>{cells}</tr>"


def sign(amount: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
    """The sign of all elements: ``+``, ``−``, ``±`` if mixed, ``0``, or ``NaN`` if any is."""
    if np.isnan(amount).any():
        return "NaN"
    signs = {number(x) for x in np.sign(amount).ravel()[:100_000]} - {"0"}
    if not signs:
        return "0"
    return "±" if len(signs) > 1 else ("+" if signs == {"1"} else "−")


LEAF = "leaf:"
"""Prefix of link targets that are leaves, followed by the path; alone, it means all leaves."""
_MAX_ROWS = 100


class Why(Sheet):
    """The verdict on the selected wire: state, sentence and numbers, for each of several losses."""

    blockRequested = Signal(str)
    """The target of a link: the instance path of a block, or ``wire:`` and the key of a wire."""

    leafChosen = Signal(str)
    """Path of the leaf that is shown on its own; empty for the whole wire."""
    repairTried = Signal(object)
    """A Fix to toggle in the trial."""
    repairRequested = Signal(object)
    """A Fix to apply."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._diagram, self._page = Diagram(), MAIN
        self._result: EvaluationResult | None = None
        self._use = ROOT
        self._key = ""
        self._leaf = ""
        self._answers: Reasons | None = None
        self._answers_column: QVBoxLayout | None = None
        self._theme = LIGHT
        self._trial = ""
        self._sheet = QWidget(self)
        self._column = make_column(self._sheet, margins=(12, 2, 12, 12), spacing=6)
        self.setWidget(self._sheet)
        self._rebuild()
        follow_theme(self)

    def set_diagram(self, diagram: Diagram, page: str = MAIN) -> None:
        """Use another diagram, which is shown with its next result."""
        self._diagram, self._page = diagram, page

    def set_wire(self, key: str) -> None:
        """Show another wire of the page by its key, or none for an empty key."""
        if (key, "") != (self._key, self._leaf):
            self._key, self._leaf = key, ""
            self._rebuild()

    @property
    def wire(self) -> str:
        """Key of the wire shown; empty without one."""
        return self._key

    @property
    def leaf(self) -> str:
        """Path of the leaf that is shown on its own; empty for the whole wire."""
        return self._leaf

    def show_leaf(self, path: str) -> None:
        """Show one leaf of the wire's tree, or the whole wire for an empty path."""
        if path != self._leaf:
            self._leaf = path
            self._rebuild()
            self.leafChosen.emit(path)

    def set_result(self, result: EvaluationResult | None, use: InstancePath = ROOT) -> None:
        """Show another result; nothing is rebuilt if its numbers are the same."""
        known = result is self._result or (
            result is not None and self._result is not None and result.agrees_with(self._result)
        )
        self._result, self._use = result, use
        has_numbers = self._source() is not None
        if (has_numbers and not known) or self._subject() != self._shown:
            self._rebuild()

    def show_answers(self, answers: Reasons | None) -> None:
        """Show the fix, dialects and ledger of the wire; None while they are being computed."""
        if answers is not self._answers:
            self._answers = answers
            self._fill_answers()

    def show_trial(self, steps: str) -> None:
        """Say that the verdict is that of a trial with these steps; empty without a trial."""
        if steps != self._trial:
            self._trial = steps
            self._rebuild()

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of ``theme``."""
        if theme != self._theme:
            self._theme = theme
            self._rebuild()

    def text(self) -> str:
        """The whole text, without markup of widgets."""
        return "\n".join(label.text() for label in self._sheet.findChildren(QLabel))

    def _subject(self) -> tuple[str, PortName | None, bool]:
        """The wire or its leaf, its source, and whether the diagram lacks a loss."""
        result = self._result
        lossless = result is not None and bool(result.states) and result.is_lossless
        return self._wire if self._key else "", self._source(), lossless

    def _rebuild(self) -> None:
        self._shown = self._subject()
        self._answers_column = None
        labels.clear(self._column)
        source = self._source()
        if source is None:
            self._add_caption(
                self.tr("Click a wire to see whether gradient flows through it, and why.")
            )
            if self._shown[-1]:
                self._add_caption(
                    self.tr("There is no loss yet. Wire the value to minimise to a Loss block.")
                )
        else:
            self._column.addWidget(labels.heading(f"{source} → {self._key}"))
            if self._trial:
                self._add_caption(self.tr("What if: {0}").format(self._trial))
            if self._leaf:
                self._add_leaves()
            self._add_verdicts()
            if not self._leaf:
                self._add_leaves()
            self._answers_column = make_column(None, spacing=6)
            self._column.addLayout(self._answers_column)
            self._fill_answers()
            self._add_numbers(source)
        self._column.addStretch(1)

    def _source(self) -> PortName | None:
        if not self._key:
            return None
        return self._diagram.pages[self._page].wires.get(PortName.parse(self._key))

    @property
    def _wire(self) -> WirePath:
        """The path of the wire, or of its leaf, in results."""
        return WirePath(self._key).within(self._use).with_leaf(self._leaf)

    def _add_leaves(self) -> None:
        """Add a row per leaf, or the heading of a single leaf."""
        result = self._result
        tree = (
            None if result is None else result.wire_trees.get(WirePath(self._key).within(self._use))
        )
        if result is None or tree is None:
            return
        shown = leaf_head(self._leaf) if self._leaf else leaf_rows(self._leaf_rows(result, tree))
        shown.linkActivated.connect(lambda target: self.show_leaf(target.removeprefix(LEAF)))
        if not self._leaf:
            self._column.addWidget(labels.heading(self.tr("Leaves")))
        self._column.addWidget(shown)

    def _leaf_rows(self, result: EvaluationResult, tree: Tree) -> list[LeafRow]:
        rows = []
        for path, wire in tree.arrays.items():
            state = result.states[wire]
            colour = self._theme.lane_name(state)
            size = result.amount(wire)
            rows.append(LeafRow(path_text(path), editor.tr(state.row.title), colour, size))
        return rows

    def _add_verdicts(self) -> None:
        result, wire = self._result, self._wire
        if result is None or wire not in result.states:
            self._add_caption(labels.withheld(result) or self.tr("Not computed."))
            return
        several = len(result.losses) > 1 and result.loss is None
        if several and (result.is_by_loss or result.flow is None):
            self._add_verdicts_by_loss(result, wire)
        elif (verdict := result.verdict(wire, None)) is not None:
            self._add_verdict(verdict, "")

    def _add_verdicts_by_loss(self, result: EvaluationResult, wire: str) -> None:
        """Add a verdict per loss, with one line for all losses that no path leads to."""
        verdicts = {loss: result.verdict(wire, loss) for loss in result.losses}
        known = {loss: verdict for loss, verdict in verdicts.items() if verdict is not None}
        off = [loss for loss, verdict in known.items() if verdict.state is State.OFF_ROUTE]
        if len(off) == len(known):
            if (verdict := result.verdict(wire, None)) is not None:
                self._add_verdict(verdict, "")
            return
        numbers = {about.loss: place for place, about in enumerate(result.apart, start=1)}
        for loss, verdict in known.items():
            if loss not in off:
                number = f"{numbers[loss]}  " if loss in numbers else ""
                self._add_verdict(verdict, f"{number}{loss.short}")
        if off:
            names = sentences.names([loss.short for loss in off])
            self._add_caption(self.tr("No path to {0}.").format(names))

    def _add_verdict(self, verdict: Verdict, title: str) -> None:
        swatch = _Swatch(QColor(self._theme.lane(verdict.state)), self)
        name = labels.strong(editor.tr(verdict.state.row.title))
        about = [labels.plain(title)] if title else []
        self._column.addLayout(make_row(None, swatch, name, STRETCH, *about, spacing=6))
        sentence = labels.rich(linked(verdict))
        sentence.linkActivated.connect(self.blockRequested)
        self._column.addWidget(sentence)
        if verdict.cure:
            self._column.addWidget(labels.body(verdict.cure))
        if unnamed := [name for name in _cutters(verdict) if name not in verdict.sentence]:
            cut = labels.rich(self.tr("Cut by {0}").format(", ".join(map(labels.link, unnamed))))
            cut.linkActivated.connect(self.blockRequested)
            self._column.addWidget(cut)

    def _fill_answers(self) -> None:
        """Show the answers, or nothing while they are being computed."""
        column = self._answers_column
        if column is None:
            return
        labels.clear(column)
        if self._answers is None or self._answers.wire != self._wire:
            return
        if (found := self._answers.fix) is not None and found.sentence:
            repair = Repair(found, self)
            repair.linkActivated.connect(self.blockRequested)
            repair.tried.connect(self.repairTried)
            repair.applied.connect(self.repairRequested)
            column.addWidget(repair)
        for section in sections(self._answers):
            section.linkActivated.connect(self.blockRequested)
            column.addWidget(section)

    def _add_numbers(self, source: PortName) -> None:
        result = self._result
        if result is None:
            return
        wire, port = self._wire, self._use.port_inside(source).with_leaf(self._leaf)
        norm = result.norms.get(wire)
        if norm is not None:
            amount = result.contributions.get(wire)
            scalar = amount is not None and amount.size == 1
            about = self.tr("Contribution") if scalar else self.tr("Contribution, rms {0}")
            self._add_caption(about.format(number(norm)))
            self._add_array(amount)
        if port in result.values:
            value = result.values[port]
            kind = f"{dimensions(value.shape)} · {value.dtype}"
            self._add_caption(self.tr("Value, {0}").format(kind))
            self._add_origin(result, port)
            self._add_array(value)

    def _add_origin(self, result: EvaluationResult, port: PortPath) -> None:
        """Show what first made a value NaN or infinite, with links to the blocks that did."""
        origin = None if result.flow is None else result.flow.origin(port)
        if origin is not None:
            makers = [block for block in (origin.block, origin.then) if block is not None]
            label = labels.rich(labels.linked(origin.cause, makers))
            label.linkActivated.connect(self.blockRequested)
            self._column.addWidget(label)

    def _add_array(self, array: Array | None) -> None:
        """Add a small array as a table, a larger one as one line."""
        if array is None:
            return
        if array.ndim in (1, 2) and 0 < array.size <= 256:
            grid = ArrayGrid(self)
            grid.show_array(np.asarray(array), editable=False)
            self._column.addWidget(grid)
        else:
            self._column.addWidget(labels.body(notation.glimpse(array)))

    def _add_caption(self, text: str) -> None:
        self._column.addWidget(labels.caption(text))


def _cutters(verdict: Verdict) -> list[str]:
    """The blocks that cut; of many, those nearest to the loss."""
    return list(dict.fromkeys(cutter.block for cutter in verdict.cutters[:MANY]))


class _Swatch(QWidget):
    """A dot in the colour of a state."""

    def __init__(self, colour: QColor, parent: QWidget) -> None:
        super().__init__(parent)
        self._colour = colour
        self.setFixedSize(10, 10)

    def paintEvent(self, event: object) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._colour)
        painter.drawEllipse(QRectF(self.rect()).adjusted(1, 1, -1, -1))


class LeafRow(NamedTuple):
    """One array of a tree: its path, its state in words and colour, and its size as text."""

    path: str
    words: str
    colour: str
    size: str


def leaf_rows(rows: Sequence[LeafRow]) -> QLabel:
    """A table of leaves; each path is a link."""
    lines = [
        f"<tr><td>{labels.link(LEAF + row.path, row.path)}&nbsp;&nbsp;</td>"
        f"<td><span style='color:{row.colour}'>●</span>&nbsp;{_whole(row.words)}&nbsp;&nbsp;</td>"
        f"<td align='right'>{escape(row.size)}</td></tr>"
        for row in rows[:_MAX_ROWS]
    ]
    if len(rows) > _MAX_ROWS:
        more = editor.tr("{0} more").format(len(rows) - _MAX_ROWS)
        lines.append(f"<tr><td>… {more}</td></tr>")
    return labels.rich(f"<table cellspacing='2'>{''.join(lines)}</table>")


def leaf_head(path: str) -> QLabel:
    """The leaf that is shown on its own, with a link back to all leaves."""
    back = labels.link(LEAF, editor.tr("all leaves"))
    return labels.rich(f"<b>{escape(path)}</b> · {back}")


def _whole(words: str) -> str:
    """Words that stay on one line."""
    return escape(words).replace(" ", "&nbsp;")
