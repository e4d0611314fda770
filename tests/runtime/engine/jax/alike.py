"""Runs of the JAX engine beside those of NumPy, and how far apart their numbers may be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import jax
import numpy as np

from gradwire.runtime.engine.session.engines import open_engine

if TYPE_CHECKING:
    from gradwire.runtime.engine import Run
    from gradwire.runtime.engine.engine import Engine

Array = np.ndarray[Any, Any]

TABLES = ("values", "gradients", "adjoints", "contributions", "norms")
NEAR = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-12}
"""How far apart numbers of both engines may be, as a share of the largest of an array or of 1."""
QUICK = {"xla_llvm_disable_expensive_passes": True}
if jax.__version_info__ < (0, 12):  # which has this option no more
    QUICK["xla_cpu_use_fusion_emitters"] = False
"""Options of XLA with which it compiles small programs in less than half the time."""


@contextmanager
def compiled_quickly() -> Iterator[None]:
    """Within, programs are compiled in a hurry: for tests of many, whose speed is no matter."""
    with patch.object(jax, "jit", partial(jax.jit, compiler_options=QUICK)):
        yield


@contextmanager
def engine_of_all_sessions(engine: Engine) -> Iterator[None]:
    """Within, sessions that are made without naming an engine have this one."""

    def opened(name: str | Engine, **how: Any) -> Engine:
        return engine if name == "numpy" else open_engine(name, **how)

    with patch("gradwire.runtime.engine.session.session.open_engine", opened):
        yield


def assert_alike(found: Run, wanted: Run, near: Mapping[str, float] = NEAR) -> None:
    """All that two runs have been asked for: names, None, dtypes, shapes, and the numbers."""
    for table in TABLES:
        numbers, expected = getattr(found, table), getattr(wanted, table)
        assert numbers.keys() == expected.keys(), table
        for name, array in expected.items():
            bounds = near if table != "norms" else _of_norm(wanted, name, near)
            difference = difference_of(numbers[name], array, bounds)
            assert difference is None, (table, name, difference, numbers[name], array)


def _of_norm(run: Run, wire: str, near: Mapping[str, float]) -> Mapping[str, float]:
    """The bounds of a norm, which is a float whatever it is a norm of; of a tree there are many."""
    contribution = run.contributions.get(wire)
    return {"float64": near["float32" if contribution is None else contribution.dtype.name]}


def difference_of(
    found: Array | float | None,
    wanted: Array | float | None,
    near: Mapping[str, float] = NEAR,
    scale: float = 1.0,
) -> str | None:
    """What is not alike about two results, if anything is."""
    if found is None or wanted is None:
        return None if found is wanted else "None"
    found, wanted = np.asarray(found), np.asarray(wanted)
    if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
        return f"{found.dtype} {found.shape}"
    if wanted.dtype.kind != "f":
        return None if np.array_equal(found, wanted) else "not equal"
    finite = np.isfinite(wanted)
    if not np.array_equal(finite, np.isfinite(found)):
        return "not finite"
    if not np.array_equal(found[~finite], wanted[~finite], equal_nan=True):
        return "another infinity"
    one, other = found[finite].astype("float64"), wanted[finite].astype("float64")
    largest = max(scale, float(np.max(np.abs(other), initial=0.0)))
    error = float(np.max(np.abs(one - other), initial=0.0)) / largest
    return None if error <= near[wanted.dtype.name] else f"{error:.2g} of the largest"
