"""How a step of a lesson is shown: what it asks for, on the canvas and in the panel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.app.canvas.state.marks import GuessLabel, GuessMarks, GuessStage, Route
from gradwire.app.panels.lessons.guess_form import GuessField
from gradwire.app.panels.lessons.player import OutcomeRow, StepDot
from gradwire.app.services.translation import editor
from gradwire.blocks.errors import GradwireError
from gradwire.runtime.diagram import (
    BuildStep,
    ChangeStep,
    CheckStep,
    InstancePath,
    PaintStep,
    PortPath,
    PredictStep,
    ShowStep,
    WirePath,
)
from gradwire.runtime.flow import State
from gradwire.runtime.lessons import (
    MOST_POINTS,
    LessonProgress,
    guess_of,
    judge,
    read_state,
    right_option,
    unmarked,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gradwire.runtime.diagram import Page
    from gradwire.runtime.lessons import Facts, PredictionOutcome, Walk

USUAL = (State.CARRIES, State.ZERO, State.STOPPED, State.OFF_ROUTE)
"""States that are offered whether they occur or not."""
MOST_BRUSHES = 9
"""Brushes at most: each has a number key."""


def dots(walk: Walk) -> list[StepDot]:
    """How far the steps of a lesson are."""
    found = []
    for place, step in enumerate(walk.lesson.steps):
        outcome = walk.outcomes.get(place)
        is_read = isinstance(step, ShowStep) and place < walk.index
        if outcome is None:
            found.append(StepDot.RIGHT if is_read else StepDot.OPEN)
        else:
            found.append(StepDot.RIGHT if outcome.right else StepDot.WRONG)
    return found


def asked_path(step: PredictStep) -> InstancePath:
    """The path that a prediction is about."""
    return InstancePath(step.gradient or step.value)


def field_of(step: PredictStep, facts: Facts) -> GuessField:
    """The words beside the field of a prediction, and what may be typed into it."""
    name = asked_path(step)
    try:
        size = facts.value(name).size
    except GradwireError:  # the answer will say so
        size = 1
    wanted = {
        "estimate": editor.tr("a number within a factor of two"),
        "sign": editor.tr("+, − or 0"),
        "decade": editor.tr("a power of ten, such as 1e-6"),
    }.get(step.answer)
    one = editor.tr("number or None") if step.gradient else editor.tr("number")
    several = editor.tr("{0} numbers").format(size)
    words = (
        f"∂L/∂{name}"
        if step.gradient
        else editor.tr("value of {0}").format(PortPath.named(name).short)
    )
    return GuessField(words, wanted or (several if size > 1 else one))


def offered(step: PaintStep, facts: Facts) -> list[State]:
    """The states to paint with: those of the step, or those that occur and the usual ones."""
    if step.states:
        return [read_state(name) for name in step.states][:MOST_BRUSHES]
    known = set(facts.observed.states().values())
    rare = (State.UNKNOWN, State.NOTHING_TO_TRAIN)
    found = [s for s in State if s in USUAL or (s in known and s not in rare)]
    return found[:MOST_BRUSHES]


def lit(step: ShowStep, page: Page, use: InstancePath) -> Route | None:
    """What stays lit while a step is read; None if everything does."""
    blocks: dict[str, str] = {}
    wires = []
    for place in step.look:
        path = PortPath(place)
        wire = WirePath(place)
        if path.block.use == use and path.port and wire.name in page.wires:
            wires.append(str(wire.name))
        elif (name := InstancePath(path.block).block_below(use)) in page.blocks and name:
            blocks[name] = ""
    return Route("", blocks, tuple(wires)) if blocks or wires else None


def marks(
    walk: Walk, use: InstancePath, typed: str, painted: Mapping[WirePath, State]
) -> GuessMarks | None:
    """The questions of a step on the page that is used at ``use``."""
    step, outcome = walk.step, walk.outcomes.get(walk.index)
    if isinstance(step, PredictStep):
        block = PortPath.named(asked_path(step)).block
        if block.use != use:
            return None
        place = PortPath.named(outcome.place).block if outcome else InstancePath()
        here = place.name if outcome and not outcome.right and place.use == use else ""
        return GuessMarks({block.name: _number(step, typed, outcome)}, place=here)
    if isinstance(step, PaintStep):
        asked = [WirePath(wire) for wire in step.wires]
        shown = [wire for wire in asked if wire.block.use == use]
        return GuessMarks(
            wires={str(wire.name): _wire(painted.get(wire), outcome, wire) for wire in shown}
        )
    return None


def _number(step: PredictStep, typed: str, outcome: PredictionOutcome | None) -> GuessLabel:
    sign = "∇" if step.gradient else "="
    if outcome is None:
        stage = GuessStage.GUESSED if typed else GuessStage.OPEN
        return GuessLabel(f"{sign} {typed or '?'}", stage, typed)
    if outcome.right:
        return GuessLabel(outcome.yours, GuessStage.RIGHT, typed)
    text = editor.tr("yours {0}, actual {1}").format(outcome.yours, outcome.actual)
    return GuessLabel(text, GuessStage.WRONG, typed)


def _wire(painted: State | None, outcome: PredictionOutcome | None, wire: WirePath) -> GuessLabel:
    words = "" if painted is None else editor.tr(painted.row.title)
    if outcome is None:
        return GuessLabel("?") if painted is None else GuessLabel("", GuessStage.GUESSED)
    is_wrong = wire in outcome.disagreements
    return GuessLabel(words if is_wrong else "", GuessStage.WRONG if is_wrong else GuessStage.RIGHT)


def row(walk: Walk, outcome: PredictionOutcome) -> OutcomeRow:
    """The outcome of a step as it is listed."""
    step = walk.step
    if isinstance(step, PredictStep | PaintStep):
        about = step.gradient if isinstance(step, PredictStep) else ""
        title = f"∂L/∂{about}" if about else editor.tr("Your answer")
        return OutcomeRow(
            title, _states(outcome.yours), _states(outcome.actual), outcome.points, outcome.right,
            outcome.misconception, outcome.feedback, outcome.place,
        )  # fmt: skip
    words = editor.tr("right") if outcome.right else editor.tr("not right")
    return OutcomeRow(
        editor.tr("Your answer"), words, "", outcome.points, outcome.right,
        feedback=outcome.feedback,
    )  # fmt: skip


def _states(text: str) -> str:
    """Names of states in the words of the brushes."""
    for state in sorted(State, key=len, reverse=True):
        text = text.replace(f": {state}", f": {editor.tr(state.row.title)}")
    return text


def answer(walk: Walk) -> str:
    """What is right, and the text after the answer. Raises GradwireError where it has no value."""
    step, facts = walk.step, walk.facts
    right = ""
    if isinstance(step, PredictStep):
        right = judge(facts, guess_of(step, "None")).actual
    elif isinstance(step, PaintStep):
        known = {wire: read_state(facts.state(wire)) for wire in step.wires}
        right = ", ".join(f"{w}: {editor.tr(state.row.title)}" for w, state in known.items())
    elif isinstance(step, CheckStep):
        right = unmarked(walk.options()[right_option(step, facts)])
    elif isinstance(step, ChangeStep | BuildStep):
        right = "; ".join(f"`{goal}`" for goal in step.goals)
    return "\n\n".join(filter(None, [f"**{right}**" if right else "", walk.after()]))


def progress(walk: Walk) -> LessonProgress:
    """How far the learner is in a lesson."""
    asking = sum(not isinstance(step, ShowStep) for step in walk.lesson.steps)
    return LessonProgress(
        walk.file.title,
        done=walk.is_last and walk.is_done,
        best=sum(outcome.points for outcome in walk.outcomes.values()),
        of=MOST_POINTS * asking,
        last=walk.index + 1,
    )


def points(walk: Walk) -> str:
    """All points of a lesson, of those that there are: ``14 of 24 points``."""
    found = progress(walk)
    return editor.tr("{0} of {1} points").format(f"{found.best:.3g}", f"{found.of:.3g}")
