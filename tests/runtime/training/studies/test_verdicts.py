"""Studies are judged by what their trainings give."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import gradwire as gw
from gradwire.blocks.errors import GradwireError
from gradwire.runtime.training.studies.files import Claim, Measure, Variant
from gradwire.runtime.training.studies.task import seeded
from gradwire.runtime.training.studies.verdicts import VariantOutcome, judged, run_study
from tests.runtime.training.studies.studies import line, study

NAN = math.nan


def test_a_study_trains_every_variant_and_judges_the_claims():
    claims = (
        Claim(variant="open", below=0.01),
        Claim(variant="closed", more_than="open"),
        Claim(variant="open", above=0.01),
    )
    result = run_study(study(*claims), line())
    assert [v.fulfilled for v in result.verdicts] == [3, 3, 0]
    assert [v.holds for v in result.verdicts] == [True, True, False]
    assert not result.holds
    closed = result.outcomes["closed"]
    assert len(set(closed.values)) == 3
    assert closed.mean == pytest.approx(np.mean(closed.values))
    assert closed.deviation == pytest.approx(np.std(closed.values, ddof=1))


def test_variants_of_a_seed_start_from_the_same_values():
    result = run_study(study(), line(), seeds=2, steps=1)
    still = [float(seeded(line(), seed).run().values["loss.out"]) for seed in range(2)]
    assert result.outcomes["closed"].values == pytest.approx(still)


@pytest.mark.filterwarnings("ignore:overflow")
def test_a_training_that_diverged_has_no_number_and_fulfils_no_claim():
    wild = Variant(training={"optimisers": [{"name": "o", "method": {"kind": "sgd", "lr": 1e30}}]})
    claims = (Claim(variant="wild", above=-1e9), Claim(variant="wild", below=1e9))
    result = run_study(study(*claims, variants={"wild": wild}), line(), seeds=1)
    (outcome,) = result.outcomes.values()
    assert math.isnan(outcome.values[0]) and outcome.finite == ()
    assert outcome.mean is outcome.deviation is None
    assert [v.fulfilled for v in result.verdicts] == [0, 0]


@pytest.mark.parametrize(
    ("claim", "fulfilled"),
    [
        (Claim(variant="a", above=2), 1),
        (Claim(variant="a", below=2), 1),
        (Claim(variant="a", above=0, below=10), 3),
        (Claim(variant="a", more_than="b"), 2),
        (Claim(variant="a", less_than="b"), 0),
    ],
)
def test_claims_are_counted_seed_by_seed(claim, fulfilled):
    outcomes = {
        "a": VariantOutcome("a", (1.0, 2.0, 3.0, NAN)),
        "b": VariantOutcome("b", (0.0, NAN, 2.0, 0.0)),
    }
    verdict = judged(claim, outcomes)
    assert (verdict.fulfilled, verdict.of) == (fulfilled, 4)


@pytest.mark.parametrize(("count", "holds"), [(8, False), (9, True), (10, True)])
def test_a_claim_holds_for_its_share_of_the_seeds(count, holds):
    values = tuple(1.0 if seed < count else 0.0 for seed in range(10))
    assert judged(Claim(variant="a", above=0.5), {"a": VariantOutcome("a", values)}).holds is holds


def test_a_port_that_is_not_there_is_refused():
    with pytest.raises(GradwireError, match="los"):
        run_study(study(measure=Measure(port="los.out")), line(), seeds=1, steps=1)


@pytest.mark.night
def test_a_measure_is_the_mean_over_passes_with_new_numbers():
    noise = gw.random_normal(shape=(), name="noise")
    w = gw.variable("w", 0.0)
    diagram = gw.build(gw.loss(gw.square(w)), gw.square(noise, name="seen"))
    one, many = (
        run_study(
            study(measure=Measure(port="seen.out", passes=n), variants={"it": Variant()}),
            replace(diagram, training=None),
            steps=1,
        ).outcomes["it"]
        for n in (1, 4000)
    )
    assert np.std(one.values) > 0.2 > np.std(many.values)
