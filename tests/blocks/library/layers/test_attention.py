"""Embedding and attention: rows by index, what is attended to, and what gets no gradient."""

from __future__ import annotations

import numpy as np
import pytest

from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.layers.attention import Attention, Embedding
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


DRAW = np.random.default_rng(4)
QUERY, KEY, VALUE = (DRAW.normal(size=shape) for shape in ((2, 3, 4), (2, 5, 4), (2, 5, 6)))
HEADS = {"query": QUERY, "key": KEY, "value": VALUE}
SOME = DRAW.random((3, 5)) < 0.6
SOME[1] = False


def _attention(scale: float, added: np.ndarray) -> np.ndarray:
    scores = np.exp(scale * np.einsum("bnd,bmd->bnm", QUERY, KEY) + added)
    return np.einsum("bnm,bme->bne", scores / scores.sum(-1, keepdims=True), VALUE)


def test_attention() -> None:
    np.testing.assert_allclose(value(Attention(), **HEADS), _attention(0.5, np.zeros(1)))
    np.testing.assert_allclose(value(Attention(scale=2.0), **HEADS), _attention(2, np.zeros(1)))


def test_a_float_mask_is_added() -> None:
    mask = DRAW.normal(size=(3, 5))
    np.testing.assert_allclose(value(Attention(), **HEADS, mask=mask), _attention(0.5, mask))


def test_a_query_sees_no_later_key() -> None:
    later = np.where(np.arange(5) > np.arange(3)[:, None], -np.inf, 0.0)
    found = value(Attention(causal=True), **HEADS)
    np.testing.assert_allclose(found, _attention(0.5, later))


@pytest.mark.parametrize("mask", [SOME, np.where(SOME, 0.0, -np.inf)], ids=["bool", "float"])
def test_a_query_that_attends_to_nothing_gets_0(mask: np.ndarray) -> None:
    found = value(Attention(), **HEADS, mask=mask)
    with np.errstate(invalid="ignore"):
        expected = _attention(0.5, np.where(SOME, 0.0, -np.inf))
    expected[:, 1] = 0
    np.testing.assert_allclose(found, expected)
    slopes = gradients(Attention(), **HEADS, mask=mask)
    assert np.isfinite(slopes["key"]).all()
    np.testing.assert_array_equal(slopes["query"][:, 1], 0)


def test_a_value_that_is_not_known_is_not_hidden() -> None:
    query = QUERY.copy()
    query[0, 0] = np.nan
    found = value(Attention(), query=query, key=KEY, value=VALUE, mask=np.ones((3, 5), bool))
    assert np.isnan(found[0, 0]).all()


@pytest.mark.parametrize(
    "inputs",
    [{"key": KEY[..., :2]}, {"value": VALUE[:, :2]}, {"query": QUERY[0, 0]},
     {"key": KEY[:, :0], "value": VALUE[:, :0]}],
)  # fmt: skip
def test_heads_that_do_not_fit_are_refused(inputs: dict) -> None:
    with pytest.raises(GradwireError, match="don't fit"):
        value(Attention(), **{**HEADS, **inputs})
