"""Verdicts: trains the variants of a study over seeds, and judges what is claimed about them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.training.studies.results import Results, carry_out, deviation, finite, mean
from gradwire.runtime.training.studies.task import (
    Runner,
    StudyWork,
    TrainingTask,
    in_this_process,
    require_runnable,
)
from gradwire.runtime.training.studies.variants import with_variant
from gradwire.runtime.training.studies.varying import SEED, PlannedTraining

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.training.studies.files import Claim, Study

VARIANT = "variant"
"""What the trainings of a study file vary besides the seed."""


@dataclass(frozen=True, slots=True)
class VariantOutcome:
    """The numbers of one variant, one for each seed; NaN where the training diverged or failed."""

    variant: str
    values: tuple[float, ...]

    @property
    def finite(self) -> tuple[float, ...]:
        """The numbers of the trainings that have one."""
        return finite(self.values)

    @property
    def mean(self) -> float | None:
        """Mean of the finite numbers; None without any."""
        return mean(self.values)

    @property
    def deviation(self) -> float | None:
        """Standard deviation of the finite numbers, of a sample; None below two of them."""
        return deviation(self.values)


@dataclass(frozen=True, slots=True)
class StudyVerdict:
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
    outcomes: Mapping[str, VariantOutcome]
    verdicts: tuple[StudyVerdict, ...]
    results: Results

    @property
    def holds(self) -> bool:
        """Whether all claims hold."""
        return all(verdict.holds for verdict in self.verdicts)


def planned_study(
    study: Study, diagram: Diagram, *, seeds: int | None = None, steps: int | None = None
) -> tuple[StudyWork, dict[str, list[str | int]], list[PlannedTraining]]:
    """The trainings of a study: each variant once for each seed, what that varies, and what all
    have in common.

    ``seeds`` and ``steps`` stand in place of the study's own. Raises ParameterError where a variant
    does not fit the diagram, RunError where its recipe does not, or for a port that is not there.
    """
    count = study.seeds if seeds is None else seeds
    iterations = study.steps if steps is None else steps
    work = StudyWork.on(diagram, (study.measure,), validate=False)
    planned = []
    for name, variant in study.variants.items():
        with_variant(diagram, variant)
        require_runnable(work, TrainingTask(variant))
        for seed in range(count):
            planned.append(
                PlannedTraining(
                    {VARIANT: name, SEED: seed}, TrainingTask(variant, seed, iterations)
                )
            )
    return work, {VARIANT: list(study.variants), SEED: list(range(count))}, planned


def run_study(
    study: Study,
    diagram: Diagram,
    *,
    seeds: int | None = None,
    steps: int | None = None,
    run: Runner = in_this_process,
) -> StudyResult:
    """Train every variant once for each seed, measure, and judge the claims.

    Variants of one seed start from the same values and get the same data. See ``planned_study`` for
    the arguments and what it raises.
    """
    work, varied, planned = planned_study(study, diagram, seeds=seeds, steps=steps)
    return judged_study(study, carry_out(work, varied, planned, run))


def judged_study(study: Study, results: Results) -> StudyResult:
    """The verdicts on a study whose trainings have ended."""
    outcomes = {
        str(each.settings[VARIANT]): VariantOutcome(
            str(each.settings[VARIANT]), each.values(study.measure.port)
        )
        for each in results.combinations()
    }
    verdicts = tuple(judged(claim, outcomes) for claim in study.claims)
    return StudyResult(study, outcomes, verdicts, results)


def judged(claim: Claim, outcomes: Mapping[str, VariantOutcome]) -> StudyVerdict:
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
    return StudyVerdict(claim, fulfilled, len(own))
