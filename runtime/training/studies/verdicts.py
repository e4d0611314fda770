"""Verdicts: trains the variants of a study over seeds, and judges what is claimed about them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from runtime.training.diverged import DivergedError
from runtime.training.studies.seeds import seeded
from runtime.training.studies.variants import with_variant
from runtime.training.trainer import Trainer

if TYPE_CHECKING:
    from runtime.diagram import Diagram
    from runtime.engine import Session
    from runtime.training.studies.files import Claim, Measure, Study


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
