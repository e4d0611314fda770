"""Random blocks: reproducible, of the right law, new at every step."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.blocks.errors import ParameterError
from gradwire.blocks.library.random import Dropout, RandomNormal, RandomUniform
from gradwire.runtime.diagram.model import MAIN, Diagram, Page
from gradwire.runtime.engine import Session
from tests.blocks.single import Single, gradients, value


@pytest.mark.parametrize("cls", [RandomNormal, RandomUniform])
def test_same_seed_same_numbers(cls: type) -> None:
    first = value(cls(shape=(4,), seed=3))
    np.testing.assert_array_equal(first, value(cls(shape=(4,), seed=3)))
    assert not np.array_equal(first, value(cls(shape=(4,), seed=4)))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_laws(dtype: str) -> None:
    normal = value(RandomNormal(shape=(200, 100), mean=1.0, std=2.0, dtype=dtype))
    assert normal.dtype == dtype
    normal = normal.astype(float)
    np.testing.assert_allclose([normal.mean(), normal.std()], [1, 2], atol=0.05)
    within = np.mean(np.abs(normal - 1) < 2)
    np.testing.assert_allclose(within, 0.6827, atol=0.01)
    uniform = value(RandomUniform(shape=(200, 100), low=-1.0, high=3.0, dtype=dtype)).astype(float)
    assert uniform.min() >= -1 and uniform.max() <= 3
    np.testing.assert_allclose([uniform.mean(), uniform.var()], [1, 16 / 12], atol=0.05)


def test_shape_of_another_value_without_a_gradient_to_it() -> None:
    like = np.zeros((2, 3))
    assert value(RandomNormal(shape=(7,)), like=like).shape == (2, 3)
    assert gradients(RandomNormal(), like=like) == {"like": None}


def test_a_new_step_draws_anew() -> None:
    session = Single(RandomUniform(shape=(3,))).session
    first = session.run().values["block.out"]
    np.testing.assert_array_equal(first, session.run().values["block.out"])
    session.step_number += 1
    assert not np.array_equal(first, session.run().values["block.out"])


@pytest.mark.parametrize(
    ("cls", "record", "message"),
    [
        (RandomNormal, {"std": -1}, "std"),
        (RandomNormal, {"shape": [-1]}, "shape"),
        (RandomNormal, {"dtype": "int32"}, "dtype"),
        (RandomUniform, {"low": 2, "high": 1}, "low 2 is above high 1"),
        (RandomUniform, {"seed": -1}, "seed"),
    ],
)
def test_refuses(cls: type, record: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        cls.from_record(record)


@pytest.mark.parametrize("cls", [RandomNormal, RandomUniform])
def test_without_a_seed_every_block_draws_its_own_and_the_same_again(cls: type) -> None:
    blocks = {"one": cls(shape=(4,)), "two": cls(shape=(4,))}
    first = Session(Diagram(pages={MAIN: Page(blocks=blocks)})).run().values
    again = Session(Diagram(pages={MAIN: Page(blocks=blocks)})).run().values
    assert not np.array_equal(first["one.out"], first["two.out"])
    np.testing.assert_array_equal(first["one.out"], again["one.out"])


X = np.linspace(1, 2, 20_000)


@pytest.mark.parametrize("rate", [0.2, 0.5])
def test_dropout_keeps_the_mean(rate: float) -> None:
    found = value(Dropout(rate=rate, seed=1), x=X)
    stays = found != 0
    np.testing.assert_allclose(found[stays], X[stays] / (1 - rate))
    np.testing.assert_allclose(stays.mean(), 1 - rate, atol=0.02)


def test_gradient_goes_through_what_stays() -> None:
    single = Single(Dropout(rate=0.25, seed=1), x=X)
    np.testing.assert_allclose(single.gradients()["x"], single.value() / X)


def test_dropout_chooses_anew_at_every_step() -> None:
    single = Single(Dropout(seed=1), x=X)
    first = single.value()
    single.session.step_number = 1
    assert 0.4 < np.mean((first == 0) != (single.value() == 0)) < 0.6
    single.session.step_number = 0
    np.testing.assert_array_equal(single.value(), first)


@pytest.mark.parametrize(
    ("block", "expected"),
    [(Dropout(rate=0), X), (Dropout(mode="eval"), X), (Dropout(rate=1), 0 * X)],
)
def test_dropout_of_none_and_of_all(block: Dropout, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(value(block, x=X), expected)
    assert gradients(block, x=X)["x"] is not None
