"""The form of one block: its parameters, ports with their values, and documentation."""

from __future__ import annotations

from collections.abc import Container
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QLineEdit, QWidget

from gradwire.app.canvas.paint.blocks.rows import SymbolTile
from gradwire.app.canvas.state.tooltips import uses_text
from gradwire.app.document.numbers import slider_of
from gradwire.app.panels import labels, notation
from gradwire.app.panels.formula import FormulaLabel as Equation
from gradwire.app.panels.inspector.data_view import DataView
from gradwire.app.panels.inspector.fields import ChoiceField, LiteralField, ValueField, field_for
from gradwire.app.panels.inspector.rows import let_drag, name_label
from gradwire.app.panels.inspector.slider import NumberSlider
from gradwire.app.panels.inspector.texts import carried, docs, gradient_text
from gradwire.app.panels.layouts import make_column, make_row, tool_button
from gradwire.app.services.plain_text import tooltip
from gradwire.blocks.block import REQUIRED, InputPort, Opaque
from gradwire.blocks.importing.kinds import is_dataset
from gradwire.blocks.library.formula import Formula
from gradwire.blocks.library.pages import Scan
from gradwire.blocks.library.views import Field as FieldBlock
from gradwire.runtime.diagram import MAIN, Diagram, PortName, changed_block, page_ports, ports
from gradwire.runtime.views import choices

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.services.background import JobRunner
    from gradwire.app.services.theme import Theme
    from gradwire.blocks.block import Block
    from gradwire.blocks.library.data import Dataset
    from gradwire.runtime.diagram import InstancePath, Ports

SAME, ELEMENT, CARRIED = "same", "element", "="
"""Roles of an input; what is carried from the output h_n is ``=h_n``."""

_NAME_WIDTH = 88


class BlockForm(QWidget):
    """Shows one block of ``page`` and emits edits; it never changes the diagram itself."""

    committed = Signal(str, object)
    """A parameter or literal, and its new value as JSON data."""
    previewed = Signal(str, object)
    """A parameter or literal, and its value while it is dragged; None takes the drag back."""
    draftChanged = Signal(str, object)
    """A field, and its text that is not committed yet, or None."""
    renamed = Signal(str)
    blockRequested = Signal(str)
    setRequested = Signal(object)
    """Several parameters at once, by name."""
    ownRequested = Signal(str, bool)
    """An input, and whether it is to own a variable or the variable is to move out."""

    def __init__(
        self, diagram: Diagram, page: str, name: str, theme: Theme, runner: JobRunner
    ) -> None:
        super().__init__()
        self._runner = runner
        self.page, self.name = page, name
        self.shape_of_form = form_shape(diagram, page, name)
        self.fields: dict[str, ValueField] = {}
        self.errors: dict[str, QLabel] = {}
        self._refusals: dict[str, str] = {}
        self._found: dict[str | None, str] = {}
        self._outputs: dict[str, QLabel] = {}
        self._sources: dict[str, tuple[PortName, QLabel]] = {}
        self._own: dict[str, tuple[str, str]] = {}
        """Input and parameter of an own variable, by field."""
        self._roles: dict[str, str] = {}
        """Input of a Scan, by the field of its role."""
        self._gradients: dict[str, QLabel] = {}
        self.slider: NumberSlider | None = None
        self._data: DataView | None = None
        self._block = diagram.pages[page].blocks[name]
        self._column = make_column(self, margins=(12, 2, 12, 12), spacing=4)
        self._add_head(theme)
        if is_dataset(self._block):
            self._add_data(self._block, diagram, theme)
        self._add_parameters(diagram)
        self._add_inputs(diagram)
        self._add_outputs(diagram)
        self._add_docs()
        self._column.addStretch(1)
        self.show_block(diagram)

    def show_block(self, diagram: Diagram, drafts: Container[str] = ()) -> None:
        """Show the block's values, except in fields with a draft."""
        self._block = diagram.pages[self.page].blocks[self.name]
        own = self._block.latex() if isinstance(self._block, Formula) else self._block.formula
        self._equation.show_latex(own)
        for name, field in self.fields.items():
            field.show_value(self._value_of(name), keep_text=name in drafts)
            if name not in drafts:
                self.show_error(name, "")
        if self.slider is not None:
            self.slider.show_number(self.fields["value"].number(), slider_of(self._block))

    def show_draft(self, field: str, text: str, error: str) -> None:
        """Restore the draft of ``field`` and its error."""
        if field in self.fields:
            self.fields[field].show_draft(text)
            self.show_error(field, error)

    def show_error(self, field: str, reason: str) -> None:
        """Show under ``field`` why its text was refused; an empty reason clears the error."""
        self._refusals[field] = reason
        self._update_error(field)

    def show_name_error(self, text: str) -> None:
        """Show under the name why it was refused."""
        labels.show_or_hide(self._name_error, text)

    def show_result(self, result: EvaluationResult | None, use: InstancePath) -> None:
        """Show shapes, values, gradient and problems of this block in a result."""
        for port, label in self._outputs.items():
            label.setText(carried(result, (use / self.name).port(port)))
        for source, label in self._sources.values():
            label.setText(carried(result, use.port_inside(source)))
        self._show_problems(result, use)
        if self._data is not None and is_dataset(self._block):
            self._data.show_result(result, use / self.name, self._block)
        labels.show_or_hide(self._gradient, gradient_text(result, use / self.name))
        labels.show_or_hide(self._shared, self._shared_text(result, use / self.name))
        for port, label in self._gradients.items():
            variable = use / self.name / port
            text = gradient_text(result, variable) or self.tr("A variable of its own")
            shown = escape(carried(result, variable.port("out")))
            label.setText("<br>".join(filter(None, [text, shown])))

    def _add_head(self, theme: Theme) -> None:
        tile = SymbolTile(self)
        tile.show_block(type(self._block), theme)
        self.name_line = QLineEdit(self.name, self)
        self.name_line.setAccessibleName(self.tr("Name of the block"))
        self.name_line.editingFinished.connect(self._rename)
        self._name_error, self._problems = labels.error(), labels.error()
        self._gradient, self._shared = labels.rich(), labels.caption()
        self._gradient.linkActivated.connect(self.blockRequested)
        self._gradient.hide()
        self._shared.hide()
        written = self.tr("Written at {0}").format(self._block.written)
        about = [self._kind(), *([written] if self._block.written else [])]
        self._column.addLayout(make_row(None, tile, (self.name_line, 1), spacing=8))
        for label in (
            self._name_error, *map(labels.caption, about), self._problems, self._gradient,
            self._shared,
        ):  # fmt: skip
            self._column.addWidget(label)

    def _shared_text(self, result: EvaluationResult | None, path: InstancePath) -> str:
        """Which uses share this variable; empty for an unshared one, and for other blocks."""
        flow = None if result is None else result.flow
        names = () if flow is None else flow.program.flat.names(path)
        return self.tr("Shared by {0}").format(uses_text(names)) if len(names) > 1 else ""

    def _kind(self) -> str:
        if isinstance(self._block, Opaque):
            return self.tr("{0} · not installed; kept unchanged").format(self._block.original_type)
        return f"{self._block.type_name()} · {self._block.family.replace('_', ' ')}"

    def _add_parameters(self, diagram: Diagram) -> None:
        parameters = {} if isinstance(self._block, Opaque) else self._block.parameters()
        if not parameters:
            return
        grid = self._section(self.tr("Parameters"))
        for name, info in parameters.items():
            if name in idle_parameters(diagram, self._block):
                continue
            found = offered(diagram, self._block).get(name)
            field = ChoiceField(found) if found else field_for(info.annotation, self._runner)
            if info.description:
                field.setToolTip(tooltip(info.description))
            self._add_field(grid, name, name.replace("_", " "), field)
            if name == "value" and "slider" in parameters:
                self._add_slider(grid, field)
        if isinstance(self._block, Scan) and self._block.page in diagram.pages:
            self._add_roles(ports(diagram, self.page, self.name))

    def _add_roles(self, names: Ports) -> None:
        """What each input of a Scan gets in each step."""
        grid = self._section(self.tr("In each step"))
        for port in names.inputs:
            self._roles[key := f"{port} role"] = port
            self._add_field(grid, key, port, RoleField(names.outputs))
            self.fields[key].setAccessibleName(key)

    def _add_data(self, block: Dataset, diagram: Diagram, theme: Theme) -> None:
        """The rows of a data set, and a button for its file."""
        self._column.addWidget(labels.heading(self.tr("Data")))
        self._data = DataView(block, diagram.folder, theme, self._runner)
        self._data.chosen.connect(self.setRequested)
        self._column.addWidget(self._data)

    def _add_slider(self, grid: QGridLayout, field: ValueField) -> None:
        """The slider of the value that a field shows."""
        self.slider = slider = NumberSlider(self)
        grid.addWidget(slider, grid.rowCount(), 1)
        slider.previewed.connect(
            lambda number: self.previewed.emit(
                "value", None if number is None else field.data_of(number)
            )
        )
        slider.committed.connect(lambda number: field.committed.emit(field.data_of(number)))

    def _add_inputs(self, diagram: Diagram) -> None:
        names = ports(diagram, self.page, self.name)
        if not names.inputs and not names.free:
            return
        grid = self._section(self.tr("Inputs"))
        wires = diagram.pages[self.page].wires
        for name in (*names.inputs, *names.free):
            source = wires.get(PortName(self.name, name))
            port = self._block.port(name)
            if source is not None:
                self._add_wired(grid, name, source)
            elif name in self._block.owned:
                self._add_own(grid, name)
            elif port is not None:
                self._add_field(grid, name, name, LiteralField(self._default_of(port)))
                if name in self._block.ownable:
                    self._add_button(grid, self.tr("Own variable"), name, own=True)

    def _add_wired(self, grid: QGridLayout, name: str, source: PortName) -> None:
        origin = labels.rich("← " + labels.link(source.block, str(source)))
        origin.linkActivated.connect(self.blockRequested)
        carries = labels.caption()
        row = grid.rowCount()
        grid.addWidget(name_label(name, origin), row, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(origin, row, 1)
        grid.addWidget(carries, row + 1, 1)
        self._sources[name] = (source, carries)
        self._add_error_label(grid, name)

    def _add_own(self, grid: QGridLayout, port: str) -> None:
        """Fields for the own variable of an input, under its gradient."""
        label = labels.rich()
        label.linkActivated.connect(self.blockRequested)
        row = grid.rowCount()
        grid.addWidget(name_label(port, label), row, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(label, row, 1)
        self._gradients[port] = label
        for name, info in self._block.owned[port].parameters().items():
            field = field_for(info.annotation, self._runner)
            field.setToolTip(tooltip(info.description or ""))
            key = f"{port} {name}"
            self._own[key] = port, name
            self._add_field(grid, key, name, field)
            field.setAccessibleName(key)
        self._add_button(grid, self.tr("Move out"), port, own=False)

    def _add_button(self, grid: QGridLayout, text: str, port: str, *, own: bool) -> None:
        request = partial(self.ownRequested.emit, port, own)
        button = tool_button(self, text, request, name=f"{text}: {port}", flat=False)
        grid.addWidget(button, grid.rowCount(), 1)

    def _add_outputs(self, diagram: Diagram) -> None:
        names = ports(diagram, self.page, self.name).outputs
        if not names:
            return
        grid = self._section(self.tr("Outputs"))
        for name in names:
            label = labels.body()
            row = grid.rowCount()
            grid.addWidget(name_label(name, label), row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(label, row, 1)
            self._outputs[name] = label

    def _add_docs(self) -> None:
        self._column.addWidget(labels.heading(self.tr("About")))
        self._equation = Equation(self)
        self._column.addWidget(self._equation)
        self._column.addWidget(labels.rich(docs(type(self._block))))

    def _section(self, title: str) -> QGridLayout:
        self._column.addWidget(labels.heading(title))
        grid = QGridLayout()
        grid.setColumnMinimumWidth(0, _NAME_WIDTH)
        grid.setColumnStretch(1, 1)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(4)
        self._column.addLayout(grid)
        return grid

    def _add_field(self, grid: QGridLayout, name: str, title: str, field: ValueField) -> None:
        row = grid.rowCount()
        label = name_label(title, field)
        grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(field, row, 1)
        self._add_error_label(grid, name)
        let_drag(
            label,
            field,
            lambda value: self.previewed.emit(name, value),
            lambda: slider_of(self._block, name),
        )
        field.committed.connect(lambda value: self.committed.emit(name, value))
        field.failed.connect(lambda reason: self.show_error(name, reason))
        field.draftChanged.connect(lambda text: self.draftChanged.emit(name, text))
        self.fields[name] = field

    def _add_error_label(self, grid: QGridLayout, name: str) -> None:
        self.errors[name] = labels.error()
        grid.addWidget(self.errors[name], grid.rowCount(), 1)

    def values_of(self, field: str, value: Any) -> dict[str, Any]:
        """What a committed field sets in the block; raises ParameterError for an own variable."""
        if field in self._roles and isinstance(self._block, Scan):
            return with_role(self._block, self._roles[field], value)
        if field not in self._own:
            return {field: value}
        port, name = self._own[field]
        return {port: changed_block(self._block.owned[port], {name: value})}

    def _value_of(self, name: str) -> object:
        if name in self._roles and isinstance(self._block, Scan):
            return role_of(self._block, self._roles[name])
        if name in self._own:
            port, parameter = self._own[name]
            return getattr(self._block.owned[port], parameter)
        if name in self._block.parameters():
            return getattr(self._block, name)
        return self._block.literals.get(name)

    def _default_of(self, port: InputPort) -> str:
        if port.variadic:
            return self.tr("another input")
        if port.default is REQUIRED:
            return self.tr("wire or value required")
        if port.default is None:
            return self.tr("optional")
        return notation.written(port.default)

    def _rename(self) -> None:
        text = self.name_line.text().strip()
        if text != self.name:
            self.renamed.emit(text)

    def _show_problems(self, result: EvaluationResult | None, use: InstancePath) -> None:
        """Show problems of a port under its field, the others under the name."""
        here = ((self.page, self.name), (MAIN, use / self.name))
        of_block: list[str] = []
        self._found.clear()
        for found in result.diagnostics if result else ():
            if (found.location.page, found.location.block) in here:
                text = " ".join(filter(None, (found.what, found.next_step)))
                if found.location.port in self.errors:
                    self._found[found.location.port] = text
                else:
                    of_block.append(text)
        labels.show_or_hide(self._problems, "\n".join(of_block))
        for name in self.errors:
            self._update_error(name)

    def _update_error(self, name: str) -> None:
        text = self._refusals.get(name) or self._found.get(name)
        labels.show_or_hide(self.errors[name], text)


def role_of(scan: Scan, port: str) -> str:
    """The role of an input."""
    if port in scan.carry:
        return CARRIED + scan.carry[port]
    return ELEMENT if port in scan.over else SAME


def with_role(scan: Scan, port: str, role: str) -> dict[str, object]:
    """The parameters of a Scan that give an input another role."""
    carry = {name: output for name, output in scan.carry.items() if name != port}
    over = [name for name in scan.over if name != port]
    if role == ELEMENT:
        over.append(port)
    elif role != SAME:
        carry[port] = role.removeprefix(CARRIED)
    return {"carry": carry, "over": over}


class RoleField(ChoiceField):
    """The role of one input: the same in all steps, one element per step, or carried."""

    def __init__(self, outputs: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__((SAME, ELEMENT, *(CARRIED + name for name in outputs)), parent)
        texts = [self.tr("the same in all steps"), self.tr("one element per step")]
        texts += [self.tr("carried from {0}").format(name) for name in outputs]
        for index, text in enumerate(texts):
            self.box.setItemText(index, text)


def offered(diagram: Diagram, block: Block) -> dict[str, tuple[str, ...]]:
    """The values offered for parameters that name parts of the diagram."""
    if isinstance(block, Scan) and block.page in diagram.pages:
        return {"condition": ("", *page_ports(diagram.pages[block.page]).outputs)}
    return choices(block, diagram) if isinstance(block, FieldBlock) else {}


def idle_parameters(diagram: Diagram, block: Block) -> Collection[str]:
    """Parameters without a field: of a Scan, those that the roles of its inputs stand for."""
    if isinstance(block, Scan) and block.page in diagram.pages:
        return ("carry", "over")
    return block.idle_parameters if is_dataset(block) else ()


def form_shape(diagram: Diagram, page: str, name: str) -> object:
    """What determines the fields of a form; equal for two diagrams if one form fits both."""
    names = ports(diagram, page, name)
    wires = diagram.pages[page].wires
    driven = tuple(wires.get(PortName(name, port)) for port in names.inputs)
    block = diagram.pages[page].blocks[name]
    idle = idle_parameters(diagram, block)
    choices_now = tuple(offered(diagram, block).items())
    return page, name, type(block), names, driven, frozenset(block.owned), idle, choices_now
