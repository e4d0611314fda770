"""Studies: trains the variants of a diagram over seeds, and judges what is claimed about them."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.errors import FileError, Location, ParameterError
from blocks.library.data import Dataset
from blocks.library.sources import Variable
from blocks.nearest import did_you_mean
from runtime.diagram import MAIN, Diagram, load
from runtime.diagram.files.models import TRAINING
from runtime.diagram.paths import InstancePath
from runtime.engine import Session
from runtime.training.diverged import DivergedError
from runtime.training.trainer import Trainer

if TYPE_CHECKING:
    from blocks.block import Block
    from runtime.training.study import Claim, Measure, Study, Variant

_STEPS_OF_A_SEED = 1 << 20
"""How far apart the steps of two seeds begin: random blocks draw by the step."""
_SEEDS = 2**32


@dataclass(frozen=True, slots=True)
class Outcome:
    """The numbers of one variant, one for each seed; NaN where the training diverged."""

    variant: str
    values: tuple[float, ...]

    @property
    def finite(self) -> tuple[float, ...]:
        """The numbers of the trainings that did not diverge."""
        return tuple(value for value in self.values if math.isfinite(value))

    @property
    def mean(self) -> float | None:
        """Mean of the finite numbers; None without any."""
        return float(np.mean(self.finite)) if self.finite else None

    @property
    def deviation(self) -> float | None:
        """Standard deviation of the finite numbers, of a sample; None below two of them."""
        return float(np.std(self.finite, ddof=1)) if len(self.finite) > 1 else None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim, and for how many seeds it holds."""

    claim: Claim
    fulfilled: int
    of: int

    @property
    def holds(self) -> bool:
        """Whether it holds for the claimed share of the seeds."""
        return self.fulfilled >= self.claim.share * self.of - 1e-9


@dataclass(frozen=True, slots=True)
class StudyResult:
    """What a study found: the numbers of each variant, and a verdict on each claim."""

    study: Study
    outcomes: Mapping[str, Outcome]
    verdicts: tuple[Verdict, ...]

    @property
    def holds(self) -> bool:
        """Whether all claims hold."""
        return all(verdict.holds for verdict in self.verdicts)


Progress = Callable[[str, int], object]
"""Called with the name of a variant and a seed, before the training begins."""


def run_study(
    study: Study,
    diagram: Diagram,
    *,
    seeds: int | None = None,
    steps: int | None = None,
    progress: Progress = lambda variant, seed: None,
) -> StudyResult:
    """Train every variant once for each seed, measure, and judge the claims.

    ``seeds`` and ``steps`` stand in place of the study's own. Variants of one seed start from the
    same values and get the same data. Raises ParameterError where a variant does not fit the
    diagram, RunError where its recipe does not, and FeedError for a port that is not there.
    """
    count = study.seeds if seeds is None else seeds
    rounds = study.steps if steps is None else steps
    outcomes = {}
    for name, variant in study.variants.items():
        varied = with_variant(diagram, variant)
        values = []
        for seed in range(count):
            progress(name, seed)
            values.append(_number(varied, seed, rounds, study.measure))
        outcomes[name] = Outcome(name, tuple(values))
    return StudyResult(study, outcomes, tuple(judged(claim, outcomes) for claim in study.claims))


def judged(claim: Claim, outcomes: Mapping[str, Outcome]) -> Verdict:
    """For how many seeds a claim holds."""
    own = outcomes[claim.variant].values
    less = outcomes[claim.more_than].values if claim.more_than is not None else None
    more = outcomes[claim.less_than].values if claim.less_than is not None else None
    fulfilled = 0
    for seed, value in enumerate(own):
        fulfilled += (
            math.isfinite(value)
            and (claim.above is None or value > claim.above)
            and (claim.below is None or value < claim.below)
            and (less is None or value > less[seed])
            and (more is None or value < more[seed])
        )
    return Verdict(claim, fulfilled, len(own))


def diagram_of(study: Study, path: Path) -> Diagram:
    """The diagram of a study that lies at ``path``; raises FileError."""
    if Path(study.diagram).is_absolute():
        raise FileError(
            "The diagram's path is not relative.",
            path=str(path),
            expected="a path from the folder of the study",
            got=study.diagram[:80],
        )
    return load(path.parent / study.diagram)


def with_variant(diagram: Diagram, variant: Variant) -> Diagram:
    """The diagram with the parameters and the recipe of a variant.

    Raises ParameterError where a block or one of its parameters is not there, BuildError for a
    recipe that can't be one.
    """
    for place, values in variant.set.items():
        path = InstancePath(place)
        diagram = _with_block(diagram, str(path.use) or MAIN, path.name, values)
    if not variant.training:
        return diagram
    record = diagram.training.to_record() if diagram.training is not None else {}
    return replace(diagram, training=TRAINING.given(record | dict(variant.training)))


def _with_block(diagram: Diagram, page: str, name: str, values: Mapping[str, Any]) -> Diagram:
    blocks = diagram.pages[page].blocks if page in diagram.pages else {}
    if name not in blocks:
        places = [
            block if known == MAIN else InstancePath.of(known, block)
            for known, content in diagram.pages.items()
            for block in content.blocks
        ]
        place = name if page == MAIN else InstancePath.of(page, name)
        raise ParameterError(
            f"A variant sets parameters of {place!r}, and there is no such block.",
            expected="BLOCK, or PAGE/BLOCK for one that is not on the main page",
            next_step=did_you_mean(place, places),
        )
    try:
        changed = blocks[name].with_parameters(**values)
    except ParameterError as error:
        raise error.at(Location(block=name, page=page)) from None
    content = diagram.pages[page]
    return diagram.with_page(page, replace(content, blocks={**content.blocks, name: changed}))


def seeded(diagram: Diagram, seed: int) -> Session:
    """A session in which everything random depends on ``seed``; 0 is the diagram as it is.

    It decides the values that initialisers draw, the seeds of data sets, and the step from which
    random blocks go on.
    """
    if seed == 0:
        return Session(diagram)
    for page, content in diagram.pages.items():
        blocks = {name: _with_seed(block, seed) for name, block in content.blocks.items()}
        diagram = diagram.with_page(page, replace(content, blocks=blocks))
    session = Session(diagram)
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


def _number(diagram: Diagram, seed: int, steps: int | None, measure: Measure) -> float:
    """The measured number after one training; NaN if it diverged."""
    session = seeded(diagram, seed)
    trainer = Trainer(session, validate=0)
    try:
        for _ in trainer.run(steps):
            pass
    except DivergedError:
        return math.nan
    return measured(session, measure)


def measured(session: Session, measure: Measure) -> float:
    """The mean of a port over passes with new data each, with the session's present values."""
    session.phase = measure.phase
    found = []
    for _ in range(measure.passes):
        session.step_number += 1
        (value,) = session.run(ports=[measure.port]).values.values()
        found.append(float(np.mean(value, dtype=np.float64)))
    return float(np.mean(found))
