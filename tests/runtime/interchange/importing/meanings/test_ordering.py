"""Each meaning against PyTorch."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from gradwire.runtime.interchange.importing.meanings import ordering
from gradwire.runtime.interchange.importing.meanings.shapes import flatten
from tests.runtime.interchange.importing.meanings.differing import Fixed, all_agree

DRAW = np.random.default_rng(0)
X = DRAW.standard_normal((2, 3, 4)).astype("f4")
EQUAL = DRAW.integers(0, 3, (3, 5)).astype("f4")
EDGES = np.array([-1, 0, 1.5], "f4")
LABELS = np.array([3, 0, 3, 1])


def cases(torch):
    """By the meaning: itself, what PyTorch has for it, and the arrays that both get."""
    return {
        "place": (partial(ordering.place, "ArgMin"), torch.argmin, X),
        "place along": (
            partial(ordering.place, "ArgMax", axis=1, keepdims=True),
            lambda x: torch.from_numpy(x.numpy().argmax(1, keepdims=True)), Fixed(EQUAL),
        ),
        "place of the last": (
            partial(ordering.place, "ArgMax", axis=1, last=True),
            lambda x: 4 - torch.from_numpy(x.numpy()[:, ::-1].argmax(1)), Fixed(EQUAL),
        ),
        **{f"extreme {keep}": (
            partial(ordering.extreme, "ArgMax", axis=-2, keepdims=keep),
            lambda x, keep=keep: x.max(-2, keepdim=keep), X,
        ) for keep in (True, False)},
        "running_extreme": (
            partial(ordering.running_extreme, "ArgMax", axis=1), lambda x: x.cummax(1), EQUAL,
        ),
        "sort": (
            partial(ordering.sort, axis=1, descending=True),
            lambda x: x.sort(1, descending=True), X,
        ),
        "sort_together": (
            lambda x, y: ordering.sort_together([x, y, x * y], 0, keys=2),
            lambda x, y: [z[np.lexsort((y.detach(), x.detach()))] for z in (x, y, x * y)],
            EQUAL[0], X[0, 0, [0, 1, 2, 3, 0]],
        ),
        "sort_together one": (
            lambda x: ordering.sort_together([x]), lambda x: [x.sort().values], X,
        ),
        "top_k": (
            partial(ordering.top_k, k=2, axis=1, largest=False),
            lambda x: x.topk(2, 1, largest=False), X,
        ),
        **{f"kth {keep}": (
            partial(ordering.kth, k=2, axis=1, keepdims=keep),
            lambda x, keep=keep: x.kthvalue(2, 1, keepdim=keep), X,
        ) for keep in (True, False)},
        "median": (ordering.median, lambda x: x.median(-1), X),
        "shared": (
            lambda x: ordering.shared(x, ordering.median(flatten(x), 0)[0]), torch.median, EQUAL,
        ),
        **{f"count_below {right}": (
            partial(ordering.count_below, right=right),
            lambda x, edges, right=right: torch.bucketize(x, edges, right=right),
            Fixed(EQUAL - 1), Fixed(EDGES),
        ) for right in (True, False)},
        "count_below by rows": (
            ordering.count_below, lambda x, edges: torch.searchsorted(edges, x),
            Fixed(EQUAL), Fixed(np.sort(X[0])),
        ),
        **{f"is_among {not_}": (
            partial(ordering.is_among, inverted=not_), partial(torch.isin, invert=not_),
            Fixed(EQUAL), Fixed(EDGES),
        ) for not_ in (True, False)},
        "histogram": (
            partial(ordering.histogram, count=5), lambda x: x.bincount(minlength=5), Fixed(LABELS),
        ),
        "histogram of weights": (
            lambda x, w: ordering.histogram(x, 5, w),
            lambda x, w: torch.zeros(5).index_add(0, x, w), Fixed(LABELS), X[0, 0],
        ),
    }  # fmt: skip


def test_all_meanings_agree_with_pytorch():
    all_agree(ordering, cases(pytest.importorskip("torch")))
