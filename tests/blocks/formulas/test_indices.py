"""Indices of expressions take what numpy takes, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradwire.blocks.errors import BuildError, NotRunnableError
from gradwire.blocks.formulas.indices import steps_of
from gradwire.runtime.build import build, loss, variable
from gradwire.runtime.engine import Session
from tests.together import together

X = np.arange(210.0).reshape(5, 6, 7) ** 1.5 / 100
INDICES: dict[str, Any] = {
    "number": 2,
    "last": -1,
    "numbers": (1, -2, 3),
    "inner": (slice(1, -1), slice(1, -1)),
    "shifted": (slice(None, -2), slice(2, None)),
    "from the end": slice(-3, None),
    "both from the end": slice(-4, -1),
    "every second": (slice(None), slice(1, None, 2)),
    "up to some": (slice(1, 4), slice(0, 5, 3), slice(-2, None)),
    "backwards": (slice(None, None, -1), 0, slice(None, None, -2)),
    "backwards from and to": (slice(3, 0, -1), slice(-2, -5, -1), slice(5, None, -3)),
    "ellipsis": (..., 1),
    "ellipsis between": (0, ..., slice(1, -1)),
    "ellipsis of nothing": (0, 1, ..., 2),
    "ellipsis alone": ...,
    "new axes": (None, slice(None), None, 1),
    "new axes behind": (1, ..., None, slice(None, -1), None),
    "pairs": (slice(None), None, slice(0, 1)),
    "empty": slice(3, 3),
    "nothing": (),
}


@together("name", INDICES)
def test_a_part_and_its_gradient_are_those_of_numpy(name: str) -> None:
    index = INDICES[name]
    part = variable("x", X)[index]
    run = Session(build(loss((part * part).sum()), part * 1)).backward()
    found = X[index]
    expected = np.zeros_like(X)
    np.add.at(expected, index, 2 * found)
    np.testing.assert_allclose(run.gradients["x"], expected, rtol=1e-6)
    values = [value for value in run.values.values() if np.shape(value) == found.shape]
    assert any(np.allclose(value, found, rtol=1e-6) for value in values)


def test_an_index_that_takes_all_is_no_block() -> None:
    x = variable("x", X)
    assert x[...] is x
    assert x[:, :] is x
    assert steps_of((slice(None), 0), "x") == [
        ("Slice", {"begin": [0, 0], "size": [-1, 1]}), ("Squeeze", {"axis": 1}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "index", [1.5, True, "x", slice(0.5), slice(None, None, 0), slice(-3, 2), (..., ...), [0, 1]]
)
def test_others_are_refused_with_what_to_write(index: Any) -> None:
    with pytest.raises(BuildError, match=r"x can't be indexed like this") as caught:
        steps_of(index, "x")
    assert caught.value.next_step == "Write gather(x, indices) for other indices."


@pytest.mark.parametrize("index", [9, -9, slice(2, 9), slice(-9, None), slice(4, -4)])
def test_what_is_outside_is_refused_with_its_place(index: Any) -> None:
    """Where numpy would take less without a word."""
    with pytest.raises(NotRunnableError, match=r"of axis 0 are outside shape \[5, 6, 7\]"):
        Session(build(loss(variable("x", X)[index].sum()))).run()
