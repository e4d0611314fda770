"""The panel in which a lesson is written: its steps, the form of one, and what is wrong."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QRegularExpression, Qt, Signal
from PySide6.QtGui import QRegularExpressionValidator
from PySide6.QtWidgets import (
    QFormLayout,
    QHBoxLayout,
    QLineEdit,
    QSpinBox,
    QToolButton,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from gradwire.app.panels import labels
from gradwire.app.panels.inspector.inputs import QuietComboBox, QuietWheel
from gradwire.app.panels.layouts import (
    STRETCH,
    Sheet,
    line_edit,
    make_column,
    make_row,
    tool_button,
)
from gradwire.app.panels.lessons.player import to_html
from gradwire.app.panels.lessons.step_fields import TITLES, VARY
from gradwire.app.panels.lessons.step_form import FieldRow, StepForm
from gradwire.app.panels.menu import Menu
from gradwire.app.services.theme import scaled
from gradwire.app.services.translation import editor
from gradwire.runtime.diagram import LANGUAGE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

SUPPORTS = {
    "worked": editor.noop("Worked: shows before it asks"),
    "faded": editor.noop("Faded: less and less is shown"),
    "predict first": editor.noop("Predict first"),
}
"""How much a lesson helps, in words."""


class AuthoringPanel(Sheet):
    """Edits the record of a lesson; every edit is given at once."""

    lessonChanged = Signal(str, object)
    """The key of a field of the lesson, and its new value."""
    stepChanged = Signal(str, object)
    """The key of a field of the shown step, and its new value."""
    stepAdded = Signal(str)
    """The kind of a step to add behind the shown one."""
    stepRemoved = Signal()
    stepMoved = Signal(int)
    """By how many places the shown step moves."""
    stepChosen = Signal(int)
    previewRequested = Signal()
    """Play the lesson from the start, on a copy."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._is_showing = False
        self._shown = (-1, 0)
        """The place of the step that the form shows, and of how many."""
        self.form: StepForm | None = None
        self.steps = QTreeWidget(self)
        self.steps.setHeaderHidden(True)
        self.steps.setRootIsDecorated(False)
        self.steps.setAccessibleName(self.tr("Steps"))
        self.steps.setMaximumHeight(scaled(170))
        self.steps.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.steps.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.steps.currentItemChanged.connect(lambda: self._choose(self.place))
        self.problems = labels.error()
        self.preview = labels.rich()
        self.preview.setProperty("type", "reading")
        head = self._head()
        self.vary = FieldRow(VARY, self)
        self.vary.committed.connect(partial(self._give, "vary"))
        self._place = make_column(None)
        sheet = QWidget()
        make_column(
            sheet,
            head, self.vary,
            labels.heading(self.tr("Steps")), self._buttons(), self.steps, self.problems,
            labels.heading(self.tr("As it will read")), self.preview,
            self._place, STRETCH,
            margins=(12, 8, 12, 8), spacing=6,
        )  # fmt: skip
        self.setWidget(sheet)

    def _head(self) -> QFormLayout:
        rows = QFormLayout()
        self.goal = self._line("goal", self.tr("After this lesson you can …"))
        self.minutes = QSpinBox(self)
        self.minutes.setRange(1, 60)
        QuietWheel(self.minutes)
        self.minutes.editingFinished.connect(lambda: self._give("minutes", self.minutes.value()))
        self.course = self._line("course", self.tr("foundations, real world, or your own"))
        self.language = self._line("language", self.tr("en, or another tag such as pt-BR"))
        self.language.setValidator(QRegularExpressionValidator(QRegularExpression(LANGUAGE), self))
        self.support = QuietComboBox(self)
        for support, title in SUPPORTS.items():
            self.support.addItem(editor.tr(title), support)
        self.support.setMinimumContentsLength(8)
        self.support.activated.connect(lambda: self._give("support", self.support.currentData()))
        self.hidden = line_edit(self, self.tr("values, gradients, states"))
        self.hidden.editingFinished.connect(self._give_hidden)
        named: Mapping[str, QWidget] = {
            self.tr("Goal"): self.goal,
            self.tr("Minutes"): self.minutes,
            self.tr("Course"): self.course,
            self.tr("Language"): self.language,
            self.tr("Support"): self.support,
            self.tr("Hides at first"): self.hidden,
        }
        for title, field in named.items():
            field.setAccessibleName(title)
            rows.addRow(title, field)
        return rows

    def _line(self, key: str, hint: str) -> QLineEdit:
        """A line for a field of the lesson."""
        made = line_edit(self, hint)
        made.editingFinished.connect(lambda: self._give(key, made.text().strip()))
        return made

    def _buttons(self) -> QHBoxLayout:
        add = self._button(self.tr("Add"), None)
        menu = Menu(add)
        for kind, title in TITLES.items():
            menu.addAction(editor.tr(title)).triggered.connect(partial(self._add, kind))
        add.setMenu(menu)
        add.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        add.setProperty("type", "menu")
        self.add_menu = menu
        self.remove = self._button(self.tr("Remove"), self.stepRemoved.emit)
        self.up = self._button("↑", partial(self.stepMoved.emit, -1), self.tr("Move step up"))
        self.down = self._button("↓", partial(self.stepMoved.emit, 1), self.tr("Move step down"))
        self.play = self._button(self.tr("Play"), self.previewRequested.emit)
        parts = add, self.remove, self.up, self.down, self.play, STRETCH
        return make_row(None, *parts, spacing=2)

    def _button(
        self, text: str, pressed: Callable[[], object] | None, name: str = ""
    ) -> QToolButton:
        name = name or text
        return tool_button(self, text, pressed, tip=name, name=name, flat=False)

    # ---- showing ------------------------------------------------------------------------------

    def show_lesson(self, record: Mapping[str, Any], place: int) -> None:
        """Show a lesson and one of its steps; what is being typed stays."""
        self._is_showing = True
        self._show_line(self.goal, record.get("goal", ""))
        self.minutes.setValue(record.get("minutes", 5))
        self._show_line(self.course, record.get("course", ""))
        self._show_line(self.language, record.get("language", ""))
        self.support.setCurrentIndex(self.support.findData(record.get("support", "worked")))
        self._show_line(self.hidden, ", ".join(record.get("hide", ())))
        self.vary.show_value(record.get("vary"))
        steps = record.get("steps", [])
        titles = [f"{i}  {_title(step)}" for i, step in enumerate(steps, start=1)]
        if titles != self.titles():
            self.steps.clear()
            self.steps.addTopLevelItems([QTreeWidgetItem([title]) for title in titles])
        if steps:
            self.choose(place)
        self._show_step(steps[place] if steps else None)
        for button in (self.remove, self.up, self.down, self.play):
            button.setEnabled(bool(steps))
        self._is_showing = False

    def titles(self) -> list[str]:
        """The steps as they are listed."""
        rows = map(self.steps.topLevelItem, range(self.steps.topLevelItemCount()))
        return [row.text(0) for row in rows if row is not None]

    @property
    def place(self) -> int:
        """The place of the chosen step; -1 without one."""
        item = self.steps.currentItem()
        return -1 if item is None else self.steps.indexOfTopLevelItem(item)

    def choose(self, place: int) -> None:
        """Choose a step by its place."""
        if (item := self.steps.topLevelItem(place)) is not None:
            self.steps.setCurrentItem(item)

    def show_problems(self, texts: Sequence[str]) -> None:
        """Say what is wrong with the lesson and the shown step."""
        labels.show_or_hide(self.problems, "\n".join(texts))

    def show_preview(self, text: str) -> None:
        """Show the text of the step with its numbers."""
        self.preview.setText(to_html(text))

    def _show_step(self, step: Mapping[str, Any] | None) -> None:
        kind = None if step is None else step["do"]
        before, self._shown = self._shown, (self.place, len(self.titles()))
        is_other = self._shown != before
        if self.form is not None and (is_other or self.form.kind != kind):
            labels.clear(self._place)
            self.form = None
        if kind is not None and self.form is None:
            self.form = StepForm(kind, self)
            self.form.committed.connect(self.stepChanged)
            self._place.addWidget(self.form)
        if self.form is not None and step is not None:
            self.form.show_step(step)

    def _show_line(self, line: QLineEdit, text: str) -> None:
        if not line.hasFocus():
            line.setText(text)
            line.setCursorPosition(0)

    def _give(self, key: str, value: object) -> None:
        if not self._is_showing:
            self.lessonChanged.emit(key, value)

    def _give_hidden(self) -> None:
        names = [name.strip() for name in self.hidden.text().split(",")]
        self._give("hide", [name for name in names if name])

    def _add(self, kind: str, checked: bool = False) -> None:
        self.stepAdded.emit(kind)

    def _choose(self, row: int) -> None:
        if not self._is_showing and row >= 0:
            self.stepChosen.emit(row)


def _title(step: Mapping[str, str]) -> str:
    """A step in the list: its kind and the beginning of its text."""
    text = " ".join(step.get("text", "").split())
    return f"{editor.tr(TITLES[step['do']])} · {text[:40]}".rstrip(" ·")
