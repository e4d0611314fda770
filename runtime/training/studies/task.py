"""One training of a study, made of texts and numbers alone, so that any process can do it."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import numpy as np
from pydantic import Field

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError, RunError, reason_of
from gradwire.blocks.library.data import Dataset
from gradwire.blocks.library.sources import Variable
from gradwire.runtime.data.files.access import allow_data, allowed_data
from gradwire.runtime.diagram import dumps, loads
from gradwire.runtime.diagram.document_types import Record
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.session.engines import EngineChoice
from gradwire.runtime.engine.session.lookup import traced_ports
from gradwire.runtime.training.curves import Curve
from gradwire.runtime.training.iterations.validation import Validation, in_phase, validation_batches
from gradwire.runtime.training.records import DivergedError
from gradwire.runtime.training.studies.variants import with_variant
from gradwire.runtime.training.trainer import Trainer

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine.engine import Engine
    from gradwire.runtime.training.records import StepRecord
    from gradwire.runtime.training.studies.files import Measure, Variant


# Seeds: what decides everything random in a training.

_STEPS_OF_A_SEED = 1 << 20
"""How far apart the steps of two seeds begin: random blocks draw by the step."""
_SEEDS = 2**32


def seeded(diagram: Diagram, seed: int, *, engine: str | Engine = "numpy") -> Session:
    """A session in which everything random depends on ``seed``; 0 is the diagram as it is.

    It decides the values that initialisers draw, the seeds of data sets, and the step from which
    random blocks go on.
    """
    if seed == 0:
        return Session(diagram, engine=engine)
    for page, content in diagram.pages.items():
        blocks = {name: _with_seed(block, seed) for name, block in content.blocks.items()}
        diagram = diagram.with_page(page, replace(content, blocks=blocks))
    session = Session(diagram, engine=engine)
    program = session.program
    for path, source in program.sources("variable").items():
        if isinstance(source, Variable) and path in program.leaves and source.value is None:
            drawn = source.with_parameters(seed=_mixed(source.seed, path, seed))
            session.set(path, np.asarray(drawn.data(program.leaves[path].value.shape)))
    session.step_number = seed * _STEPS_OF_A_SEED
    return session


def _with_seed(block: Block, seed: int) -> Block:
    if isinstance(block, Dataset):
        return block.with_parameters(seed=_mixed(block.seed, "", seed))
    return block


def _mixed(own: int | None, path: str, seed: int) -> int:
    """A seed from a block's own, or from its path where it has none, and that of the study."""
    entropy = zlib.crc32(path.encode("utf-8", "surrogatepass")) if own is None else own
    return int(np.random.SeedSequence([entropy, seed]).generate_state(1)[0]) % _SEEDS


VALIDATION = "validation/"
"""Before the name of a number that was measured on rows which are never trained on."""
_POINTS = 256
"""Points of a curve; of more iterations, neighbours are averaged."""

Number: TypeAlias = Annotated[float, Field(allow_inf_nan=True)]


@dataclass(frozen=True, slots=True)
class StudyWork:
    """What all trainings of a study have in common."""

    diagram: str
    """The text of the diagram, with all of its arrays. Data files are read from where they are."""
    folder: str | None
    """What the paths of data files are relative to."""
    allowed: tuple[str, ...]
    """Data files and folders outside of it that the user has chosen."""
    measures: tuple[Measure, ...] = ()
    """What is measured after a training; without any, the losses."""
    validate: bool = True
    """Whether the same is measured on validation rows too, where there are any."""
    engine: EngineChoice = field(default_factory=EngineChoice)
    """What computes."""

    @classmethod
    def on(
        cls, diagram: Diagram, measures: Iterable[Measure] = (), *, validate: bool = True
    ) -> StudyWork:
        """The work of a study of a diagram."""
        folder = None if diagram.folder is None else str(diagram.folder)
        allowed = tuple(map(str, allowed_data()))
        return cls(dumps(diagram), folder, allowed, tuple(measures), validate)


@dataclass(frozen=True, slots=True)
class TrainingTask:
    """What is different in one training: the variant, the seed, the number of iterations."""

    variant: Variant
    seed: int = 0
    steps: int | None = None
    """None for as many as the recipe says."""


class LossCurve(Record):
    """A loss over the iterations of a training; of many iterations, means over neighbours."""

    steps: tuple[int, ...]
    values: tuple[Number, ...]


class Trained(Record):
    """How one training ended."""

    status: Literal["trained", "diverged", "failed"]
    """Failed is one that did not come to its end, whatever the reason."""
    reason: str = ""
    """Why it was not trained to its end."""
    measured: Mapping[str, Number] = Field(default_factory=dict)
    """Numbers by port, those on validation rows after ``validation/``; none unless trained."""
    seconds: Number = 0.0
    curves: Mapping[str, LossCurve] = Field(default_factory=dict)
    """By loss."""

    @classmethod
    def failed(cls, reason: str, seconds: float = 0.0) -> Trained:
        """A training that did not come to its end."""
        return cls(status="failed", reason=reason, seconds=seconds)


Stop: TypeAlias = Callable[[], bool]
"""Asked after each iteration whether to give up."""
Runner: TypeAlias = Callable[["StudyWork", "list[TrainingTask]"], "Iterator[tuple[int, Trained]]"]
"""Trains each task, and gives its number and how it ended as soon as it has, in any order."""


def open_session(work: StudyWork, task: TrainingTask) -> Session:
    """The session of a training, at its start."""
    for path in work.allowed:
        allow_data(path)
    diagram = with_variant(_diagram(work.diagram, work.folder), task.variant)
    return seeded(diagram, task.seed, engine=work.engine.open())


def require_runnable(work: StudyWork, task: TrainingTask) -> None:
    """Raise what keeps a task from being trained: a recipe that does not fit, no such port."""
    session = open_session(work, task)
    for measure in work.measures:
        if len(traced_ports(session.program, [measure.port])) > 1:
            raise RunError(
                f"{measure.port} carries a tree, which is not one number.",
                next_step="Measure a leaf of it.",
            )
    Trainer(session, validate=0)


def train(work: StudyWork, task: TrainingTask, stop: Stop = lambda: False) -> Trained | None:
    """Train, and measure; None if it was stopped. Whatever goes wrong is said in the result."""
    began = time.perf_counter()
    curves: dict[str, Curve] = {}
    session: Session | None = None
    found: dict[str, object]
    try:
        session = open_session(work, task)
        last: StepRecord | None = None
        for last in (trainer := Trainer(session, validate=0)).run(task.steps):
            for name, loss in last.losses.items():
                curves.setdefault(str(name), Curve(_POINTS)).append(last.step, loss)
            if stop():
                return None
        heads = {} if last is None else last.losses
        found = {"status": "trained", "measured": dict(_measured(work, trainer, heads))}
    except DivergedError as error:
        found = {"status": "diverged", "reason": _diverged(error)}
    except GradwireError as error:
        found = {"status": "failed", "reason": _why(session) or str(error)}
    except Exception as error:  # of a plug-in's block, say: the other trainings go on
        found = {"status": "failed", "reason": reason_of(error)}
    drawn = {name: _points(curve) for name, curve in curves.items()}
    return Trained(**found, seconds=time.perf_counter() - began, curves=drawn)


def in_this_process(
    work: StudyWork, tasks: list[TrainingTask], stop: Stop = lambda: False
) -> Iterator[tuple[int, Trained]]:
    """Train one task after the other; see ``Runner``."""
    for number, task in enumerate(tasks):
        trained = train(work, task, stop)
        if trained is None:
            return
        yield number, trained


def measured(session: Session, measure: Measure) -> float:
    """The mean of a port over passes with new data each, with the session's present values."""
    session.phase = measure.phase
    found = []
    for _ in range(measure.passes):
        session.step_number += 1
        (value,) = session.run(ports=[measure.port]).values.values()
        found.append(float(np.mean(value, dtype=np.float64)))
    return float(np.mean(found))


@lru_cache(maxsize=2)
def _diagram(text: str, folder: str | None) -> Diagram:
    return replace(loads(text), folder=None if folder is None else Path(folder))


def _measured(
    work: StudyWork, trainer: Trainer, losses: Mapping[str, float]
) -> Iterator[tuple[str, float]]:
    session = trainer.session
    if not work.measures:
        yield from ((str(name), loss) for name, loss in losses.items())
        heads = [head for rule in trainer.recipe.rules for head in rule.heads]
        validation = Validation.of(session, tuple(dict.fromkeys(heads))) if work.validate else None
        if validation is not None:
            yield from ((VALIDATION + name, x) for name, x in validation.losses().items())
        return
    validated = work.validate and "validation" in session.phases
    for measure in work.measures:
        yield measure.port, measured(session, measure)
    for measure in work.measures if validated else ():
        with in_phase(session, "validation"):
            session.step_number = 0
            passes = validation_batches(session)
            over = measure.model_copy(update={"passes": passes, "phase": "validation"})
            yield VALIDATION + measure.port, measured(session, over)


def _why(session: Session | None) -> str:
    """The first problem of a diagram, from which others follow; empty without one."""
    problems = () if session is None else session.diagnostics
    return next((str(problem) for problem in problems if problem.severity == "error"), "")


def _diverged(error: DivergedError) -> str:
    said = error.findings[0].sentence if error.findings else error.what
    return f"Iteration {error.iteration}: {said}"


def _points(curve: Curve) -> LossCurve:
    points = curve.points()
    return LossCurve(steps=tuple(points.steps.tolist()), values=tuple(points.mean.tolist()))
