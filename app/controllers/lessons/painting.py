"""What a learner types and paints on the canvas, in a lesson or a prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gradwire.app.canvas.input.guessing import Guessing
from gradwire.runtime.diagram import ROOT, WirePath

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gradwire.app.canvas.state.marks import GuessMarks
    from gradwire.app.canvas.view import CanvasView
    from gradwire.app.panels.lessons.guess_form import GuessForm
    from gradwire.runtime.flow import State


class Painting(QObject):
    """The states that are painted on wires, with the brushes of a form."""

    changed = Signal()
    """A wire was painted, or cleared."""

    def __init__(
        self,
        canvas: CanvasView,
        form: GuessForm,
        accept: Callable[[str, str], bool],
        parent: QObject,
    ) -> None:
        """``accept`` takes what was typed at a block, and says whether it is an answer."""
        super().__init__(parent)
        self._canvas, self._form = canvas, form
        self.use = ROOT
        """The page that is shown, by which the paths of painted wires begin."""
        self.wires: dict[WirePath, State] = {}
        """The painted states, by wire."""
        self._guessing = Guessing(canvas.context)
        self._guessing.accept = accept
        self._guessing.painted.connect(self._paint)
        self._guessing.cleared.connect(self._clear)

    @property
    def by_name(self) -> Mapping[str, State]:
        """The painted states by the texts of their wires."""
        return {str(wire): state for wire, state in self.wires.items()}

    def show(self, marks: GuessMarks | None) -> None:
        """Show what is asked for on the canvas; None if nothing is."""
        self._canvas.show_guesses(marks)
        self._guessing.set_marks(marks)

    def _paint(self, key: str, number: int) -> None:
        brushes = self._form.brushes
        state = brushes.choose(number) if number else brushes.state
        if state is not None:
            self.wires[WirePath(key).within(self.use)] = state
            self.changed.emit()

    def _clear(self, key: str) -> None:
        self.wires.pop(WirePath(key).within(self.use), None)
        self.changed.emit()
