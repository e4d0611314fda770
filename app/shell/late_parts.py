"""The parts of a main window that few windows need: they are made when they are first asked for."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMainWindow, QVBoxLayout, QWidget

from gradwire.app.evaluation.worker import SessionWorker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PySide6.QtGui import QAction

    from gradwire.app.canvas.view import CanvasView
    from gradwire.app.commands.compare import CompareCommands
    from gradwire.app.commands.pictures import PictureCommands
    from gradwire.app.commands.sharing.exporting import ExportCommands
    from gradwire.app.commands.sharing.publishing import PublishCommands
    from gradwire.app.controllers.costs import CostController
    from gradwire.app.controllers.explanation import Explanation
    from gradwire.app.controllers.lessons.authoring import AuthoringController
    from gradwire.app.controllers.lessons.curtain import Curtain
    from gradwire.app.controllers.lessons.offering import LessonOffering
    from gradwire.app.controllers.lessons.player import LessonPlayer
    from gradwire.app.controllers.lessons.predict import PredictController
    from gradwire.app.controllers.reveal import Reveal
    from gradwire.app.controllers.timeline import TimelineController
    from gradwire.app.controllers.training.training import TrainingController
    from gradwire.app.controllers.trial import Trial
    from gradwire.app.document.document import Document
    from gradwire.app.document.navigation import Navigation
    from gradwire.app.evaluation.evaluator import Evaluator
    from gradwire.app.evaluation.training import TrainingWorker
    from gradwire.app.evaluation.worker import Worker
    from gradwire.app.panels.bars.find_bar import FindBar
    from gradwire.app.panels.bars.notice import Notice
    from gradwire.app.panels.bars.offer import Offer
    from gradwire.app.panels.lessons.learn import Learn
    from gradwire.app.panels.tables.losses import Losses
    from gradwire.app.services.background import Background
    from gradwire.app.services.settings import Settings
    from gradwire.app.shell.actions.states import ActionStates
    from gradwire.app.shell.audience import Audience
    from gradwire.app.shell.docks import Docks
    from gradwire.app.shell.lesson_room import LessonRoom
    from gradwire.app.shell.presentation import Presentation
    from gradwire.app.shell.presenter import Presenter
    from gradwire.app.shell.windows import Windows

    _Joined: TypeAlias = (
        AuthoringController | CostController | LessonPlayer | PredictController | TimelineController
    )


class LateParts(QMainWindow):
    """Makes these parts, and connects them as what is there from the start is connected."""

    closed = Signal()
    """The window was closed; its changes are saved or discarded."""

    windows: Windows
    settings: Settings
    background: Background
    document: Document
    navigation: Navigation
    evaluator: Evaluator
    canvas: CanvasView
    losses: Losses
    notice: Notice
    find_bar: FindBar
    lesson_offer: Offer
    learn: Learn
    curtain: Curtain
    reveal: Reveal
    explanation: Explanation
    trial: Trial
    training: TrainingController
    presenter: Presenter
    presentation: Presentation
    audience: Audience
    lessons: LessonOffering
    docks: Docks
    actions_by_name: Mapping[str, QAction]
    lesson_room: LessonRoom | None = None
    """Once a lesson was played."""
    _states: ActionStates
    _column: QVBoxLayout
    _workers: list[Worker | TrainingWorker]

    def _compare_commands(self) -> CompareCommands:
        from gradwire.app.commands.compare import CompareCommands

        return CompareCommands(self.document, self.navigation, self.background, self.settings, self)

    def _export_commands(self) -> ExportCommands:
        from gradwire.app.commands.sharing.exporting import ExportCommands

        return ExportCommands(
            self.document, self.background, self.settings, self.reveal.location, self
        )

    def _picture_commands(self) -> PictureCommands:
        from gradwire.app.commands.pictures import PictureCommands

        return PictureCommands(
            self.document, self.navigation, self.canvas, self.background, self.settings, self
        )

    def _publish_commands(self) -> PublishCommands:
        from gradwire.app.commands.sharing.publishing import PublishCommands

        return PublishCommands(self.document, self.background, self.settings, self)

    @cached_property
    def authoring(self) -> AuthoringController:
        """Writes the lesson of the diagram."""
        from gradwire.app.controllers.lessons.authoring import AuthoringController

        made = AuthoringController(self.document, self.canvas, self)
        self.learn.addWidget(made.panel)
        made.panelRequested.connect(partial(self._show_learning, made.panel))
        made.panel.previewRequested.connect(self.lessons.play)
        self._join(made)
        return made

    @cached_property
    def costs(self) -> CostController:
        """Shows what time and memory each block takes."""
        from gradwire.app.controllers.costs import CostController

        made = CostController(self.document, self.canvas, self.notice, self)
        self._column.insertWidget(self._column.indexOf(self.find_bar), made.bar)
        made.ended.connect(self.actions_by_name["costs"].trigger)
        self._join(made)
        return made

    @cached_property
    def timeline(self) -> TimelineController:
        """Plays a training step on the canvas."""
        from gradwire.app.controllers.timeline import TimelineController

        made = TimelineController(
            self.document, self.canvas, self.losses, self.trial, self.notice, self.settings, self
        )
        self.canvas.installEventFilter(self.presentation)  # again, since its keys come first
        self._column.insertWidget(self._column.indexOf(self.training.alarm), made.bar)
        made.toggled.connect(self.actions_by_name["timeline"].setChecked)
        made.toggled.connect(self.explanation.silence)
        self.presenter.overlay(made.overlay)
        made.changed.connect(self.presenter.show_result)
        self._join(made)
        return made

    @cached_property
    def predict(self) -> PredictController:
        """Asks for gradients and states before they are shown."""
        from gradwire.app.controllers.lessons.predict import PredictController

        made = PredictController(
            self.document, self.canvas, self.curtain, self.timeline, self.losses, self.reveal, self
        )
        self.learn.insertWidget(0, made.panel)
        made.toggled.connect(self.actions_by_name["predict"].setChecked)
        made.panelRequested.connect(partial(self._show_learning, made.panel))
        self._join(made)
        return made

    @cached_property
    def player(self) -> LessonPlayer:
        """Plays a lesson."""
        from gradwire.app.controllers.lessons.player import LessonPlayer
        from gradwire.app.shell.lesson_room import LessonRoom

        made = LessonPlayer(
            self.document, self.canvas, self.curtain, self.timeline, self.reveal, self.settings,
            self,
        )  # fmt: skip
        self.learn.addWidget(made.panel)
        made.panelRequested.connect(partial(self._show_learning, made.panel))
        self.lesson_room = LessonRoom(made, self.canvas, self.docks)
        made.toggled.connect(self.audience.choose)
        made.toggled.connect(self.lesson_offer.withdraw)
        made.toggled.connect(self._show_lesson)
        made.left.connect(self._leave_lesson)
        made.advanced.connect(self.windows.remember_progress)
        self._join(made)
        return made

    def _played(self) -> LessonPlayer | None:
        """What plays a lesson now, if one is played."""
        player: LessonPlayer | None = vars(self).get("player")
        return player if player is not None and player.is_on else None

    def _show_lesson(self, is_on: bool) -> None:
        """Close the free prediction while a lesson asks, and show its panel again afterwards."""
        self.predict.end()
        self._states.show_lesson(is_on)
        if not is_on:
            self.learn.setCurrentWidget(self.predict.panel)

    def _leave_lesson(self) -> None:
        """Go back to the window that the lesson came from, or to the start page."""
        if len(self.windows.listed) > 1:
            self.close()
        else:
            self.document.new()

    def _fill_learn(self, is_seen: bool) -> None:
        """Show what every diagram can be asked, where no lesson is shown."""
        if is_seen and not self.learn.count():
            self.learn.setCurrentWidget(self.predict.panel)

    def _join(self, made: _Joined) -> None:
        """Show a part that is made now what the others have been shown, and what follows."""
        self._connect_worker(made.worker)
        self._workers.append(made.worker)
        self.presenter.resultShown.connect(made.set_result)
        if self.evaluator.result is not None:
            made.set_result(self.evaluator.result, self.navigation.use)

    def _connect_worker(self, worker: Worker | TrainingWorker) -> None:
        """Let a worker compute as the window does, and end with it."""
        self.closed.connect(worker.shutdown)
        if isinstance(worker, SessionWorker):
            worker.engines = self.windows.engines
            worker.set_step(self.evaluator.step_number)
            self.evaluator.stepChosen.connect(worker.set_step)

    def _show_learning(self, panel: QWidget) -> None:
        self.learn.setCurrentWidget(panel)
        self.docks.bring_up("learn")
