"""The derivative card: formula, rules, what happens in numbers, and the check by differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget

from app.panels import labels
from app.panels.formula import Formula
from app.panels.lessons.heatmap import Heatmap
from runtime.lessons.rules import port_name

if TYPE_CHECKING:
    from runtime.lessons.card import DerivativeCard, InputRule


class DerivativePanel(QScrollArea):
    """Shows the card of one block, or why there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.show_text(self.tr("Select a block to see its derivative."))

    def show_text(self, text: str) -> None:
        """Show a line in place of a card."""
        self._fill([labels.caption(text)])

    def show_card(self, card: DerivativeCard) -> None:
        """Show a card."""
        formula = Formula(self)
        formula.show_latex(card.formula)
        parts: list[QWidget] = [labels.body(f"{card.path} · {card.type_name}"), formula]
        if card.arrivals:
            parts.append(labels.heading(self.tr("What arrives")))
            parts += [labels.body(text) for text in card.arrivals]
        for rule in card.inputs:
            parts += self._input(rule, card)
        if card.check is not None:
            parts.append(labels.heading(self.tr("Central difference")))
            parts.append(labels.body(card.check.comparison))
        if card.differences:
            parts.append(labels.heading(self.tr("Where systems differ")))
            parts += [labels.caption(text) for text in card.differences]
        if not (card.inputs or card.arrivals):
            parts.append(labels.caption(self.tr("No gradient arrives here, and none goes back.")))
        self._fill(parts)

    def text(self) -> str:
        """All text shown, line by line."""
        found = self.findChildren(QLabel)
        return "\n".join(label.text() for label in found if label.text())

    def _input(self, rule: InputRule, card: DerivativeCard) -> list[QWidget]:
        """What goes back to one input: the rule, the numbers, the Jacobian."""
        parts: list[QWidget] = [labels.heading(self.tr("Back to {0}").format(rule.port))]
        if rule.rule is None:
            parts.append(labels.body(self.tr("Nothing goes back: None, not 0.")))
        elif rule.rule:
            formula = Formula(self)
            formula.show_latex(f"g_{{{port_name(rule.port)}}} = {rule.rule}")
            parts.append(formula)
        else:
            parts.append(labels.caption(self.tr("The rule is too long to be written here.")))
        if rule.text:
            parts.append(labels.body(rule.text))
        if rule.jacobian is not None and rule.jacobian.size > 1:
            cell = labels.caption(self.tr("Rows: output; columns: input. Point at a cell."))
            idle = cell.text()
            names = ("y", rule.port)
            heat = Heatmap(
                rule.jacobian, rule.output_rank, names, lambda text: cell.setText(text or idle)
            )
            parts += [heat, cell]
        return parts

    def _fill(self, parts: list[QWidget]) -> None:
        body = QWidget(self)
        column = QVBoxLayout(body)
        column.setContentsMargins(12, 8, 12, 8)
        for part in parts:
            column.addWidget(part)
        column.addStretch(1)
        self.setWidget(body)
