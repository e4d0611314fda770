"""Recipes as source: several rounds move every variable as the runtime's trainer does."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gradwire.runtime.training.trainer import Trainer
from tests.runtime.interchange.export.examples import run
from tests.runtime.interchange.export.recipes import RECIPES, session_of


@pytest.mark.parametrize("recipe", RECIPES, ids=json.dumps)
def test_four_rounds_are_the_same(recipe, tmp_path):
    session = session_of(recipe)
    module = run(session, "numpy", tmp_path)
    trainer = Trainer(session)
    parameters, state = module["PARAMETERS"], module["initial_state"]()
    for _ in range(4):
        trainer.step()
        parameters, _ = module["train_round"](parameters, state)
        for name, value in session.values.items():
            np.testing.assert_allclose(parameters[name], value, rtol=1e-12, atol=1e-12)
