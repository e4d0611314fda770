"""The page's script in node computes what the runtime does."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradwire.runtime.build import block, build, loss, variable
from gradwire.runtime.diagram import load
from gradwire.runtime.engine import Session
from gradwire.runtime.flow.words.formatting import wild
from gradwire.runtime.publish.living.data import living_data
from tests.runtime.publish.living import chromium
from tests.runtime.publish.living.node import NODE, compared, run
from tests.runtime.publish.living.oracle import in_dtype, results, swept, work_of

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")
EXAMPLES = Path(__file__).parents[4] / "assets" / "diagrams"
TOLERANCE = {"float64": 1e-12, "float32": 1e-5}


def test_what_is_not_finite_has_the_label_of_the_runtime(tmp_path: Path) -> None:
    arrays: list[list[float]] = [
        [1.0, math.nan, math.inf], [math.nan, math.inf], [math.inf, math.nan], [-math.inf, 2.0],
        [math.inf, math.inf], [math.inf, -math.inf], [1.0],
    ]  # fmt: skip
    script = "(work) => work.map((d) => measure({d: d.map(Number), t: 'float64'}).wild)"
    names = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    texts = [[names.get(str(x), str(x)) for x in array] for array in arrays]
    assert run(tmp_path, script, texts) == [wild(np.array(array)) for array in arrays]


@pytest.mark.night
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", ["mxnet_seed", "gan", "em_stopped", "freeze_encoder"])
def test_an_example_is_computed_alike(name: str, dtype: str, tmp_path: Path) -> None:
    diagram = in_dtype(load(EXAMPLES / f"{name}.gradwire.json"), dtype)
    found = compared(tmp_path, work_of(living_data(diagram), trials=2))
    assert found["cases"] > 0 and found["numbers"] > 20
    assert (found["none"], found["states"]) == (0, 0), found["wrong"]
    assert found["worst"] < TOLERANCE[dtype], found["where"]


@pytest.mark.night
@pytest.mark.parametrize("name", ["adversarial_training_stopped", "adversarial_training_unstopped"])
def test_a_vanishing_gradient_that_is_divided_by_its_length(name: str, tmp_path: Path) -> None:
    """Every slider from −2 to 2 times its number."""
    living = living_data(load(EXAMPLES / f"{name}.gradwire.json"))
    found = compared(tmp_path, {"data": living.data, "cases": list(swept(living, 20))})
    assert found["cases"] >= 100
    assert (found["none"], found["states"]) == (0, 0), found["wrong"]
    assert found["worst"] < 1e-9, found["where"]


@pytest.mark.night
def test_random_blocks_draw_the_same_numbers_in_every_step(tmp_path: Path) -> None:
    w = variable("w", [1.0, -2.0, 0.5], dtype="float64")
    noise = block("RandomNormal", w, mean=0.5, std=2.0, name="noise")
    keep = block("RandomUniform", w, seed=7, name="keep")
    single = block("RandomUniform", shape=(3,), low=-1.0, name="single")
    living = living_data(build(loss(block("Sum", w * noise * keep + single * w))))
    work: dict[str, Any] = {"data": living.data, "cases": []}
    session = Session(living.switches.diagram, fast=False)
    for step in (0, 1, 2, 100):
        session.step_number = step
        case = results(session, session.losses, told=True)
        work["cases"].append({"values": {}, "open": [], "heads": [True], "step": step, **case})
    drawn = [case["ports"]["noise.out"] for case in work["cases"]]
    assert len({str(numbers) for numbers in drawn}) == 4
    found = compared(tmp_path, work)
    assert (found["none"], found["states"], found["unlike"]) == (0, 0, []), found["wrong"]
    assert found["worst"] < TOLERANCE["float32"], found["where"]  # the dtype of what they draw


@pytest.mark.night
@pytest.mark.skipif(chromium.CHROMIUM is None, reason="Chromium is not installed")
def test_chromium_computes_alike(tmp_path: Path) -> None:
    diagram = load(EXAMPLES / "gan.gradwire.json")
    found = chromium.compared(tmp_path, work_of(living_data(diagram), trials=1))
    assert found["cases"] > 0 and (found["none"], found["states"]) == (0, 0), found["wrong"]
    assert found["worst"] < TOLERANCE["float64"], found["where"]
