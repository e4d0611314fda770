"""The open windows of the process, and what they share: settings, favourites and the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QObject, QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QApplication

from gradwire.app.controllers.tour import DIAGRAM
from gradwire.app.document.loading import Loaded
from gradwire.app.evaluation.worker import Engines
from gradwire.app.services import theme
from gradwire.app.services.background import Cancelled
from gradwire.app.services.examples import in_variant
from gradwire.app.services.favourites import Favourites
from gradwire.app.services.journal import Journal
from gradwire.app.services.keymap import Keymap
from gradwire.app.services.library import FileLibrary
from gradwire.app.shell.actions.building import bindings
from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram import PROMPT, Presets, resolved
from gradwire.runtime.interchange import DEFAULTS, ImportOptions
from gradwire.runtime.lessons import ProgressFile

if TYPE_CHECKING:
    from pathlib import Path

    from gradwire.app.panels.dialogs.recovery import Recovery
    from gradwire.app.services.journal import JournalEntry
    from gradwire.app.services.settings import Settings
    from gradwire.app.shell.main_window import MainWindow
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.lessons import LessonProgress


DECORATION = QSize(8, 48)
"""Room for the borders and the title bar, which are known only once a window is shown; pixels."""
_CASCADE = QPoint(28, 28)
"""Offset of each new window from the previous one, px."""
_STAIRS = 8
"""Windows that stand beside one another before the next one stands on the first."""


class OpenWindows(QObject):
    """The open windows, in the order they were opened."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings
        self.favourites = Favourites(settings, self)
        self.library = FileLibrary(settings, self)
        self.presets = Presets(settings.presets)
        self.progress = ProgressFile(settings.progress)
        self.keymap = Keymap(bindings(), settings, self)
        self.journal = Journal(settings.folder / "recovery")
        self.engines = Engines(settings, self)
        self._windows: list[MainWindow] = []
        self.apply_theme()
        QApplication.styleHints().colorSchemeChanged.connect(self._follow_system)

    @property
    def listed(self) -> tuple[MainWindow, ...]:
        """All windows, oldest first."""
        return tuple(self._windows)

    def active(self) -> MainWindow:
        """The window with the keyboard focus, or else the newest."""
        active = QApplication.activeWindow()
        return next((w for w in self._windows if w is active), self._windows[-1])

    def add(self, window: MainWindow) -> None:
        """Add a window to the list until it is closed."""
        self._windows.append(window)
        window.closed.connect(self._remove)

    def new(self, path: Path | None = None) -> MainWindow:
        """Open a new window, empty or with a file."""
        from gradwire.app.shell.main_window import MainWindow  # imports this module

        made = MainWindow(windows=self, path=path)
        made.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if stairs := (len(self._windows) - 1) % _STAIRS:
            # Of the first window, as the last one that was closed stood on a stair itself; without
            # the frame, which ``move`` would count in although it is not there yet.
            corner = self._windows[0].geometry().topLeft() + _CASCADE * stairs
            made.setGeometry(QRect(corner, made.geometry().size()))
            room = made.screen().availableGeometry().bottomRight() - corner
            made.resize(made.size().boundedTo(QSize(room.x(), room.y()) - DECORATION))
        made.show()
        made.come_forward()
        if path is not None:
            made.open_path(path)
        if damaged := self.settings.newly_damaged():
            text = self.tr("Some settings can't be read and are as by default: {0}.")
            said = made.notice.text(), text.format(", ".join(damaged))
            made.notice.show_message("\n".join(filter(None, said)))
        return made

    def open(self, path: Path, window: MainWindow, options: ImportOptions = DEFAULTS) -> bool:
        """Open a file in ``window`` if that is empty, or else in a new one; False on failure.

        A model of another system is imported, as ``options`` say, and what the import has to say
        is shown.
        If a window has the file open already, that window comes to the front: two windows with the
        same file would overwrite each other's changes.
        """
        for other in self._windows:
            if other.document.path is not None and _same(other.document.path, path):
                other.come_forward()
                return True
        loaded = window.document.read(path, options)
        if loaded is None:
            return False
        chosen = self._adopt(loaded, window)
        if loaded.imported is None:
            self.settings.remember(path)
        else:
            chosen.imports.announce(path.name, loaded.imported)
        return True

    def open_copy(self, path: Path, window: MainWindow, variant: str = "") -> bool:
        """Open a copy of a file in ``window`` if that is empty, or else in a new one.

        ``variant`` is one of the study of an example.
        """
        loaded = window.document.read(path)
        if loaded is not None:
            copy = loaded.copy()
            self._adopt(copy._replace(diagram=in_variant(copy.diagram, path, variant)), window)
        return loaded is not None

    def start_tour(self, window: MainWindow) -> None:
        """Begin the tour in ``window`` if that is empty, or else in a new one."""
        loaded = window.document.read(DIAGRAM)
        if loaded is not None:
            self._adopt(loaded.copy(), window, practice=True).tour.start()

    def start_lesson(self, path: Path, window: MainWindow, seed: int = 0) -> bool:
        """Play a lesson on a copy of its file, in ``window`` if that is empty or in a new one."""
        loaded = window.document.read(path)
        if loaded is not None:
            self._adopt(loaded.copy(), window).lazy.player.start(seed)
        return loaded is not None

    def start_lesson_of(self, diagram: Diagram, window: MainWindow) -> None:
        """Play the lesson of a diagram on a copy in another window."""
        self._adopt(Loaded(diagram, None, None), window).lazy.player.start()

    def progress_by_title(self) -> dict[str, LessonProgress]:
        """How far the user is in each lesson, by its title; nothing if that can't be read."""
        try:
            return {each.title: each for each in self.progress.read().values()}
        except FileError:
            return {}

    def remember_progress(self, digest: str, progress: LessonProgress) -> None:
        """Keep how far the user is in a lesson; a file with an error is moved aside."""
        try:
            aside = self.progress.put(digest, progress)
        except FileError as error:
            self.active().notice.show_message(str(error))
        else:
            if aside is not None:
                text = self.tr("The progress in lessons couldn't be read; it is now in {0}.")
                self.active().notice.show_message(text.format(aside))

    def restyle(self) -> None:
        """Apply the settings to every window."""
        self.apply_theme()
        for window in self._windows:
            window.restyle()

    def apply_theme(self) -> None:
        """Apply the theme and the text size of the settings."""
        application = QApplication.instance()
        if isinstance(application, QApplication):
            chosen = theme.THEMES.get(self.settings.theme) or theme.system()
            presenting = any(window.presentation.active for window in self._windows)
            theme.apply(chosen, application, "projector" if presenting else self.settings.text)

    def close_all(self) -> bool:
        """Close every window, newest first; False if one of them stays open.

        If a job is running in a window, this is called again when it ends.
        """
        for window in self._windows:
            if window.background.busy:
                window.background.afterwards(self.close_all)
                return False
        return all(window.close() for window in reversed(self.listed))

    def offer_recovery(self) -> Recovery | None:
        """Offer to recover what a crash left unsaved, if anything."""
        text, read = self.tr("Looking for unsaved diagrams"), self.journal.orphans
        try:
            entries = self.active().background.run(text, lambda pulse: read(), pure=True)
        except Cancelled:
            return None  # offered again at the next start
        if not entries or not self._windows:
            return None
        from gradwire.app.panels.dialogs.recovery import Recovery  # seldom needed

        dialog = Recovery(entries, self.active())
        dialog.recovered.connect(self.recover)
        dialog.discarded.connect(self.journal.discard)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        return dialog

    def recover(self, entry: JournalEntry) -> None:
        """Open an entry in an empty window, and move it to this process's journal."""
        window = next(filter(_is_free, self._windows), None) or self.new()
        window.document.recover(entry.diagram, entry.path)
        window.autosave.write()
        self.journal.discard(entry)

    def _follow_system(self) -> None:
        if self.settings.theme not in theme.THEMES:
            self.apply_theme()

    def _adopt(self, loaded: Loaded, window: MainWindow, *, practice: bool = False) -> MainWindow:
        """The window that now shows a diagram: ``window`` if that is empty, or a new one."""
        chosen = window if _is_free(window) else self.new()
        chosen.document.adopt(loaded, practice=practice)
        return chosen

    def _remove(self) -> None:
        window = cast("MainWindow", self.sender())
        if window not in self._windows:
            return  # closed twice
        self._windows.remove(window)
        if not self._windows:
            self.journal.close()


def _is_free(window: MainWindow) -> bool:
    return window.document.is_untouched and not window.background.busy


def _same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one place; not if a drive does not answer."""
    try:
        return resolved(one, PROMPT) == resolved(other, PROMPT)
    except FileError:
        return False
