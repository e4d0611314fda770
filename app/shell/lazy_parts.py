"""The parts of a main window that few windows need: they are made when they are first asked for."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QObject

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from gradwire.app.commands.compare import CompareCommands
    from gradwire.app.commands.pictures import PictureCommands
    from gradwire.app.commands.sharing.exporting import ExportCommands
    from gradwire.app.commands.sharing.publishing import PublishCommands
    from gradwire.app.controllers.costs import CostController
    from gradwire.app.controllers.lessons.authoring import AuthoringController
    from gradwire.app.controllers.lessons.player import LessonPlayer
    from gradwire.app.controllers.lessons.predict import PredictController
    from gradwire.app.controllers.timeline import TimelineController
    from gradwire.app.shell.lesson_room import LessonRoom
    from gradwire.app.shell.main_window import MainWindow

    _Computing: TypeAlias = (
        AuthoringController | CostController | LessonPlayer | PredictController | TimelineController
    )


class LazyParts(QObject):
    """Makes these parts, and connects them as what is there from the start is connected."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self.lesson_room: LessonRoom | None = None
        """Once a lesson was played."""

    @cached_property
    def compare(self) -> CompareCommands:
        """Compares with another diagram."""
        from gradwire.app.commands.compare import CompareCommands

        return CompareCommands(self._window.workspace)

    @cached_property
    def exports(self) -> ExportCommands:
        """Writes the diagram for other systems."""
        from gradwire.app.commands.sharing.exporting import ExportCommands

        return ExportCommands(self._window.workspace, self._window.reveal.location)

    @cached_property
    def pictures(self) -> PictureCommands:
        """Draws the diagram into files, and prints it."""
        from gradwire.app.commands.pictures import PictureCommands

        return PictureCommands(self._window.workspace)

    @cached_property
    def publishing(self) -> PublishCommands:
        """Writes pages for readers and classes."""
        from gradwire.app.commands.sharing.publishing import PublishCommands

        return PublishCommands(self._window.workspace)

    @cached_property
    def authoring(self) -> AuthoringController:
        """Writes the lesson of the diagram."""
        from gradwire.app.controllers.lessons.authoring import AuthoringController

        made = AuthoringController(self._window.workspace)
        made.panel.previewRequested.connect(self._window.lessons.play)
        self._add_to_learn(made)
        return made

    @cached_property
    def costs(self) -> CostController:
        """Shows what time and memory each block takes."""
        from gradwire.app.controllers.costs import CostController

        w = self._window
        made = CostController(w.workspace)
        w.column.insertWidget(w.column.indexOf(w.find_bar), made.bar)
        made.ended.connect(w.actions_by_name["costs"].trigger)
        self._join(made)
        return made

    @cached_property
    def timeline(self) -> TimelineController:
        """Plays a training step on the canvas."""
        from gradwire.app.controllers.timeline import TimelineController

        w = self._window
        made = TimelineController(w.workspace, w.trial)
        w.canvas.installEventFilter(w.presentation)  # again, since its keys come first
        w.column.insertWidget(w.column.indexOf(w.training.alarm), made.bar)
        made.toggled.connect(w.actions_by_name["timeline"].setChecked)
        made.toggled.connect(w.explanation.silence)
        w.presenter.overlay(made.overlay)
        made.changed.connect(w.presenter.show_result)
        self._join(made)
        return made

    @cached_property
    def predict(self) -> PredictController:
        """Asks for gradients and states before they are shown."""
        from gradwire.app.controllers.lessons.predict import PredictController

        w = self._window
        made = PredictController(w.workspace, w.curtain, self.timeline, w.reveal)
        made.toggled.connect(w.actions_by_name["predict"].setChecked)
        self._add_to_learn(made, 0)
        return made

    @cached_property
    def player(self) -> LessonPlayer:
        """Plays a lesson."""
        from gradwire.app.controllers.lessons.player import LessonPlayer
        from gradwire.app.shell.lesson_room import LessonRoom

        w = self._window
        made = LessonPlayer(w.workspace, w.curtain, self.timeline, w.reveal)
        self.lesson_room = LessonRoom(made, w.canvas, w.docks)
        made.toggled.connect(w.audience.choose)
        made.toggled.connect(w.lesson_offer.withdraw)
        made.toggled.connect(self._show_lesson)
        made.left.connect(self._leave_lesson)
        made.advanced.connect(w.windows.remember_progress)
        self._add_to_learn(made)
        return made

    def active_player(self) -> LessonPlayer | None:
        """What plays a lesson now, if one is played."""
        player: LessonPlayer | None = vars(self).get("player")
        return player if player is not None and player.is_on else None

    def fill_learn(self, is_seen: bool) -> None:
        """Show what every diagram can be asked, where no lesson is shown."""
        if is_seen and not self._window.learn.count():
            self._window.learn.setCurrentWidget(self.predict.panel)

    def _show_lesson(self, is_on: bool) -> None:
        """Close the free prediction while a lesson asks, and show its panel again afterwards."""
        self.predict.end()
        self._window.states.show_lesson(is_on)
        if not is_on:
            self._window.learn.setCurrentWidget(self.predict.panel)

    def _leave_lesson(self) -> None:
        """Go back to the window that the lesson came from, or to the start page."""
        if len(self._window.windows.listed) > 1:
            self._window.close()
        else:
            self._window.document.new()

    def _add_to_learn(
        self, made: AuthoringController | LessonPlayer | PredictController, place: int = -1
    ) -> None:
        self._window.learn.insertWidget(place, made.panel)
        made.panelRequested.connect(partial(self._show_learning, made.panel))
        self._join(made)

    def _show_learning(self, panel: QWidget) -> None:
        self._window.learn.setCurrentWidget(panel)
        self._window.docks.bring_up("learn")

    def _join(self, made: _Computing) -> None:
        """Show a part that is made now what the others have been shown, and what follows."""
        w = self._window
        w.join_worker(made.worker)
        w.presenter.resultShown.connect(made.set_result)
        if w.evaluator.result is not None:
            made.set_result(w.evaluator.result, w.navigation.use)
