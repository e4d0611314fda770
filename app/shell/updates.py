"""What a window shows as its document, its results, lessons and settings change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from gradwire.app.canvas.state.view_state import NOTHING
from gradwire.app.services.plain_text import window_title
from gradwire.app.shell.context_menus import context_menu, target_of

if TYPE_CHECKING:
    from pathlib import Path

    from PySide6.QtCore import QPoint
    from PySide6.QtWidgets import QWidget

    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.app.shell.main_window import MainWindow
    from gradwire.runtime.diagram import Diagram


class WindowUpdates(QObject):
    """Follows what happens in one window, which is about to open the file ``awaited``, if any."""

    def __init__(self, window: MainWindow, awaited: Path | None) -> None:
        super().__init__(window)
        self._window = window
        self._awaited = awaited
        """Until it is open, there is no start page."""
        self._fit_wanted = False
        self._error = ""
        """What the last run failed with."""
        self._titled = "", ""
        """The name and the path that the title shows."""

    def end_waiting(self) -> None:
        """The awaited file is open, or can't be read."""
        if self._awaited is not None:
            self._awaited = None
            self.show_document(self._window.document.diagram)

    def reset(self) -> None:
        """Reset what belonged to the previous diagram."""
        window = self._window
        window.notice.dismiss()
        window.inspector.forget()
        window.canvas.set_selection(NOTHING)
        self._fit_wanted = True

    def show_document(self, diagram: Diagram) -> None:
        window = self._window
        self.show_title()
        empty = not any(page.blocks or page.notes for page in diagram.pages.values())
        if empty and window.document.path is None:
            if self._awaited is not None:
                return
            window.welcome.progress = window.windows.progress_by_title()
            window.welcome.open(window.settings.recent, tour_taken=window.settings.tour_taken)
        else:
            window.welcome.hide()
        if self._fit_wanted:
            self._fit_wanted = False
            window.canvas.zoom_to_fit()
            window.lessons.offer()

    def start_with_formula(self, text: str) -> None:
        window = self._window
        window.welcome.show_mistake(window.edit.add_formula(text))
        if not window.welcome.isVisible():
            window.canvas.zoom_to_fit()
            window.canvas.setFocus()

    def show_page(self) -> None:
        here = self._window.navigation
        self._window.breadcrumbs.show_trail(here.trail, here.root, here.steps)

    def show_error(self, result: EvaluationResult) -> None:
        window = self._window
        if result.error is not None:
            window.notice.show_message(result.error)
        elif window.notice.text() == self._error:
            window.notice.dismiss()
        self._error = result.error or ""

    def show_title(self) -> None:
        window = self._window
        titled = window.document.name, str(window.document.path or "")
        if titled != self._titled:
            self._titled = titled
            window.setWindowTitle(f"{window_title(titled[0])}[*] — Gradwire")
            window.setWindowFilePath(titled[1])
        if window.isWindowModified() == window.document.is_clean:
            window.setWindowModified(not window.document.is_clean)

    def close_controls(self) -> None:
        """Close the controls that would show what is hidden, and open the others."""
        window = self._window
        window.states.close(window.curtain.closed_actions())
        window.trial.lock(locked=window.curtain.closes("what_if"))

    def show_learning(self, panel: QWidget) -> None:
        self._window.learn.setCurrentWidget(panel)
        self._window.docks.bring_up("learn")

    def fill_learn(self, is_seen: bool) -> None:
        """Show what every diagram can be asked, where no lesson is shown."""
        window = self._window
        if is_seen and not window.learn.count():
            window.learn.setCurrentWidget(window.lazy.predict.panel)

    def show_lesson(self, is_on: bool) -> None:
        """Close the free prediction while a lesson asks, and show its panel again afterwards."""
        window = self._window
        window.lazy.predict.end()
        window.states.show_lesson(is_on)
        if not is_on:
            window.learn.setCurrentWidget(window.lazy.predict.panel)

    def leave_lesson(self) -> None:
        """Go back to the window that the lesson came from, or to the start page."""
        window = self._window
        if len(window.windows.listed) > 1:
            window.close()
        else:
            window.document.new()

    def show_audience(self, is_open: bool, is_frozen: bool) -> None:
        window = self._window
        window.states.show_audience(is_open)
        window.actions_by_name["audience"].setChecked(is_open)
        window.actions_by_name["freeze"].setChecked(is_frozen)

    def show_inspector(self) -> None:
        self._window.docks.bring_up("inspector")
        self._window.inspector.focus_name()

    def show_derivative(self, name: str) -> None:
        self._window.canvas.select({name})
        self._window.docks.bring_up("derivative")

    def show_menu(self, at: QPoint) -> None:
        window = self._window
        menu = context_menu(
            window, target_of(window.canvas.view), window.actions_by_name, window.menus.by_name
        )
        menu.popup(window.canvas.mapToGlobal(at))

    def follow_engine(self) -> None:
        window = self._window
        window.states.show_settings(window.settings)
        window.evaluator.refresh(window.document.diagram)

    def show_refusal(self, reason: str) -> None:
        window = self._window
        window.states.show_settings(window.settings)
        window.notice.show_message(window.tr("NumPy computes now. {0}").format(reason))

    def warn_of_autosave(self, reason: str) -> None:
        self._window.notice.show_message(
            self._window.tr("Unsaved changes would be lost in a crash. {0}").format(reason)
        )
