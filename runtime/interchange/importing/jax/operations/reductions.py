"""Reductions, running totals, and sorting."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.jax.operands import block_dtype
from gradwire.runtime.interchange.importing.meanings import ordering, reductions
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.jax.jaxprs import Params
    from gradwire.runtime.interchange.importing.jax.operations.handlers import Whole
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


def _reduced(kind: str, is_logical: bool = False) -> Whole:
    def reduced(stage: Stage, params: Params, x: Staged) -> Staged:
        if is_logical and x.dtype != "bool":
            raise UnsupportedError(kind, "it combines the bits of integers")
        return reductions.reduce(kind, x, tuple(int(axis) for axis in params["axes"]))

    return reduced


def _index(kind: str) -> Whole:
    def index(stage: Stage, params: Params, x: Staged) -> Staged:
        (axis,) = params["axes"]
        dtype = block_dtype(str(np.dtype(params["index_dtype"])))
        return stage.cast(ordering.place(kind, x, int(axis)), dtype)

    return index


def _running(kind: str) -> Whole:
    """Along an axis, from the first element or from the last."""
    return lambda _, params, x: reductions.running(
        kind, x, params["axis"], bool(params.get("reverse"))
    )


def _running_extreme(kind: str) -> Whole:
    return lambda _, params, x: reductions.running_by(
        partial(put, kind), x, params["axis"], bool(params.get("reverse"))
    )


REDUCTIONS: dict[str, Whole] = {
    "argmax": _index("ArgMax"),
    "argmin": _index("ArgMin"),
    "cumlogsumexp": lambda _, params, x: reductions.running_log_sum_exp(
        x, params["axis"], bool(params.get("reverse"))
    ),
    "cummax": _running_extreme("Maximum"),
    "cummin": _running_extreme("Minimum"),
    "cumprod": _running("CumulativeProduct"),
    "cumsum": _running("CumulativeSum"),
    "reduce_and": _reduced("AllTrue", is_logical=True),
    "reduce_max": _reduced("Max"),
    "reduce_min": _reduced("Min"),
    "reduce_or": _reduced("AnyTrue", is_logical=True),
    "reduce_prod": _reduced("Prod"),
    "reduce_sum": _reduced("Sum"),
    "sort": lambda _, params, *xs: ordering.sort_together(
        xs, params["dimension"], params["num_keys"]
    ),
    "top_k": lambda _, params, x: ordering.top_k(x, params["k"], params.get("axis", -1)),
}
