"""Parts of a main window: those that few windows need, made when they are first asked for.

Also what a window shows as its document, its results, lessons and settings change.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from gradwire.app.panels.workspace import WindowPart
from gradwire.app.services.plain_text import window_title

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtWidgets import QWidget

    from gradwire.app.commands.compare import CompareCommands
    from gradwire.app.commands.pictures import PictureCommands
    from gradwire.app.commands.sharing import ExportCommands, PublishCommands
    from gradwire.app.controllers.costs import CostController
    from gradwire.app.controllers.lessons.authoring import AuthoringController
    from gradwire.app.controllers.lessons.curtain import Curtain
    from gradwire.app.controllers.lessons.offering import LessonOffering
    from gradwire.app.controllers.lessons.player import LessonPlayer
    from gradwire.app.controllers.lessons.predict import PredictController
    from gradwire.app.controllers.reveal import Reveal
    from gradwire.app.controllers.timeline import TimelineController
    from gradwire.app.controllers.trial import Trial
    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.panels.lessons.learn import Learn
    from gradwire.app.panels.start.welcome import Welcome
    from gradwire.app.panels.workspace import Workspace
    from gradwire.app.shell.actions.building import ActionStates
    from gradwire.app.shell.docks import Docks
    from gradwire.app.shell.windows import OpenWindows
    from gradwire.runtime.diagram import Diagram


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
        from gradwire.app.commands.sharing import ExportCommands

        return ExportCommands(self._workspace, self._reveal.location)

    @cached_property
    def pictures(self) -> PictureCommands:
        """Draws the diagram into files, and prints it."""
        from gradwire.app.commands.pictures import PictureCommands

        return PictureCommands(self._workspace)

    @cached_property
    def publishing(self) -> PublishCommands:
        """Writes pages for readers and classes."""
        from gradwire.app.commands.sharing import PublishCommands

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


class Opening(WindowPart):
    """The start page and the title of a window, and how a document is shown at first."""

    def __init__(
        self,
        workspace: Workspace,
        welcome: Welcome,
        windows: OpenWindows,
        lessons: LessonOffering,
        awaited: Path | None,
    ) -> None:
        super().__init__(workspace)
        self._welcome, self._windows, self._lessons = welcome, windows, lessons
        self._awaited = awaited
        """The file that the window is about to open: until then it has no start page."""
        self._fit_wanted = False
        self._titled = "", ""
        """The name and the path that the title shows."""
        self._document.diagramChanged.connect(self.show_document)
        self._document.pathChanged.connect(self.show_title)
        self._document.cleanChanged.connect(self.show_title)

    def end_waiting(self) -> None:
        """The awaited file is open, or can't be read."""
        if self._awaited is not None:
            self._awaited = None
            self.show_document(self._document.diagram)

    def want_fit(self) -> None:
        """Fit the next diagram into view."""
        self._fit_wanted = True

    def show_document(self, diagram: Diagram) -> None:
        """Show the start page as long as there is nothing else."""
        self.show_title()
        empty = not any(page.blocks or page.notes for page in diagram.pages.values())
        if empty and self._document.path is None:
            if self._awaited is not None:
                return
            self._welcome.progress = self._windows.progress_by_title()
            self._welcome.open(self._settings.recent, tour_taken=self._settings.tour_taken)
        else:
            self._welcome.hide()
        if self._fit_wanted:
            self._fit_wanted = False
            self._canvas.zoom_to_fit()
            self._lessons.offer()

    def show_title(self) -> None:
        """Show the name of the document, and whether it is saved."""
        titled, window = (self._document.name, str(self._document.path or "")), self._frame
        if titled != self._titled:
            self._titled = titled
            window.setWindowTitle(f"{window_title(titled[0])}[*] — Gradwire")
            window.setWindowFilePath(titled[1])
        if window.isWindowModified() == self._document.is_clean:
            window.setWindowModified(not self._document.is_clean)


class Reports(WindowPart):
    """Errors of a run, of the engine and of autosave."""

    def __init__(self, workspace: Workspace, states: ActionStates) -> None:
        super().__init__(workspace)
        self._states = states
        self._error = ""
        """What the last run failed with."""

    def show_error(self, result: EvaluationResult) -> None:
        """Show why a run failed, until one succeeds."""
        if result.error is not None:
            self._notice.show_message(result.error)
        elif self._notice.text() == self._error:
            self._notice.dismiss()
        self._error = result.error or ""

    def follow_engine(self) -> None:
        """Compute with another engine."""
        self._states.show_settings(self._settings)
        self._evaluator.refresh(self._document.diagram)

    def show_refusal(self, reason: str) -> None:
        """Say why an engine is not used."""
        self._states.show_settings(self._settings)
        self._notice.show_message(self.tr("NumPy computes now. {0}").format(reason))

    def warn_of_autosave(self, reason: str) -> None:
        """Say that changes are not kept."""
        text = self.tr("Unsaved changes would be lost in a crash. {0}")
        self._notice.show_message(text.format(reason))


class Learning(WindowPart):
    """The dock in which a learner predicts, plays a lesson, or writes one."""

    def __init__(
        self,
        workspace: Workspace,
        learn: Learn,
        docks: Docks,
        lazy: LazyParts,
        states: ActionStates,
        windows: OpenWindows,
    ) -> None:
        super().__init__(workspace)
        self._learn, self._docks, self._lazy = learn, docks, lazy
        self._states, self._windows = states, windows
        docks.by_name["learn"].visibilityChanged.connect(self._fill)

    def show(self, panel: QWidget) -> None:
        """Bring up one of its panels."""
        self._learn.setCurrentWidget(panel)
        self._docks.bring_up("learn")

    def show_lesson(self, is_on: bool) -> None:
        """Close the free prediction while a lesson asks, and show its panel again afterwards."""
        self._lazy.predict.end()
        self._states.show_lesson(is_on)
        if not is_on:
            self._learn.setCurrentWidget(self._lazy.predict.panel)

    def leave_lesson(self) -> None:
        """Go back to the window that the lesson came from, or to the start page."""
        if len(self._windows.listed) > 1:
            self._frame.close()
        else:
            self._document.new()

    def _fill(self, is_seen: bool) -> None:
        """Show what every diagram can be asked, where no lesson is shown."""
        if is_seen and not self._learn.count():
            self._learn.setCurrentWidget(self._lazy.predict.panel)
