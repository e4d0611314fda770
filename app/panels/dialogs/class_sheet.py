"""Whom exercises are for: names, typed, pasted or from a file, or just how many."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QDialogButtonBox, QPlainTextEdit, QRadioButton, QSpinBox

from gradwire.app.panels import labels
from gradwire.app.panels.focus_ring import Dialog
from gradwire.app.panels.layouts import STRETCH, make_column, make_row, path_to_open, push_button
from gradwire.blocks.errors import FileError, RunError
from gradwire.runtime.publish import MOST_PAGES, Exercise, exercise_files, names_in, read_names

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from gradwire.runtime.diagram import Diagram


class ClassSheet(Dialog):
    """Chooses the exercises of a class and says which pages that makes."""

    saveRequested = Signal()

    def __init__(self, diagram: Diagram, stem: str, folder: Path, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Save exercises for a class"))
        self._diagram, self._example, self._folder = diagram, Path(f"{stem}.html"), folder
        self.by_name = QRadioButton(self.tr("For these &names, one a line"), self)
        self.by_count = QRadioButton(self.tr("For this m&any learners, without names"), self)
        self.names = QPlainTextEdit(self)
        self.names.setAccessibleName(self.tr("Names, one a line"))
        self.names.setPlaceholderText(self.tr("Ada Lovelace\nÉmilie du Châtelet"))
        self.names.setTabChangesFocus(True)
        text = self.tr("From a &File…")
        self.from_file = push_button(self, text, self._read, takes_enter=False)
        self.count = QSpinBox(self)
        self.count.setRange(1, MOST_PAGES)
        self.count.setValue(20)
        self.count.setAccessibleName(self.tr("Number of learners"))
        self.shared = QRadioButton(self.tr("&One page, on which learners choose their name"), self)
        self.each = QRadioButton(self.tr("A page for &each learner"), self)
        self.outcome = labels.caption()
        self.trouble = labels.error()
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel, self)
        self.save = self.buttons.addButton(
            self.tr("&Save…"), QDialogButtonBox.ButtonRole.AcceptRole
        )
        self.save.setDefault(True)
        self._group(self.by_name, self.by_count)
        self._group(self.shared, self.each)
        self._arrange()
        self.names.textChanged.connect(self._follow)
        self.count.valueChanged.connect(self._follow)
        self.buttons.accepted.connect(self.saveRequested)
        self.buttons.rejected.connect(self.reject)
        self.names.setFocus()
        self._follow()

    @property
    def learners(self) -> tuple[str, ...]:
        """The names; none if learners are only counted."""
        return names_in(self.names.toPlainText()) if self.by_name.isChecked() else ()

    def files(self, path: Path) -> dict[Path, Exercise]:
        """The files that are wanted, with the exercise of each, if ``path`` was chosen."""
        if self.by_name.isChecked() and self.shared.isChecked():
            return {path: Exercise(learners=self.learners)}
        return exercise_files(path, self.learners, self.count.value())

    def _group(self, first: QRadioButton, second: QRadioButton) -> None:
        """One of the two is chosen, at first the first."""
        group = QButtonGroup(self)
        group.addButton(first)
        group.addButton(second)
        first.setChecked(True)
        first.toggled.connect(self._follow)

    def _arrange(self) -> None:
        counting = make_row(None, self.by_count, self.count, STRETCH)
        naming = make_row(None, self.by_name, STRETCH, self.from_file)
        about = labels.caption(
            self.tr(
                "Every learner gets numbers of their own: the first those of seed 1, the "
                "second those of seed 2. Answers name the seed, by which they are graded."
            )
        )
        written = labels.heading(self.tr("What is written"))
        whom = about, naming, (self.names, 1), counting
        what = written, self.shared, self.each, self.outcome, self.trouble
        make_column(self, *whom, *what, self.buttons, margins=None)
        self.resize(560, 520)

    def _follow(self) -> None:
        """Say what would be written, or why that can't be."""
        named = self.by_name.isChecked()
        for field in (self.names, self.from_file, self.shared):
            field.setEnabled(named)
        self.count.setEnabled(not named)
        if not named:
            self.each.setChecked(True)
        trouble = self._problem()
        ready = trouble == "" and (not named or bool(self.learners))
        self.save.setEnabled(ready)
        labels.show_or_hide(self.trouble, trouble or None)
        self.outcome.setText(self._outcome() if ready else "")

    def _problem(self) -> str:
        learners = self.learners
        if len(learners) > MOST_PAGES and self.each.isChecked():
            text = self.tr("{0} names, and at most {1} pages. Choose one page for all of them.")
            return text.format(len(learners), MOST_PAGES)
        try:
            Exercise(learners=learners).require(self._diagram)
        except RunError as error:
            return str(error)
        return ""

    def _outcome(self) -> str:
        files = [path.name for path in self.files(self._example)]
        if len(files) > 1:
            text = self.tr("{0} pages, {1} to {2}")
            return text.format(len(files), files[0], files[-1])
        if self.shared.isChecked():
            return self.tr("One page with {0} names, {1}").format(len(self.learners), files[0])
        return self.tr("One page, {0}").format(files[0])

    def _read(self) -> None:
        """Add the names of a file."""
        title, kinds = self.tr("Open a list of names"), self.tr("Text (*.txt *.csv);;All files (*)")
        path = path_to_open(self, title, kinds, self._folder)
        if path is None:
            return
        try:
            names = read_names(path)
        except FileError as error:
            labels.show_or_hide(self.trouble, str(error))
            return
        self.names.setPlainText("\n".join([*names_in(self.names.toPlainText()), *names]))
