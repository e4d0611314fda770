"""The lesson, the training and the comparison of a diagram as a file has them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from gradwire.blocks.errors import BuildError, FileError
from gradwire.runtime.build import build, loss, variable
from gradwire.runtime.diagram import dumps, loads
from gradwire.runtime.diagram.comparison import Comparison, Disagreement
from gradwire.runtime.diagram.lesson import MAX_STEPS, MAX_TEXT, Lesson, ShowStep
from gradwire.runtime.diagram.optimisers import METHODS, AdamMethod
from gradwire.runtime.diagram.training import SCHEDULES, OptimiserRule, Training

STEPS = [
    {"do": "show", "text": "This is {value('mul1')}.", "look": ["w"], "play": "backward"},
    {"do": "predict", "text": "?", "gradient": "w", "hints": ["a", "b"], "setup": {"w": 3}},
    {"do": "predict", "value": "w", "wrong": [{"answer": "value('w') / 2", "name": "half"}]},
    {"do": "paint", "wires": ["mul1.a"], "states": ["ZERO"], "reveal": ["states"]},
    {"do": "change", "goals": ["grad('w') == 2"], "only": ["w"], "setup": {"stop": "open"}},
    {"do": "build", "goals": ["blocked(loss -> w)"], "losses": ["loss"]},
    {"do": "check", "options": [{"text": "Yes", "holds": "1 > 0", "feedback": "No."}]},
]
LESSON = {
    "goal": "Know it.",
    "minutes": 6,
    "course": "foundations",
    "support": "faded",
    "hide": ["values"],
    "vary": {"w": [1, 2.5]},
    "steps": STEPS,
}


TRAINING = {
    "optimisers": [
        {
            "name": "opt_D",
            "method": {"kind": "adam", "lr": 0.01, "betas": [0.5, 0.9]},
            "variables": ["D/*"],
            "losses": ["L_D"],
            "groups": [{"variables": ["D/b"], "lr": 0.5, "weight_decay": 0}],
            "schedule": {"kind": "step", "step_size": 30},
            "clip": {"by": "norm", "limit": 1},
            "accumulate": 4,
            "reduce": "sum",
            "steps": 2,
        },
        {"name": "opt_G", "variables": ["G/*"], "every": 3},
    ],
    "order": "simultaneous",
    "averages": [{"name": "ema", "of": "G/*", "into": "slow/*", "start": "first_update"}],
    "steps": 20,
    "record": ["fake.out"],
}


def text_of(value: object, field: str = "lesson") -> str:
    return json.dumps({"gradwire": 3, field: value, "pages": {"main": {}}}, indent=1)


def test_what_is_read_is_written_in_a_stable_order() -> None:
    diagram = loads(text_of(LESSON))
    text = dumps(diagram)
    assert loads(text) == diagram
    assert dumps(loads(text)) == text
    assert json.loads(text)["lesson"] == LESSON
    assert sum(line.startswith('      {"do": ') for line in text.splitlines()) == len(STEPS)
    assert list(json.loads(text)) == ["gradwire", "lesson", "pages"]


def test_default_values_are_omitted() -> None:
    assert json.loads(dumps(loads(text_of({"minutes": 5, "steps": []}))))["lesson"] == {}
    step = {"do": "show", "text": "", "hints": []}
    assert json.loads(dumps(loads(text_of({"steps": [step]}))))["lesson"] == {
        "steps": [{"do": "show"}]
    }


@pytest.mark.parametrize(
    ("lesson", "line", "message"),
    [
        (3, 3, "'lesson' is not an object."),
        ({"gaol": ""}, 4, "There is no field 'gaol' here. Expected one of goal, "),
        ({"minutes": 0}, 4, "'minutes' can't be in a lesson. Expected at least 1, got 0."),
        ({"minutes": "6"}, 4, "'minutes' can't be in a lesson. Expected a whole number"),
        ({"hide": ["all"]}, 5, "Entry 1 of 'hide' can't be in a lesson."),
        ({"vary": {"w": ["x"]}}, 6, "Entry 1 of 'w' can't be in a lesson. Expected a number"),
        ({"vary": {"w": []}}, 5, "'w' can't be in a lesson. Expected at least 1 entries"),
        ({"\ud800": 1}, 3, "A field has half a character in its name."),
        ({"steps": [{}]}, 5, "A step says what it does."),
        ({"steps": [{"do": "sing"}]}, 5, 'Expected a field "do", one of show, predict'),
    ],
)
def test_what_is_wrong_with_a_lesson_has_its_place(lesson: object, line: int, message: str) -> None:
    with pytest.raises(FileError) as caught:
        loads(text_of(lesson))
    assert message in str(caught.value)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ({"goals": []}, "There is no field 'goals' here."),
        ({"text": 1}, "'text' of step 2 can't be in a lesson. Expected text, got 1."),
        ({"hints": [""] * 4}, "'hints' of step 2 can't be in a lesson. Expected at most 3 entries"),
        ({"hints": ["", 1]}, "Entry 2 of 'hints' of step 2 can't be in a lesson."),
        (
            {"text": "a" * (MAX_TEXT + 1)},
            "'text' of step 2 is too long. Expected at most 4,000 characters, got 4,001.",
        ),
        ({"setup": {"w": "shut"}}, "'w' of step 2 can't be in a lesson. Expected a number or"),
        ({"setup": {"w": True}}, "'w' of step 2 can't be in a lesson."),
        ({"do": "check", "options": [{"text": ""}]}, "The field 'holds' is missing."),
        ({"do": "check", "options": [{"text": "", "holds": "", "x": 1}]}, "one of text, holds"),
    ],
)
def test_what_is_wrong_with_a_step_has_its_number(step: dict[str, object], message: str) -> None:
    lesson = {"steps": [{"do": "show"}, {"do": "show"} | step]}
    with pytest.raises(FileError) as caught:
        loads(text_of(lesson))
    assert message in str(caught.value)


def test_a_lesson_has_a_largest_number_of_steps() -> None:
    with pytest.raises(FileError, match="Expected at most 60 entries"):
        loads(text_of({"steps": [{"do": "show"}] * (MAX_STEPS + 1)}))


def test_halves_of_characters_are_replaced() -> None:
    assert Lesson(goal="a\ud800").goal == "a\ufffd"
    assert ShowStep(text="\U0001f600").text == "\U0001f600"


class TestTraining:
    def test_what_is_read_is_written_in_a_stable_order(self) -> None:
        diagram = loads(text_of(TRAINING, "training"))
        text = dumps(diagram)
        assert loads(text) == diagram
        assert json.loads(text)["training"] == TRAINING
        lines = text.splitlines()
        assert sum(line.startswith('      {"name": ') for line in lines) == 3
        assert diagram.training is not None
        assert diagram.training.optimisers[0].method == AdamMethod(lr=0.01, betas=(0.5, 0.9))
        assert diagram.training.optimisers[1].method.kind == "sgd"

    def test_default_values_are_omitted_but_a_kind(self) -> None:
        for kind in (*METHODS, *SCHEDULES):
            field = "method" if kind in METHODS else "schedule"
            rule = OptimiserRule.model_validate({"name": "o", field: kind()})
            again = Training(optimisers=(rule,)).to_record()["optimisers"][0]
            left = {} if kind() == OptimiserRule(name="o").__dict__[field] else kind().model_dump()
            assert again.get(field, {}) == ({"kind": left["kind"]} if left else {})

    @pytest.mark.parametrize(
        ("training", "line", "message"),
        [
            ([], 3, "'training' is not an object."),
            ({"steps": 0}, 4, "'steps' can't be in a recipe for training. Expected at least 1"),
            ({"optimisers": [{}]}, 5, "The field 'name' is missing."),
            ({"optimiser": []}, 4, "There is no field 'optimiser' here. Expected one of optim"),
        ],
    )
    def test_what_is_wrong_has_its_place(self, training: object, line: int, message: str) -> None:
        with pytest.raises(FileError) as caught:
            loads(text_of(training, "training"))
        assert message in str(caught.value)
        assert caught.value.line == line

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"name": "a/b"}, "'name' of optimiser 2 is not a valid name. Expected 1 to 100"),
            ({"method": {}}, 'Expected a field "kind", one of sgd, adam, adamw, rmsprop'),
            ({"method": {"kind": "eve"}}, "A method or a schedule says of what kind it is."),
            ({"schedule": {"kind": "s"}}, "one of constant, step, exponential, cosine, warmup_co"),
            ({"method": {"kind": "lion", "eps": 1}}, "one of weight_decay, maximize, kind, lr, be"),
            ({"method": {"kind": "sgd", "lr": -1}}, "'lr' of optimiser 2 can't be in a recipe for"),
            ({"method": {"kind": "sgd", "lr": 1e999}}, "Infinity is not a JSON number"),
            ({"method": {"kind": "sgd", "lr": "1"}}, "Expected a number, got '1'"),
            ({"method": {"kind": "adam", "betas": [0.9, 1]}}, "Entry 2 of 'betas' of optimiser 2"),
            ({"groups": [{"lr": 1}]}, "The field 'variables' is missing."),
            ({"groups": [{"variables": [], "l": 1}]}, "one of variables, lr, weight_decay"),
            ({"clip": {"by": "size", "limit": 1}}, "Expected 'value' or 'norm', got 'size'"),
            ({"accumulate": 1.5}, "'accumulate' of optimiser 2 can't be in a recipe"),
        ],
    )
    def test_what_is_wrong_with_an_optimiser_has_its_number(
        self, fields: dict[str, object], message: str
    ) -> None:
        rule = {"name": "two"} | fields
        with pytest.raises(FileError) as caught:
            loads(text_of({"optimisers": [{"name": "one"}, rule]}, "training"))
        assert message in str(caught.value)

    def test_a_program_gives_it_as_a_model_or_in_its_json_form(self) -> None:
        x = loss(variable("x", 1.0))
        recipe = Training.model_validate(TRAINING)
        assert build(x, training=TRAINING).training == build(x, training=recipe).training == recipe
        assert build(x).training is None
        with pytest.raises(BuildError, match="There is no field 'lr' here"):
            build(x, training={"lr": 1})


COMPARISON = {
    "system": "JAX",
    "losses": ["loss.out"],
    "gradients": 2,
    "absent": 1,
    "apart": 1.5e-7,
    "disagreements": [
        {
            "of": "loss.out",
            "at": "x.out",
            "theirs": "nan",
            "ours": 3,
            "single": True,
            "since": "x.out",
            "cause": "hook (train.py:3)",
        },
        {"what": "value", "of": "loss.out", "at": "loss.out", "theirs": "-inf", "ours": None},
    ],
    "missteps": [
        {"text": "zero_grad() runs too late.", "written": "train.py:9: optimizer.zero_grad()"},
        {"text": "backward() raises.", "raises": True},
    ],
    "structure": "0a" * 16,
    "values": "f9" * 16,
}
GOLDEN = Path(__file__).parent / "golden" / "comparison.gradwire.json"


class TestComparison:
    def test_what_is_read_is_written(self) -> None:
        diagram = loads(text_of(COMPARISON, "comparison"))
        text = dumps(diagram)
        assert json.loads(text)["comparison"] == COMPARISON
        assert dumps(loads(text)) == text
        found = diagram.comparison
        assert found is not None and found.system == "JAX"
        hook, value = found.disagreements
        assert hook.theirs is not None and math.isnan(hook.theirs) and hook.ours == 3.0
        assert (value.theirs, value.ours) == (-math.inf, None)
        assert [misstep.raises for misstep in found.missteps] == [False, True]

    def test_one_of_an_earlier_day_keeps_its_meaning(self) -> None:
        text = GOLDEN.read_text(encoding="utf-8")
        diagram = loads(text)
        assert dumps(diagram) == text
        assert diagram.comparison == Comparison(
            losses=("loss.out",),
            gradients=1,
            disagreements=(
                Disagreement(
                    of="loss.out",
                    at="table/weight.out",
                    theirs=0.4596301574694323,
                    ours=0.5601713581965089,
                    apart=0.7072717036320493,
                    since="table/weight.out",
                    cause="mask_hook (train.py:8)",
                ),
            ),
            structure="5b9e3845b5126d0d34fc2d9581e86713",
            values="21793e5f13eb65124eda9951703af1e0",
        )

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"structure": "../x"}, "'structure' can't be in a comparison."),
            ({"losses": ["x" * 2000]}, "Entry 1 of 'losses' is too long."),
            ({"gradients": -1}, "'gradients' can't be in a comparison. Expected at least 0"),
            ({"gradients": True}, "'gradients' can't be in a comparison."),
            ({"disagreements": [{"of": "a", "at": "b"}]}, "The field 'theirs' is missing."),
            (
                {"disagreements": [{"of": "a", "at": "b", "theirs": "none", "ours": 0}]},
                "'theirs' of disagreement 1 can't be in a comparison.",
            ),
            ({"missteps": [{"written": "a.py:1"}]}, "The field 'text' is missing."),
            ({"by": "me"}, "There is no field 'by' here."),
        ],
    )
    def test_what_is_wrong_is_said(self, change: dict[str, object], message: str) -> None:
        with pytest.raises(FileError) as caught:
            loads(text_of(COMPARISON | change, "comparison"))
        assert message in str(caught.value)

    def test_there_is_a_largest_number_of_disagreements(self) -> None:
        one = {"of": "a", "at": "b", "theirs": 0, "ours": 1}
        with pytest.raises(FileError, match="at most 4096 entries"):
            loads(text_of(COMPARISON | {"disagreements": [one] * 4097}, "comparison"))
