"""The notice above the bar of the training: what goes wrong, and where it leads."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from gradwire.app.panels.bars.offer import Offer

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from gradwire.app.controllers.reveal import Reveal
    from gradwire.runtime.training import Alarm


class Notices(QObject):
    """Shows one notice at a time, until it is dismissed."""

    def __init__(self, reveal: Reveal, go: Callable[[int], None], parent: QWidget) -> None:
        super().__init__(parent)
        self._reveal, self._go = reveal, go
        self.offer = Offer(parent)
        self._is_start = False
        """Whether it offers to start the training again."""

    def show_alarm(self, alarm: Alarm) -> None:
        """Say what goes wrong; lead to the block and to the step at which it began."""
        text = self.tr("Go to &Step {0}").format(f"{alarm.step:,}")
        self._ask(alarm.sentence, alarm.block, {text: partial(self._go, alarm.step)})

    def offer_start(self, text: str, step: int, start: Callable[[], object]) -> None:
        """Say why the training has stopped, and offer to start it again from a step."""
        self._ask(text, "", {self.tr("&Start again from step {0}").format(f"{step:,}"): start})
        self._is_start = True

    def withdraw_start(self) -> None:
        """Offer no longer to start again: the document has values of another step now."""
        if self._is_start:
            self.offer.withdraw()

    def show_problem(self, text: str, block: str = "") -> None:
        """Say why the training has stopped; lead to the block at fault."""
        self._ask(text, block, {})

    def _ask(self, text: str, block: str, answers: dict[str, Callable[[], object]]) -> None:
        self._is_start = False
        show: dict[str, Callable[[], object]] = {}
        if block:
            show[self.tr("&Show")] = partial(self._reveal.close_up, str(block))
        self.offer.ask(text, {**show, **answers, self.tr("&Dismiss"): lambda: None})
