"""What a learner does not see yet: hidden numbers and states, and the controls that find them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from gradwire.app.evaluation.concealment import NUMBERS, concealed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gradwire.app.evaluation.result import EvaluationResult
    from gradwire.runtime.flow import State

ACTIONS: Mapping[str, tuple[str, ...]] = {
    "why": ("explain",),
    "what_if": ("try_selected",),
    "timeline": ("timeline",),
    "derivative": ("derivative", "check_gradients"),
    "doctor": ("doctor", "compare", "step"),
}
"""By control that can be hidden, the actions that would show what is concealed."""


class Curtain(QObject):
    """Hides numbers, states and controls of one window, and shows painted states instead."""

    changed = Signal()
    """Something else is hidden or painted, so the result is to be shown again."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._hidden: frozenset[str] = frozenset()
        self._painted: dict[str, State] = {}

    @property
    def hidden(self) -> frozenset[str]:
        """The names of what is hidden: of ``NUMBERS`` and ``ACTIONS``."""
        return self._hidden

    @property
    def is_drawn(self) -> bool:
        """Whether numbers or states are hidden."""
        return bool(self._hidden & NUMBERS)

    def hide(self, names: Iterable[str], painted: Mapping[str, State] | None = None) -> None:
        """Hide this and nothing else; wires show the states that the learner painted."""
        before = (self._hidden, self._painted)
        self._hidden, self._painted = frozenset(names), dict(painted or {})
        if before != (self._hidden, self._painted):
            self.changed.emit()

    def closes(self, control: str) -> bool:
        """Whether a control, a key of ``ACTIONS``, can't be used."""
        return control in self._hidden or self.is_drawn

    def closed_actions(self) -> set[str]:
        """The names of the actions that can't be used."""
        return {name for control in ACTIONS if self.closes(control) for name in ACTIONS[control]}

    def overlay(self, result: EvaluationResult) -> EvaluationResult:
        """``result`` without what is hidden."""
        return concealed(result, self._hidden, self._painted)
