"""The examples that train: each learns, and what its note says of its variants is what happens.

One seed of each is trained here; ``python -m tests.assets.studies`` trains all.
"""

from __future__ import annotations

import pytest

from gradwire.runtime.engine import Session
from gradwire.runtime.training.studies.files import load_study
from gradwire.runtime.training.studies.variants import diagram_of, with_variant
from gradwire.runtime.training.studies.verdicts import run_study
from gradwire.runtime.training.trainer import Trainer
from tests.assets.studies import STUDIES, study_path, texts, told
from tests.examples.gallery import TRAINING, diagram

SUBJECTS = {
    "spirals", "gan", "vae", "em", "simsiam", "byol", "dqn", "reinforce", "vq_vae", "adversarial",
    "straight_through", "truncated_bptt", "adding",
}  # fmt: skip
every_training = pytest.mark.parametrize("name", TRAINING)


def test_all_are_there_and_each_has_a_study():
    assert set(TRAINING) == {f"training_{subject}" for subject in SUBJECTS}
    assert {path.name for path in STUDIES.iterdir()} == {f"{n}.study.json" for n in TRAINING}


@pytest.mark.sampled(one_in=3)
@every_training
def test_a_study_is_about_its_example_and_claims_something_of_every_variant(name):
    study = load_study(study_path(name))
    assert diagram_of(study, study_path(name)) == diagram(name)
    assert study.seeds == 10 and len(study.variants) >= 2
    first = next(iter(study.variants.values()))
    assert not first.set and not first.training, "the first variant is the file"
    assert {claim.variant for claim in study.claims} == study.variants.keys()
    for variant in study.variants.values():
        assert Session(with_variant(diagram(name), variant)).diagnostics == []


@every_training
def test_its_recipe_trains_every_variable(name):
    recipe = diagram(name).training
    assert recipe is not None and 100 <= recipe.steps <= 2000
    trainer = Trainer(Session(diagram(name)))
    assert trainer.notes == ()
    owned = [variable for rule in trainer.recipe.rules for variable in rule.variables]
    assert sorted(owned) == sorted(trainer.session.program.trainable)


@pytest.mark.night
@every_training
def test_a_fresh_training_agrees_with_the_note_and_the_manual(name):
    result = run_study(load_study(study_path(name)), diagram(name), seeds=1)
    for place, text in texts(name).items():
        for variant, outcome in result.outcomes.items():
            stated = told(text, variant)
            assert stated is not None, f"the {place} does not state {variant}"
            mean, deviation = stated
            assert outcome.values[0] == pytest.approx(mean, abs=4 * deviation + 0.01), place
