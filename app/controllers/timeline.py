"""Plays a training step on the canvas: what is known at a position, and what has just happened."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QInputDialog

from gradwire.app.canvas.state.marks import TrialMarks
from gradwire.app.canvas.state.view_state import WireNumbers
from gradwire.app.evaluation.concealment import known, unknown
from gradwire.app.panels.bars.timeline_bar import TimelineBar
from gradwire.app.panels.workspace import QueryingPart
from gradwire.app.services.background import Cancelled
from gradwire.runtime.diagram import ROOT, InstancePath, same_meaning
from gradwire.runtime.lessons import (
    Breakpoint,
    Detail,
    ForwardStep,
    GradientExceeds,
    GradientReaches,
    NotFinite,
    Phase,
    PrimitiveForward,
    Timeline,
    record,
    sentence,
    short,
)
from gradwire.runtime.training import SGD

if TYPE_CHECKING:
    from PySide6.QtGui import QKeyEvent

    from gradwire.app.controllers.trial import Trial
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.panels.workspace import Workspace
    from gradwire.runtime.diagram import Diagram, InstancePath
    from gradwire.runtime.engine import Session
    from gradwire.runtime.lessons import Step

_RECORDING, _SEARCH = "timeline", "search"
GRADIENTS = WireNumbers(value=False, gradient=True, everywhere=True)
"""The numbers on wires while a timeline is shown."""
_TOLD = {True: frozenset({"values"}), False: frozenset({"gradients", "states"})}
"""What an event tells of: a forward one, or another."""


class TimelineController(QueryingPart):
    """The timeline of one window. It withholds from all views what its position has not come to."""

    changed = Signal()
    """Another part of the result is known, so it is to be shown again."""
    toggled = Signal(bool)
    """The timeline is shown, or was left."""

    def __init__(self, workspace: Workspace, trial: Trial) -> None:
        super().__init__(workspace)
        self._trial = trial
        self._use = ROOT
        self._hidden: frozenset[str] = frozenset()
        """What a learner does not see yet, of values, gradients and states."""
        self._diagram: Diagram | None = None
        self._timeline: Timeline | None = None
        self._loss: str | None = None
        self._position = 0
        self._wanted: Callable[[Timeline], range] | None = None
        """The positions to play once the recording is there."""
        self._still = 0
        """Which of them is shown where nothing moves."""
        self._last = 0
        """The position at which playing ends."""
        self.bar = TimelineBar(self._frame)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._play_on)
        self._connect_bar()
        self._document.opened.connect(self.leave)
        trial.changed.connect(self._leave_to_trial)
        self._canvas.installEventFilter(self)

    def _connect_bar(self) -> None:
        bar = self.bar
        bar.played.connect(self.toggle_play)
        bar.stepped.connect(self.step)
        bar.moved.connect(self.go)
        bar.detailChosen.connect(self._show_detail)
        bar.closed.connect(self.leave)
        bar.speed.currentIndexChanged.connect(lambda: self._timer.setInterval(bar.interval))
        bar.reachedRequested.connect(self._run_to_selection)
        bar.exceededRequested.connect(self._run_to_limit)
        bar.notFiniteRequested.connect(lambda: self.run_until(NotFinite()))

    @property
    def is_on(self) -> bool:
        """Whether a timeline is shown or being recorded."""
        return not self.bar.isHidden()

    @property
    def position(self) -> int:
        """The position shown; 0 before the first event."""
        return self._position

    @property
    def is_playing(self) -> bool:
        """Whether it goes on by itself."""
        return self._timer.isActive()

    def toggle(self) -> None:
        """Record and show the timeline from its start, or leave it."""
        if self.is_on:
            self._leave()
            return
        self._trial.discard()
        self._position = 0
        self.bar.show()
        self._record()
        self.changed.emit()
        self._canvas.setFocus()
        self.toggled.emit(True)

    def leave(self) -> None:
        """End the timeline if it is shown."""
        if self.is_on:
            self._leave()

    def replay(self, block: InstancePath) -> None:
        """Play from where gradient passes a block; under Reduced Motion only go there."""
        self._play(partial(from_block, block=block), still=0)

    def play(self, first: Phase, last: Phase) -> None:
        """Play the phases from ``first`` to ``last``; under Reduced Motion show how they end."""
        self._play(partial(phases, first=first, last=last), still=-1)

    def _play(self, wanted: Callable[[Timeline], range], still: int) -> None:
        self._wanted, self._still = wanted, still
        if not self.is_on:
            self.toggle()
        elif self._timeline is not None:
            self._play_wanted()

    def _play_wanted(self) -> None:
        """Go to the event before the first that is to be seen, and play on."""
        wanted, self._wanted = self._wanted, None
        if wanted is None or self._timeline is None or not (span := wanted(self._timeline)):
            return
        self.go(span[self._still] if self._settings.reduced_motion else span[0] - 1)
        if not self._settings.reduced_motion:
            self.toggle_play()
            self._last = span[-1]

    def overlay(self, result: EvaluationResult) -> EvaluationResult:
        """What is known of ``result`` at the position; nothing until it is recorded."""
        if not self.is_on:
            return result
        timeline = self._timeline if self._is_about(result.diagram) else None
        return unknown(result) if timeline is None else known(result, timeline, self._position)

    def set_result(self, result: EvaluationResult, use: InstancePath) -> None:
        """Mark where the timeline is; record again where the document is about something else."""
        self._use, self._hidden = use, result.hidden
        if not self.is_on:
            return
        if self._is_about(self._document.diagram):
            self._show_event()
        else:
            self._record()

    def _is_about(self, diagram: Diagram) -> bool:
        """Whether ``diagram`` is the one recorded, for the loss that is chosen."""
        about, loss = self._diagram, self._losses.chosen
        return about is not None and self._loss == loss and same_meaning(about, diagram)

    # ---- going on ------------------------------------------------------------------------------

    def toggle_play(self) -> None:
        """Go on by itself, from the start if the end is reached; or pause."""
        timeline = self._timeline
        if self.is_playing or timeline is None:
            self._pause()
            return
        if self._position == len(timeline):
            self._show_at(0)
        self._last = len(timeline)
        self._timer.start(self.bar.interval)
        self.bar.show_playing(is_playing=True)

    def step(self, by: int) -> None:
        """Go so many events on, or back if negative."""
        self.go(self._position + by)

    def step_on_selection(self, *, back: bool = False) -> None:
        """Go to the next or previous event of the selected blocks; of any, if none is selected."""
        timeline, paths = self._timeline, self._selected()
        if timeline is None or not paths:
            self.step(-1 if back else 1)
            return
        find = timeline.preceding if back else timeline.following
        found = find(self._position, paths)
        if found == self._position:
            self._canvas.hint(self.tr("The selection has no other event that way."))
        self.go(found)

    def go(self, position: int) -> None:
        """Go to a position, or the nearest there is, and pause."""
        self.worker.cancel(_SEARCH)
        self._pause()
        self._show_at(position)

    def run_until(self, wanted: Breakpoint) -> None:
        """Go to the next event at which a breakpoint stops; to none where it would tell what is
        hidden.
        """
        if self._hidden & _TOLD[False]:
            self._canvas.hint(self.tr("Gradients are hidden until you have answered."))
            return
        timeline, diagram = self._timeline, self._diagram
        if timeline is None or diagram is None:
            return
        self._pause()
        self.bar.show_text(self.tr("Searching …"))
        job = partial(_search, timeline, wanted, self._position)
        self.worker.query(_SEARCH, diagram, job)

    # ---- what an event is ----------------------------------------------------------------------

    def choose_detail(self, detail: Detail) -> None:
        """Show steps by block, or by the primitives inside blocks."""
        self.bar.detail.setCurrentIndex(self.bar.detail.findData(detail))

    def _show_detail(self, detail: Detail) -> None:
        timeline, diagram = self._timeline, self._diagram
        if diagram is None:
            return
        if timeline is None:
            self._record()
            return
        self.worker.cancel(_SEARCH)
        self._pause()
        self.worker.query(_RECORDING, diagram, lambda _: timeline.by(detail))

    def _take_timeline(self, timeline: Timeline) -> None:
        before, self._timeline = self._timeline, timeline
        if before is not None and before.steps is timeline.steps:
            self._position = timeline.counterpart(before.event(self._position))

    def _run_to_selection(self) -> None:
        paths = self._selected()
        if len(paths) == 1:
            self.run_until(GradientReaches(paths[0]))
        else:
            self._canvas.hint(self.tr("Select one block for the gradient to reach."))

    def _run_to_limit(self) -> None:
        limit, accepted = QInputDialog.getDouble(
            self.bar,
            self.tr("Run until a gradient exceeds"),
            self.tr("The absolute value that one of its elements exceeds:"),
            1.0, 0.0, 1e30, 6,
        )  # fmt: skip
        if accepted:
            self.run_until(GradientExceeds(limit))

    def _selected(self) -> list[InstancePath]:
        return [self._use / name for name in sorted(self._canvas.selection())]

    def _play_on(self) -> None:
        self._show_at(self._position + 1)
        if self._timeline is None or self._position >= self._last:
            self._pause()

    def _pause(self) -> None:
        self._timer.stop()
        self.bar.show_playing(is_playing=False)

    # ---- showing -------------------------------------------------------------------------------

    def _record(self) -> None:
        self._diagram, self._loss = self._document.diagram, self._losses.chosen
        self._timeline = None
        self._pause()
        self.bar.wait()
        losses = None if self._loss is None else [self._loss]
        job = partial(
            record, losses=losses, optimiser=SGD(self._settings.rate), detail=self.bar.chosen_detail
        )
        self.worker.query(_RECORDING, self._diagram, job)

    def _take(self, kind: str, answer: object) -> None:
        if kind == _SEARCH:
            self.changed.emit()
            if isinstance(answer, int):
                self.go(answer)
            else:
                self._canvas.hint(self.tr("No later event of this step is such a one."))
            return
        if isinstance(answer, Timeline):
            self._document.succeeded.emit(())
            self._take_timeline(answer)
            self.bar.set_phases(len(answer), answer.phases)
            self._canvas.set_wire_numbers(GRADIENTS)
            self._show_at(self._position)
            self._play_wanted()
            return
        if not isinstance(answer, Cancelled):
            self._notice.show_message(self.tr("The timeline can't be recorded. {0}").format(answer))
        self.leave()

    def _show_at(self, position: int) -> None:
        if self._timeline is not None:
            self._position = min(max(0, position), len(self._timeline))
            self.changed.emit()

    def _show_event(self) -> None:
        """Say what has just happened, and mark it on the canvas."""
        timeline, at = self._timeline, self._position
        if timeline is None:
            return
        step = timeline.step(at)
        if step is None:
            self._canvas.show_trial(None)
            text = self.tr("Nothing is computed yet. Space plays, → goes on by one event.")
            self.bar.show_position(at, text)
            return
        is_told = not self._hidden & _TOLD[isinstance(step, ForwardStep | PrimitiveForward)]
        said = sentence(timeline.steps, step) if is_told else self._bare(step)
        self.bar.show_position(at, said)
        name = step.path.block_below(self._use)
        if name is None or name not in self._canvas.view.scene.index:
            self._canvas.show_trial(None)
            return
        text = step.path.name
        if step.path.use == self._use:
            text = short(timeline.steps, step) if is_told else ""
        self._canvas.show_trial(TrialMarks(current=name, changes={name: text} if text else {}))
        if not self._canvas.rect().contains(self._canvas.block_rect(name)):
            bounds = self._canvas.view.scene.bounds_of([name])
            assert bounds is not None  # the block is on the page
            self._canvas.reveal(bounds)

    def _bare(self, step: Step) -> str:
        """Which event it is, without what is hidden."""
        is_forward = isinstance(step, ForwardStep | PrimitiveForward)
        text = self.tr("Forward: {0}") if is_forward else self.tr("Backward: {0}")
        return text.format(step.path)

    def _leave_to_trial(self) -> None:
        if self.is_on and self._trial.active:
            self.leave()

    def _leave(self) -> None:
        self.worker.cancel(_RECORDING)
        self.worker.cancel(_SEARCH)
        self._pause()
        self._timeline = self._diagram = self._wanted = None
        self.bar.hide()
        self._canvas.show_trial(None)
        chosen = WireNumbers.chosen(self._settings.wire_numbers, self._settings.numbered_wires)
        self._canvas.set_wire_numbers(chosen)
        self.changed.emit()
        self.toggled.emit(False)

    # ---- keys ----------------------------------------------------------------------------------

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kinds = (QEvent.Type.KeyPress, QEvent.Type.ShortcutOverride)
        if not self.is_on or event.type() not in kinds:
            return False
        key = cast("QKeyEvent", event)
        is_shifted = key.modifiers() == Qt.KeyboardModifier.ShiftModifier
        if not (is_shifted or key.modifiers() == Qt.KeyboardModifier.NoModifier):
            return False
        act = self._act(Qt.Key(key.key()), is_shifted=is_shifted)
        if act is None:
            return False
        event.accept()
        if event.type() == QEvent.Type.KeyPress:
            act()
        return True

    def _act(self, key: Qt.Key, *, is_shifted: bool) -> Any:
        """What a key does here; None for one that the timeline does not use."""
        if is_shifted:
            return {
                Qt.Key.Key_Right: self.step_on_selection,
                Qt.Key.Key_Left: partial(self.step_on_selection, back=True),
            }.get(key)
        return {
            Qt.Key.Key_Space: self.toggle_play,
            Qt.Key.Key_Right: partial(self.step, 1),
            Qt.Key.Key_Left: partial(self.step, -1),
            Qt.Key.Key_Down: partial(self.choose_detail, Detail.PRIMITIVE),
            Qt.Key.Key_Up: partial(self.choose_detail, Detail.BLOCK),
            Qt.Key.Key_Home: partial(self.go, 0),
            Qt.Key.Key_End: partial(self.go, 10**9),
            Qt.Key.Key_Escape: self.leave,
        }.get(key)


def _search(timeline: Timeline, wanted: Breakpoint, position: int, _: Session) -> int | None:
    return timeline.search(wanted, position)


def from_block(timeline: Timeline, block: InstancePath) -> range:
    """The positions from where gradient passes a block."""
    return range(timeline.position(Phase.BACKWARD, block) or len(timeline), len(timeline) + 1)


def phases(timeline: Timeline, first: Phase, last: Phase) -> range:
    """The positions of the phases from ``first`` to ``last``."""
    order = [*Phase]
    shown = order[order.index(first) : order.index(last) + 1]
    known = [timeline.phases[phase] for phase in shown if phase in timeline.phases]
    return range(known[0][0], known[-1][-1] + 1) if known else range(0)
