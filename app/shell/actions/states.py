"""Enables and checks actions as selection, page, history and settings require."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from gradwire.app.evaluation.engines import why_missing
from gradwire.app.services.plain_text import unmarked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from PySide6.QtGui import QAction

    from gradwire.app.canvas.state.view_state import Selection
    from gradwire.app.canvas.view import CanvasView
    from gradwire.app.document.document import Document
    from gradwire.app.document.navigation import Navigation
    from gradwire.app.services.settings import Settings


class ActionStates(QObject):
    """Enables and checks the actions of one window."""

    def __init__(
        self,
        by_name: Mapping[str, QAction],
        canvas: CanvasView,
        navigation: Navigation,
        document: Document,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._by_name = by_name
        self._closed: frozenset[str] = frozenset()
        self._navigation = navigation
        canvas.selectionChanged.connect(self.show_selection)
        navigation.changed.connect(self._show_page)
        self._history = document.undo_stack
        document.historyChanged.connect(self._show_history)
        self._show_history()
        self.show_selection(canvas.view.selection)
        self._show_page()
        self._close_missing("jax")

    def show_selection(self, selection: Selection) -> None:
        """Enable the actions that apply to ``selection``."""
        has_wire = selection.wire is not None
        count = len(selection.blocks) + len(selection.notes)
        self._enable(selection.has_items or has_wire, "delete")
        self._enable(has_wire, "bend_wire")
        self._enable(bool(count), "cut", "copy", "duplicate", "zoom_selection")
        blocks = bool(selection.blocks)
        self._enable(blocks, "group", "ungroup", "export_selection", "own_parameters", "move_out")
        self._enable(blocks, "bypass", "collapse", "fold", "unfold", "edit_formula", "save_preset")
        self._enable(bool(count), *(name for name in self._by_name if name.startswith("colour_")))
        self._enable(count == 1, "rename")

    def show_settings(self, settings: Settings) -> None:
        """Check the actions of what is chosen in the settings."""
        self._choose("text", settings.text, "normal")
        self._choose("theme", settings.theme.replace(" ", "_"), "system")
        self._choose("numbers", settings.wire_numbers, "gradient")
        self._choose("engine", settings.engine, "numpy")
        self._choose("numbers_on", settings.numbered_wires, "selection")
        self._by_name["reduced_motion"].setChecked(settings.reduced_motion)
        self._by_name["toolbar"].setChecked(settings.toolbar)

    def close(self, names: Iterable[str]) -> None:
        """Disable these actions, and enable those that were closed before."""
        before, self._closed = self._closed, frozenset(names)
        self._enable(True, *(before - self._closed))
        self._enable(False, *self._closed)

    def _close_missing(self, engine: str) -> None:
        """Disable the choice of an engine that is not installed, and say how to install it."""
        if missing := why_missing(engine):
            action = self._by_name[f"engine_{engine}"]
            action.setEnabled(False)
            action.setToolTip(self.tr("Not installed: {0}").format(missing))
            action.setStatusTip(action.toolTip())

    def _choose(self, group: str, name: str, otherwise: str) -> None:
        """Check an action of a group, or another one where the settings are not of this version."""
        known = f"{group}_{name}" in self._by_name
        self._by_name[f"{group}_{name if known else otherwise}"].setChecked(True)

    def _show_page(self) -> None:
        self._enable(bool(self._navigation.use), "leave_page")
        self._enable(bool(self._navigation.steps), "previous_step", "next_step")

    def _show_history(self) -> None:
        stack, undo, redo = self._history, self._by_name["undo"], self._by_name["redo"]
        undo.setEnabled(stack.canUndo())
        redo.setEnabled(stack.canRedo())
        undo.setText(self.tr("&Undo {0}").format(unmarked(stack.undoText())).rstrip())
        redo.setText(self.tr("&Redo {0}").format(unmarked(stack.redoText())).rstrip())

    def _enable(self, enabled: bool, *names: str) -> None:
        for name in names:
            self._by_name[name].setEnabled(enabled)
