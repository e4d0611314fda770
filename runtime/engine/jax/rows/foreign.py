"""Primitives of plug-ins: JAX calls their numpy kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

if TYPE_CHECKING:
    from jax import Array

    from gradwire.runtime.calculus import Value


def called(value: Value, arrays: Sequence[Array]) -> Array:
    """The value as its numpy kernel computes it, on the host in each run."""

    def compute(*given: Any) -> Any:
        inputs = [np.asarray(x) for x in given]
        if value.primitive.view:
            found = value.primitive.kernel(*inputs, **value.attributes)
            return np.ascontiguousarray(found, value.dtype)
        out = np.empty(value.shape, value.dtype)
        with np.errstate(all="ignore"):
            value.kernel(*inputs, out=out, **value.attributes)
        return out

    shape = jax.ShapeDtypeStruct(value.shape, value.dtype)
    return jax.pure_callback(compute, shape, *arrays, vmap_method="sequential")
