"""Tables move only where they were looked up, with the bits that whole updates leave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradwire as gw
from gradwire.runtime.diagram.optimisers import METHODS, AdagradMethod, AdamMethod, SGDMethod
from gradwire.runtime.diagram.training import (
    Average,
    Clip,
    ExponentialSchedule,
    Group,
    OptimiserRule,
    Training,
)
from gradwire.runtime.training.optimisers.arithmetic import Arithmetic
from gradwire.runtime.training.records import DivergedError
from gradwire.runtime.training.trainer import Trainer
from gradwire.runtime.training.watch import AlarmWatch

ROWS, WIDTH = 2000, 12


def words(name: str, count: int) -> Any:
    """Other indices at each step, some of which come often."""
    drawn = gw.square(gw.random_uniform(shape=[count], name=name))
    return gw.cast(gw.floor(drawn * float(ROWS)), dtype="int64")


def diagram(dtype: str = "float32") -> gw.Diagram:
    """A table with two lookups, another one, and a matrix between the tables in order."""
    rng = np.random.default_rng(0)
    table, other = (
        gw.variable(name, rng.standard_normal((ROWS, WIDTH)), dtype=dtype)
        for name in ("table", "other")
    )
    w = gw.variable("w", 0.1 * rng.standard_normal((WIDTH, WIDTH)), dtype=dtype)
    one = gw.embedding(words("a", 40), table)
    two = gw.embedding(words("b", 25), gw.gradient_scale(table, scale=0.5))
    three = gw.embedding(words("c", 25), other)
    y = gw.tanh(gw.linear(one, w))
    return gw.build(
        gw.loss(gw.mean(gw.square(y - 1.0)) + gw.mean(gw.square(two * three)), name="loss")
    )


def trainer(*rules: OptimiserRule, of: gw.Diagram | None = None, **recipe: Any) -> Trainer:
    session = gw.Session(of or diagram(), fast=False)
    return Trainer(session, Training(optimisers=rules, **recipe))


def tables(of: Trainer) -> list[list[str]]:
    """The tables of each optimiser."""
    return [[table.path for table in turn._tables] for turn in of.optimisers]


def assert_same(found: Trainer, wanted: Trainer) -> None:
    one, other = found.state(), wanted.state()
    assert one.about == other.about
    assert one.arrays.keys() == other.arrays.keys()
    for name, array in other.arrays.items():
        assert one.arrays[name].tobytes() == array.tobytes(), name


SGD = OptimiserRule(name="opt", method=SGDMethod(lr=0.5))
ADAGRAD = OptimiserRule(name="opt", method=AdagradMethod(lr=0.5, lr_decay=0.1))
CASES = {
    "sgd": SGD,
    "adagrad": ADAGRAD,
    "started": ADAGRAD.model_copy(
        update={"method": AdagradMethod(initial_accumulator_value=0.1, eps=1e-6)}
    ),
    "schedule": SGD.model_copy(update={"schedule": ExponentialSchedule(gamma=0.5)}),
    "value": SGD.model_copy(update={"clip": Clip(by="value", limit=1e-4)}),
    "mean": ADAGRAD.model_copy(update={"accumulate": 3}),
    "sum": SGD.model_copy(update={"accumulate": 3, "reduce": "sum", "steps": 2}),
    "groups": SGD.model_copy(
        update={
            "groups": (
                Group(variables=("other",), lr=0.1),
                Group(variables=("w",), weight_decay=0.1),
            )
        }
    ),
}


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("case", CASES)
def test_the_bits_are_those_of_whole_updates(
    case: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_rows = trainer(CASES[case], of=diagram(dtype))
    if dtype == "float16" and case in ("adagrad", "mean"):  # eps is 0 there
        assert tables(by_rows) == [[]]
        return
    assert tables(by_rows) == [["table", "other"]]
    found = list(by_rows.run(4))
    monkeypatch.setattr(Arithmetic, "rests", lambda *_: False)
    whole = trainer(CASES[case], of=diagram(dtype))
    assert tables(whole) == [[]]
    for record, wanted in zip(found, whole.run(4), strict=True):
        assert record.losses == wanted.losses
        assert record.optimisers["opt"].lr == wanted.optimisers["opt"].lr
        norms = record.optimisers["opt"].grad_norm, wanted.optimisers["opt"].grad_norm
        assert norms[0] == pytest.approx(norms[1], rel=1e-5)
    assert_same(by_rows, whole)


def test_a_clip_by_the_norm_is_the_same_to_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = SGD.model_copy(update={"clip": Clip(by="norm", limit=0.01)})
    by_rows = trainer(rule)
    list(by_rows.run(4))
    monkeypatch.setattr(Arithmetic, "rests", lambda *_: False)
    whole = trainer(rule)
    list(whole.run(4))
    for name, array in whole.state().arrays.items():
        np.testing.assert_allclose(by_rows.state().arrays[name], array, rtol=1e-5)


CHOSEN = [
    pytest.param(method, options, id=f"{method.__name__}-{options}")
    for method in METHODS
    for options in (
        {}, {"weight_decay": 0.1}, {"maximize": True}, {"momentum": 0.9}, {"eps": 0.0},
    )
    if options.keys() <= method.model_fields.keys()
]  # fmt: skip


@pytest.mark.parametrize(("method", "options"), CHOSEN)
def test_what_rests_changes_no_bit(method: Any, options: dict[str, Any]) -> None:
    """Whatever values and state are: −0, the smallest numbers, and those that are not finite."""
    arithmetic = Arithmetic(method(**options))
    odd = np.array([0.0, -0.0, 1.5, -2e-45, 3e38, np.inf, -np.inf], np.float32)
    values = odd.copy()
    slots = arithmetic.slots(values)
    for number, slot in enumerate(slots.values()):
        slot[:] += np.abs(np.roll(odd, number))
    before = {name: slot.copy() for name, slot in slots.items()}
    with np.errstate(all="ignore"):
        for count in (1, 2):
            arithmetic.update(
                values, np.zeros_like(odd), slots, count=count, lr=0.1,
                weight_decay=arithmetic.method.weight_decay,
            )  # fmt: skip
    same = values.tobytes() == odd.tobytes()
    same &= all(slot.tobytes() == before[name].tobytes() for name, slot in slots.items())
    decay = arithmetic.method.weight_decay
    assert same or not arithmetic.rests(np.dtype(np.float32), decay)
    expected = method in (SGDMethod, AdagradMethod) and not options.keys() - {"eps"}
    expected &= "eps" not in options or method is SGDMethod
    assert arithmetic.rests(np.dtype(np.float32), decay) is expected


def test_what_moves_without_a_gradient_is_updated_whole() -> None:
    assert tables(trainer(OptimiserRule(name="opt", method=AdamMethod()))) == [[]]
    assert tables(trainer(OptimiserRule(name="opt", method=SGDMethod(momentum=0.9)))) == [[]]
    decayed = SGD.model_copy(update={"groups": (Group(variables=("table",), weight_decay=0.01),)})
    assert tables(trainer(decayed)) == [["other"]]


def test_a_table_of_two_optimisers_is_updated_whole() -> None:
    rules = (
        SGD.model_copy(update={"name": "one"}),
        SGD.model_copy(update={"name": "two", "variables": ("table",)}),
    )
    assert tables(trainer(*rules)) == [["other"], []]


def test_what_is_set_between_rounds_counts_and_is_looked_at() -> None:
    of = trainer(SGD)
    list(of.run(2))
    changed = of.session.values["table"]
    changed[:] = 0.25
    of.session.set("table", changed)
    list(of.run(1))
    assert np.count_nonzero((of.session.values["table"] == 0.25).all(axis=1)) > ROWS // 2
    changed[7, 3] = np.inf
    of.session.set("table", changed)
    with pytest.raises(DivergedError) as caught:
        list(of.run(1))
    assert caught.value.names == ("table",)


def test_a_row_that_is_not_finite_is_found_when_it_is_made() -> None:
    of = trainer(SGD.model_copy(update={"method": SGDMethod(lr=3e38)}))
    with pytest.raises(DivergedError):
        list(of.run(5))


def test_a_training_goes_on_from_a_state() -> None:
    of = trainer(ADAGRAD, averages=())
    list(of.run(2))
    state = of.state()
    assert state.arrays["optimiser/opt/sum/table"].shape == (ROWS * WIDTH,)
    first = [record.losses for record in of.run(3)]
    after = of.state()
    of.restore(state)
    assert [record.losses for record in of.run(3)] == first
    for name, array in after.arrays.items():
        assert of.state().arrays[name].tobytes() == array.tobytes()


def test_sizes_are_those_of_the_whole_table() -> None:
    of = trainer(SGD)
    for record in of.run(3):
        (turn,) = of.optimisers
        sizes = {path: size for size in turn.sizes() for path in size.paths}
        assert record.optimisers["opt"].updated
        for path in ("table", "other"):
            values = of.session.values[path].astype(np.float64)
            assert sizes[path].lengths == [ROWS * WIDTH]
            assert sizes[path].values[0] == pytest.approx((values**2).sum(), rel=1e-6)
        total = sum(size.gradients.sum() for size in sizes.values())
        assert total == pytest.approx(sum(s.gradients.sum() for s in turn.sizes()))
    assert record.optimisers["opt"].grad_norm == pytest.approx(
        np.sqrt(sum(size.gradients.sum() for size in turn.sizes())), rel=1e-5
    )


def test_a_watch_sees_a_table_move() -> None:
    of = trainer(SGD)
    looking = AlarmWatch(of)
    assert [alarm for record in of.run(20) for alarm in looking.look(record)] == []


def test_steps_of_other_sizes_take_no_more_memory() -> None:
    """Each step looks up another number of rows."""
    of = trainer(ADAGRAD)
    list(of.run(20))
    (turn,) = of.optimisers
    (work,) = turn._arithmetic._in_place.values()
    (arrays,) = work._rooms.values()
    assert 0 < max(array.size for array in arrays) <= 65 * WIDTH


def test_averages_follow_a_table() -> None:
    rng = np.random.default_rng(0)
    table = gw.variable("table", rng.standard_normal((ROWS, WIDTH)).astype(np.float32))
    slow = gw.variable("slow", np.zeros((ROWS, WIDTH), np.float32), trainable=False)
    near = gw.embedding(words("a", 10), table) - gw.embedding(words("b", 10), slow)
    of = trainer(
        SGD, of=gw.build(gw.loss(gw.mean(gw.square(near)))),
        averages=(Average(name="slow", of="table", into="slow", decay=0.0),),
    )  # fmt: skip
    list(of.run(2))
    assert tables(of) == [["table"]]
    values = of.session.values
    assert values["slow"].tobytes() == values["table"].tobytes()
