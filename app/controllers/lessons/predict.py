"""Predict, then reveal: on any diagram, with everything hidden until the guess is committed."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QTimer, Signal

from gradwire.app.canvas.state.marks import GuessLabel, GuessMarks, GuessStage
from gradwire.app.canvas.state.view_state import NOTHING
from gradwire.app.controllers.lessons.judging import Judged, Questions, judge, prepare
from gradwire.app.controllers.lessons.painting import Painting
from gradwire.app.evaluation.concealment import NUMBERS
from gradwire.app.panels.lessons.guess_form import GuessField
from gradwire.app.panels.lessons.prediction import PredictionPanel
from gradwire.app.panels.workspace import QueryingPart
from gradwire.app.services.background import Cancelled
from gradwire.app.services.translation import editor
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram import (
    ROOT,
    Batch,
    InstancePath,
    SetParameters,
    WirePath,
    same_meaning,
)
from gradwire.runtime.lessons import AnswerError

if TYPE_CHECKING:
    from gradwire.app.canvas.scene.camera import Camera
    from gradwire.app.controllers.lessons.curtain import Curtain
    from gradwire.app.controllers.reveal import Reveal
    from gradwire.app.controllers.timeline import TimelineController
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.panels.workspace import Workspace
    from gradwire.runtime.diagram import Change

_KIND = "prediction"
MOST_FIELDS = 12
"""Variables that are asked for at most."""
_FITTED = 40
"""Blocks of the largest page that is fitted."""
_NUMBERS = (-3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 4.0, 5.0)
"""What variables become when other numbers are wanted."""


class PredictController(QueryingPart):
    """The prediction of one window. It never changes the document."""

    toggled = Signal(bool)
    """A prediction has begun or ended."""
    panelRequested = Signal()

    def __init__(
        self, workspace: Workspace, curtain: Curtain, timeline: TimelineController, reveal: Reveal
    ) -> None:
        super().__init__(workspace)
        self._curtain = curtain
        self._timeline = timeline
        self._use = ROOT
        self._is_on = False
        self._asked: Questions | None = None
        self._typed: dict[InstancePath, str] = {}
        self._judged: Judged | None = None
        self._random = Random(0)
        self._cameras: dict[str, Camera] = {}
        """What was in view before."""
        self.panel = PredictionPanel(self._frame)
        self.painting = Painting(self._canvas, self.panel.form, self._accept, self)
        self.painting.changed.connect(self._show_painted)
        panel, form = self.panel, self.panel.form
        panel.startRequested.connect(self.start)
        panel.endRequested.connect(self.end)
        panel.replayRequested.connect(self.replay)
        panel.againRequested.connect(self.again)
        panel.outcomes.placeRequested.connect(lambda place: reveal.path(InstancePath(place)))
        form.typed.connect(lambda name, text: self._type(InstancePath(name), text))
        form.committed.connect(self.commit)
        self._document.opened.connect(self.end)

    @property
    def is_on(self) -> bool:
        """Whether a prediction is being made or looked at."""
        return self._is_on

    def toggle(self) -> None:
        """Begin a prediction, or end it."""
        if self._is_on:
            self.end()
        else:
            self.start()

    def start(self) -> None:
        """Hide everything, and ask."""
        self._is_on = True
        self.toggled.emit(True)
        self._timeline.leave()
        self._cameras = self._canvas.cameras()
        self._curtain.hide(NUMBERS)
        self.panelRequested.emit()
        QTimer.singleShot(0, self, self._show_whole)  # once the panel has its room
        self._ask()

    def end(self) -> None:
        """Show the diagram as it was before."""
        if not self._is_on:
            return
        self._is_on = False
        self.worker.cancel(_KIND)
        self._timeline.leave()
        self._forget()
        self._document.preview(None)
        self._curtain.hide(())
        self.panel.show_idle()
        self.toggled.emit(False)
        self._canvas.restore_cameras(self._cameras)
        self._canvas.setFocus()

    def again(self) -> None:
        """Ask again, with other numbers; the document keeps its own."""
        self._timeline.leave()
        self._curtain.hide(NUMBERS)
        self._document.preview(None)
        self._document.preview(self._other_numbers())
        self._ask()

    def set_result(self, result: EvaluationResult, use: InstancePath) -> None:
        """Follow the page, and ask anew where the diagram has changed."""
        self._use = self.painting.use = use
        if not self._is_on:
            return
        if self._asked is not None and not same_meaning(self._asked.diagram, result.diagram):
            if self._judged is not None:
                self._timeline.leave()
                self._curtain.hide(NUMBERS)
            self._ask()
        self._show_marks()

    # ---- asking -------------------------------------------------------------------------------

    def _ask(self) -> None:
        self._forget()
        losses = None if self._losses.chosen is None else [self._losses.chosen]
        self.worker.query(_KIND, self._document.diagram, partial(prepare, losses=losses))

    def _show_whole(self) -> None:
        """Fit a page of few blocks that the panel has left too little room for."""
        view = self._canvas.view
        if (bounds := view.scene.bounds()) is None or len(view.scene.names) > _FITTED:
            return
        (left, top), (right, bottom) = view.camera.to_widget(bounds.reshape(2, 2)).tolist()
        if not QRectF(self._canvas.rect()).contains(QRectF(left, top, right - left, bottom - top)):
            self._canvas.zoom_to_fit()

    def _forget(self) -> None:
        self._asked = self._judged = None
        self._typed = {}
        self.painting.wires.clear()
        self._show_marks()

    def _take(self, kind: str, answer: object) -> None:
        if isinstance(answer, Cancelled) or not self._is_on:
            return
        if isinstance(answer, Judged):
            self._compare(answer)
            return
        if not isinstance(answer, Questions) or not (answer.sizes or answer.wires):
            nothing = self.tr("There is nothing to predict: no variable is trained here.")
            self.end()
            self.panel.show_idle(nothing if isinstance(answer, Questions) else str(answer))
            return
        self._asked = answer
        fields = [*answer.sizes][:MOST_FIELDS]
        asked = {str(name): self._field(name) for name in fields}
        self.panel.show_questions(asked, answer.offered)
        self._show_painted()
        self._show_marks()
        self.panel.form.focus_first()

    def _field(self, name: InstancePath) -> GuessField:
        assert self._asked is not None
        size = self._asked.sizes[name]
        several = self.tr("{0} numbers or None").format(size)
        return GuessField(f"∂L/∂{name}", several if size > 1 else self.tr("number or None"))

    def _type(self, name: InstancePath, text: str) -> None:
        self._typed[name] = text
        if not text.strip():
            del self._typed[name]
        self._show_marks()

    def _accept(self, block: str, text: str) -> bool:
        """Take what was typed on the canvas."""
        name = self._use / block
        if text.strip() and not self._is_answer(name, text):
            return False
        self._type(name, text)
        self.panel.form.show_typed(name, text)
        return True

    def _is_answer(self, name: InstancePath, text: str) -> bool:
        assert self._asked is not None
        try:
            self._asked.check(name, text)
        except AnswerError:
            return False
        return True

    def _show_painted(self) -> None:
        assert self._asked is not None
        self.panel.form.show_painted(len(self.painting.wires), len(self._asked.wires))
        self._curtain.hide(NUMBERS, self.painting.by_name)

    # ---- comparing ----------------------------------------------------------------------------

    def commit(self) -> None:
        """Compare what was typed and painted with the run, once."""
        asked, form = self._asked, self.panel.form
        if asked is None or self._judged is not None:
            return
        wrong = [name for name, text in self._typed.items() if not self._is_answer(name, text)]
        if wrong:
            size = asked.sizes[wrong[0]]
            one = self.tr("{0}: type a number such as -2.5, or None.").format(wrong[0])
            several = self.tr("{0}: type {1} numbers, or None.").format(wrong[0], size)
            form.show_problem(several if size > 1 else one)
            form.fields[wrong[0]].setFocus()
            return
        if not (self._typed or self.painting.wires):
            form.show_problem(self.tr("Type a gradient, or paint a wire."))
            return
        form.setEnabled(False)
        job = partial(judge, asked=asked, typed={**self._typed}, painted={**self.painting.wires})
        self.worker.query(_KIND, asked.diagram, job)

    def _compare(self, judged: Judged) -> None:
        """Show yours beside the actual, and play from the first difference."""
        self._judged = judged
        points = sum(row.points for row in judged.rows)
        summary = self.tr("{0} of {1} points").format(f"{points:g}", 4 * len(judged.rows))
        again = self._other_numbers() is not None
        self.panel.show_outcomes(
            judged.rows, summary, replays=judged.first is not None, again=again
        )
        self._canvas.set_selection(NOTHING)
        self._curtain.hide(())
        self._show_marks()
        self.replay()

    def replay(self) -> None:
        """Play backward from where the guess first went wrong."""
        if self._judged is not None and self._judged.first is not None:
            self._timeline.replay(self._judged.first)

    def _other_numbers(self) -> Change | None:
        """Other numbers in the scalar variables; None if there are none."""
        diagram, changes = self._document.diagram, []
        for title, page in diagram.pages.items():
            for name, block in page.blocks.items():
                if isinstance(block, Variable) and _is_scalar(block):
                    value = {"value": self._random.choice(_NUMBERS)}
                    changes.append(SetParameters(name, value, page=title))
        return Batch(editor.tr("Other numbers"), tuple(changes)) if changes else None

    # ---- marks --------------------------------------------------------------------------------

    def _show_marks(self) -> None:
        marks = None if self._asked is None else self._marks(self._asked)
        self.painting.show(marks)

    def _marks(self, asked: Questions) -> GuessMarks:
        judged = self._judged
        paths = asked.sizes if judged is None else judged.numbers
        blocks = {path.name: self._block_guess(path) for path in paths if path.use == self._use}
        shown = asked.wires if judged is None else judged.wires
        here = ((w, str(w.relative_to(self._use))) for w in shown if self._is_here(w))
        wires = {key: self._wire_guess(wire) for wire, key in here}
        place = None if judged is None else judged.place
        is_here = place is not None and place.use == self._use
        return GuessMarks(blocks, wires, place.name if place is not None and is_here else "")

    def _is_here(self, wire: WirePath) -> bool:
        return wire.block.use == self._use and not wire.leaf

    def _block_guess(self, path: InstancePath) -> GuessLabel:
        typed = self._typed.get(path, "")
        if self._judged is None:
            stage = GuessStage.GUESSED if typed else GuessStage.OPEN
            return GuessLabel(f"∇ {typed}" if typed else "∇ ?", stage, typed)
        row = self._judged.numbers[path]
        if row.right:
            return GuessLabel(row.yours, GuessStage.RIGHT, typed)
        text = self.tr("yours {0}, actual {1}").format(row.yours, row.actual)
        return GuessLabel(text, GuessStage.WRONG, typed)

    def _wire_guess(self, wire: WirePath) -> GuessLabel:
        painted = self.painting.wires.get(wire)
        if painted is None:
            return GuessLabel("")
        if self._judged is None:
            return GuessLabel("", GuessStage.GUESSED)
        if self._judged.wires[wire].right:
            return GuessLabel("", GuessStage.RIGHT)
        return GuessLabel(editor.tr(painted.row.title), GuessStage.WRONG)


def _is_scalar(block: Variable) -> bool:
    return block.value is not None and not block.value.shape
