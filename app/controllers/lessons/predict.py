"""Predict, then reveal: on any diagram, with everything hidden until the guess is committed."""

from __future__ import annotations

import math
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QTimer, Signal

from gradwire.app.canvas.state.marks import GuessLabel, GuessMarks, GuessStage
from gradwire.app.canvas.state.view_state import NOTHING
from gradwire.app.controllers.lessons.painting import Painting
from gradwire.app.controllers.lessons.step_views import MOST_BRUSHES, USUAL
from gradwire.app.evaluation.concealment import NUMBERS
from gradwire.app.panels.lessons.guess_form import GuessField
from gradwire.app.panels.lessons.player import OutcomeRow
from gradwire.app.panels.lessons.prediction import PredictionPanel
from gradwire.app.panels.workspace import QueryingPart
from gradwire.app.services.background import Cancelled
from gradwire.app.services.translation import editor
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.diagram import (
    ROOT,
    Batch,
    InstancePath,
    PortPath,
    SetParameters,
    WirePath,
    same_meaning,
)
from gradwire.runtime.flow import State
from gradwire.runtime.lessons import (
    MOST_ELEMENTS,
    AnswerError,
    Facts,
    Guess,
    Phase,
    PredictionOutcome,
    judge_all,
    painted_points,
    read_numbers,
    read_state,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradwire.app.canvas.scene.camera import Camera
    from gradwire.app.controllers.lessons.curtain import Curtain
    from gradwire.app.controllers.reveal import Reveal
    from gradwire.app.controllers.timeline import TimelineController
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.panels.workspace import Workspace
    from gradwire.runtime.diagram import Change, Diagram
    from gradwire.runtime.engine import Session

_NOT_ASKED = (State.UNKNOWN, State.NOTHING_TO_TRAIN)
_MOST_SAID = 4
"""Wrong wires that are listed."""


@dataclass(frozen=True)
class Questions:
    """What can be predicted of a diagram: gradients of variables, and states of wires."""

    diagram: Diagram
    facts: Facts
    sizes: Mapping[InstancePath, int]
    """How many numbers the gradient of each variable has."""
    wires: tuple[WirePath, ...]
    offered: tuple[State, ...]
    """The states to paint with: those that occur, and the usual ones."""

    def check(self, variable: InstancePath, text: str) -> None:
        """Raise AnswerError for a text that is no answer."""
        read_numbers(text, self.sizes[variable])


@dataclass(frozen=True)
class Judged:
    """Every guess beside what is computed, and where the first wrong one went wrong."""

    numbers: Mapping[InstancePath, PredictionOutcome]
    wires: Mapping[WirePath, PredictionOutcome]
    rows: tuple[OutcomeRow, ...]
    first: InstancePath | None
    place: InstancePath | None
    """The block that the first wrong number is about."""


def prepare(session: Session, losses: Sequence[str] | None) -> Questions:
    """The questions about a diagram. Raises what recording a step raises."""
    facts = Facts(session, losses or ())
    steps, states = facts.timeline.steps, facts.observed.states()
    known = {InstancePath(name): value.size for name, value in steps.before.items()}
    found = set(states.values())
    return Questions(
        session.diagram,
        facts,
        {name: size for name, size in known.items() if 0 < size <= MOST_ELEMENTS},
        tuple(WirePath(wire) for wire, state in states.items() if state not in _NOT_ASKED),
        tuple(state for state in State if state in found or state in USUAL)[:MOST_BRUSHES],
    )


def judge(
    session: Session,
    asked: Questions,
    typed: Mapping[InstancePath, str],
    painted: Mapping[WirePath, State],
) -> Judged:
    """Compare typed gradients and painted states with those of the run."""
    numbers, _ = judge_all(asked.facts, [Guess("gradient", n, text) for n, text in typed.items()])
    wires, _ = judge_all(asked.facts, [Guess("state", w, str(s)) for w, s in painted.items()])
    by_name = dict(zip(typed, numbers, strict=True))
    by_wire = dict(zip(painted, wires, strict=True))
    rows = [_row(name, outcome) for name, outcome in by_name.items()]
    rows += [_painted_row(asked, by_wire)] if by_wire else []
    wrong = [_block(o.place) for o in numbers if not o.right]
    places = [*wrong, *(wire.block for wire, o in by_wire.items() if not o.right)]
    return Judged(by_name, by_wire, tuple(rows), _first(asked, places), wrong[0] if wrong else None)


def _first(asked: Questions, places: Sequence[InstancePath]) -> InstancePath | None:
    """The block that backward reaches first."""
    turn = {place: asked.facts.timeline.position(Phase.BACKWARD, place) for place in places}
    reached = {place: at for place, at in turn.items() if at is not None}
    return min(reached, key=lambda place: reached[place], default=None)


def _block(place: str) -> InstancePath:
    """The block of a place: of a block, port or wire."""
    return PortPath.named(place).block


def _row(name: InstancePath, outcome: PredictionOutcome) -> OutcomeRow:
    return OutcomeRow(
        f"∂L/∂{name}", outcome.yours, outcome.actual, outcome.points, outcome.right,
        outcome.misconception, outcome.feedback, _block(outcome.place),
    )  # fmt: skip


def _painted_row(asked: Questions, outcomes: Mapping[WirePath, PredictionOutcome]) -> OutcomeRow:
    """All painted wires in one row; of the wrong ones, the first are listed."""
    wrong = {wire: found for wire, found in outcomes.items() if not found.right}
    said = [
        editor.tr("{0}: yours {1}, actual {2}").format(wire, words(o.yours), words(o.actual))
        for wire, o in [*wrong.items()][:_MOST_SAID]
    ]
    points = painted_points(asked.wires, {str(wire): found for wire, found in outcomes.items()})
    right = len(outcomes) - len(wrong)
    summary = editor.tr("{0} right, {1} wrong, of {2}")
    return OutcomeRow(
        editor.tr("Wires"),
        summary.format(right, len(wrong), len(asked.wires)),
        "",
        math.floor(10.0 * points + 0.5) / 10.0,
        not wrong,
        feedback=". ".join(said),
    )


def words(state: str) -> str:
    """A state, given by its name, in the words of its brush."""
    return editor.tr(read_state(state).row.title)


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
