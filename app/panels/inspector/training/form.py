"""The recipe by which the diagram is trained, as a form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import ValidationError
from PySide6.QtCore import QPointF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPalette, QPen, QPolygonF
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QLabel,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from gradwire.app.panels import labels
from gradwire.app.panels.inspector.fields import ChoiceField, TextField, ValueField, field_for
from gradwire.app.panels.inspector.rows import name_label
from gradwire.app.panels.layouts import STRETCH, make_column, make_row, push_button
from gradwire.blocks.names import NAME_RULE
from gradwire.blocks.parameter_errors import expected_text
from gradwire.runtime.diagram import Diagram, SetTraining
from gradwire.runtime.flow import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pydantic import BaseModel

    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.runtime.diagram import AnySchedule, Group, OptimiserRule, Training
    from gradwire.runtime.engine import Program
    from gradwire.runtime.training import FieldPath, RecipeRemark

_RATES_HEIGHT = 40
_RATES = 160
_RATES_MARGIN = 3.0

_Path: TypeAlias = tuple[str | int, ...]
_SHRINKS = QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
_SHOWN = 6
"""Variables of an optimiser that are listed."""
_LAST = ("weight_decay", "decoupled_weight_decay", "maximize")
"""Options that all methods have, and that come after their own."""
_SHORT = {"decoupled_weight_decay": "decoupled", "initial_accumulator_value": "initial sum"}
"""Labels of options whose names are long."""
# What recipes are made of is imported where one is shown: most diagrams have none.
_LISTS = ("variables", "losses", "record")


class TrainingForm(QWidget):
    """Optimisers and averages, each with a row a field; every edit is one undo.

    A refused edit stays in its field with the reason under it. What is wrong with the recipe for
    this diagram is said under the field that it is about.
    """

    committed = Signal(object)
    """A SetTraining."""

    def __init__(self, diagram: Diagram) -> None:
        super().__init__()
        self._training = diagram.training
        self._program: Program | None = None
        self._rows: dict[_Path, ValueField] = {}
        self.errors: dict[_Path, QLabel] = {}
        self._owned: dict[int, QLabel] = {}
        self._rates: dict[int, RatePreview] = {}
        self._column = make_column(self, spacing=4)
        self._inner: QWidget | None = None
        self._rebuild()

    def show_diagram(self, diagram: Diagram) -> None:
        """Show the recipe of another diagram; text being edited stays where it can."""
        before, self._training = self._training, diagram.training
        if shape_of(before) != shape_of(self._training):
            self._rebuild()
        elif before != self._training:
            self._show_values()

    def show_result(self, result: EvaluationResult | None) -> None:
        """Show which variables the patterns name in a diagram that was run."""
        flow = None if result is None else result.flow
        if flow is not None and flow.program is not self._program:  # numbers alone keep it
            self._program = flow.program
            self._show_remarks()

    def field(self, *path: str | int) -> ValueField:
        """The field of a part of the recipe, such as ``"optimisers", 0, "variables"``."""
        return self._rows[path]

    def error(self, *path: str | int) -> str:
        """What is said under a field; empty for nothing."""
        text: str = self.errors[path].text()
        return text

    def add_optimiser(self) -> None:
        """Add an optimiser; the first owns all variables."""
        from gradwire.runtime.diagram import OptimiserRule, Training

        training = self._training or Training()
        name = free_name("opt", [rule.name for rule in training.optimisers])
        self._set(optimisers=(*training.optimisers, OptimiserRule(name=name)))

    def add_average(self) -> None:
        """Add an average, whose patterns are to be written."""
        from gradwire.runtime.diagram import Average, Training

        training = self._training or Training()
        name = free_name("average", [average.name for average in training.averages])
        self._set(averages=(*training.averages, Average(name=name, of="*", into="*_average")))

    def _rebuild(self) -> None:
        if self._inner is not None:
            self._inner.hide()
            self._inner.deleteLater()
        self._rows, self.errors, self._owned, self._rates = {}, {}, {}, {}
        self._inner = inner = QWidget(self)
        column = make_column(inner, spacing=4)
        training = self._training
        if training is None:
            text = self.tr("Without a recipe, all variables follow all losses by SGD.")
            column.addWidget(labels.caption(text))
        else:
            for i in range(len(training.optimisers)):
                column.addWidget(self._optimiser(i, training.optimisers[i]))
            for i in range(len(training.averages)):
                column.addWidget(self._average(i))
            grid = _grid(column)
            if len(training.optimisers) > 1:
                self._row(grid, ("order",), self.tr("order"))
            self._row(grid, ("steps",), self.tr("iterations"))
            self._row(grid, ("record",), self.tr("record"))
        optimiser = push_button(self, self.tr("Add Optimiser"), self.add_optimiser)
        average = push_button(self, self.tr("Add Average"), self.add_average)
        column.addLayout(make_row(None, optimiser, average, STRETCH))
        self._column.addWidget(inner)
        self._show_values()

    def _optimiser(self, index: int, rule: OptimiserRule) -> QWidget:
        from gradwire.runtime.diagram import METHODS, SCHEDULES

        at: _Path = ("optimisers", index)
        card, grid = self._card(at)
        self._row(grid, (*at, "method", "kind"), self.tr("method"), ChoiceField(_kinds(METHODS)))
        for name in sorted(type(rule.method).model_fields, key=_place_of):
            if name != "kind":
                self._row(grid, (*at, "method", name), _SHORT.get(name, name.replace("_", " ")))
        self._row(grid, (*at, "variables"), self.tr("variables"), TextField(plain=True))
        self._owned[index] = labels.caption()
        grid.addWidget(self._owned[index], grid.rowCount(), 0, 1, 2)
        self._rows[*at, "variables"].draftChanged.connect(
            lambda text: self._show_owned(index, text)
        )
        losses = TextField(plain=True)
        losses.line.setPlaceholderText(self.tr("all"))
        losses.empty = self.tr("all")
        self._row(grid, (*at, "losses"), self.tr("losses"), losses)
        self._row(
            grid, (*at, "schedule", "kind"), self.tr("schedule"), ChoiceField(_kinds(SCHEDULES))
        )
        for name in type(rule.schedule).model_fields:
            if name != "kind":
                self._row(grid, (*at, "schedule", name), name.replace("_", " "))
        self._rates[index] = RatePreview(self)
        grid.addWidget(self._rates[index], grid.rowCount(), 0, 1, 2)
        clips = ChoiceField((None, "norm", "value"))
        self._row(grid, (*at, "clip", "by"), self.tr("clip by"), clips)
        if rule.clip is not None:
            self._row(grid, (*at, "clip", "limit"), self.tr("limit"))
        self._row(grid, (*at, "accumulate"), self.tr("accumulate"))
        if rule.accumulate > 1:
            self._row(grid, (*at, "reduce"), self.tr("reduce"))
        self._row(grid, (*at, "steps"), self.tr("steps"))
        self._row(grid, (*at, "every"), self.tr("every"))
        column = card.layout()
        assert isinstance(column, QVBoxLayout)
        for i in range(len(rule.groups)):
            self._group(column, index, i)
        tip = self.tr("Variables with a rate or a weight decay of their own")
        add = push_button(self, self.tr("Add Group"), lambda: self._add_group(index), tip=tip)
        column.addWidget(add, 0, Qt.AlignmentFlag.AlignLeft)
        return card

    def _group(self, column: QVBoxLayout, index: int, number: int) -> None:
        """Rows for the variables of a group, and for what replaces the method's numbers."""
        at: _Path = ("optimisers", index, "groups", number)
        title = labels.caption(self.tr("Group {0}").format(number + 1))
        kept = self._value(at[:-1])
        left = (*kept[:number], *kept[number + 1 :])
        text = self.tr("Remove Group")
        remove = push_button(self, text, lambda: self._set_groups(index, left))
        column.addLayout(make_row(None, (title, 1), remove))
        grid = _grid(column)
        self._row(grid, (*at, "variables"), self.tr("variables"))
        for name in ("lr", "weight_decay"):
            field = TextField()
            field.empty = self.tr("as above")
            self._row(grid, (*at, name), name.replace("_", " "), field)

    def _add_group(self, index: int) -> None:
        """Add a group that has, as yet, all variables of its optimiser and its numbers."""
        from gradwire.runtime.diagram import Group

        rule = self._value(("optimisers", index))
        self._set_groups(index, (*rule.groups, Group(variables=rule.variables)))

    def _set_groups(self, index: int, groups: tuple[Group, ...]) -> None:
        rules = list(self._value(("optimisers",)))
        rules[index] = rules[index].model_copy(update={"groups": groups})
        self._set(optimisers=tuple(rules))

    def _average(self, index: int) -> QWidget:
        at: _Path = ("averages", index)
        card, grid = self._card(at)
        for name in ("of", "into", "decay", "every", "start"):
            self._row(grid, (*at, name), name)
        return card

    def _card(self, at: _Path) -> tuple[QFrame, QGridLayout]:
        """A frame with a name, a button that removes it, and a grid for rows."""
        card = QFrame(self)
        card.setFrameShape(QFrame.Shape.StyledPanel)
        name = TextField(plain=True)
        name.setAccessibleName(self.tr("Name"))
        self._rows[*at, "name"] = name
        name.committed.connect(lambda value: self._commit((*at, "name"), value))
        remove = push_button(self, self.tr("Remove"), lambda: self._remove(at))
        error = self.errors[*at, "name"] = labels.error()
        head = make_row(None, (name, 1), remove)
        return card, _grid(make_column(card, head, error, margins=(8, 6, 8, 8)))

    def _row(
        self, grid: QGridLayout, path: _Path, name: str, field: ValueField | None = None
    ) -> None:
        if isinstance(field, ChoiceField):
            field.box.setMinimumContentsLength(6)
            field.box.setSizeAdjustPolicy(_SHRINKS)
        if field is None:
            is_text = path[-1] in (*_LISTS, "of", "into")
            field = TextField(plain=True) if is_text else field_for(self._annotation(path))
        row = grid.rowCount()
        grid.addWidget(name_label(name, field), row, 0)
        grid.addWidget(field, row, 1)
        self.errors[path] = labels.error()
        grid.addWidget(self.errors[path], row + 1, 0, 1, 2)
        self._rows[path] = field
        field.committed.connect(lambda value: self._commit(path, value))

    def _annotation(self, path: _Path) -> object:
        return type(self._value(path[:-1])).model_fields[str(path[-1])].annotation

    def _show_values(self) -> None:
        for path, field in self._rows.items():
            value = self._value(path)
            if path[-1] in _LISTS:
                value = ", ".join(value)
            field.show_value(list(value) if isinstance(value, tuple) else value)
            labels.show_or_hide(self.errors[path], None)
        for index, preview in self._rates.items():
            assert self._training is not None
            rule = self._training.optimisers[index]
            updates = max(1, self._training.steps * rule.steps // rule.every)
            preview.show_rates(rule.schedule, rule.method.lr, updates)
        self._show_remarks()

    def _value(self, path: _Path) -> Any:
        here: Any = self._training
        for part in path:
            if here is None:
                return None
            here = here[part] if isinstance(part, int) else getattr(here, str(part))
        return here

    def _show_remarks(self) -> None:
        """What is wrong with the recipe in this diagram, under the fields it is about."""
        for index in self._owned:
            self._show_owned(index, None)
        if self._training is None or self._program is None:
            return
        from gradwire.runtime.training import examine

        said: dict[_Path, RecipeRemark] = {}
        for remark in examine(self._training, self._program):
            path = remark.field
            while path and path not in self.errors:
                path = path[:-1]
            if path and (remark.is_error or path not in said):
                before = said.get(path)
                said[path] = before if before is not None and before.is_error else remark
        for path, label in self.errors.items():
            about = said.get(path)
            is_remark = about is not None and not about.is_error
            role = labels.Role.PlaceholderText if is_remark else labels.Role.BrightText
            label.setForegroundRole(role)
            labels.show_or_hide(label, None if about is None else about.text)

    def _show_owned(self, index: int, draft: str | None) -> None:
        """The variables that the patterns of an optimiser name, also while they are typed."""
        if self._training is None or self._program is None:
            return
        rule = self._training.optimisers[index]
        if draft is not None:
            patterns = patterns_in(draft)
            if any(len(pattern) > 1000 for pattern in patterns):
                return
            rule = rule.model_copy(update={"variables": patterns})
        from gradwire.runtime.training import variables_of

        names = variables_of(rule, self._program)
        shown = ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")
        text = self.tr("{0} variables: {1}").format(len(names), shown)
        if len(names) < 2:
            text = self.tr("1 variable: {0}").format(shown) if names else self.tr("no variable")
        self._owned[index].setText(text)

    def _commit(self, path: _Path, value: object) -> None:
        assert self._training is not None
        if path[-1] in _LISTS:
            value = list(patterns_in(str(value)))
        record = self._training.model_dump(mode="json")
        put(record, path, value)
        try:
            training = type(self._training).model_validate(record)
        except ValidationError as error:
            self.errors[path].setForegroundRole(labels.Role.BrightText)
            labels.show_or_hide(self.errors[path], self._reason(error))
            return
        if training == self._training:
            self._show_values()
        else:
            self.committed.emit(SetTraining(training))

    def _reason(self, error: ValidationError) -> str:
        errors = error.errors(include_url=False)
        if errors[0]["type"] == "value_error":
            return self.tr("Expected {0}.").format(NAME_RULE)
        texts = dict.fromkeys(text for each in errors if (text := expected_text(each)))
        return self.tr("Expected {0}.").format(" or ".join(texts) or self.tr("another value"))

    def _remove(self, at: _Path) -> None:
        assert self._training is not None
        field, index = str(at[0]), at[1]
        kept = [part for i, part in enumerate(getattr(self._training, field)) if i != index]
        left = self._training.model_copy(update={field: tuple(kept)})
        self.committed.emit(SetTraining(left if left.optimisers or left.averages else None))

    def _set(self, **fields: Sequence[object]) -> None:
        from gradwire.runtime.diagram import Training

        training = self._training or Training()
        self.committed.emit(SetTraining(training.model_copy(update=fields)))


def _kinds(models: Iterable[type[BaseModel]]) -> tuple[str, ...]:
    return tuple(model.model_fields["kind"].default for model in models)


def _grid(column: QVBoxLayout) -> QGridLayout:
    grid = QGridLayout()
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(8)
    grid.setVerticalSpacing(2)
    grid.setColumnStretch(1, 1)
    column.addLayout(grid)
    return grid


def _place_of(option: str) -> tuple[int, int]:
    """Where an option stands: the rate first, and last those that all methods have."""
    return (0 if option == "lr" else 1, _LAST.index(option) + 1 if option in _LAST else 0)


def patterns_in(text: str) -> tuple[str, ...]:
    """The patterns in a text, between commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def free_name(name: str, taken: Sequence[str]) -> str:
    """A name like this one that is not taken."""
    number = 1
    while (found := name if number == 1 else f"{name}{number}") in taken:
        number += 1
    return found


def put(record: dict[str, Any], path: FieldPath, value: object) -> None:
    """Set a value in a recipe's record. Another kind has its own options."""
    here: Any = record
    for part in path[:-2] if path[-1] in ("kind", "by") else path[:-1]:
        here = here[part]
    if path[-1] == "kind":
        here[path[-2]] = {"kind": value}
    elif path[-1] == "by":
        before = here["clip"] or {"limit": 1.0}
        here["clip"] = None if value is None else {**before, "by": value}
    else:
        here[path[-1]] = value


def shape_of(training: Training | None) -> object:
    """What the rows of a form depend on."""
    if training is None:
        return None
    return (
        [
            (
                rule.method.kind,
                rule.schedule.kind,
                rule.clip is None,
                rule.accumulate > 1,
                len(rule.groups),
            )
            for rule in training.optimisers
        ],
        len(training.averages),
    )


class RatePreview(QWidget):
    """Draws the rates of a schedule; hidden while the rate is constant."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rates: list[float] = []
        """The rates that are drawn, evenly spread over the updates."""
        self.setFixedHeight(_RATES_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_rates(self, schedule: AnySchedule, lr: float, updates: int) -> None:
        """Draw the rates of this many updates."""
        from gradwire.runtime.training import rate

        count = min(_RATES, updates)
        at = [round(i * (updates - 1) / max(1, count - 1)) for i in range(count)]
        self.rates = [rate(schedule, lr, n) for n in at]
        self.setVisible(schedule.kind != "constant")
        text = self.tr("From {0} to {1} in {2} updates").format(
            number(self.rates[0]), number(self.rates[-1]), updates
        )
        self.setToolTip(text)
        self.setAccessibleName(text)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(120, _RATES_HEIGHT)

    def paintEvent(self, event: object) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        role = QPalette.ColorRole
        painter.fillRect(self.rect(), self.palette().color(role.Base))
        top = max(self.rates, default=0.0) or 1.0
        width, height = self.width() - 2 * _RATES_MARGIN, self.height() - 2 * _RATES_MARGIN
        step = width / max(1, len(self.rates) - 1)
        line = QPolygonF(
            [
                QPointF(_RATES_MARGIN + i * step, _RATES_MARGIN + height * (1 - value / top))
                for i, value in enumerate(self.rates)
            ]
        )
        painter.setPen(QPen(self.palette().color(role.Highlight), 1.5))
        painter.drawPolyline(line)
        painter.end()
