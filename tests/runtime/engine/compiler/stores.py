"""Runs what the compiler makes of a primitive, in memory whose surroundings are watched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gradwire.runtime.engine.compiler.computing import (
    Computation,
    Folded,
    copy_of,
    folded,
    store_of,
)
from gradwire.runtime.engine.compiler.schedule import COPY, RUNNING, Schedule, scheduled

NUMPY = {"sum": np.sum, "max": np.max, "min": np.min}
BAND = 64
UNTOUCHED = 777


def expected(name: str, x: Any, **attributes: Any) -> Any:
    """What NumPy computes; sums in float64."""
    with np.errstate(all="ignore"):
        if name == "copy":
            return x.astype(attributes.get("dtype", x.dtype))
        if name == "cumulative_sum":
            return np.add.accumulate(x, attributes["axis"])
        wide = x.astype(np.float64) if name == "sum" else x
        return NUMPY[name](wide, axis=attributes["axes"], keepdims=True)


def ways(name: str, x: Any, **attributes: Any) -> list[Schedule | Folded]:
    """All schedules for contiguous results; none for folds of what lies otherwise than in rows."""
    shape, dtype = expected(name, x, **attributes).shape, attributes.get("dtype", x.dtype.name)
    strides, is_copy = np.empty(shape, dtype).strides, name == "copy"
    store = copy_of(x, strides, dtype) if is_copy else store_of(name, attributes, x, strides)
    if store.term.how in (COPY, RUNNING):
        return [scheduled(store)]
    found = folded(store)
    return [] if found is None else [found]


def results(name: str, x: Any, **attributes: Any) -> Iterator[tuple[Schedule | Folded, Any]]:
    """By every schedule, what is left in memory that was full of NaN. Checks that nothing beside it
    is written.
    """
    shape = expected(name, x, **attributes).shape
    for schedule in ways(name, x, **attributes):
        yield schedule, computed(schedule, x, shape, attributes.get("dtype", x.dtype))


def computed(schedule: Schedule | Folded, x: Any, shape: Any, dtype: Any) -> Any:
    """What a schedule leaves in memory beside which nothing is written."""
    size = int(np.prod(shape))
    memory = np.full(size + 2 * BAND, UNTOUCHED, dtype)
    out = memory[BAND : BAND + size].reshape(shape)
    out.fill(np.nan)
    Computation(schedule, x, x.size)(out)
    beside = np.concatenate([memory[:BAND], memory[BAND + size :]])
    assert (beside == UNTOUCHED).all(), schedule
    return out


def check(name: str, x: Any, **attributes: Any) -> None:
    """Every schedule computes what NumPy does: running sums, largest and smallest elements exactly,
    sums but for rounding.
    """
    exact = expected(name, x, **attributes)
    for schedule, found in results(name, x, **attributes):
        if name == "sum":
            assert_sums(found, exact, x, attributes["axes"])
            continue
        np.testing.assert_array_equal(found, exact, str(schedule))
        if name == "cumulative_sum":
            numbers = ~np.isnan(exact)
            np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(exact[numbers]))


def assert_sums(found: Any, exact: Any, x: Any, axes: Any) -> None:
    """Sums are no further from the exact ones than some roundings of the sum of absolute values."""
    finite = np.isfinite(exact)
    np.testing.assert_array_equal(found[~finite], exact[~finite])
    sizes = np.sum(np.abs(x.astype(np.float64)), axis=axes, keepdims=True)[finite]
    bound = 2e-6 if x.dtype == np.float32 else 1e-14
    assert (np.abs(found[finite] - exact[finite]) <= bound * sizes).all()
