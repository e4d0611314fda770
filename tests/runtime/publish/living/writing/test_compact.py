"""What is written into a page comes back as it was: columns, steps and drawn numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradwire.blocks.library.sources import Variable
from gradwire.blocks.values import Tensor
from gradwire.runtime.build import block, build, loss, variable
from gradwire.runtime.diagram import load
from gradwire.runtime.engine import Session
from gradwire.runtime.publish.living.computing.numbers import numbers
from gradwire.runtime.publish.living.data import initial_data, living_data
from gradwire.runtime.publish.living.writing.repeats import compacted
from tests.runtime.publish.living.node import NODE, run

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")
ASSETS = Path(__file__).parents[5] / "assets"
FILES = [*sorted(ASSETS.glob("diagrams/*.json")), *sorted(ASSETS.glob("lessons/*.json"))[::5]]


def as_json(data: Any) -> Any:
    return json.loads(json.dumps(data))


@pytest.mark.night
def test_the_data_of_every_example_comes_back(tmp_path: Path) -> None:
    datas = [living_data(load(file)).data for file in FILES]
    found = run(tmp_path, "(works)=>works.map(restored)", [*map(compacted, datas)])
    assert len(found) > 30
    for file, mine, data in zip(FILES, found, datas, strict=True):
        assert mine == as_json(data), file.name
        assert len(json.dumps(compacted(data))) < len(json.dumps(data))


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "initialiser", ["uniform", "glorot_uniform", "he_uniform", "glorot_normal", "normal"]
)
def test_weights_are_drawn_again(initialiser: str, dtype: str, tmp_path: Path) -> None:
    w = variable("w", shape=(60, 70), dtype=dtype, initialiser=initialiser, scale=0.3)
    seeded = variable("seeded", shape=(60, 70), dtype=dtype, initialiser=initialiser, seed=3)
    diagram = build(loss(block("Sum", w * seeded)))
    leaves, law = living_data(diagram).data["leaves"], initialiser.rpartition("_")[2]
    session = Session(diagram)
    for name in ("w", "seeded"):
        data = leaves[name]["data"]
        # Normal numbers of float64 differ from numpy's in the last place: those are written out.
        assert isinstance(data, list) is (law == "normal" and dtype == "float64")
        found = run(tmp_path, "({data})=>initial(data,4200).map(Number)", {"data": data})
        assert np.array_equal(np.array(found, dtype), session.run().values[f"{name}.out"].ravel())


def test_numbers_that_were_given_or_are_few_are_written_out() -> None:
    given = Variable(value=Tensor(np.arange(20.0)))
    assert initial_data(given, "w", np.arange(20.0)) == list(range(20))
    few = Variable(shape=(3,))
    assert len(initial_data(few, "w", few.data((3,), "w"))) == 3
    many = Variable(shape=(40,))
    assert set(initial_data(many, "w", many.data((40,), "w"))) == {"key", "low", "span"}
    other = many.data((40,), "another")
    assert initial_data(many, "w", other) == numbers(other), "they are not those of its key"
