"""The derivative card: formula, rules, what happens in numbers, and the check by differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QWidget

from gradwire.app.panels import labels
from gradwire.app.panels.formula import FormulaLabel
from gradwire.app.panels.layouts import STRETCH, Sheet, make_column
from gradwire.app.panels.lessons.heatmap import (
    GradientTable,
    JacobianTable,
    LabelledHeatmap,
    element,
)
from gradwire.runtime.lessons import port_name

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.lessons import DerivativeCard, InputRule, VectorJacobian


_WIDEST = 30.0
"""Width of a rule that is still legible when it is shrunk to a panel, in lines of text."""


class DerivativePanel(Sheet):
    """Shows the card of one block, or why there is none."""

    rowRequested = Signal(object, int)
    """A VectorJacobian, and the element of the output of which the row is to be shown."""
    manualRequested = Signal(str, str)
    """A page of the manual, and a word to find there."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.show_text(self.tr("Select a block to see its derivative."))

    def show_text(self, text: str) -> None:
        """Show a line in place of a card."""
        self._fill([labels.caption(text)])

    def show_card(self, card: DerivativeCard) -> None:
        """Show a card."""
        formula = FormulaLabel(self)
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
            parts.append(self._link(card.type_name))
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
        else:
            parts.append(self._rule(rule))
        if rule.text:
            parts.append(labels.body(rule.text))
        if rule.jacobian is not None and rule.jacobian.size > 1:
            table = JacobianTable(rule.jacobian, rule.output_rank, "y", rule.port)
            name = self.tr("Jacobian of y by {0}, {1} × {2}").format(rule.port, *table.table.shape)
            idle = self.tr(
                "Rows: output; columns: input; blue: positive; orange: negative. Point at a cell."
            )
            parts.append(LabelledHeatmap(table, name, idle))
        elif rule.product is not None:
            view = ProductView(rule.product)
            view.rowRequested.connect(self.rowRequested)
            parts.append(view)
        return parts

    def _rule(self, rule: InputRule) -> QWidget:
        """The rule typeset; one that would be illegible in a panel is left to the timeline."""
        formula = FormulaLabel(self)
        formula.show_latex(f"g_{{{port_name(rule.port)}}} = {rule.rule}")
        if rule.rule and formula.natural_width() <= _WIDEST * formula.fontMetrics().height():
            return formula
        formula.deleteLater()
        return labels.caption(
            self.tr("The rule is long: the timeline (F8) shows it by primitive, step by step.")
        )

    def show_row(self, product: VectorJacobian, index: int, row: Array) -> None:
        """Show one row of a large Jacobian, if its card is still shown."""
        for view in self.findChildren(ProductView):
            if view.product is product:
                view.show_row(index, row)

    def _link(self, type_name: str) -> QLabel:
        """Leads to the table of all differences in the manual."""
        text = self.tr("All differences, in the manual")
        link = labels.rich(f'<a href="systems.md">{text}</a>')
        link.linkActivated.connect(lambda page: self.manualRequested.emit(page, type_name))
        return link

    def _fill(self, parts: list[QWidget]) -> None:
        body = QWidget(self)
        make_column(body, *parts, STRETCH, margins=(12, 8, 12, 8), spacing=8)
        self.setWidget(body)


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
        self._row, self._parts = make_column(None), list[QWidget]()
        arrives, back = (
            labels.caption(self.tr("What arrives, g")), labels.caption(self.tr("What goes back")),
        )  # fmt: skip
        make_column(self, arrives, self.arriving, self._row, back, returned)

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
