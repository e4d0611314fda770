"""The window: assembles canvas, panels and menus, and leads what one says to the others."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QApplication,
    QMainWindow,
    QVBoxLayout,
    QWidget,
)

from app.canvas.view import CanvasView
from app.commands.clipboard import ClipboardCommands
from app.commands.edit import Commands
from app.commands.files import FileCommands, dropped_files
from app.commands.help import HelpCommands
from app.commands.pages import PageCommands
from app.commands.panels import PanelCommands
from app.commands.pictures import PictureCommands
from app.controllers.doctor import DoctorController, count_in
from app.controllers.explanation import Explanation
from app.controllers.gradient_check import GradientCheck
from app.controllers.loss_matrix import LossComparison
from app.controllers.trial import Trial
from app.document.autosave import Autosave
from app.document.document import Document
from app.document.navigation import Navigation
from app.evaluation.evaluator import Evaluator
from app.panels.bars.breadcrumbs import Breadcrumbs
from app.panels.bars.find_bar import FindBar
from app.panels.bars.notice import Notice
from app.panels.dialogs.welcome import Welcome
from app.panels.inspector.inspector import Inspector
from app.panels.palette.palette import Palette
from app.panels.tables.losses import Losses
from app.panels.tables.problems import Problems
from app.panels.tables.variables import Variables
from app.panels.why.why import Why
from app.services import theme as look
from app.services.background import Background
from app.services.examples import examples
from app.services.settings import Settings
from app.services.style_sheet import sheet
from app.shell import actions
from app.shell.docks import docks, dress
from app.shell.menus import Menus
from app.shell.presenter import Presenter
from app.shell.status import Status
from app.shell.windows import Windows
from blocks.registry import registry

if TYPE_CHECKING:
    from PySide6.QtCore import QPoint
    from PySide6.QtGui import QCloseEvent, QDragEnterEvent, QDropEvent


class MainWindow(QMainWindow):
    """One document in one window."""

    closed = Signal()
    """The window was closed, and nothing of its document is left to save."""

    def __init__(self, settings: Settings | None = None, windows: Windows | None = None) -> None:
        super().__init__()
        self.windows = windows or Windows(settings or Settings())
        self.settings = self.windows.settings
        self.background = Background(self)
        self.document = Document(self, self.background.run)
        self.autosave = Autosave(self.document, self.windows.journal)
        self.evaluator = Evaluator(parent=self)
        self.navigation = Navigation(self)
        self.canvas = CanvasView(self)
        self.canvas.favourites = self.windows.favourites
        self.palette_panel = Palette(registry(), self.windows.favourites, self)
        self.inspector = Inspector(self)
        self.why = Why(self)
        self.problems = Problems(self)
        self.variables = Variables(self)
        self.losses = Losses(self)
        self.trial = Trial(self)
        self.doctor = DoctorController(self)
        self.loss_comparison = LossComparison(self)
        self.gradient_check = GradientCheck(self)
        self.breadcrumbs = Breadcrumbs(self)
        self.notice = Notice(self)
        self.find_bar = FindBar(self)
        self.files = FileCommands(self, self.document, self.canvas, self.windows)
        self.commands = Commands(
            self,
            self.document,
            self.evaluator,
            self.canvas,
            self.palette_panel,
            self.navigation,
            self.settings,
        )
        self.pages = PageCommands(self)
        self.clipboard = ClipboardCommands(
            self.commands, self.document, self.canvas, self.navigation
        )
        self.welcome = Welcome(self.canvas, examples())
        self._arrange_panels()
        pictures, finding = PictureCommands(self), HelpCommands(self)
        targets = (
            self.commands,
            self.files,
            self.clipboard,
            self.pages,
            pictures,
            finding,
            self.trial,
            self.gradient_check,
            PanelCommands(self),
        )
        self.actions_by_name, menus = actions.build(self.menuBar(), targets, self.canvas)
        self.actions_by_name["picture_legend"].setChecked(self.settings.picture_legend)
        self.menus = Menus(self, menus)
        self.canvas.sheetRequested.connect(self.actions_by_name["shortcuts"].trigger)
        self.canvas.legend.clicked.connect(self.actions_by_name["legend"].trigger)
        self.status = Status(self)
        self.explanation = Explanation(self)
        self.presenter = Presenter(self)
        self._connect_history()
        self._connect_canvas()
        self._connect_panels()
        self.setAcceptDrops(True)
        self.restyle()
        QApplication.styleHints().colorSchemeChanged.connect(self._follow_system)
        self.presenter.show_diagram(self.document.diagram)
        geometry, state = self.settings.arrangement
        self.restoreGeometry(geometry)
        self.restoreState(state)
        self.windows.add(self)

    def come_forward(self) -> None:
        """Show the window before the others, with the keyboard."""
        self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.raise_()
        self.activateWindow()

    def restyle(self) -> None:
        """Look, move and judge gradients as the settings say."""
        self._set_theme(self.settings.theme)
        self.canvas.set_actual(look.scale())
        size = self.settings.text if self.settings.text in look.TEXT_SIZES else "normal"
        self.actions_by_name[f"text_{size}"].setChecked(True)
        still = self.settings.still
        self.canvas.set_still(still)
        self.setAnimated(not still)
        self.actions_by_name["reduced_motion"].setChecked(still)
        self.evaluator.judge(self.settings.thresholds)

    # ---- what the window is told --------------------------------------------------------------

    def closeEvent(self, event: QCloseEvent) -> None:
        if self.background.busy:
            self.background.afterwards(self.close)
            event.ignore()
            return
        if (typing := self.focusWidget()) is not None:
            typing.clearFocus()  # what is being written is kept before anyone asks what is new
        if not self.files.may_leave():
            event.ignore()
            return
        self.settings.arrangement = (self.saveGeometry(), self.saveState())
        self.evaluator.shutdown()
        self.autosave.close()
        self.canvas.blockSignals(True)  # its last ones would find panels that are gone
        event.accept()
        self.closed.emit()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped_files(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        event.acceptProposedAction()
        for path in dropped_files(event):
            # After the drop: the program that the files came from must not be kept waiting.
            QTimer.singleShot(0, self, lambda path=path: self.files.open_path(path))

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            self.files.disk.check()  # network drives tell no watcher

    # ---- assembling ---------------------------------------------------------------------------

    def _arrange_panels(self) -> None:
        centre = QWidget(self)
        column = QVBoxLayout(centre)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.notice)
        column.addWidget(self.background.bar)
        column.addWidget(self.files.offer)
        column.addWidget(self.trial.bar)
        column.addWidget(self.breadcrumbs)
        column.addWidget(self.find_bar)
        column.addWidget(self.canvas, 1)
        self.setCentralWidget(centre)
        self.docks = docks(self)

    def _connect_history(self) -> None:
        stack = self.document.undo_stack
        stack.canUndoChanged.connect(self._show_history)
        stack.undoTextChanged.connect(self._show_history)
        stack.redoTextChanged.connect(self._show_history)
        stack.canRedoChanged.connect(self._show_history)
        self._show_history()

    def _connect_canvas(self) -> None:
        canvas = self.canvas
        canvas.changeRequested.connect(self.commands.change)
        canvas.selectionChanged.connect(self._show_selection)
        canvas.wireClicked.connect(self._show_wire)
        canvas.pageEntered.connect(self.navigation.enter)
        canvas.statusMessage.connect(self.statusBar().showMessage)
        canvas.inspectRequested.connect(self._show_inspector)
        canvas.menuRequested.connect(self._show_menu)
        canvas.zoomChanged.connect(self.status.show_zoom)
        self.status.show_zoom(canvas.zoom())
        self._show_selection(canvas.selection())

    def _connect_panels(self) -> None:
        self.palette_panel.blockChosen.connect(self.commands.add_block)
        self.inspector.changeRequested.connect(self.commands.change)
        self.inspector.blockRequested.connect(self.commands.reveal_here)
        self.find_bar.pathRequested.connect(self.commands.reveal_path)
        self.find_bar.closed.connect(self.canvas.setFocus)
        self.commands.findRequested.connect(self.find_bar.open)
        self.variables.blockRequested.connect(self.commands.reveal_path)
        self.problems.placeRequested.connect(self.commands.reveal)
        self.problems.countChanged.connect(partial(count_in, self.docks["problems"]))
        self.breadcrumbs.trailRequested.connect(self.navigation.go)
        self.losses.lossChosen.connect(self.presenter.show_place)
        self.welcome.exampleRequested.connect(self.files.open_example)
        self.welcome.fileRequested.connect(self.files.open_path)
        self.commands.themeChosen.connect(self._choose_theme)
        self.commands.looksChanged.connect(self.windows.restyle)

    # ---- leading what one says to the others --------------------------------------------------

    def _show_history(self) -> None:
        stack, by_name = self.document.undo_stack, self.actions_by_name
        undo, redo = by_name["undo"], by_name["redo"]
        undo.setEnabled(stack.canUndo())
        redo.setEnabled(stack.canRedo())
        undo.setText(self.tr("&Undo {0}").format(stack.undoText()).rstrip())
        redo.setText(self.tr("&Redo {0}").format(stack.redoText()).rstrip())

    def _show_selection(self, names: frozenset[str]) -> None:
        self.inspector.set_selection(names)
        self._show_enabled()

    def _show_wire(self, key: str) -> None:
        self.explanation.show_wire(key)
        self._show_enabled()

    def _show_enabled(self) -> None:
        blocks, notes, bends = self.canvas.view.selection
        count, by_name = len(blocks) + len(notes), self.actions_by_name
        by_name["delete"].setEnabled(bool(count or bends or self.canvas.selected_wire()))
        by_name["bend_wire"].setEnabled(self.canvas.selected_wire() is not None)
        for name in ("cut", "copy", "duplicate", "zoom_selection"):
            by_name[name].setEnabled(bool(count))
        for name in ("group", "ungroup", "export_selection"):
            by_name[name].setEnabled(bool(blocks))
        by_name["rename"].setEnabled(count == 1)

    def _show_inspector(self) -> None:
        self.docks["inspector"].show()
        self.docks["inspector"].raise_()
        self.inspector.focus_name()

    def _show_menu(self, at: QPoint) -> None:
        menu = actions.context_menu(self, self.actions_by_name)
        menu.popup(self.canvas.mapToGlobal(at))

    def _choose_theme(self, name: str) -> None:
        self.settings.theme = name
        self.windows.restyle()

    def _follow_system(self) -> None:
        if self.settings.theme == "system":
            self._set_theme("system")

    def _set_theme(self, name: str) -> None:
        self._theme = look.THEMES.get(name) or look.system()
        application = QApplication.instance()
        if isinstance(application, QApplication):
            look.apply(self._theme, application, self.settings.text)
        self.setStyleSheet(sheet(self._theme))
        dress(self.docks.values(), self._theme)
        for panel in (
            self.canvas, self.palette_panel, self.inspector, self.why, self.problems, self.notice,
            self.files.offer, self.trial.bar, self.doctor.panel, self.background.bar,
            self.loss_comparison.panel,
        ):  # fmt: skip
            panel.set_theme(self._theme)
        chosen = name.replace(" ", "_") if name in look.THEMES else "system"
        self.actions_by_name[f"theme_{chosen}"].setChecked(True)
