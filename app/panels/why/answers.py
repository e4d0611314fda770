"""Sections of the Why panel: a fix, the terms of other systems, and the ledger of a port."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gradwire.app.panels import labels, notation
from gradwire.app.panels.layouts import STRETCH, make_column, make_row, push_button
from gradwire.app.services.translation import editor
from gradwire.runtime.flow import number

if TYPE_CHECKING:
    from PySide6.QtWidgets import QLabel

    from gradwire.app.evaluation.answers import Reasons
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
