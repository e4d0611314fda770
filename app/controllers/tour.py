"""The tour: what to do, step by step, on a diagram of its own; each ends when it has been done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING

from gradwire.app.panels.workspace import WindowPart
from gradwire.app.services.examples import ASSETS, SUFFIX
from gradwire.app.services.translation import editor
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.library.gradient import StopGradient
from gradwire.runtime.diagram import Connect, PortName, SetParameters, same_meaning

if TYPE_CHECKING:
    from PySide6.QtGui import QAction

    from gradwire.app.controllers.explanation import Explanation
    from gradwire.app.controllers.trial import Trial
    from gradwire.app.panels.bars.banner import TourBar
    from gradwire.app.panels.tables.doctor import FindingsTree
    from gradwire.app.panels.workspace import Workspace

DIAGRAM = ASSETS / "tour" / f"line{SUFFIX}"
"""The diagram of the tour: a line w · x + b, in which the wire from b is missing."""
_WIRE = Connect(PortName("b", "out"), PortName("prediction", "b"))
_STOPPED = "prediction.a"
"""The wire that the user puts a stop into."""


@dataclass(frozen=True, slots=True)
class TourStep:
    """A step; ``{name}`` in its text stands for the keys of that action."""

    title: str
    text: str
    is_done: Callable[[Tour], bool]
    do: Callable[[Tour], object]
    """Does the step in place of the user."""


class Tour(WindowPart):
    """The tour of one window. It watches what the user does, and never gets in the way."""

    def __init__(
        self,
        workspace: Workspace,
        explanation: Explanation,
        trial: Trial,
        findings: FindingsTree,
        bar: TourBar,
        actions: Mapping[str, QAction],
    ) -> None:
        super().__init__(workspace)
        self._explanation = explanation
        self._trial = trial
        self._findings = findings
        self._bar = bar
        self._actions = actions
        self._place: int | None = None
        """Number of the step that is shown; None without a tour, ``len(STEPS)`` at its end."""
        self._reached = 0
        """Number of the first step that has not been done."""
        self._has_read = False
        """Whether the Why panel has been asked for in the step about it."""
        bar.backRequested.connect(self._go_back)
        bar.nextRequested.connect(self._go_on)
        bar.endRequested.connect(self.end)
        self._document.opened.connect(self.end)
        self._evaluator.resultChanged.connect(self.check)
        trial.changed.connect(self.check)
        explanation.panelRequested.connect(self._read)

    @property
    def is_under_way(self) -> bool:
        """Whether a step, or the end of the tour, is shown."""
        return self._place is not None

    def start(self) -> None:
        """Begin with the first step, on the diagram of the tour."""
        self._place = self._reached = 0
        self._has_read = False
        self._show()
        self._canvas.setFocus()

    def end(self) -> None:
        """End the tour; the diagram stays."""
        if self._place is not None:
            self._place = None
            self._bar.hide()
            self._canvas.setFocus()

    def check(self) -> None:
        """Go on if the current step has been done."""
        while self._place == self._reached < len(STEPS) and STEPS[self._reached].is_done(self):
            self._advance()

    def _advance(self) -> None:
        self._reached += 1
        self._place = self._reached
        self._settings.tour_taken |= self._reached == len(STEPS)
        self._show()

    def _go_back(self) -> None:
        if self._place:
            self._place -= 1
            self._show()

    def _go_on(self) -> None:
        """Show the next step; the current one is done first, if the user has not done it."""
        if self._place is None or self._place == len(STEPS):
            return
        if self._place < self._reached:
            self._place += 1
            self._show()
            self.check()
            return
        skipped = self._place
        STEPS[skipped].do(self)
        if self._place == skipped == self._reached:
            self._advance()

    def _read(self) -> None:
        self._has_read = self._place == self._reached == READING
        self.check()

    def _show(self) -> None:
        assert self._place is not None
        self._bar.back.setEnabled(self._place > 0)
        if self._place == len(STEPS):
            self._bar.show_end(editor.tr(_END_TITLE), self._filled(_END))
            return
        step = STEPS[self._place]
        place = self.tr("{0} of {1}").format(self._place + 1, len(STEPS))
        text = self._filled(step.text)
        is_done = self._place < self._reached
        self._bar.show_step(place, editor.tr(step.title), text, is_done=is_done)

    def _filled(self, text: str) -> str:
        keys = {name: action.shortcut().toString() for name, action in self._actions.items()}
        return editor.tr(text).format(**{name: escape(shown) for name, shown in keys.items()})

    # ---- what has been done -------------------------------------------------------------------

    def has_wire(self) -> bool:
        """Whether b drives the prediction."""
        return self._document.diagram.main.wires.get(_WIRE.target) == _WIRE.source

    def stops(self) -> list[str]:
        """The names of the stops that are closed."""
        blocks = self._document.diagram.main.blocks.items()
        return [name for name, block in blocks if isinstance(block, StopGradient) if not block.open]

    def has_gradient(self) -> bool | None:
        """Whether w gets a gradient; None while that is not known of the current diagram."""
        result = self._evaluator.result
        if result is None or not same_meaning(result.diagram, self._document.diagram):
            return None
        return result.gradients["w"] is not None if "w" in result.gradients else None

    def has_read(self) -> bool:
        """Whether the Why panel has been asked for."""
        return self._has_read

    def is_trying(self) -> bool:
        """Whether a trial is under way."""
        return self._trial.active

    def sees_findings(self) -> bool:
        """Whether the Doctor is open and no trial is under way."""
        return self._findings.isVisible() and not self._trial.active

    # ---- what is done for the user ------------------------------------------------------------

    def draw_wire(self) -> None:
        """Draw the missing wire."""
        self._document.apply(_WIRE)

    def insert_stop(self) -> None:
        """Put a stop into the wire to the prediction."""
        self._canvas.select_wire(_STOPPED)
        self._actions["stop_wire"].trigger()

    def read(self) -> None:
        """Explain w in the Why panel."""
        self._explanation.explain_variable("w")
        self._explanation.panelRequested.emit()

    def try_repair(self) -> None:
        """Open the stop in a trial."""
        for name in self.stops():
            self._trial.toggle(name)

    def open_doctor(self) -> None:
        """End the trial and open the Doctor."""
        self._trial.discard()
        self._actions["doctor"].trigger()

    def repair(self) -> None:
        """Open the stop."""
        for name in self.stops():
            self._document.apply(SetParameters(name, {"open": True}))


STEPS: tuple[TourStep, ...] = (
    TourStep(
        editor.noop("Draw a wire"),
        editor.noop(
            "This diagram fits a line: <b>w</b> · <b>x</b> + <b>b</b> should come close to "
            "<b>t</b>. One wire is missing. Press on the dot at the right of <b>b</b>, drag to the "
            "empty dot of <b>prediction</b>, and let go."
        ),
        Tour.has_wire,
        Tour.draw_wire,
    ),
    TourStep(
        editor.noop("Stop a gradient"),
        editor.noop(
            "Everything is computed at once. The arrows beside the wires show how the gradient "
            "comes back from <b>loss</b> to <b>w</b> and <b>b</b>. Click the wire between "
            "<b>scaled</b> and <b>prediction</b>, then press <b>{stop_wire}</b>: this puts a "
            "StopGradient into it."
        ),
        lambda tour: bool(tour.stops()) and tour.has_gradient() is False,
        Tour.insert_stop,
    ),
    TourStep(
        editor.noop("Ask why"),
        editor.noop(
            "No arrow reaches <b>w</b> any more: it would never learn. Click <b>w</b>. The "
            "card beside it says why. Read it, then press <b>More</b> on the card."
        ),
        Tour.has_read,
        Tour.read,
    ),
    TourStep(
        editor.noop("Ask what if"),
        editor.noop(
            "The Why panel gives the whole reason and what would help. You need not change "
            "anything to see if it does: press <b>Try</b> on the card or in the panel."
        ),
        Tour.is_trying,
        Tour.try_repair,
    ),
    TourStep(
        editor.noop("See the Doctor"),
        editor.noop(
            "The dashed bar says what the trial changes: <b>w</b> would get a gradient. The "
            "diagram itself is as before. Press <b>Discard</b> there to end the trial, then "
            "<b>{doctor}</b> to open the Doctor."
        ),
        Tour.sees_findings,
        Tour.open_doctor,
    ),
    TourStep(
        editor.noop("Apply the repair"),
        editor.noop(
            "The Doctor lists what is wrong with the gradients of the whole diagram, and what each "
            "culprit affects. Click its first row, which leads there, then press <b>Apply</b> on "
            "the card or in the Why panel."
        ),
        lambda tour: tour.has_gradient() is True,
        Tour.repair,
    ),
)
"""The steps in their order."""
READING = 2
"""Number of the step about the Why panel."""
_END_TITLE = editor.noop("That was the tour")
_END = editor.noop(
    "<b>w</b> learns again. <b>{undo}</b> takes back what you did, step by step, and "
    "<b>{step}</b> takes a step of gradient descent. The start page has examples where stops are "
    "used in earnest, and <b>{manual}</b> opens the manual."
)
