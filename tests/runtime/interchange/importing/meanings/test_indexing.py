"""Each meaning against PyTorch, and an operator that is one row because others have it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.meanings import indexing
from gradwire.runtime.interchange.importing.mxnet.importer import import_mxnet
from tests.runtime.interchange.importing.meanings.differing import Fixed, all_agree
from tests.runtime.interchange.importing.mxnet.symbols import SymbolWriter

DRAW = np.random.default_rng(0)
X, NEW = (DRAW.standard_normal(shape).astype("f4") for shape in ((2, 3, 4), (2, 3, 4)))
PLACES, LABELS = np.array([[2, 0], [1, 1]]), np.array([[3, 0, 1], [2, 2, 0]])
PAIRS = np.array([[0, 1], [1, -1], [-2, 0]])
"""Indices into the first two axes."""
ALONG = DRAW.integers(0, 4, (2, 2, 3))
OUTSIDE = np.array([-1, 2, 5, 0])


def cases(torch):
    """By the meaning: itself, what PyTorch has for it, and the arrays that both get."""
    line = np.arange(4, dtype="f4")
    return {
        "whole": (indexing.whole, lambda x: x.long(), Fixed(line)),
        "inside negative": (
            partial(indexing.inside, length=3), lambda x: torch.where(x < 0, x + 3, x), OUTSIDE,
        ),
        "inside clip": (
            partial(indexing.inside, length=3, mode="clip"), lambda x: x.clip(0, 2), OUTSIDE,
        ),
        "inside wrap": (
            partial(indexing.inside, length=3, mode="wrap"), lambda x: x % 3, OUTSIDE,
        ),
        "inside as they are": (
            partial(indexing.inside, length=3, mode="raise"), lambda x: x, OUTSIDE,
        ),
        "gather": (
            partial(indexing.gather, axis=1), lambda x, i: x[:, i], X, PLACES,
        ),
        "gather by batch": (
            partial(indexing.gather, axis=2, batch=1),
            lambda x, i: torch.stack([x[n][:, i[n]] for n in range(2)]), X, PLACES,
        ),
        "pick": (
            partial(indexing.pick, axis=2, keepdims=True),
            lambda x, i: x.gather(2, i[..., None]), X, LABELS,
        ),
        "take_along": (
            partial(indexing.take_along, axis=-1), lambda x, i: x.gather(-1, i), X, ALONG,
        ),
        "take_along of single elements": (
            partial(indexing.take_along, axis=2), lambda x, i: x.gather(2, i), X,
            LABELS[..., None],
        ),
        "one_hot": (
            partial(indexing.one_hot, depth=4, axis=1),
            lambda i: torch.nn.functional.one_hot(i, 4).movedim(-1, 1).float(), LABELS,
        ),
        "one_hot of other numbers": (
            lambda i, a, b: indexing.one_hot(i, 4, on=a, off=b),
            lambda i, a, b: torch.where(torch.nn.functional.one_hot(i, 4) > 0, a, b),
            LABELS, np.array(2.5, "f4"), np.array(-1, "f4"),
        ),
        "flat_places": (
            partial(indexing.flat_places, shape=(2, 3, 4)),
            lambda i: (i[:, 0] % 2) * 3 + i[:, 1] % 3, PAIRS,
        ),
        "gather_nd": (indexing.gather_nd, lambda x, i: x[i[:, 0], i[:, 1]], X, PAIRS),
        "gather_nd by batch": (
            partial(indexing.gather_nd, batch=1),
            lambda x, i: torch.stack([x[n][i[n, :, 0], i[n, :, 1]] for n in range(2)]),
            X, np.array([[[0, 1], [2, 3]], [[-1, 0], [1, 1]]]),
        ),
        **{f"scatter_nd {how}": (
            partial(indexing.scatter_nd, how=how),
            lambda x, i, y, add=how == "add": x.index_put((i[:, 0], i[:, 1]), y, accumulate=add),
            X, PAIRS, NEW.reshape(6, 4)[:3].copy(),
        ) for how in ("set", "add")},
        "scatter_along": (
            partial(indexing.scatter_along, axis=2, how="add"),
            lambda x, i, y: x.scatter_add(2, i, y[:, :2, :2]), X, ALONG[:, :, :2], NEW,
        ),
    }  # fmt: skip


def test_all_meanings_agree_with_pytorch():
    all_agree(indexing, cases(pytest.importorskip("torch")))


def test_what_others_have_is_one_row_of_mxnet(tmp_path: Path):
    net = SymbolWriter()
    entry = net.node("gather_nd", "node", [net.argument("x"), net.argument("i")], {})
    places = np.array([[0, 1, 1], [2, 0, 1]])
    made = import_mxnet(net.save(tmp_path, entry), arrays={"x": X, "i": places.astype("f4")})
    (port,) = made.outputs.values()
    np.testing.assert_array_equal(Session(made.diagram).run().values[port], X[tuple(places)])
