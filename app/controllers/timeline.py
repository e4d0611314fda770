"""Plays a training step on the canvas: what is known at a position, and what has just happened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QInputDialog

from app.canvas.state.trial import TrialMarks
from app.canvas.state.wire_numbers import WireNumbers
from app.evaluation.badges import NONE
from app.evaluation.worker import SessionWorker
from app.panels.bars.timeline_bar import TimelineBar
from app.services.background import Cancelled
from runtime.diagram.model import same_meaning
from runtime.diagram.paths import ROOT, InstancePath, PortPath, WirePath
from runtime.engine.optimisers import SGD
from runtime.lessons.breakpoints import Breakpoint, GradientExceeds, GradientReaches, NotFinite
from runtime.lessons.timeline import Timeline, record
from runtime.lessons.words import sentence, short

if TYPE_CHECKING:
    from PySide6.QtGui import QKeyEvent
    from PySide6.QtWidgets import QWidget

    from app.canvas.view import CanvasView
    from app.controllers.trial import Trial
    from app.document.document import Document
    from app.evaluation.result import Result
    from app.panels.bars.notice import Notice
    from app.panels.tables.losses import Losses
    from app.services.settings import Settings
    from runtime.diagram import Diagram

_RECORDING = "timeline"
GRADIENTS = WireNumbers(value=False, gradient=True, everywhere=True)
"""The numbers on wires while a timeline is shown."""


class TimelineController(QObject):
    """The timeline of one window. It changes nothing but what the canvas shows."""

    ended = Signal()
    """The timeline is to be turned off: by its bar, or because nothing could be recorded."""

    def __init__(
        self,
        document: Document,
        canvas: CanvasView,
        losses: Losses,
        trial: Trial,
        notice: Notice,
        settings: Settings,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._document, self._canvas, self._losses = document, canvas, losses
        self._trial, self._notice, self._settings = trial, notice, settings
        self._result: Result | None = None
        self._use = ROOT
        self._diagram: Diagram | None = None
        self._timeline: Timeline | None = None
        self._loss: str | None = None
        self._position = 0
        self.bar = TimelineBar(parent)
        self.worker = SessionWorker(self)
        self.worker.finished.connect(self._take)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._play_on)
        self._connect_bar()
        document.opened.connect(self._end)
        trial.changed.connect(self._leave_to_trial)
        canvas.installEventFilter(self)

    def _connect_bar(self) -> None:
        bar = self.bar
        bar.played.connect(self.toggle_play)
        bar.stepped.connect(self.step)
        bar.moved.connect(self.go)
        bar.closed.connect(self.ended)
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
        self._canvas.setFocus()

    def set_result(self, result: Result, use: InstancePath) -> None:
        """Follow the newest result: record again where it is about something else."""
        self._result, self._use = result, use
        if not self.is_on:
            return
        about = self._diagram
        is_same = about is not None and same_meaning(about, result.diagram)
        if is_same and self._loss == self._losses.chosen:
            self._show()
        else:
            self._record()

    # ---- going on ------------------------------------------------------------------------------

    def toggle_play(self) -> None:
        """Go on by itself, from the start if the end is reached; or pause."""
        timeline = self._timeline
        if self.is_playing or timeline is None:
            self._pause()
            return
        if self._position == len(timeline):
            self._show_at(0)
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
        self._pause()
        self._show_at(position)

    def run_until(self, wanted: Breakpoint) -> None:
        """Go to the next event at which a breakpoint stops."""
        if self._timeline is None:
            return
        found = self._timeline.search(wanted, self._position)
        if found is None:
            self._canvas.hint(self.tr("No later event of this step is such a one."))
        else:
            self.go(found)

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
        if self._timeline is None or self._position == len(self._timeline):
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
        job = partial(record, losses=losses, optimiser=SGD(self._settings.rate))
        self.worker.query(_RECORDING, self._diagram, job)

    def _take(self, kind: str, answer: object) -> None:
        if isinstance(answer, Timeline):
            self._timeline = answer
            self.bar.set_phases(len(answer), answer.phases)
            self._canvas.set_wire_numbers(GRADIENTS)
            self._show_at(self._position)
            return
        if not isinstance(answer, Cancelled):
            self._notice.show_message(self.tr("The timeline can't be recorded. {0}").format(answer))
        self._end()

    def _show_at(self, position: int) -> None:
        if self._timeline is not None:
            self._position = min(max(0, position), len(self._timeline))
            self._show()

    def _show(self) -> None:
        timeline, result, at = self._timeline, self._result, self._position
        if timeline is None or result is None:
            return
        self._canvas.set_result(known(result, timeline, at), self._use)
        step = timeline.step(at)
        if step is None:
            self._canvas.show_trial(None)
            text = self.tr("Nothing is computed yet. Space plays, → goes on by one event.")
            self.bar.show_position(at, text)
            return
        self.bar.show_position(at, sentence(timeline.steps, step))
        name = step.path.block_below(self._use)
        if name is None or name not in self._canvas.view.scene.index:
            self._canvas.show_trial(None)
            return
        text = short(timeline.steps, step) if step.path.use == self._use else step.path.name
        self._canvas.show_trial(TrialMarks(current=name, changes={name: text} if text else {}))
        if not self._canvas.rect().contains(self._canvas.block_rect(name)):
            bounds = self._canvas.view.scene.bounds_of([name])
            assert bounds is not None  # the block is on the page
            self._canvas.reveal(bounds)

    def _leave_to_trial(self) -> None:
        if self.is_on and self._trial.active:
            self._end()

    def _end(self) -> None:
        if self.is_on:
            self.ended.emit()

    def _leave(self) -> None:
        self.worker.cancel(_RECORDING)
        self._pause()
        self._timeline, self._diagram = None, None
        self.bar.hide()
        self._canvas.show_trial(None)
        chosen = WireNumbers.chosen(self._settings.wire_numbers, self._settings.numbered_wires)
        self._canvas.set_wire_numbers(chosen)
        if self._result is not None:
            self._canvas.set_result(self._result, self._use)

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
            Qt.Key.Key_Home: partial(self.go, 0),
            Qt.Key.Key_End: partial(self.go, 10**9),
            Qt.Key.Key_Escape: self._end,
        }.get(key)


def known(result: Result, timeline: Timeline, position: int) -> Result:
    """What is known of a result at a position of its timeline; the rest has no key."""
    contributions = _known(
        result.contributions, lambda w: timeline.shows_gradient(WirePath(w), position)
    )
    values = _known(result.values, lambda port: timeline.shows_value(PortPath(port), position))
    gradients = _known(
        result.gradients,
        lambda name: timeline.shows_sum(InstancePath(name).port("out"), position),
    )
    return replace(
        result,
        values=values,
        gradients=gradients,
        contributions=contributions,
        norms={wire: result.norms.get(wire) for wire in contributions},
        zeros={wire: share for wire, share in result.zeros.items() if wire in contributions},
        states={wire: state for wire, state in result.states.items() if wire in contributions},
        badges=result.badges if position == len(timeline) else NONE,
        loss=None,
        is_partial=position < len(timeline),
        apart=(),
    )


def _known(arrays: Mapping[str, Any], is_known: Any) -> dict[str, Any]:
    return {name: array for name, array in arrays.items() if is_known(name)}
