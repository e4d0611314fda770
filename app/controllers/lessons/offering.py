"""Offers the lesson of a diagram that is opened, and plays it on a copy.

Until the offer is declined, what the lesson asks for is hidden.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from gradwire.app.panels.workspace import WindowPart

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.app.controllers.lessons.curtain import Curtain
    from gradwire.app.controllers.lessons.player import LessonPlayer
    from gradwire.app.panels.bars.banner import OfferBar
    from gradwire.app.panels.workspace import Workspace


class LessonOffering(WindowPart):
    """Offers to play the lesson of one window, and plays it on request."""

    startRequested = Signal(object)
    """A Diagram whose lesson is to be played, on a copy of it."""

    def __init__(
        self,
        workspace: Workspace,
        curtain: Curtain,
        played: Callable[[], LessonPlayer | None],
        offer: OfferBar,
    ) -> None:
        super().__init__(workspace)
        self._played = played
        self._curtain, self._offer = curtain, offer
        self._hides = False

    def play(self) -> None:
        """Play the lesson of the diagram on a copy, or leave the one that is played."""
        if (player := self._played()) is not None:
            player.leave()
        elif self._has_lesson():
            self.startRequested.emit(self._document.diagram)
        else:
            self._canvas.hint(self.tr("This diagram has no lesson."))

    def offer(self) -> None:
        """Offer to play the lesson of a diagram that was opened."""
        self._offer.withdraw()
        lesson = self._document.diagram.lesson
        if lesson is None or not self._has_lesson() or self._played() is not None:
            self._show()
            return
        # Few diagrams have one.
        from gradwire.runtime.lessons import asked_in, unmarked

        self._hides = True
        self._curtain.hide(asked_in(lesson))
        text = self.tr("This diagram has a lesson, {0} minutes. {1}").format(
            lesson.minutes, unmarked(lesson.goal)
        )
        if self._curtain.is_drawn:
            text = self.tr("{0} Its answers are hidden until you choose Not Now.").format(text)
        self._offer.ask(
            text.strip(), {self.tr("&Start Lesson"): self._start, self.tr("&Not Now"): self._show}
        )

    def _start(self) -> None:
        """Play the lesson; here its answers stay hidden, and it is offered again."""
        self.play()
        self.offer()

    def _show(self) -> None:
        """Show again what the offer has hidden."""
        if self._hides:
            self._hides = False
            if self._played() is None:
                self._curtain.hide(())

    def _has_lesson(self) -> bool:
        lesson = self._document.diagram.lesson
        return lesson is not None and bool(lesson.steps)
