"""Every example and every lesson's diagram, by both engines, with all that a run can be asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

from gradwire.runtime.diagram import load
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.session.engines import open_engine
from gradwire.runtime.training.optimisers import SGD
from tests.runtime.engine.jax.alike import assert_alike, difference_of

ENGINE = open_engine("jax")
ASSETS = Path(__file__).parents[4] / "assets"
DIAGRAMS = sorted(
    path for folder in ("diagrams", "lessons") for path in (ASSETS / folder).glob("*.json")
)


def test_there_are_as_many_as_are_shown() -> None:
    assert len(DIAGRAMS) > 60


@pytest.mark.sampled(one_in=31)
@pytest.mark.parametrize("path", DIAGRAMS, ids=lambda path: path.name.partition(".")[0])
def test_both_engines_give_the_same(path: Path) -> None:
    diagram = load(path)
    plain, found = Session(diagram, fast=False), Session(diagram, engine=ENGINE)
    assert found.losses == plain.losses
    with np.errstate(all="ignore"):
        if not plain.losses:
            assert_alike(found.run(), plain.run())
            return
        how: Any = {"adjoints": "all", "contributions": True, "norms": True}
        assert_alike(found.backward(**how), plain.backward(**how))


@pytest.mark.parametrize("name", ["freeze_encoder", "dqn_target_stopped", "training_vae"])
def test_a_step_moves_variables_alike(name: str) -> None:
    diagram = load(ASSETS / "diagrams" / f"{name}.gradwire.json")
    plain, found = Session(diagram, fast=False), Session(diagram, engine=ENGINE)
    before = plain.values
    for session in (plain, found):
        for _ in range(2):
            session.step(SGD(lr=0.1))
    assert found.updated == plain.updated and found.step_number == 2
    assert found.values.keys() == plain.values.keys()
    for path, array in plain.values.items():
        assert difference_of(found.values[path], array) is None, path
    assert any(not np.array_equal(array, before[path]) for path, array in plain.values.items())
