"""The main window: makes its parts, connects them, and reacts to events."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QMainWindow, QWidget

from gradwire.app.canvas.input.changes import target_of
from gradwire.app.canvas.state.view_state import NOTHING, WireNumbers
from gradwire.app.canvas.view import CanvasView
from gradwire.app.commands.bookmarks import BookmarkCommands
from gradwire.app.commands.clipboard import ClipboardCommands
from gradwire.app.commands.curves import CurveCommands
from gradwire.app.commands.edit import EditCommands
from gradwire.app.commands.files import FileCommands, dropped_files
from gradwire.app.commands.help import HelpCommands
from gradwire.app.commands.importing import ImportCommands
from gradwire.app.commands.library import LibraryCommands
from gradwire.app.commands.pages import PageCommands
from gradwire.app.commands.panels import PanelCommands
from gradwire.app.commands.presets import PresetCommands
from gradwire.app.commands.run import RunCommands
from gradwire.app.commands.targets import TargetCommands
from gradwire.app.commands.view import ViewCommands
from gradwire.app.controllers.audience import Audience
from gradwire.app.controllers.doctor import DoctorController
from gradwire.app.controllers.explanation import Explanation
from gradwire.app.controllers.lessons.curtain import Curtain
from gradwire.app.controllers.lessons.offering import LessonOffering
from gradwire.app.controllers.presenter import Presenter
from gradwire.app.controllers.queries import (
    DerivativeController,
    GradientCheck,
    LossMatrixController,
)
from gradwire.app.controllers.reveal import Reveal
from gradwire.app.controllers.tour import Tour
from gradwire.app.controllers.training.comparison import StopComparison
from gradwire.app.controllers.training.dock import CurvesDock
from gradwire.app.controllers.training.reading import DataReading
from gradwire.app.controllers.training.training import TrainingController
from gradwire.app.controllers.trial import Trial
from gradwire.app.document.autosave import Autosave
from gradwire.app.document.document import Document
from gradwire.app.document.navigation import Navigation
from gradwire.app.evaluation.evaluator import Evaluator
from gradwire.app.evaluation.worker import SessionWorker
from gradwire.app.panels.bars.banner import Notice, OfferBar, ProgressBar, TourBar
from gradwire.app.panels.bars.breadcrumbs import Breadcrumbs
from gradwire.app.panels.bars.find_bar import FindBar
from gradwire.app.panels.bars.status import StatusLabels
from gradwire.app.panels.bars.toolbar import ToolBar
from gradwire.app.panels.focus_ring import FocusRing
from gradwire.app.panels.inspector.inspector import Inspector
from gradwire.app.panels.laser import Laser
from gradwire.app.panels.layouts import make_column
from gradwire.app.panels.lessons.learn import Learn
from gradwire.app.panels.menu import MenusOfQt
from gradwire.app.panels.palette.palette import Palette
from gradwire.app.panels.start.welcome import Welcome
from gradwire.app.panels.tables.history import HistoryTable
from gradwire.app.panels.tables.losses import Losses
from gradwire.app.panels.tables.problems import Problems
from gradwire.app.panels.tables.variables import VariablesTable
from gradwire.app.panels.why.card import Card
from gradwire.app.panels.why.why import Why
from gradwire.app.panels.workspace import Workspace
from gradwire.app.services import theme
from gradwire.app.services.background import Background
from gradwire.app.services.examples import examples, lessons
from gradwire.app.services.settings import Settings
from gradwire.app.shell.actions.building import ActionStates, Shortcuts, build
from gradwire.app.shell.actions.table import Owners
from gradwire.app.shell.docks import Docks
from gradwire.app.shell.menus import Menus, context_menu
from gradwire.app.shell.presentation import Presentation
from gradwire.app.shell.window_parts import LazyParts, Learning, Opening, Reports
from gradwire.app.shell.windows import DECORATION, OpenWindows
from gradwire.blocks.registry import registry
from gradwire.runtime.interchange import DEFAULTS, ImportOptions
from gradwire.runtime.publish import included

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtCore import QPoint
    from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent
    from PySide6.QtWidgets import QMenu

    from gradwire.app.controllers.costs import CostController
    from gradwire.app.controllers.lessons.authoring import AuthoringController
    from gradwire.app.controllers.lessons.player import LessonPlayer
    from gradwire.app.controllers.lessons.predict import PredictController
    from gradwire.app.controllers.timeline import TimelineController
    from gradwire.app.evaluation.training import TrainingWorker
    from gradwire.app.evaluation.worker import Worker
    from gradwire.app.shell.lesson_room import LessonRoom


_LARGE_ENOUGH = QSize(1600, 1000)
"""The first window of a user on a large screen, pixels."""


class MainWindow(QMainWindow):
    """The window of one document."""

    closed = Signal()
    """The window was closed; its changes are saved or discarded."""

    def __init__(
        self,
        settings: Settings | None = None,
        windows: OpenWindows | None = None,
        path: Path | None = None,
    ) -> None:
        super().__init__()
        self.windows = windows or OpenWindows(settings or Settings())
        self.settings = self.windows.settings
        self._make_document()
        self._make_panels()
        self._make_controllers()
        self._arrange()
        self._make_commands()
        self.opening = Opening(
            self.workspace, self.welcome, self.windows, self.lessons, awaited=path
        )
        self.reports = Reports(self.workspace, self.states)
        self.learning = Learning(
            self.workspace, self.learn, self.docks, self.lazy, self.states, self.windows
        )
        self._connect_document()
        self._connect_canvas()
        self._connect_panels()
        self._connect_presenter()
        self._connect_lazy_parts()
        self.setAcceptDrops(True)
        self.restyle()
        self.opening.show_document(self.document.diagram)
        self.presenter.show_diagram(self.document.diagram)
        geometry, *panels = self.settings.arrangement
        self.resize(_LARGE_ENOUGH.boundedTo(self.screen().availableSize() - DECORATION))
        self.restoreGeometry(geometry)
        self.docks.restore(*panels)
        self.windows.add(self)

    def come_forward(self) -> None:
        """Bring the window to the front and give it the keyboard focus."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.raise_()
        self.activateWindow()

    def open_path(self, path: Path, options: ImportOptions = DEFAULTS) -> bool:
        """Open a file or import a model, here or in another window; False if it can't be read."""
        is_read = self.windows.open(path, self, options)
        self.opening.end_waiting()
        return is_read

    def open_copy(self, path: Path, variant: str = "") -> bool:
        """Open a copy of a file, here or in another window; False if it can't be read.

        ``variant`` is one of the study of an example.
        """
        return self.windows.open_copy(path, self, variant)

    def restyle(self) -> None:
        """Apply the settings of text size, theme, motion, numbers and thresholds."""
        text = theme.TEXT_SIZES.get(self.settings.text, theme.BODY)
        self.canvas.set_actual_zoom(text / theme.BODY)
        self.states.show_settings(self.settings)
        numbers = WireNumbers.chosen(self.settings.wire_numbers, self.settings.numbered_wires)
        self.canvas.set_wire_numbers(numbers)
        self.canvas.set_reduced_motion(self.settings.reduced_motion)
        self.setAnimated(not self.settings.reduced_motion)
        self.docks.follow_text()
        self.toolbar.setVisible(self.settings.toolbar and not self.presentation.active)
        self.doctor.set_counted(self.settings.toolbar)
        self.evaluator.judge(self.settings.thresholds)

    def focusNextPrevChild(self, following: bool) -> bool:
        """Move the focus as Tab and Shift+Tab do, and show where it is."""
        move = super().focusNextPrevChild
        return self.focus_ring.move_on(lambda: move(following))

    def createPopupMenu(self) -> QMenu | None:
        """The menu of panels and tool bars that a right-click on one of them opens."""
        menu = super().createPopupMenu()
        if menu is not None:
            self.menus_of_qt.keep_keys(menu)
        return menu

    # ---- parts --------------------------------------------------------------------------------

    def _make_document(self) -> None:
        self.background = Background(self)
        self.document = Document(self, self.background.run)
        self.autosave = Autosave(self.document, self.windows.journal)
        self.navigation = Navigation(self)
        self.evaluator = Evaluator(parent=self, engines=self.windows.engines)

    def _make_panels(self) -> None:
        self.canvas = CanvasView(self)
        self.canvas.favourites = self.windows.favourites
        theme.follow_theme(self.canvas)
        self.palette_panel = Palette(registry(), self.windows.favourites, self)
        self.history = HistoryTable(self.document, self)
        document = self.document
        self.inspector = Inspector(self, self.background.run, lambda: document.is_previewing)
        self.why = Why(self)
        self.problems = Problems(self)
        self.variables = VariablesTable(self, lambda: document.is_previewing)
        self.losses = Losses(self)
        self.breadcrumbs = Breadcrumbs(self)
        self.notice = Notice(self)
        self.lesson_offer = OfferBar(self)
        # Connected before the presenter, so that messages about the new diagram stay.
        self.document.diagramChanged.connect(self.notice.dismiss)
        self.progress = ProgressBar(self)
        self.find_bar = FindBar(self)
        self.tour_bar = TourBar(self)
        self.welcome = Welcome(self.canvas, examples, lessons)
        self.focus_ring = FocusRing(self)
        self.workspace = Workspace(
            self, self.settings, self.background, document, self.navigation, self.evaluator,
            self.canvas, self.losses, self.notice,
        )  # fmt: skip

    def _make_controllers(self) -> None:
        workspace = self.workspace
        self.curtain = Curtain(self)
        self.reveal = Reveal(workspace)
        self.card = Card(self.canvas)
        self.explanation = Explanation(workspace, self.why, self.card, self.reveal)
        self.trial = Trial(workspace, self.why, self.card)
        self.gradient_check = GradientCheck(workspace)
        self.doctor = DoctorController(workspace, self.explanation, self.reveal)
        self.derivative = DerivativeController(workspace)
        self.learn = Learn(self)
        self.training = TrainingController(workspace, self.reveal)
        self.comparison = StopComparison(workspace, self.training)
        self.loss_matrix = LossMatrixController(workspace, self.explanation)
        self.lazy = LazyParts(workspace, self.trial, self.curtain, self.reveal)
        self.lesson_room: LessonRoom | None = None
        """Once a lesson was played."""
        self.workers: list[Worker | TrainingWorker] = []
        for controller in (
            self.explanation, self.trial, self.gradient_check, self.doctor, self.loss_matrix,
            self.derivative, self.training,
        ):  # fmt: skip
            self._join_worker(controller.worker)
        overlays = (
            self.curtain.overlay, self.losses.overlay, self.trial.overlay,
            self.gradient_check.overlay,
        )  # fmt: skip
        self.presenter = Presenter(workspace, overlays)

    def _make_commands(self) -> None:
        workspace, palette = self.workspace, self.palette_panel
        active_player = self.lazy.active_player
        self.presentation = Presentation(workspace, self.docks, self.breadcrumbs, active_player)
        self.audience = Audience(workspace, active_player)
        self.laser = Laser(self.canvas, self.settings, lambda: self.presentation.active)
        self.edit = EditCommands(workspace)
        self.view = ViewCommands(workspace)
        self.data_reading = DataReading(workspace, self.progress)
        curves = CurveCommands(workspace, self.training.curves)
        curves.runsRead.connect(self.training.runs.show)
        self.help = HelpCommands(workspace, lambda: self.menus.by_name, self.windows.keymap)
        self.bookmarks = BookmarkCommands(workspace)
        self.lessons = LessonOffering(workspace, self.curtain, active_player, self.lesson_offer)
        self.presets = PresetCommands(workspace, self.windows.presets)
        self.clipboard = ClipboardCommands(workspace)
        self.pages = PageCommands(workspace, palette)
        self.library = LibraryCommands(workspace, palette, self.windows.library)
        stops = self.card, self.tour_bar, *self.docks.edges.values()
        self.panels = PanelCommands(workspace, self.docks.by_name, stops, self.focus_ring)
        self.run = RunCommands(workspace, self.workers)
        self.targets = TargetCommands(workspace)
        self.actions_by_name, menus = build(
            self.menuBar(),
            Owners(
                self.audience, self.bookmarks, self.canvas, self.clipboard, self.comparison,
                self.docks, self.edit, self.files, self.find_bar, self, self.gradient_check,
                self.help, self.document.undo_stack, self.imports, self.lazy, self.lessons,
                self.library, self.navigation, self.pages, palette, self.panels,
                self.presentation, self.presets, self.run, self.targets, self.training,
                self.trial, self.view, self.windows,
            ),
        )  # fmt: skip
        Shortcuts(self.windows.keymap, self.actions_by_name, self.canvas, self)
        self.states = ActionStates(workspace, self.actions_by_name)
        self.menus = Menus(workspace, menus, self.docks.by_name, self.presets, self.windows)
        self.toolbar = ToolBar(self.actions_by_name, menus, self)
        self.addToolBar(Qt.ToolBarArea.TopToolBarArea, self.toolbar)
        self.menus_of_qt = MenusOfQt(self)
        self.tour = Tour(
            workspace, self.explanation, self.trial, self.doctor.panel, self.tour_bar,
            self.actions_by_name,
        )  # fmt: skip
        self.status = StatusLabels(self.statusBar(), self.canvas, self.losses, self.evaluator)
        self.status.cancel.clicked.connect(self.actions_by_name["cancel"].trigger)
        self.evaluator.busyChanged.connect(self.canvas.computing.set_busy)
        self.canvas.computing.cancelRequested.connect(self.actions_by_name["cancel"].trigger)

    def _arrange(self) -> None:
        self.files = FileCommands(self.workspace)
        self.imports = ImportCommands(self.workspace, self.reveal.close_up)
        centre = QWidget(self)
        self.column = make_column(
            centre,
            self.tour_bar, self.notice, self.progress, self.files.offer, self.imports.offer,
            self.lesson_offer, self.trial.bar, self.breadcrumbs, self.find_bar,
            (self.comparison.halves, 1), self.training.alarm, self.training.bar,
            spacing=0,
        )  # fmt: skip
        self.setCentralWidget(centre)
        self.docks = Docks(
            self,
            {
                "palette": self.palette_panel,
                "history": self.history,
                "inspector": self.inspector,
                "why": self.why,
                "derivative": self.derivative.panel,
                "learn": self.learn,
                "variables": self.variables,
                "problems": self.problems,
                "doctor": self.doctor.panel,
                "matrix": self.loss_matrix.panel,
                "curves": self.training.curves,
            },
        )
        CurvesDock(self.workspace, self.docks.by_name["curves"])

    def _join_worker(self, worker: Worker | TrainingWorker) -> None:
        """Let a worker compute as the window does, and end with it."""
        self.workers.append(worker)
        self.closed.connect(worker.shutdown)
        if isinstance(worker, SessionWorker):
            worker.engines = self.windows.engines
            worker.set_step(self.evaluator.step_number)
            self.evaluator.stepChosen.connect(worker.set_step)

    # ---- events -------------------------------------------------------------------------------

    def closeEvent(self, event: QCloseEvent) -> None:
        if self.background.busy:
            self.background.afterwards(self.close)
            event.ignore()
            return
        if (field := self.focusWidget()) is not None:
            field.clearFocus()  # commits what is being typed before unsaved changes are checked
        if not self.files.may_leave():
            event.ignore()
            return
        self.presentation.end()
        if self.lesson_room is not None:
            self.lesson_room.end()
        self.settings.arrangement = (self.saveGeometry(), *self.docks.arrangement)
        self.evaluator.shutdown()
        self.welcome.shutdown()
        self.autosave.close()
        self.canvas.blockSignals(True)  # late signals would reach deleted panels
        event.accept()
        self.closed.emit()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped_files(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        event.acceptProposedAction()
        for path in dropped_files(event):
            # After the event, so that the program the files come from need not wait.
            QTimer.singleShot(0, self, lambda path=path: self.open_path(path))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            self.files.watch.check()  # network drives don't notify watchers

    # ---- connections --------------------------------------------------------------------------

    def _connect_document(self) -> None:
        document = self.document
        document.opened.connect(self._reset)
        document.opened.connect(lambda: self.status.show_written(()))
        document.problem.connect(self.notice.show_message)
        document.problem.connect(lambda: self.status.show_written(()))
        document.upgraded.connect(self.notice.show_message)
        document.succeeded.connect(self.notice.dismiss)
        document.succeeded.connect(
            lambda paths: self.status.show_written(paths, included(document.diagram))
        )
        self.autosave.failed.connect(self.reports.warn_of_autosave)
        self.background.progressed.connect(self.progress.show_progress)
        self.background.ended.connect(self.progress.hide)
        self.progress.cancelled.connect(self.background.cancel)
        self.files.fileChosen.connect(self.open_path)
        self.imports.modelChosen.connect(self.open_path)

    def _connect_canvas(self) -> None:
        canvas = self.canvas
        canvas.changeRequested.connect(self.edit.change)
        canvas.previewRequested.connect(self.document.preview)
        canvas.selectionChanged.connect(self.inspector.set_selection)
        canvas.selectionChanged.connect(self.explanation.show_selection)
        canvas.bookmarkRequested.connect(self.bookmarks.go_to_number)
        canvas.pageEntered.connect(self.navigation.enter)
        canvas.inspectRequested.connect(self._show_inspector)
        canvas.derivativeRequested.connect(self._show_derivative)
        canvas.menuRequested.connect(self._show_menu)
        canvas.sheetRequested.connect(self.actions_by_name["shortcuts"].trigger)
        canvas.legend.clicked.connect(self.actions_by_name["legend"].trigger)

    def _connect_panels(self) -> None:
        self.palette_panel.blockChosen.connect(self.edit.add_block)
        self.inspector.changeRequested.connect(self.edit.change)
        self.inspector.previewRequested.connect(self.document.preview)
        self.inspector.blockRequested.connect(self.reveal.block)
        self.find_bar.pathRequested.connect(self.reveal.close_up)
        self.find_bar.closed.connect(self.canvas.setFocus)
        self.variables.blockRequested.connect(self.reveal.path)
        self.variables.changeRequested.connect(self.edit.change)
        self.variables.previewRequested.connect(self.document.preview)
        self.problems.placeRequested.connect(self.reveal.location)
        self.problems.countChanged.connect(partial(self.docks.show_count, "problems"))
        self.doctor.countChanged.connect(partial(self.docks.show_count, "doctor"))
        self.doctor.countChanged.connect(self.toolbar.show_count)
        self.docks.by_name["doctor"].visibilityChanged.connect(self.doctor.set_visible)
        self.docks.by_name["doctor"].visibilityChanged.connect(self.tour.check)
        self.canvas.selectionChanged.connect(self.derivative.set_selection)
        derivative = self.docks.by_name["derivative"]
        derivative.visibilityChanged.connect(self.derivative.set_visible)
        self.derivative.panel.manualRequested.connect(self.help.manual_page)
        self.docks.by_name["matrix"].visibilityChanged.connect(self.loss_matrix.set_visible)
        self.explanation.panelRequested.connect(partial(self.docks.bring_up, "why"))
        self.explanation.wireShown.connect(partial(self.docks.raise_if_open, "why"))
        self.presentation.toggled.connect(self.windows.apply_theme)
        self.breadcrumbs.trailRequested.connect(self.navigation.go)
        self.welcome.exampleRequested.connect(self.open_copy)
        self.welcome.lessonRequested.connect(partial(self.windows.start_lesson, window=self))
        self.welcome.fileRequested.connect(self.open_path)
        self.welcome.formulaRequested.connect(self._start_with_formula)
        self.menus.bookmarkChosen.connect(self.bookmarks.go)
        self.menus.exampleChosen.connect(self.open_copy)
        self.menus.fileChosen.connect(self.open_path)
        self.training.toggled.connect(self.actions_by_name["train"].setChecked)
        self.training.stepShown.connect(lambda: self.states.show_training(is_begun=True))
        self.document.opened.connect(lambda: self.states.show_training(is_begun=False))
        self.training.curvesRequested.connect(partial(self.docks.bring_up, "curves"))
        self.comparison.toggled.connect(self.actions_by_name["train_compare"].setChecked)
        self.lessons.startRequested.connect(partial(self.windows.start_lesson_of, window=self))
        self.help.exampleRequested.connect(self.open_copy)
        for offer in (self.help.tourRequested, self.welcome.tourRequested):
            offer.connect(partial(self.windows.start_tour, self))
        self.closed.connect(self.help.close_manual)
        self.closed.connect(self.audience.close)
        self.audience.changed.connect(self._show_audience)
        self.view.looksChanged.connect(self.windows.restyle)
        self.closed.connect(partial(self.doctor.set_counted, False))
        self.closed.connect(self.comparison.shutdown)
        self.closed.connect(self.data_reading.shutdown)
        self.closed.connect(self.status.shutdown)
        self.windows.engines.changed.connect(self.reports.follow_engine)
        self.windows.engines.refused.connect(self.reports.show_refusal)

    def _connect_presenter(self) -> None:
        presenter = self.presenter
        self.curtain.changed.connect(self._close_controls)
        for chosen in (
            self.losses.lossChosen, self.trial.changed, self.gradient_check.changed,
            self.curtain.changed,
        ):  # fmt: skip
            chosen.connect(presenter.show_result)
        for page_view in (
            self.canvas, self.inspector, self.why, self.find_bar, self.palette_panel,
            self.variables,
        ):  # fmt: skip
            presenter.pageShown.connect(page_view.set_diagram)
        presenter.pageShown.connect(self._show_page)
        for result_view in (
            self.canvas, self.inspector, self.why, self.explanation, self.find_bar,
            self.variables, self.problems, self.doctor, self.loss_matrix, self.derivative,
        ):  # fmt: skip
            presenter.resultShown.connect(result_view.set_result)
        presenter.resultShown.connect(self.losses.show_values)
        presenter.resultShown.connect(self.reports.show_error)
        presenter.resultShown.connect(self.palette_panel.await_rest)

    def _connect_lazy_parts(self) -> None:
        """Connect each of these parts when it is made."""
        lazy = self.lazy
        lazy.authoringMade.connect(self._connect_authoring)
        lazy.costsMade.connect(self._connect_costs)
        lazy.timelineMade.connect(self._connect_timeline)
        lazy.predictMade.connect(self._connect_predict)
        lazy.playerMade.connect(self._connect_player)

    def _connect_authoring(self, made: AuthoringController) -> None:
        made.panel.previewRequested.connect(self.lessons.play)
        self._add_to_learn(made)

    def _connect_costs(self, made: CostController) -> None:
        self.column.insertWidget(self.column.indexOf(self.find_bar), made.bar)
        made.ended.connect(self.actions_by_name["costs"].trigger)
        self._join(made)

    def _connect_timeline(self, made: TimelineController) -> None:
        self.canvas.installEventFilter(self.presentation)  # again, since its keys come first
        self.column.insertWidget(self.column.indexOf(self.training.alarm), made.bar)
        made.toggled.connect(self.actions_by_name["timeline"].setChecked)
        made.toggled.connect(self.explanation.silence)
        self.presenter.overlay(made.overlay)
        made.changed.connect(self.presenter.show_result)
        self._join(made)

    def _connect_predict(self, made: PredictController) -> None:
        made.toggled.connect(self.actions_by_name["predict"].setChecked)
        self._add_to_learn(made, 0)

    def _connect_player(self, made: LessonPlayer) -> None:
        from gradwire.app.shell.lesson_room import LessonRoom  # which few windows need

        self.lesson_room = LessonRoom(made, self.canvas, self.docks)
        made.toggled.connect(self.audience.choose)
        made.toggled.connect(self.lesson_offer.withdraw)
        made.toggled.connect(self.learning.show_lesson)
        made.left.connect(self.learning.leave_lesson)
        made.advanced.connect(self.windows.remember_progress)
        self._add_to_learn(made)

    def _add_to_learn(
        self, made: AuthoringController | LessonPlayer | PredictController, place: int = -1
    ) -> None:
        self.learn.insertWidget(place, made.panel)
        made.panelRequested.connect(partial(self.learning.show, made.panel))
        self._join(made)

    def _join(
        self,
        made: AuthoringController | CostController | LessonPlayer | PredictController
        | TimelineController,
    ) -> None:  # fmt: skip
        """Show a part that is made now what the others have been shown, and what follows."""
        self._join_worker(made.worker)
        self.presenter.resultShown.connect(made.set_result)
        if self.evaluator.result is not None:
            made.set_result(self.evaluator.result, self.navigation.use)

    # ---- updates ------------------------------------------------------------------------------

    def _reset(self) -> None:
        """Reset what belonged to the previous diagram."""
        self.notice.dismiss()
        self.inspector.forget()
        self.canvas.set_selection(NOTHING)
        self.opening.want_fit()

    def _start_with_formula(self, text: str) -> None:
        self.welcome.show_mistake(self.edit.add_formula(text))
        if not self.welcome.isVisible():
            self.canvas.zoom_to_fit()
            self.canvas.setFocus()

    def _show_page(self) -> None:
        here = self.navigation
        self.breadcrumbs.show_trail(here.trail, here.root, here.steps)

    def _close_controls(self) -> None:
        """Close the controls that would show what is hidden, and open the others."""
        self.states.close(self.curtain.closed_actions())
        self.trial.lock(locked=self.curtain.closes("what_if"))

    def _show_audience(self, is_open: bool, is_frozen: bool) -> None:
        self.states.show_audience(is_open)
        self.actions_by_name["audience"].setChecked(is_open)
        self.actions_by_name["freeze"].setChecked(is_frozen)

    def _show_inspector(self) -> None:
        self.docks.bring_up("inspector")
        self.inspector.focus_name()

    def _show_derivative(self, name: str) -> None:
        self.canvas.select({name})
        self.docks.bring_up("derivative")

    def _show_menu(self, at: QPoint) -> None:
        menu = context_menu(
            self, target_of(self.canvas.view), self.actions_by_name, self.menus.by_name
        )
        menu.popup(self.canvas.mapToGlobal(at))
