"""The lessons of ``assets/lessons``: where they lie, how each task is solved, and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.blocks.block import Source
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import AddBlock, Connect, Diagram, Disconnect, PortName, apply, load
from gradwire.runtime.diagram.lesson import (
    BuildStep,
    ChangeStep,
    CheckOption,
    CheckStep,
    Lesson,
    PaintStep,
    PredictStep,
    ShowStep,
    WrongAnswer,
)
from gradwire.runtime.lessons.answers import Answer
from gradwire.runtime.lessons.expressions.goals import right_option, wrong_value
from gradwire.runtime.lessons.prediction import askable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gradwire.runtime.lessons.walk import Walk

SUFFIX = ".gradwire.json"
FOLDER = Path(str(files("gradwire.assets") / "lessons"))
NAMES = sorted(path.name.removesuffix(SUFFIX) for path in FOLDER.glob(f"*{SUFFIX}"))


@cache
def diagram(name: str) -> Diagram:
    """A lesson with its diagram, read once."""
    return load(FOLDER / f"{name}{SUFFIX}")


def lesson(name: str) -> Lesson:
    """The lesson of a diagram."""
    found = diagram(name).lesson
    assert found is not None
    return found


def named(number: int) -> str:
    """The name of the lesson with this number."""
    return NAMES[number - 1]


# ---- solutions ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Solution:
    """How a task is solved: values of sources, stops that are opened or closed, or an edit."""

    values: Mapping[str, float] = field(default_factory=dict)
    open: Mapping[str, bool] = field(default_factory=dict)
    edit: Callable[[Diagram], Diagram] | None = None


def values(**given: float) -> Solution:
    return Solution(given)


def stops(**given: bool) -> Solution:
    return Solution(open=given)


def added(name: str, kind: str, wires: Mapping[str, str], **parameters: float) -> Solution:
    """A block is added, and wires as target → source replace those that are there."""

    def edit(before: Diagram) -> Diagram:
        block = registry().classes[kind](**parameters)
        return _wired(apply(before, AddBlock(name, block)).after, wires)

    return Solution(edit=edit)


def _wired(diagram: Diagram, wires: Mapping[str, str]) -> Diagram:
    for text, source in wires.items():
        target = _port(text)
        if target in diagram.main.wires:
            diagram = apply(diagram, Disconnect(target)).after
        diagram = apply(diagram, Connect(_port(source), target)).after
    return diagram


def _port(text: str) -> PortName:
    block, _, port = text.partition(".")
    return PortName(block, port)


def number(walk: Walk, name: str) -> float:
    return float(walk.facts.value(name))


SOLUTIONS: Mapping[tuple[int, int], Solution | Callable[[Walk], Solution]] = {
    (1, 6): values(spoons=2, grams=4),
    (2, 5): lambda walk: values(side=number(walk, "strips") / 2),
    (2, 6): Solution(edit=lambda d: _wired(d, {"area.terms.2": "side.out"})),
    (3, 5): values(oven=10),
    (3, 6): lambda walk: values(oven=number(walk, "dough")),
    (4, 6): values(sun=7.5),
    (5, 5): stops(photo=True),
    (5, 6): stops(window=False),
    (6, 6): values(b=3),
    (7, 5): values(skip=1, w=1),
    (8, 5): values(growth=1),
    (8, 6): added(
        "year_4",
        "Mul",
        {"year_4.a": "growth.out", "year_4.b": "year_3.out", "loss.x": "year_4.out"},
    ),
    (9, 5): stops(gate=False),
    (9, 6): values(model=0),
    (10, 6): stops(evidence=False, seal=True),
    (11, 5): Solution({"reward": -0.7}, {"target": False}),
    (11, 6): Solution({"there": 2.222}, {"target": True}),
    (12, 5): lambda walk: values(x=number(walk, "target") + 0.3),
    (12, 6): added(
        "straight",
        "StraightThrough",
        {"straight.hard": "rounded.out", "straight.soft": "x.out", "error.a": "straight.out"},
    ),
    (13, 5): values(error=0.5),
    (14, 5): values(x=4),
    (14, 6): added(
        "safe",
        "Where",
        {"safe.condition": "positive.out", "safe.a": "x.out", "root.x": "safe.out"},
        b=1.0,
    ),
    (15, 5): lambda walk: values(
        w=round((number(walk, "reader") + number(walk, "painter")) / 6, 3)
    ),
    (15, 6): lambda walk: values(painter=number(walk, "reader")),
    (16, 5): values(share=0.5),
    (16, 6): lambda walk: values(w=number(walk, "target") / 2),
    (17, 5): stops(belief=False),
    (17, 6): lambda walk: values(apple=(number(walk, "left") + number(walk, "right")) / 2),
    (18, 6): Solution({"seen": 0.445}, {"dream": False}),
    (19, 6): values(strength=6),
    (20, 6): stops(code_stop=True),
    (21, 5): values(encoder=0),
    (21, 6): stops(mirror=False),
    (22, 5): Solution({"keep": 0}, {"target": False}),
    (22, 6): values(keep=1),
    (23, 5): values(discount=0),
    (23, 6): Solution({"reward": -3.4}, {"target": False}),
    (24, 6): lambda walk: values(baseline=number(walk, "outcome") + 0.693),
    (25, 6): stops(target=False, advantage=False),
    (26, 6): stops(judge=False),
    (26, 7): values(discriminator=0),
    (27, 6): Solution({"w": 0}, {"cut": False}),
    (28, 5): Solution({"w": 0.25}, {"gate": True}),
    (28, 6): values(w=0.1),
    (29, 5): values(rate=0),
    (29, 6): Solution({"rate": 0.5}, {"shortcut": True}),
    (30, 6): Solution({"temperature": 12}, {"stop": False}),
    (30, 7): values(temperature=0.03),
}
"""By the numbers of the lesson and of the step. Numbers are such as one would type."""


# ---- answers ------------------------------------------------------------------------------------


def right_answer(walk: Walk, course_number: int) -> Answer | None:
    """The right answer to the step that is shown; None if it asks nothing."""
    match walk.step:
        case ShowStep():
            return None
        case PredictStep(gradient="", value=place, answer=form):
            return Answer(text=typed(askable(walk.facts, "value", place), form))
        case PredictStep(gradient=place, answer=form):
            return Answer(text=typed(askable(walk.facts, "gradient", place), form))
        case PaintStep(wires=wires):
            return Answer(painted={wire: walk.facts.state(wire) for wire in wires})
        case CheckStep():
            return Answer(option=right_option(walk.step, walk.facts))
        case ChangeStep() | BuildStep():
            solution = SOLUTIONS[course_number, walk.index + 1]
            if not isinstance(solution, Solution):
                solution = solution(walk)
            if solution.edit is not None:
                return Answer(diagram=solution.edit(walk.diagram))
            return Answer(values=solution.values, open=solution.open)


def wrong_answers(
    walk: Walk,
) -> Iterator[tuple[Answer, str, WrongAnswer | CheckOption | None]]:
    """Wrong answers to the step that is shown, with what the author says to each of them."""
    step = walk.step
    match step:
        case PredictStep():
            for wrong in step.wrong:
                text = typed(wrong_value(wrong, walk.facts), step.answer)
                yield Answer(text=text), wrong.name, wrong
        case CheckStep():
            right = right_option(step, walk.facts)
            for i, option in enumerate(step.options):
                if i != right:
                    yield Answer(option=i), "", option
        case PaintStep():
            actual = {wire: walk.facts.state(wire) for wire in step.wires}
            others = {w: next(s for s in step.states if s != state) for w, state in actual.items()}
            yield Answer(painted=others), "", None
        case BuildStep():
            yield Answer(diagram=walk.diagram), "", None
        case ChangeStep():
            blocks = walk.diagram.main.blocks
            for path in step.only:
                if isinstance(blocks[path], Source):
                    yield Answer(values={path: number(walk, path)}), "", None


def typed(actual: NDArray | None, form: str) -> str:
    """A number, or several, as a learner would type them."""
    if actual is None:
        return "None"
    if form == "sign":
        return ", ".join("+" if each > 0 else "-" if each < 0 else "0" for each in actual.ravel())
    return ", ".join(repr(float(each)) for each in actual.ravel())
