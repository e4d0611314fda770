"""Writes the lesson of a diagram: every edit is one undo, checked and read back at once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError
from PySide6.QtCore import Signal

from gradwire.app.evaluation.worker import Worker
from gradwire.app.panels.lessons.authoring import AuthoringPanel
from gradwire.app.panels.workspace import WindowPart
from gradwire.blocks.errors import GradwireError
from gradwire.runtime.diagram import ROOT, InstancePath, Lesson, PredictStep, SetLesson, WirePath
from gradwire.runtime.lessons import amount

if TYPE_CHECKING:
    from gradwire.app.canvas.state.view_state import Selection
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.evaluation.worker import Superseded
    from gradwire.app.panels.workspace import Workspace
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.lessons import Walk

_CHECK = "lesson"


class _Checked(NamedTuple):
    """What is wrong with a lesson, and how the text of a step reads."""

    problems: list[str]
    text: str


class AuthoringController(WindowPart):
    """The lesson that is written in one window."""

    panelRequested = Signal()

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._use = ROOT
        self._place = 0
        self.panel = AuthoringPanel(self._frame)
        self.worker = Worker(self)
        self.worker.finished.connect(self._take)
        panel = self.panel
        panel.lessonChanged.connect(self._change)
        panel.stepChanged.connect(self._change_step)
        panel.stepAdded.connect(self._add)
        panel.stepRemoved.connect(self._remove)
        panel.stepMoved.connect(self._move)
        panel.stepChosen.connect(self._choose)
        self._document.diagramChanged.connect(self._follow)
        self._canvas.selectionChanged.connect(self._pick)

    def show(self) -> None:
        """Bring the panel up, with the lesson of the diagram, or none yet."""
        self.panelRequested.emit()
        self._show()

    def set_result(self, result: EvaluationResult, use: InstancePath) -> None:
        """Follow the page, by which picked paths begin."""
        self._use = use

    # ---- edits --------------------------------------------------------------------------------

    def _record(self) -> dict[str, Any]:
        lesson = self._document.diagram.lesson
        return {} if lesson is None else lesson.to_record()

    def _change(self, key: str, value: object) -> None:
        self._apply(self._record() | {key: value})

    def _change_step(self, key: str, value: object) -> None:
        record = self._record()
        record["steps"][self._place][key] = value
        self._apply(record)

    def _add(self, kind: str) -> None:
        record = self._record()
        steps = record.setdefault("steps", [])
        place = min(self._place + 1, len(steps))
        steps.insert(place, {"do": kind})
        self._apply(record, place)

    def _remove(self) -> None:
        record = self._record()
        del record["steps"][self._place]
        self._apply(record, max(0, self._place - 1))

    def _move(self, by: int) -> None:
        record, place = self._record(), self._place + by
        steps = record["steps"]
        if 0 <= place < len(steps):
            steps.insert(place, steps.pop(self._place))
            self._apply(record, place)

    def _apply(self, record: dict[str, Any], place: int | None = None) -> None:
        """Change the lesson, as one undo; what is no lesson is refused with the reason."""
        try:
            lesson = Lesson.model_validate(record)
        except ValidationError as error:
            first = error.errors()[0]
            where = ", ".join(map(str, first["loc"]))
            self.panel.show_problems([f"{where}: {first['msg']}"])
            return
        before, self._place = self._place, self._place if place is None else place
        if not self._document.apply(SetLesson(lesson)):
            self._place = before

    # ---- showing ------------------------------------------------------------------------------

    def _choose(self, place: int) -> None:
        self._place = place
        self._show()

    def _follow(self, diagram: Diagram) -> None:
        if self.panel.isVisible():
            self._show()

    def _show(self) -> None:
        diagram, record = self._document.diagram, self._record()
        steps = record.get("steps", [])
        self._place = max(0, min(self._place, len(steps) - 1))
        self.panel.show_lesson(record, self._place)
        if steps:
            self.worker.submit(_CHECK, partial(_check, diagram, self._place))
        else:
            self.worker.cancel(_CHECK)
            self.panel.show_problems([])
            self.panel.show_preview("")

    def _take(self, kind: str, answer: object) -> None:
        if isinstance(answer, _Checked):
            self.panel.show_problems(answer.problems)
            self.panel.show_preview(answer.text)

    def _pick(self, selection: Selection) -> None:
        form = self.panel.form
        if form is None or not form.is_picking:
            return
        wire = selection.wire
        picked = [] if wire is None else [str(WirePath(wire).within(self._use))]
        picked += [str(self._use / name) for name in sorted(selection.blocks)]
        if picked:
            form.pick(picked)


def _check(diagram: Diagram, place: int, superseded: Superseded) -> _Checked:
    """What ``gradwire check`` says about the lesson and one of its steps, and how that reads."""
    from gradwire.runtime.lessons import Walk, check_lesson

    found = check_lesson(diagram)
    problems = [str(each.diagnostic) for each in found if each.step in (None, place + 1)]
    try:
        walk = Walk(diagram)
        while walk.index < place and walk.advance():
            pass
        text = "\n\n".join([walk.text(), *_wrong_answers(walk)])
    except GradwireError as error:
        return _Checked(problems or [str(error)], "")
    return _Checked(problems, text)


def _wrong_answers(walk: Walk) -> list[str]:
    """What the author's wrong answers to a step are worth now, and what is said to them.

    Raises GradwireError.
    """
    from gradwire.runtime.lessons import filled, wrong_value

    step, facts = walk.step, walk.facts
    if not isinstance(step, PredictStep):
        return []
    return [
        f"✗ {amount(wrong_value(wrong, facts))}: **{wrong.name}**. {filled(wrong.feedback, facts)}"
        for wrong in step.wrong
    ]
