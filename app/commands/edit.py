"""What each action of the Edit, View, Run and Help menus does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QInputDialog, QMessageBox, QWidget

from app.canvas.input.entry.candidates import type_candidate
from app.document.diff import page_diff, renamed_pages
from app.panels.dialogs.thresholds import ThresholdsDialog
from blocks.errors import Location
from runtime.diagram import (
    MAIN,
    Arrange,
    Batch,
    Change,
    Diagram,
    PortName,
    RenameBlock,
    SetParameters,
)
from runtime.diagram.layout.measures import HEADER, WIDTH
from runtime.flow import Thresholds
from runtime.version import __version__

if TYPE_CHECKING:
    from app.canvas.view import CanvasView
    from app.document.document import Document
    from app.document.navigation import Navigation
    from app.evaluation.evaluator import Evaluator
    from app.panels.palette.palette import Palette
    from app.services.settings import Settings


class Commands(QObject):
    """Turns actions into changes of the document and moves of the canvas."""

    themeChosen = Signal(str)
    looksChanged = Signal()
    """A setting of how all windows look was changed."""
    findRequested = Signal()

    def __init__(
        self,
        window: QWidget,
        document: Document,
        evaluator: Evaluator,
        canvas: CanvasView,
        palette: Palette,
        navigation: Navigation,
        settings: Settings,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._document = document
        self._evaluator = evaluator
        self._canvas = canvas
        self._palette = palette
        self._navigation = navigation
        self._settings = settings
        evaluator.stepped.connect(self._take_step)
        evaluator.problem.connect(self._tell_no_step)

    def change(self, change: Change) -> bool:
        """Make a change; a block that is renamed stays selected."""
        selected = self._canvas.selection()
        if not self._document.apply(change):
            return False
        if isinstance(change, RenameBlock) and change.old in selected:
            self._canvas.select(selected - {change.old} | {change.new})
        return True

    def add_block(self, type_name: str) -> None:
        """Put a new block of that type where the canvas is looking."""
        self._canvas.put(type_candidate(type_name))
        self._canvas.setFocus()

    def reveal(self, location: Location) -> None:
        """Show and select the block of ``location``, wherever in the diagram it is."""
        name = self._navigation.reveal(location)
        if name is not None:
            self.reveal_here(name)

    def reveal_path(self, path: str) -> None:
        """Show and select a block by its instance path, ``enc/W1``."""
        self.reveal(Location(MAIN, path))

    def reveal_here(self, name: str) -> None:
        """Select a block of this page, and bring it into view."""
        self._canvas.select({name})
        if not self._canvas.rect().contains(self._canvas.block_rect(name)):
            self._canvas.zoom_to_selection()

    def show_restored(self, before: Diagram, after: Diagram) -> None:
        """After an undo or a redo: go to the page of what it changed, select it, bring it in view.

        Of one wire alone, the wire is selected.
        """
        found = page_diff(before, after, self._navigation.page)
        if found is None:
            return
        if found.page != self._navigation.page and renamed_pages(before, after):
            return  # the page that is shown may be the one: its uses elsewhere tell nothing new
        if found.page != self._navigation.page:
            self._navigation.open(found.page)
        canvas, blocks, wires = self._canvas, found.blocks, found.wires
        if found.wires_only:
            blocks = found.cut.union(PortName.parse(wire).block for wire in wires)
        alone = found.wires_only and len(wires) == 1
        canvas.select(() if alone else blocks, found.notes)
        canvas.select_wire(wires[0] if alone else None)
        bounds = canvas.view.scene.bounds_of(blocks, found.notes)
        if bounds is None and found.gone:
            places = np.array(found.gone)
            low, high = places.min(axis=0), places.max(axis=0)
            bounds = np.concatenate([low, high + np.array([WIDTH, HEADER])])
        if bounds is not None:
            canvas.reveal(bounds, roughly=True)

    def undo(self) -> None:
        """Take the last change back."""
        self._document.undo_stack.undo()

    def redo(self) -> None:
        """Make the change again that was taken back."""
        self._document.undo_stack.redo()

    def add(self) -> None:
        """Go to the palette's search."""
        self._palette.focus_search()

    def find(self) -> None:
        """Go to the line that finds blocks."""
        self.findRequested.emit()

    def quick_add(self) -> None:
        """Look for a block to add, on the canvas."""
        self._canvas.quick_add()

    def bend_wire(self) -> None:
        """Lead the selected wire through one more point."""
        self._canvas.bend_wire()

    def delete(self) -> None:
        """Remove the selected blocks, notes and bends, else the selected wire."""
        self._canvas.delete_selection()

    def rename(self) -> None:
        """Edit the name of the one selected block, or of what has the focus."""
        self._canvas.rename()

    def select_all(self) -> None:
        """Select every block and note of the page."""
        self._canvas.select_all()

    def arrange(self) -> None:
        """Put the page in order, or several selected blocks, about where they are."""
        chosen = self._canvas.selection()
        names = tuple(sorted(chosen)) if len(chosen) > 1 else ()
        self.change(Arrange(self._navigation.page, names))

    def add_note(self) -> None:
        """Write a note."""
        self._canvas.add_note()

    def add_frame(self) -> None:
        """Frame the selected blocks."""
        self._canvas.add_note(frame=True)

    def align_left(self) -> None:
        """Align left edges."""
        self._canvas.align("left")

    def align_centre(self) -> None:
        """Align vertical middles."""
        self._canvas.align("centre")

    def align_right(self) -> None:
        """Align right edges."""
        self._canvas.align("right")

    def align_top(self) -> None:
        """Align upper edges."""
        self._canvas.align("top")

    def align_middle(self) -> None:
        """Align horizontal middles."""
        self._canvas.align("middle")

    def align_bottom(self) -> None:
        """Align lower edges."""
        self._canvas.align("bottom")

    def align_across(self) -> None:
        """Equal gaps from left to right."""
        self._canvas.align("across")

    def align_down(self) -> None:
        """Equal gaps from top to bottom."""
        self._canvas.align("down")

    def align_grid(self) -> None:
        """Snap to the grid."""
        self._canvas.align("grid")

    def zoom_in(self) -> None:
        """Show the page larger."""
        self._canvas.set_zoom(self._canvas.zoom() * 1.25)

    def zoom_out(self) -> None:
        """Show the page smaller."""
        self._canvas.set_zoom(self._canvas.zoom() / 1.25)

    def zoom_actual(self) -> None:
        """Show the page at 100 %."""
        self._canvas.set_zoom(self._canvas.actual())

    def zoom_fit(self) -> None:
        """Show the whole page."""
        self._canvas.zoom_to_fit()

    def zoom_selection(self) -> None:
        """Show the selection."""
        self._canvas.zoom_to_selection()

    def reduced_motion(self) -> None:
        """Let nothing move by itself, or let it move again."""
        self._settings.still = not self._settings.still
        self.looksChanged.emit()

    def text_small(self) -> None:
        """Small text."""
        self._set_text("small")

    def text_normal(self) -> None:
        """Text of normal size."""
        self._set_text("normal")

    def text_large(self) -> None:
        """Large text."""
        self._set_text("large")

    def _set_text(self, size: str) -> None:
        self._settings.text = size
        self.looksChanged.emit()

    def theme_system(self) -> None:
        """Follow the desktop."""
        self.themeChosen.emit("system")

    def theme_light(self) -> None:
        """Dark ink on white."""
        self.themeChosen.emit("light")

    def theme_dark(self) -> None:
        """Light ink on black."""
        self.themeChosen.emit("dark")

    def theme_high_contrast(self) -> None:
        """Strong lines."""
        self.themeChosen.emit("high contrast")

    def evaluate(self) -> None:
        """Compute everything again."""
        self._evaluator.refresh(self._document.diagram)

    def step(self) -> None:
        """One step of gradient descent, as one undo."""
        self._evaluator.step(self._document.diagram, self._settings.rate)

    def rate(self) -> None:
        """Ask for the learning rate."""
        rate, accepted = QInputDialog.getDouble(
            self._window,
            self.tr("Learning rate"),
            self.tr("A gradient step moves each variable by this times its gradient:"),
            self._settings.rate,
            0.0,
            1e6,
            6,
        )
        if accepted:
            self._settings.rate = rate

    def minimap(self) -> None:
        """Show the mini-map where a part of the page is out of view, or never."""
        self._canvas.minimap.toggle()

    def legend(self) -> None:
        """Show or hide what the lanes mean."""
        self._canvas.legend.toggle()

    def thresholds(self) -> None:
        """Let the thresholds of the states be chosen, with the lanes in sight."""
        dialog = ThresholdsDialog(self._settings.thresholds, self._window)
        dialog.chosen.connect(self._take_thresholds)
        dialog.finished.connect(dialog.deleteLater)
        dialog.show()

    def about(self) -> None:
        """Version and licence."""
        QMessageBox.about(
            self._window,
            self.tr("About Gradwire"),
            self.tr(
                "<p><b>Gradwire {0}</b></p><p>Diagrams of differentiable arithmetic that show "
                "which wires carry gradient, and why not.</p><p>MIT licence.</p>"
            ).format(__version__),
        )

    def _take_thresholds(self, chosen: object) -> None:
        if isinstance(chosen, Thresholds):
            self._settings.thresholds = chosen
            self.looksChanged.emit()

    def _take_step(self, after: Diagram) -> None:
        changes = tuple(_moved_values(self._document.diagram, after))
        if changes:
            self._document.apply(Batch(self.tr("Gradient step"), changes))

    def _tell_no_step(self, reason: str) -> None:
        self._document.problem.emit(self.tr("No step was made. {0}").format(reason))
        self._evaluator.refresh(self._document.diagram)


def _moved_values(before: Diagram, after: Diagram) -> list[Change]:
    """The changes that give ``before`` the values of ``after``."""
    return [
        SetParameters(name, {"value": getattr(block, "value", None)}, page=title)
        for title, page in after.pages.items()
        for name, block in page.blocks.items()
        if block != before.pages[title].blocks[name]
    ]
