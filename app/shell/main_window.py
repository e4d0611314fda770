"""The main window: creates canvas, panels, controllers and commands, and connects them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtWidgets import QMainWindow, QVBoxLayout, QWidget

from app.canvas.state.view_state import NOTHING
from app.canvas.state.wire_numbers import WireNumbers
from app.canvas.view import CanvasView
from app.commands.bookmarks import BookmarkCommands
from app.commands.clipboard import ClipboardCommands
from app.commands.compare import CompareCommands
from app.commands.edit import EditCommands
from app.commands.files import FileCommands, dropped_files
from app.commands.help import HelpCommands
from app.commands.pages import PageCommands
from app.commands.panels import PanelCommands
from app.commands.pictures import PictureCommands
from app.commands.run import RunCommands
from app.commands.view import ViewCommands
from app.controllers.costs import CostController
from app.controllers.doctor import DoctorController
from app.controllers.explanation import Explanation
from app.controllers.gradient_check import GradientCheck
from app.controllers.loss_matrix import LossMatrixController
from app.controllers.reveal import Reveal
from app.controllers.trial import Trial
from app.document.autosave import Autosave
from app.document.document import Document
from app.document.navigation import Navigation
from app.evaluation.evaluator import Evaluator
from app.panels.bars.breadcrumbs import Breadcrumbs
from app.panels.bars.find_bar import FindBar
from app.panels.bars.notice import Notice
from app.panels.bars.progress import Progress
from app.panels.dialogs.welcome import Welcome
from app.panels.inspector.inspector import Inspector
from app.panels.palette.palette import Palette
from app.panels.tables.history import History
from app.panels.tables.losses import Losses
from app.panels.tables.problems import Problems
from app.panels.tables.variables import Variables
from app.panels.why.why import Why
from app.services import theme
from app.services.background import Background
from app.services.examples import examples
from app.services.plain_text import window_title
from app.services.settings import Settings
from app.services.style_sheet import sheet
from app.shell import actions
from app.shell.action_states import ActionStates
from app.shell.action_table import Owners
from app.shell.docks import Docks
from app.shell.menus import Menus
from app.shell.presenter import Presenter
from app.shell.shortcuts import Shortcuts
from app.shell.status import Status
from app.shell.windows import Windows
from blocks.registry import registry

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtCore import QPoint
    from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent

    from app.evaluation.result import Result
    from app.services.theme import Theme
    from runtime.diagram import Diagram


class MainWindow(QMainWindow):
    """The window of one document."""

    closed = Signal()
    """The window was closed; its changes are saved or discarded."""

    def __init__(self, settings: Settings | None = None, windows: Windows | None = None) -> None:
        super().__init__()
        self.windows = windows or Windows(settings or Settings())
        self.settings = self.windows.settings
        self._fit_wanted = False
        self._make_document()
        self._make_panels()
        self._make_controllers()
        self._arrange()
        self._make_commands()
        self._connect_document()
        self._connect_canvas()
        self._connect_panels()
        self._connect_presenter()
        self.setAcceptDrops(True)
        theme.follow_theme(self)
        self.restyle()
        self._show_document(self.document.diagram)
        self.presenter.show_diagram(self.document.diagram)
        geometry, state = self.settings.arrangement
        self.restoreGeometry(geometry)
        self.restoreState(state)
        self.windows.add(self)

    def come_forward(self) -> None:
        """Bring the window to the front and give it the keyboard focus."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.raise_()
        self.activateWindow()

    def open_path(self, path: Path) -> bool:
        """Open a file, here or in another window; False if it can't be read."""
        return self.windows.open(path, self)

    def open_copy(self, path: Path) -> bool:
        """Open a copy of a file, here or in another window; False if it can't be read."""
        return self.windows.open_copy(path, self)

    def restyle(self) -> None:
        """Apply the settings of text size, theme, motion, numbers and thresholds."""
        self.canvas.set_actual_zoom(theme.scale())
        self._states.show_settings(self.settings)
        numbers = WireNumbers.chosen(self.settings.wire_numbers, self.settings.numbered_wires)
        self.canvas.set_wire_numbers(numbers)
        self.canvas.set_reduced_motion(self.settings.reduced_motion)
        self.setAnimated(not self.settings.reduced_motion)
        self.evaluator.judge(self.settings.thresholds)

    def set_theme(self, theme: Theme) -> None:
        """Use the style sheet of ``theme``."""
        self.setStyleSheet(sheet(theme))

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
        self.settings.arrangement = (self.saveGeometry(), self.saveState())
        self.evaluator.shutdown()
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

    # ---- creation -----------------------------------------------------------------------------

    def _make_document(self) -> None:
        self.background = Background(self)
        self.document = Document(self, self.background.run)
        self.autosave = Autosave(self.document, self.windows.journal)
        self.navigation = Navigation(self)
        self.evaluator = Evaluator(parent=self)

    def _make_panels(self) -> None:
        self.canvas = CanvasView(self)
        self.canvas.favourites = self.windows.favourites
        theme.follow_theme(self.canvas)
        self.palette_panel = Palette(registry(), self.windows.favourites, self)
        self.history = History(self.document, self)
        self.inspector = Inspector(self, self.background.run)
        self.why = Why(self)
        self.problems = Problems(self)
        self.variables = Variables(self)
        self.losses = Losses(self)
        self.breadcrumbs = Breadcrumbs(self)
        self.notice = Notice(self)
        # Connected before the presenter, so that messages about the new diagram stay.
        self.document.diagramChanged.connect(self.notice.dismiss)
        self.progress = Progress(self)
        self.find_bar = FindBar(self)
        self.welcome = Welcome(self.canvas, examples())

    def _make_controllers(self) -> None:
        document, navigation, canvas = self.document, self.navigation, self.canvas
        self.reveal = Reveal(document, navigation, canvas, self)
        self.explanation = Explanation(document, navigation, canvas, self.why, self.reveal, self)
        self.trial = Trial(document, navigation, canvas, self.losses, self.why, self.settings, self)
        self.gradient_check = GradientCheck(document, canvas, self.notice, self)
        self.doctor = DoctorController(
            document, self.settings, canvas, self.explanation, self.reveal, self
        )
        self.costs = CostController(document, canvas, self.notice, self)
        self.loss_matrix = LossMatrixController(self.losses, self.explanation, self)
        self._controllers = (
            self.explanation, self.trial, self.gradient_check, self.doctor, self.loss_matrix,
            self.costs,
        )  # fmt: skip
        overlays = (self.losses.overlay, self.trial.overlay, self.gradient_check.overlay)
        self.presenter = Presenter(document, navigation, self.evaluator, overlays, self)

    def _make_commands(self) -> None:
        document, navigation, canvas = self.document, self.navigation, self.canvas
        background, settings = self.background, self.settings
        workers = [controller.worker for controller in self._controllers]
        self.edit = EditCommands(document, navigation, canvas, self)
        self.view = ViewCommands(canvas, settings, self)
        self.help = HelpCommands(lambda: menus, self.windows.keymap, settings, self)
        self.bookmarks = BookmarkCommands(document, navigation, canvas, self)
        self.clipboard = ClipboardCommands(document, navigation, canvas, self)
        self.pages = PageCommands(document, navigation, canvas, self.palette_panel, self)
        self.actions_by_name, menus = actions.build(
            self.menuBar(),
            Owners(
                bookmarks=self.bookmarks,
                canvas=canvas,
                clipboard=self.clipboard,
                costs=self.costs,
                compare=CompareCommands(document, navigation, background, settings, self),
                edit=self.edit,
                files=self.files,
                find_bar=self.find_bar,
                frame=self,
                gradient_check=self.gradient_check,
                help=self.help,
                history=document.undo_stack,
                navigation=navigation,
                pages=self.pages,
                palette=self.palette_panel,
                panels=PanelCommands(self, self.docks.by_name, canvas),
                pictures=PictureCommands(document, navigation, canvas, background, settings, self),
                run=RunCommands(document, self.evaluator, workers, settings, self),
                trial=self.trial,
                view=self.view,
                windows=self.windows,
            ),
        )
        Shortcuts(self.windows.keymap, self.actions_by_name, canvas, self)
        self._states = ActionStates(self.actions_by_name, canvas, navigation, document, self)
        self.menus = Menus(menus, self.docks.by_name, document, self.losses, self.windows, self)
        self.status = Status(self.statusBar(), canvas, self.losses, self.evaluator)
        self.status.cancel.clicked.connect(self.actions_by_name["cancel"].trigger)

    def _arrange(self) -> None:
        self.files = FileCommands(self.document, self.background, self.settings, self)
        centre = QWidget(self)
        column = QVBoxLayout(centre)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        bars = (
            self.notice, self.progress, self.files.offer, self.trial.bar, self.breadcrumbs,
            self.costs.bar, self.find_bar,
        )  # fmt: skip
        for bar in bars:
            column.addWidget(bar)
        column.addWidget(self.canvas, 1)
        self.setCentralWidget(centre)
        self.docks = Docks(
            self,
            {
                "palette": self.palette_panel,
                "history": self.history,
                "inspector": self.inspector,
                "why": self.why,
                "variables": self.variables,
                "problems": self.problems,
                "doctor": self.doctor.panel,
                "matrix": self.loss_matrix.panel,
            },
        )

    # ---- connections --------------------------------------------------------------------------

    def _connect_document(self) -> None:
        document = self.document
        document.opened.connect(self._reset)
        document.diagramChanged.connect(self._show_document)
        document.pathChanged.connect(self._show_title)
        document.cleanChanged.connect(self._show_title)
        document.problem.connect(self.notice.show_message)
        document.upgraded.connect(self.notice.show_message)
        self.autosave.failed.connect(self._warn_of_autosave)
        self.background.progressed.connect(self.progress.show_progress)
        self.background.ended.connect(self.progress.hide)
        self.progress.cancelled.connect(self.background.cancel)
        self.files.fileChosen.connect(self.open_path)

    def _connect_canvas(self) -> None:
        canvas = self.canvas
        canvas.changeRequested.connect(self.edit.change)
        canvas.previewRequested.connect(self.document.preview)
        canvas.selectionChanged.connect(self.inspector.set_selection)
        canvas.selectionChanged.connect(self.explanation.show_selection)
        canvas.bookmarkRequested.connect(self.bookmarks.go_to_number)
        canvas.pageEntered.connect(self.navigation.enter)
        canvas.inspectRequested.connect(self._show_inspector)
        canvas.menuRequested.connect(self._show_menu)
        canvas.sheetRequested.connect(self.actions_by_name["shortcuts"].trigger)
        canvas.legend.clicked.connect(self.actions_by_name["legend"].trigger)

    def _connect_panels(self) -> None:
        self.palette_panel.blockChosen.connect(self.edit.add_block)
        self.inspector.changeRequested.connect(self.edit.change)
        self.inspector.blockRequested.connect(self.reveal.block)
        self.find_bar.pathRequested.connect(self.reveal.close_up)
        self.find_bar.closed.connect(self.canvas.setFocus)
        self.variables.blockRequested.connect(self.reveal.path)
        self.problems.placeRequested.connect(self.reveal.location)
        self.problems.countChanged.connect(partial(self.docks.show_count, "problems"))
        self.doctor.countChanged.connect(partial(self.docks.show_count, "doctor"))
        self.docks.by_name["doctor"].visibilityChanged.connect(self.doctor.set_visible)
        self.docks.by_name["matrix"].visibilityChanged.connect(self.loss_matrix.set_visible)
        self.explanation.wireShown.connect(partial(self.docks.bring_up, "why"))
        self.breadcrumbs.trailRequested.connect(self.navigation.go)
        self.welcome.exampleRequested.connect(self.open_copy)
        self.welcome.fileRequested.connect(self.open_path)
        self.menus.bookmarkChosen.connect(self.bookmarks.go)
        self.menus.exampleChosen.connect(self.open_copy)
        self.menus.fileChosen.connect(self.open_path)
        self.costs.ended.connect(self.actions_by_name["costs"].trigger)
        self.help.exampleRequested.connect(self.open_copy)
        self.closed.connect(self.help.close_manual)
        self.view.looksChanged.connect(self.windows.restyle)
        for controller in self._controllers:
            self.closed.connect(controller.worker.shutdown)

    def _connect_presenter(self) -> None:
        presenter = self.presenter
        for chosen in (
            self.losses.lossChosen, self.trial.changed, self.gradient_check.changed,
        ):  # fmt: skip
            chosen.connect(presenter.show_result)
        for page_view in (
            self.canvas, self.inspector, self.why, self.find_bar, self.palette_panel,
        ):  # fmt: skip
            presenter.pageShown.connect(page_view.set_diagram)
        presenter.pageShown.connect(self._show_page)
        for result_view in (
            self.canvas, self.inspector, self.why, self.explanation, self.find_bar,
            self.variables, self.problems, self.doctor, self.loss_matrix, self.costs,
        ):  # fmt: skip
            presenter.resultShown.connect(result_view.set_result)
        presenter.resultShown.connect(self._show_error)

    # ---- updates ------------------------------------------------------------------------------

    def _reset(self) -> None:
        """Reset what belonged to the previous diagram."""
        self.notice.dismiss()
        self.inspector.forget()
        self.canvas.set_selection(NOTHING)
        self._fit_wanted = True

    def _show_document(self, diagram: Diagram) -> None:
        self._show_title()
        empty = not any(page.blocks or page.notes for page in diagram.pages.values())
        self.welcome.show_if(empty and self.document.path is None, self.settings.recent)
        if self._fit_wanted:
            self._fit_wanted = False
            self.canvas.zoom_to_fit()

    def _show_page(self) -> None:
        self.breadcrumbs.show_trail(self.navigation.trail, self.navigation.root)

    def _show_error(self, result: Result) -> None:
        if result.error is not None:
            self.notice.show_message(result.error)

    def _show_title(self) -> None:
        self.setWindowTitle(f"{window_title(self.document.name)}[*] — Gradwire")
        self.setWindowFilePath(str(self.document.path or ""))
        self.setWindowModified(not self.document.is_clean)

    def _show_inspector(self) -> None:
        self.docks.bring_up("inspector")
        self.inspector.focus_name()

    def _show_menu(self, at: QPoint) -> None:
        menu = actions.context_menu(self, self.actions_by_name)
        menu.popup(self.canvas.mapToGlobal(at))

    def _warn_of_autosave(self, reason: str) -> None:
        self.notice.show_message(
            self.tr("Unsaved changes would be lost in a crash. {0}").format(reason)
        )
