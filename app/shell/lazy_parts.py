"""The parts of a main window that few windows need: they are made when they are first asked for."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gradwire.app.panels.workspace import WindowPart

if TYPE_CHECKING:
    from gradwire.app.commands.compare import CompareCommands
    from gradwire.app.commands.pictures import PictureCommands
    from gradwire.app.commands.sharing.exporting import ExportCommands
    from gradwire.app.commands.sharing.publishing import PublishCommands
    from gradwire.app.controllers.costs import CostController
    from gradwire.app.controllers.lessons.authoring import AuthoringController
    from gradwire.app.controllers.lessons.curtain import Curtain
    from gradwire.app.controllers.lessons.player import LessonPlayer
    from gradwire.app.controllers.lessons.predict import PredictController
    from gradwire.app.controllers.reveal import Reveal
    from gradwire.app.controllers.timeline import TimelineController
    from gradwire.app.controllers.trial import Trial
    from gradwire.app.panels.workspace import Workspace
    from gradwire.app.shell.main_window import MainWindow


class LazyParts(WindowPart):
    """Makes these parts; the window connects each when it is made, as it does with the others."""

    authoringMade = Signal(object)
    costsMade = Signal(object)
    timelineMade = Signal(object)
    predictMade = Signal(object)
    playerMade = Signal(object)

    def __init__(
        self, workspace: Workspace, trial: Trial, curtain: Curtain, reveal: Reveal
    ) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self._trial, self._curtain, self._reveal = trial, curtain, reveal

    @cached_property
    def compare(self) -> CompareCommands:
        """Compares with another diagram."""
        from gradwire.app.commands.compare import CompareCommands

        return CompareCommands(self._workspace)

    @cached_property
    def exports(self) -> ExportCommands:
        """Writes the diagram for other systems."""
        from gradwire.app.commands.sharing.exporting import ExportCommands

        return ExportCommands(self._workspace, self._reveal.location)

    @cached_property
    def pictures(self) -> PictureCommands:
        """Draws the diagram into files, and prints it."""
        from gradwire.app.commands.pictures import PictureCommands

        return PictureCommands(self._workspace)

    @cached_property
    def publishing(self) -> PublishCommands:
        """Writes pages for readers and classes."""
        from gradwire.app.commands.sharing.publishing import PublishCommands

        return PublishCommands(self._workspace)

    @cached_property
    def authoring(self) -> AuthoringController:
        """Writes the lesson of the diagram."""
        from gradwire.app.controllers.lessons.authoring import AuthoringController

        made = AuthoringController(self._workspace)
        self.authoringMade.emit(made)
        return made

    @cached_property
    def costs(self) -> CostController:
        """Shows what time and memory each block takes."""
        from gradwire.app.controllers.costs import CostController

        made = CostController(self._workspace)
        self.costsMade.emit(made)
        return made

    @cached_property
    def timeline(self) -> TimelineController:
        """Plays a training step on the canvas."""
        from gradwire.app.controllers.timeline import TimelineController

        made = TimelineController(self._workspace, self._trial)
        self.timelineMade.emit(made)
        return made

    @cached_property
    def predict(self) -> PredictController:
        """Asks for gradients and states before they are shown."""
        from gradwire.app.controllers.lessons.predict import PredictController

        made = PredictController(self._workspace, self._curtain, self.timeline, self._reveal)
        self.predictMade.emit(made)
        return made

    @cached_property
    def player(self) -> LessonPlayer:
        """Plays a lesson."""
        from gradwire.app.controllers.lessons.player import LessonPlayer

        made = LessonPlayer(self._workspace, self._curtain, self.timeline, self._reveal)
        self.playerMade.emit(made)
        return made

    def active_player(self) -> LessonPlayer | None:
        """What plays a lesson now, if one is played."""
        player: LessonPlayer | None = vars(self).get("player")
        return player if player is not None and player.is_on else None


class LazyConnections(QObject):
    """Connects each of these parts to its window when it is made."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window, lazy = window, window.lazy
        lazy.authoringMade.connect(self._authoring)
        lazy.costsMade.connect(self._costs)
        lazy.timelineMade.connect(self._timeline)
        lazy.predictMade.connect(self._predict)
        lazy.playerMade.connect(self._player)

    def _authoring(self, made: AuthoringController) -> None:
        made.panel.previewRequested.connect(self._window.lessons.play)
        self._add_to_learn(made)

    def _costs(self, made: CostController) -> None:
        window = self._window
        window.column.insertWidget(window.column.indexOf(window.find_bar), made.bar)
        made.ended.connect(window.actions_by_name["costs"].trigger)
        self._join(made)

    def _timeline(self, made: TimelineController) -> None:
        window = self._window
        window.canvas.installEventFilter(window.presentation)  # again, since its keys come first
        window.column.insertWidget(window.column.indexOf(window.training.alarm), made.bar)
        made.toggled.connect(window.actions_by_name["timeline"].setChecked)
        made.toggled.connect(window.explanation.silence)
        window.presenter.overlay(made.overlay)
        made.changed.connect(window.presenter.show_result)
        self._join(made)

    def _predict(self, made: PredictController) -> None:
        made.toggled.connect(self._window.actions_by_name["predict"].setChecked)
        self._add_to_learn(made, 0)

    def _player(self, made: LessonPlayer) -> None:
        from gradwire.app.shell.lesson_room import LessonRoom  # which few windows need

        window = self._window
        window.lesson_room = LessonRoom(made, window.canvas, window.docks)
        made.toggled.connect(window.audience.choose)
        made.toggled.connect(window.lesson_offer.withdraw)
        made.toggled.connect(window.updates.show_lesson)
        made.left.connect(window.updates.leave_lesson)
        made.advanced.connect(window.windows.remember_progress)
        self._add_to_learn(made)

    def _add_to_learn(
        self, made: AuthoringController | LessonPlayer | PredictController, place: int = -1
    ) -> None:
        self._window.learn.insertWidget(place, made.panel)
        made.panelRequested.connect(partial(self._window.updates.show_learning, made.panel))
        self._join(made)

    def _join(
        self,
        made: AuthoringController | CostController | LessonPlayer | PredictController
        | TimelineController,
    ) -> None:  # fmt: skip
        """Show a part that is made now what the others have been shown, and what follows."""
        window = self._window
        window.join_worker(made.worker)
        window.presenter.resultShown.connect(made.set_result)
        if window.evaluator.result is not None:
            made.set_result(window.evaluator.result, window.navigation.use)
