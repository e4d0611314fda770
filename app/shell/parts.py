"""The parts of a main window: canvas, panels, controllers and commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gradwire.app.canvas.view import CanvasView
from gradwire.app.commands.bookmarks import BookmarkCommands
from gradwire.app.commands.clipboard import ClipboardCommands
from gradwire.app.commands.curves import CurveCommands
from gradwire.app.commands.edit import EditCommands
from gradwire.app.commands.files import FileCommands
from gradwire.app.commands.help import HelpCommands
from gradwire.app.commands.importing import ImportCommands
from gradwire.app.commands.library import LibraryCommands
from gradwire.app.commands.pages import PageCommands
from gradwire.app.commands.panels import PanelCommands
from gradwire.app.commands.presets import PresetCommands
from gradwire.app.commands.run import RunCommands
from gradwire.app.commands.targets import TargetCommands
from gradwire.app.commands.view import ViewCommands
from gradwire.app.controllers.derivative import DerivativeController
from gradwire.app.controllers.doctor import DoctorController
from gradwire.app.controllers.explanation import Explanation
from gradwire.app.controllers.gradient_check import GradientCheck
from gradwire.app.controllers.lessons.curtain import Curtain
from gradwire.app.controllers.lessons.offering import LessonOffering
from gradwire.app.controllers.loss_matrix import LossMatrixController
from gradwire.app.controllers.reveal import Reveal
from gradwire.app.controllers.tour import Tour
from gradwire.app.controllers.training.comparison import Comparison
from gradwire.app.controllers.training.dock import CurvesDock
from gradwire.app.controllers.training.reading import DataReading
from gradwire.app.controllers.training.training import TrainingController
from gradwire.app.controllers.trial import Trial
from gradwire.app.document.autosave import Autosave
from gradwire.app.document.document import Document
from gradwire.app.document.navigation import Navigation
from gradwire.app.evaluation.evaluator import Evaluator
from gradwire.app.panels.bars.breadcrumbs import Breadcrumbs
from gradwire.app.panels.bars.find_bar import FindBar
from gradwire.app.panels.bars.notice import Notice
from gradwire.app.panels.bars.offer import Offer
from gradwire.app.panels.bars.progress import Progress
from gradwire.app.panels.bars.toolbar import ToolBar
from gradwire.app.panels.bars.tour_bar import TourBar
from gradwire.app.panels.focus_ring import FocusRing
from gradwire.app.panels.inspector.inspector import Inspector
from gradwire.app.panels.lessons.learn import Learn
from gradwire.app.panels.menu import MenusOfQt
from gradwire.app.panels.palette.palette import Palette
from gradwire.app.panels.start.welcome import Welcome
from gradwire.app.panels.tables.history import History
from gradwire.app.panels.tables.losses import Losses
from gradwire.app.panels.tables.problems import Problems
from gradwire.app.panels.tables.variables import Variables
from gradwire.app.panels.why.card import Card
from gradwire.app.panels.why.why import Why
from gradwire.app.services import theme
from gradwire.app.services.background import Background
from gradwire.app.services.examples import examples, lessons
from gradwire.app.services.settings import Settings
from gradwire.app.shell.actions.building import build
from gradwire.app.shell.actions.rows import Owners
from gradwire.app.shell.actions.shortcuts import Shortcuts
from gradwire.app.shell.actions.states import ActionStates
from gradwire.app.shell.audience import Audience
from gradwire.app.shell.docks import Docks
from gradwire.app.shell.laser import Laser
from gradwire.app.shell.late_parts import LateParts
from gradwire.app.shell.menus import Menus
from gradwire.app.shell.presentation import Presentation
from gradwire.app.shell.presenter import Presenter
from gradwire.app.shell.status import Status
from gradwire.app.shell.windows import Windows
from gradwire.blocks.registry import registry

if TYPE_CHECKING:
    from gradwire.app.evaluation.training import TrainingWorker
    from gradwire.app.evaluation.worker import Worker


class WindowParts(LateParts):
    """Creates the parts of a window of one document, and leaves their connections to it."""

    def __init__(self, settings: Settings | None = None, windows: Windows | None = None) -> None:
        super().__init__()
        self.windows = windows or Windows(settings or Settings())
        self.settings = self.windows.settings
        self._make_document()
        self._make_panels()
        self._make_controllers()
        self._arrange()
        self._make_commands()

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
        self.history = History(self.document, self)
        document = self.document
        self.inspector = Inspector(self, self.background.run, lambda: document.is_previewing)
        self.why = Why(self)
        self.problems = Problems(self)
        self.variables = Variables(self, lambda: document.is_previewing)
        self.losses = Losses(self)
        self.breadcrumbs = Breadcrumbs(self)
        self.notice = Notice(self)
        self.lesson_offer = Offer(self)
        # Connected before the presenter, so that messages about the new diagram stay.
        self.document.diagramChanged.connect(self.notice.dismiss)
        self.progress = Progress(self)
        self.find_bar = FindBar(self)
        self.tour_bar = TourBar(self)
        self.welcome = Welcome(self.canvas, examples, lessons)
        self.focus_ring = FocusRing(self)

    def _make_controllers(self) -> None:
        document, navigation, canvas = self.document, self.navigation, self.canvas
        self.curtain = Curtain(self)
        self.reveal = Reveal(document, navigation, canvas, self)
        self.card = Card(canvas)
        self.explanation = Explanation(
            document, navigation, canvas, self.why, self.card, self.reveal, self
        )
        self.trial = Trial(
            document, navigation, canvas, self.losses, self.why, self.card, self.settings, self
        )
        self.gradient_check = GradientCheck(document, canvas, self.notice, self)
        self.doctor = DoctorController(
            document, self.settings, canvas, self.explanation, self.reveal, self
        )
        self.derivative = DerivativeController(canvas, self.losses, self)
        self.learn = Learn(self)
        self.training = TrainingController(
            document, self.evaluator, self.reveal, self.settings, self
        )
        self.comparison = Comparison(document, navigation, canvas, self.training, self)
        self.loss_matrix = LossMatrixController(self.losses, self.explanation, self)
        self._controllers = (
            self.explanation, self.trial, self.gradient_check, self.doctor, self.loss_matrix,
            self.derivative, self.training,
        )  # fmt: skip
        self._workers: list[Worker | TrainingWorker] = [
            controller.worker for controller in self._controllers
        ]
        overlays = (
            self.curtain.overlay, self.losses.overlay, self.trial.overlay,
            self.gradient_check.overlay,
        )  # fmt: skip
        self.presenter = Presenter(document, navigation, self.evaluator, overlays, self)

    def _make_commands(self) -> None:
        document, navigation, canvas = self.document, self.navigation, self.canvas
        settings = self.settings
        palette, library = self.palette_panel, self.windows.library
        self.presentation = Presentation(
            self, document, navigation, canvas, self.docks, self.breadcrumbs, self._played
        )
        self.audience = Audience(canvas, document, self._played, self)
        self.laser = Laser(canvas, settings, lambda: self.presentation.active)
        self.edit = EditCommands(document, navigation, canvas, self)
        self.view = ViewCommands(canvas, settings, self)
        self.data_reading = DataReading(document, self.progress, self)
        curves = CurveCommands(document, settings, self.training.curves, self)
        curves.runsRead.connect(self.training.runs.show)
        self.help = HelpCommands(lambda: self.menus.by_name, self.windows.keymap, settings, self)
        self.bookmarks = BookmarkCommands(document, navigation, canvas, self)
        self.lessons = LessonOffering(
            document, canvas, self.curtain, self._played, self.lesson_offer, self
        )
        self.presets = PresetCommands(document, navigation, canvas, self.windows.presets, self)
        self.clipboard = ClipboardCommands(document, navigation, canvas, self)
        self.pages = PageCommands(document, navigation, canvas, palette, self)
        self.actions_by_name, menus = build(
            self.menuBar(),
            Owners(
                audience=self.audience,
                bookmarks=self.bookmarks,
                canvas=canvas,
                clipboard=self.clipboard,
                comparison=self.comparison,
                docks=self.docks,
                edit=self.edit,
                files=self.files,
                find_bar=self.find_bar,
                frame=self,
                gradient_check=self.gradient_check,
                help=self.help,
                history=document.undo_stack,
                imports=self.imports,
                lessons=self.lessons,
                library=LibraryCommands(document, navigation, canvas, palette, library, self),
                navigation=navigation,
                pages=self.pages,
                palette=palette,
                panels=PanelCommands(
                    self,
                    self.docks.by_name,
                    (self.card, self.tour_bar, *self.docks.edges.values()),
                    canvas,
                    self.focus_ring,
                ),
                presentation=self.presentation,
                presets=self.presets,
                run=RunCommands(document, self.evaluator, self._workers, settings, self),
                targets=TargetCommands(canvas, self),
                training=self.training,
                trial=self.trial,
                view=self.view,
                windows=self.windows,
                make_authoring=lambda: self.authoring,
                make_costs=lambda: self.costs,
                make_predict=lambda: self.predict,
                make_timeline=lambda: self.timeline,
                make_compare=self._compare_commands,
                make_exports=self._export_commands,
                make_pictures=self._picture_commands,
                make_publishing=self._publish_commands,
            ),
        )
        Shortcuts(self.windows.keymap, self.actions_by_name, canvas, self)
        self._states = ActionStates(self.actions_by_name, canvas, navigation, document, self)
        self.menus = Menus(
            menus, self.docks.by_name, document, self.losses, self.presets, self.windows, self
        )
        self.toolbar = ToolBar(self.actions_by_name, menus, self)
        self.addToolBar(Qt.ToolBarArea.TopToolBarArea, self.toolbar)
        self.menus_of_qt = MenusOfQt(self)
        self.tour = Tour(
            document, self.evaluator, canvas, self.explanation, self.trial, self.doctor.panel,
            self.tour_bar, self.actions_by_name, settings, self,
        )  # fmt: skip
        self.status = Status(self.statusBar(), canvas, self.losses, self.evaluator)
        self.status.cancel.clicked.connect(self.actions_by_name["cancel"].trigger)
        self.evaluator.busyChanged.connect(canvas.computing.set_busy)
        canvas.computing.cancelRequested.connect(self.actions_by_name["cancel"].trigger)

    def _arrange(self) -> None:
        self.files = FileCommands(self.document, self.background, self.settings, self)
        self.imports = ImportCommands(self.document, self.settings, self.reveal.close_up, self)
        centre = QWidget(self)
        column = QVBoxLayout(centre)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        bars = (
            self.tour_bar, self.notice, self.progress, self.files.offer, self.imports.offer,
            self.lesson_offer,
            self.trial.bar, self.breadcrumbs, self.find_bar,
        )  # fmt: skip
        for bar in bars:
            column.addWidget(bar)
        column.addWidget(self.comparison.halves, 1)
        column.addWidget(self.training.alarm)
        column.addWidget(self.training.bar)
        self._column = column
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
        CurvesDock(self.docks.by_name["curves"], self.canvas, self.settings, self)
