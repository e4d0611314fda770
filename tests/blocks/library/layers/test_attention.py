"""Embedding: rows by index, gradients that add up, and the row that gets none."""

from __future__ import annotations

import numpy as np
import pytest

from blocks.errors import GradwireError
from blocks.library.layers.attention import Embedding
from tests.blocks.single import floats, gradients, value

WEIGHT = np.arange(12.0).reshape(4, 3)
WORDS = np.array([[1, 3], [3, -1]])


def test_embedding_looks_rows_up() -> None:
    np.testing.assert_array_equal(value(Embedding(), indices=WORDS, weight=WEIGHT), WEIGHT[WORDS])


def test_gradients_of_repeated_rows_add_up() -> None:
    found = gradients(Embedding(), indices=WORDS, weight=WEIGHT)
    assert found["indices"] is None
    np.testing.assert_array_equal(found["weight"], np.outer([0, 1, 0, 3], [1, 1, 1]))


@pytest.mark.parametrize("padding", [3, -1])
@pytest.mark.parametrize("dtype", ["int64", "uint8"])
def test_the_row_of_padding_gets_no_gradient(padding: int, dtype: str) -> None:
    block, words = Embedding(padding=padding), (WORDS % 4).astype(dtype)
    np.testing.assert_array_equal(value(block, indices=words, weight=WEIGHT), WEIGHT[WORDS])
    found = gradients(block, indices=words, weight=WEIGHT)["weight"]
    np.testing.assert_array_equal(found, np.outer([0, 1, 0, 0], [1, 1, 1]))


def test_an_own_weight_takes_its_shape_from_the_block() -> None:
    block = Embedding.new().with_parameters(rows=5, features=2)
    assert block.infer({"indices": (7,), "weight": None}, None) == {"weight": (5, 2)}
    assert value(block, indices=np.array([4, 0])).shape == (2, 2)


@pytest.mark.parametrize(
    ("block", "inputs", "message"),
    [
        (Embedding(), {"indices": floats(0)}, "'indices' must be an integer"),
        (Embedding(), {"indices": np.array([4])}, "index 4 is out of range"),
        (Embedding(rows=5), {"indices": np.array([0])}, "Weight doesn't fit"),
        (Embedding(features=2), {"indices": np.array([0])}, "Weight doesn't fit"),
        (Embedding(padding=4), {"indices": np.array([0])}, "Row 4 for padding"),
    ],
)
def test_what_does_not_fit_is_refused(block: Embedding, inputs: dict, message: str) -> None:
    with pytest.raises(GradwireError, match=message):
        value(block, weight=WEIGHT, **inputs)
