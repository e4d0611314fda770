"""Split and order of rows are laws: each row once an epoch, none of validation in training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradwire as gw
from gradwire.blocks.errors import GradwireError, RunError
from gradwire.blocks.library.data import Dataset
from gradwire.blocks.library.data.sources import GENERATORS
from gradwire.runtime.data import order
from gradwire.runtime.data.columns import Arrays
from gradwire.runtime.data.generators import generate
from gradwire.runtime.data.opening import open_rows
from gradwire.runtime.data.rows import DataRows


def numbered(count: int, **parameters: Any) -> DataRows:
    """A data set whose x is the number of its row."""
    block = Dataset(source="blobs", columns={"x": {"dtype": "int64"}}, **parameters)
    return DataRows(block, Arrays({"x": np.arange(count), "y": np.arange(count)}))


@st.composite
def data_sets(draw: st.DrawFn) -> DataRows:
    count = draw(st.integers(1, 60))
    validation = draw(st.sampled_from([0.0, 0.1, 0.37, 0.9]))
    training = count - round(count * validation)
    return numbered(
        count,
        validation=validation if training else 0.0,
        batch=draw(st.integers(0, max(1, training) if training else count)),
        shuffle=draw(st.booleans()),
        last_batch=draw(st.sampled_from(["fill", "drop"])),
        seed=draw(st.integers(0, 2**63 - 1)),
    )


@given(data_sets())
def test_an_epoch_has_each_training_row_once(rows: DataRows) -> None:
    size, total = rows.batch_size("training"), rows.training_count
    whole = total // size if rows.block.last_batch == "drop" else total
    steps = whole if rows.block.last_batch == "drop" else total  # `size` epochs in `total` steps
    drawn = [rows.batch("x", step, "training") for step in range(steps)]
    assert all(len(batch) == size for batch in drawn)
    sequence = np.concatenate(drawn)
    if rows.block.last_batch == "drop":
        assert len(set(sequence)) == len(sequence) == whole * size
        return
    for epoch in sequence.reshape(-1, total):
        assert len(set(epoch)) == total


@given(data_sets(), st.integers(0, 10**6))
def test_no_validation_row_is_trained_on(rows: DataRows, step: int) -> None:
    trained = {row for n in range(rows.training_count) for row in rows.batch("x", n, "training")}
    kept = set(rows.batch("x", step, "validation"))
    assert not trained & kept
    assert len(kept) == rows.validation_count
    if rows.block.last_batch == "fill":
        assert trained | kept == set(range(rows.count))


@given(data_sets(), st.integers(0, 10**9))
def test_a_batch_depends_on_the_step_alone(rows: DataRows, step: int) -> None:
    first = rows.batch("x", step, "training").copy()
    again = DataRows(rows.block, rows.table)
    for other in (0, step + 1, 7):
        again.batch("x", other, "training")
    assert np.array_equal(again.batch("x", step, "training"), first)
    assert again.batch("x", step, "training") is again.batch("x", step, "training")


@given(st.integers(1, 5000), st.integers(0, 2**63 - 1), st.integers(0, 10**9))
def test_the_order_of_many_rows_is_a_permutation(count: int, seed: int, epoch: int) -> None:
    rows = np.arange(count)
    before, order.SORTED = order.SORTED, 0
    try:
        moved = order.permuted(rows, count, seed, order.EPOCH, epoch)
        half = order.permuted(rows[: count // 2], count, seed, order.EPOCH, epoch)
    finally:
        order.SORTED = before
    assert sorted(moved) == list(rows)
    assert np.array_equal(half, moved[: count // 2])


@pytest.mark.night
@pytest.mark.parametrize("kept", [0, 2**20])
def test_orders_are_random(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a row goes is uniform, and epochs, uses and seeds are independent."""
    monkeypatch.setattr(order, "SORTED", kept)
    rows = np.arange(16)
    moved = np.array([order.permuted(rows, 16, 5, order.EPOCH, epoch) for epoch in range(2000)])
    for position in range(16):
        counts = np.bincount(moved[:, position], minlength=16)
        assert ((counts - 125) ** 2 / 125).sum() < 45  # χ² of 15 degrees: 1 in 10,000
    many = np.arange(1000)
    others = [(5, order.SPLIT, 0), (6, order.EPOCH, 0), (5, order.EPOCH, 1)]
    first = order.permuted(many, 1000, 5, order.EPOCH)
    for other in others:
        assert (order.permuted(many, 1000, *other) == first).sum() < 10


def test_orders_are_the_same_on_every_machine() -> None:
    rows = np.arange(8)
    assert order.permuted(rows, 8, 1, order.EPOCH).tolist() == [0, 6, 5, 3, 4, 7, 2, 1]
    many = order.permuted(rows[:3], 2**40, 1, order.EPOCH)
    assert many.tolist() == [843758622602, 294890130071, 363960099345]


@settings(max_examples=20)
@given(st.sampled_from(sorted(GENERATORS)), st.integers(1, 40), st.integers(0, 2**63 - 1))
def test_generators_depend_on_the_seed_alone(source: str, count: int, seed: int) -> None:
    block = Dataset(source=source, count=count, seed=seed)
    one, other = generate(block), generate(block)
    for name, array in one.items():
        assert len(array) == count and np.isfinite(array).all()
        assert np.array_equal(array, other[name])
    assert not np.array_equal(one["x"], generate(Dataset(source=source, count=count))["x"]) or (
        seed == 0
    )


def test_a_classifier_can_learn_the_digits() -> None:
    """Nearest neighbours in half of them know most of the other half, and not all."""
    drawn = generate(Dataset(source="digits"))
    x, y = drawn["x"].reshape(-1, 64), drawn["y"]
    assert np.bincount(y).tolist() == [100] * 10 and x.min() >= 0 and x.max() <= 1
    known, asked = slice(0, 500), slice(500, 1000)
    distance = ((x[asked, None] - x[None, known]) ** 2).sum(axis=-1)
    right = (y[known][distance.argmin(axis=1)] == y[asked]).mean()
    assert 0.85 < right < 1.0


def test_noise_and_turns_are_what_they_say() -> None:
    still = generate(Dataset(source="spirals", noise=0.0, turns=2.0, classes=3))["x"]
    assert np.hypot(*still.T).max() <= 1.0
    sine = generate(Dataset(source="sine", noise=0.0, turns=3.0))
    assert np.allclose(sine["y"], np.sin(3 * np.pi * sine["x"]))
    blobs = generate(Dataset(source="blobs", classes=1, noise=2.0, count=20_000))["x"]
    assert np.allclose(blobs.std(axis=0), 2.0, atol=0.05)
    xor = generate(Dataset(source="xor"))
    assert np.array_equal(xor["y"], (xor["x"].prod(axis=1) < 0))


def test_standardised_rows_use_the_training_rows() -> None:
    x = np.random.default_rng(3).normal(5.0, 3.0, (1000, 2))
    block = Dataset(source="blobs", columns={"x": {"standardise": True}}, validation=0.3)
    rows = DataRows(block, Arrays({"x": x, "y": np.zeros(1000)}))
    trained = rows.batch("x", 0, "training")
    assert np.allclose(trained.mean(axis=0), 0, atol=1e-5)
    assert np.allclose(trained.std(axis=0), 1, atol=1e-5)
    mean, std = x[rows.rows(0, "training")].mean(axis=0), x[rows.rows(0, "training")].std(axis=0)
    kept = (x[rows.rows(0, "validation")] - mean) / std
    assert np.allclose(rows.batch("x", 0, "validation"), kept, atol=1e-5)


def test_a_constant_column_is_standardised_to_zero() -> None:
    block = Dataset(source="blobs", columns={"x": {"standardise": True}})
    rows = DataRows(block, Arrays({"x": np.full((9, 2), 4.0), "y": np.zeros(9)}))
    assert not rows.batch("x", 0, "training").any()


def test_columns_are_joined_and_classes_become_vectors() -> None:
    columns = {"all": {"of": ["x", "y"]}, "t": {"of": "y", "one_hot": 3}}
    rows = open_rows(Dataset(source="blobs", columns=columns, count=12))
    joined, target = rows.batch("all", 0, "training"), rows.batch("t", 0, "training")
    assert joined.shape == (12, 3) and target.shape == (12, 3)
    assert np.array_equal(target.argmax(axis=1), joined[:, 2])
    assert (target.sum(axis=1) == 1).all() and target.dtype == np.float32


@pytest.mark.parametrize(
    ("column", "numbers", "expected"),
    [
        ({"dtype": "int32"}, [1.0, 2.5], "row 1 of 'x'.* int32.* 2.5"),
        ({"dtype": "int32"}, [1.0, np.nan], "row 1 of 'x'.* int32.* nan"),
        ({"dtype": "uint8"}, [255, 256], "row 1 of 'x'.* uint8.* 256"),
        ({"dtype": "int64"}, [0.0, 2.0**63], "row 1 of 'x'.* int64"),
        ({"dtype": "bool"}, [1, 2], "row 1 of 'x'.* bool.* 2"),
        ({"dtype": "float16"}, [1.0, 1e6], "row 1 of 'x'.* float16"),
        ({"one_hot": 2}, [1, 2], "row 1 of 'x'.* a class from 0 to 1.* 2"),
        ({"one_hot": 2}, [1.0, 0.5], "row 1 of 'x'.* a class from 0 to 1.* 0.5"),
        ({"labels": ["a", "b"]}, [1, 0], "has labels, but its column 'x' has numbers"),
    ],
)
def test_numbers_that_do_not_fit_have_a_place(
    column: dict[str, Any], numbers: list[float], expected: str
) -> None:
    block = Dataset(source="blobs", columns={"x": column})
    with pytest.raises(RunError, match=expected):
        DataRows(block, Arrays({"x": np.array(numbers)})).batch("x", 0, "training")


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"batch": 11}, "training batch is larger.*at most 10, got 11"),
        ({"validation": 0.5, "validation_batch": 6}, "validation batch is larger.*at most 5"),
        ({"count": 1, "validation": 0.9}, "no row to train on"),
    ],
)
def test_splits_without_enough_rows_are_refused(parameters: dict[str, Any], expected: str) -> None:
    with pytest.raises(RunError, match=expected):
        open_rows(Dataset(source="xor", **{"count": 10, **parameters}))


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"source": "sine", "classes": 2}, "sine has no classes; blobs, spirals"),
        ({"noise": -1.0}, "noise -1 is not from 0"),
        ({"count": 0}, "count 0 is not from 1"),
        ({"path": "a.csv"}, "reads no file, but path is given"),
        ({"columns": {"z": {}}}, "has the columns x and y, not 'z'"),
        ({"columns": {"a.b": {"of": "x"}}}, "can't be a port"),
        ({"columns": {"x": {"dtype": "int8", "standardise": True}}}, "floats, but the dtype"),
        ({"columns": {"y": {"labels": ["a", "a"]}}}, "not distinct"),
        ({"validation": 1.0}, "less than 1"),
        ({"source": "csv", "path": "a\nb.csv"}, "all printable"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(
    parameters: dict[str, Any], expected: str
) -> None:
    with pytest.raises(GradwireError, match=expected):
        Dataset(**parameters)


def test_missing_data_is_the_only_problem_of_what_depends_on_its_shape(tmp_path: Path) -> None:
    """A weight whose shape follows from the data is not accused; one that is apart still is."""
    table = tmp_path / "a.csv"
    table.write_text("x\n1\n2\n")
    x = gw.dataset(name="data", source="csv", path=str(table), columns={"x": {}})
    layer = gw.linear(gw.reshape(x, shape=[2, 1]), units=3, name="layer")
    diagram = gw.build(gw.loss(gw.mean(layer)), gw.mean(gw.input("apart")))
    table.unlink()
    session = gw.Session(diagram)
    errors = [d for d in session.diagnostics if d.severity == "error"]
    assert [str(d.location) for d in errors if "missing" in d.what] == ["data"]
    assert [str(d.location) for d in errors if "left open" in d.what] == ["apart"]
    assert len(errors) == 2
    assert session.program.blocked["layer/weight"] == "data"
