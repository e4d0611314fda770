"""How a training begins: with which diagrams, recipe and names, and from which values; and what a
user should know about its recipe and its past.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer

from gradwire.app.panels.training.curves import ListedRun
from gradwire.app.services.background import Cancelled
from gradwire.app.services.translation import editor
from gradwire.runtime.training import LIMIT, CurveRecording, Ring

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gradwire.app.document.document import Document
    from gradwire.app.evaluation.training import TrainingControl, TrainingWorker
    from gradwire.app.evaluation.worker import Engines
    from gradwire.app.panels.training.curves import Curves
    from gradwire.app.services.settings import Settings
    from gradwire.runtime.diagram import Diagram, Training
    from gradwire.runtime.training import FollowedCourse, Frame, States, TrainerState

_MOST = 8
"""Runs that are kept; the oldest goes first."""


class Runs:
    """Recordings in the order in which they were made or read, in the panel of curves."""

    def __init__(self, panel: Curves) -> None:
        self._panel = panel
        self.listed: list[ListedRun] = []
        self.made = 0
        """How many there have been."""

    def next_name(self, start: int = 0) -> str:
        """The name of a new run, which goes on from a step of another if that is not 0."""
        name = editor.tr("Run {0}").format(self.made + 1)
        return editor.tr("{0} from step {1}").format(name, f"{start:,}") if start else name

    def show(self, recordings: Iterable[CurveRecording]) -> None:
        """List recordings, each that is not listed yet in the next colour."""
        known = {id(run.recording) for run in self.listed}
        new = [recording for recording in recordings if id(recording) not in known]
        for recording in new:
            self.listed.append(ListedRun(recording, self.made))
            self.made += 1
        del self.listed[:-_MOST]
        if new:
            self._panel.show_runs(self.listed)

    def place_of(self, recording: CurveRecording | None, default: int) -> int:
        """The number of a recording's colour; before it is listed, that of a new one."""
        places = (run.place for run in self.listed if run.recording is recording)
        return next(places, self.made + default)

    def forget(self, run: ListedRun) -> None:
        """Remove a run from the list."""
        self.listed = [other for other in self.listed if other is not run]
        self._panel.show_runs(self.listed)

    def clear(self) -> None:
        """Remove all, since another diagram is open."""
        self.listed, self.made = [], 0
        self._panel.show_runs([])


_HELD = 16 * 2**20
"""Bytes of states that the window keeps, in case that the process of the courses ends."""
_AFTER = 1000
"""Milliseconds after a diagram is open until a process for its training starts."""


class Beginning:
    """Has courses made of the document's diagram and of those that it is compared with.

    They begin with the values of the document or, where a process has ended, with the states that
    it reached.
    """

    def __init__(
        self,
        document: Document,
        worker: TrainingWorker,
        runs: Runs,
        settings: Settings,
        engines: Engines,
    ) -> None:
        self._document, self._worker, self.engines = document, worker, engines
        self._runs, self._settings = runs, settings
        self.variants: tuple[Callable[[Diagram], Diagram], ...] = ()
        """What makes the other diagrams of the document's."""
        self.names: tuple[str, ...] = ()
        """The names of runs that are compared; else they are numbered."""
        self.lost: tuple[FollowedCourse, ...] = ()
        """Courses whose process has ended."""
        self._held: Ring[tuple[TrainerState, ...]] = Ring(_HELD)
        """The states of frames since the start or the last edit."""

    def hold(self, frame: Frame) -> None:
        """Keep the states of a frame, in case that the process of the courses ends."""
        if not frame.step:
            self._held = Ring(_HELD)
        states = tuple(lane.state for lane in frame.lanes)
        self._held.forget_after(frame.step)
        self._held.add(frame.step, states, sum(state.nbytes for state in states))

    def begin(self, shown: Frame | None) -> int:
        """Have courses made; returns the step at which they begin. ``shown`` has the states that
        lost courses were in, if the document is still as it was then.
        """
        diagram, lost, self.lost = self._document.diagram, self.lost, ()
        diagrams = [diagram, *(variant(diagram) for variant in self.variants)]
        recordings = [CurveRecording(name) for name in self.names or (self._runs.next_name(),)]
        states, past, step = [], [], 0
        if lost and shown is not None:
            states, step = [lane.state for lane in shown.lanes], shown.step
            held = [self._held.before(at)[1] for at in self._held.steps if at < step]
            past = [*zip(*held, strict=True)]
            names = zip(lost, self.names_from(step), strict=True)
            recordings = [course.recording.copy(name, step) for course, name in names]
        given = default_recipe(self._settings.rate)
        engine = self.engines.choice
        self._worker.begin(diagrams, recordings, given, LIMIT, states, past, engine)
        return step

    def lose(
        self, courses: tuple[FollowedCourse, ...], shown: Frame | None, error: Exception
    ) -> str:
        """Keep courses whose process has ended, if it is known what they were in last; returns
        what the user should know.
        """
        self.lost = courses if shown is not None else ()
        if shown is None or not courses:
            return about_loss(error, None)
        return about_loss(error, shown.step, min((*self._held.steps, shown.step)))

    def edit_of(self, edit: tuple[Diagram, Diagram]) -> list[tuple[Diagram, Diagram]]:
        """For each course what was shown, and what it is to be."""
        self._held = Ring(_HELD)  # other numbers led to these states
        before, after = edit
        return [edit, *((variant(before), variant(after)) for variant in self.variants)]

    def prepare(self) -> None:
        """Have a process ready soon if the diagram that is being opened is meant to be trained."""
        QTimer.singleShot(_AFTER, self._worker, self._prepare)

    def _prepare(self) -> None:
        if self._document.diagram.training is not None:
            self._worker.prepare()

    def names_from(self, step: int) -> list[str]:
        """The names of runs that go on from a step."""
        start = editor.tr("{0} from step {1}")
        names = [start.format(name, f"{step:,}") for name in self.names]
        return names or [self._runs.next_name(step)]

    def about(self, courses: Sequence[FollowedCourse]) -> str:
        """By what recipe the diagram is trained if it has none, and which variables stay."""
        return about_recipe(self._document.diagram, courses, self._settings.rate)


def default_recipe(rate: float) -> Training:
    """Gradient descent on the sum of all losses, with the rate of the settings."""
    from gradwire.runtime.diagram import OptimiserRule, SGDMethod, Training

    return Training(optimisers=(OptimiserRule(name="SGD", method=SGDMethod(lr=rate)),))


def about_recipe(diagram: Diagram, courses: Sequence[FollowedCourse], rate: float) -> str:
    """By what recipe a diagram is trained if it has none, and which variables stay."""
    texts = []
    if diagram.training is None:
        text = editor.tr("Without a recipe, SGD with a rate of {0} follows the sum of all losses.")
        texts.append(text.format(f"{rate:g}"))
    if courses:
        texts += courses[0].notes
    return " ".join(texts)


def undo_text(control: TrainingControl | None) -> str:
    """The name of the undo of a run, of a single step, or without one of going back."""
    if control is None:
        return editor.tr("Go to a step of the training")
    return editor.tr("Training step") if control.most == 1 else editor.tr("Train")


def about_past(step: int) -> str:
    """That an earlier step is shown."""
    text = editor.tr(
        "Values, wires and reasons are those of step {0}. Play goes on from here, as another run."
    )
    return text.format(f"{step:,}")


def about_memory(states: Sequence[States]) -> str:
    """How far back a training goes, and in what memory."""
    used, limit = sum(kept.nbytes for kept in states), sum(kept.limit for kept in states)
    first = states[0]
    text = editor.tr("Back to any step: {0} states are kept, {1} steps apart, in {2} of {3} MiB.")
    found = text.format(first.kept, first.spacing, f"{used / 2**20:.1f}", limit // 2**20)
    if first.first:
        lost = editor.tr("Steps before {0} can't be reached any more.").format(f"{first.first:,}")
        found = f"{found} {lost}"
    return found


def about_loss(error: Exception, step: int | None, first: int = 0) -> str:
    """Why a training has ended with its process, and from where Play goes on: a step, or None for
    a new run; ``first`` is the first step that can still be reached.
    """
    if isinstance(error, Cancelled):
        text = editor.tr("The training was cancelled.")
    else:
        text = editor.tr("The training has stopped: {0}.").format(error)
    if step is None:
        return f"{text} " + editor.tr("Play begins a new run.")
    more = editor.tr("Nothing that is shown is lost: Play goes on from step {0}.")
    text = f"{text} {more.format(f'{step:,}')}"
    if first < step:
        back = editor.tr("The scale leads back to any step from {0} on.")
        text = f"{text} {back.format(f'{first:,}')}"
    return text
