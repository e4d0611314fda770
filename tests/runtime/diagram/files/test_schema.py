import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import dumps, json_schema, loads, save
from gradwire.runtime.diagram.comparison import Comparison
from gradwire.runtime.diagram.files.writing import large_arrays
from gradwire.runtime.diagram.lesson import Lesson
from gradwire.runtime.diagram.training import Training
from tests.runtime.diagram.drawing import draw, make, seed
from tests.runtime.diagram.files.test_models import COMPARISON, LESSON, TRAINING

GOLDEN = Path(__file__).parent / "golden" / "version1.gradwire.json"


@pytest.fixture(scope="module")
def validator():
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def flaws(validator, text):
    return [".".join(map(str, e.absolute_path)) for e in validator.iter_errors(json.loads(text))]


@pytest.mark.night
def test_it_is_json_and_knows_every_block():
    schema = json.loads(json.dumps(json_schema()))
    for name in registry().classes:
        assert f"block-{name}" in schema["$defs"]


@pytest.mark.night
def test_the_golden_file_fits_but_for_its_misfit(validator):
    text = dumps(loads(GOLDEN.read_text(encoding="utf-8")))
    assert flaws(validator, text) == ["pages.main.blocks.misfit"]


@pytest.mark.night
def test_every_block_fits_as_it_is_written(validator):
    for name, cls in registry().classes.items():
        assert flaws(validator, dumps(draw({"it": cls()}))) == [], name


@pytest.mark.night
def test_so_do_literals_and_numbers_that_json_lacks(validator):
    diagram = draw(
        {
            "a": make("Concat", **{"parts.0": 1, "parts.1": [0.5], "parts.12": True}),
            "b": make("Mul", a="nan", b={"dtype": "int8", "value": [[1]]}),
            "c": make("Clip", min=float("-inf")),
            "d": make("Page", page="x", anything=3),
            "e": make("Variable", value=["nan", 1.0]),
        }
    )
    assert flaws(validator, dumps(diagram)) == []


@pytest.mark.night
def test_so_does_a_lesson(validator):
    diagram = replace(seed(), lesson=Lesson.model_validate(LESSON))
    assert flaws(validator, dumps(diagram)) == []
    assert flaws(validator, dumps(diagram).replace('"minutes": 6', '"minutes": 61')) != []
    assert flaws(validator, dumps(diagram).replace('"do": "show"', '"do": "sing"')) != []


def test_so_does_a_comparison(validator):
    diagram = replace(seed(), comparison=Comparison.model_validate(COMPARISON))
    text = dumps(diagram)
    assert flaws(validator, text) == []
    for right, wrong in (('"nan"', '"no"'), ('"what": "value"', '"what": "size"'), ("0a0a", "..")):
        assert flaws(validator, text.replace(right, wrong)) != []


def test_so_does_a_training(validator):
    diagram = replace(seed(), training=Training.model_validate(TRAINING))
    text = dumps(diagram)
    assert flaws(validator, text) == []
    for right, wrong in (
        ('"kind": "adam"', '"kind": "eve"'),
        ('"lr": 0.01', '"lr": -1'),
        ('"by": "norm"', '"by": "size"'),
        ('"order": "simultaneous"', '"order": "sometime"'),
    ):
        assert right in text
        assert flaws(validator, text.replace(right, wrong)) != []


def test_so_do_own_variables_with_the_fields_of_a_variable_alone(validator):
    own = {"value": [[1, "nan"]], "trainable": False}
    text = dumps(draw({"it": make("Linear", weight={"variable": own}, bias={"variable": {}})}))
    assert flaws(validator, text) == []
    for wrong in ('"variable": {"type": "Variable", ', '"variable": {"colour": 1, '):
        assert flaws(validator, text.replace('"variable": {', wrong, 1)) != []


def test_so_do_large_arrays(validator, tmp_path):
    diagram = draw({"w": make("Variable", value=[1.5] * 2000), "m": make("Mul", a=[2.5] * 2000)})
    assert list(large_arrays(diagram)) == ["w.value", "m.a"]
    save(diagram, tmp_path / "x.gradwire.json")
    assert flaws(validator, (tmp_path / "x.gradwire.json").read_text(encoding="utf-8")) == []


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('"gradwire": 3', '"gradwire": 1', "gradwire"),
        ('"pages": {', '"colour": 1, "pages": {', ""),
        ('"type": "Mul", "a": 3', '"type": "Mul", "c": 3', "pages.main.blocks.mul"),
        ('"type": "Mul", "a": 3', '"type": "Mul", "a": "x"', "pages.main.blocks.mul.a"),
        ('"type": "Mul", "a": 3', '"a": 3', "pages.main.blocks.mul"),
        ('"a": {"type": "Variable"', '"a.b": {"type": "Variable"', "pages.main.blocks"),
        (
            '"type": "Mul", "a": 3',
            '"type": "Mul", "a": {"variable": {}}',
            "pages.main.blocks.mul.a",
        ),
        ('"stop.x": "mul.out"', '"stop": "mul.out"', "pages.main.wires"),
        ('"stop.x": "mul.out"', '"stop.x": "mul"', "pages.main.wires.stop.x"),
    ],
)
def test_what_does_not_fit_is_found(validator, old, new, place):
    text = dumps(seed())
    assert old in text
    assert place in flaws(validator, text.replace(old, new))
