"""Linear algebra, and products of arrays over any axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.meanings import products
from gradwire.runtime.interchange.importing.staged import put

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.jax.jaxprs import Params
    from gradwire.runtime.interchange.importing.jax.operations.handlers import Whole
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


def _triangular_solve(stage: Stage, params: Params, a: Staged, b: Staged) -> Staged:
    if params["conjugate_a"] and not a.is_float:
        raise UnsupportedError("triangular_solve", "it has complex numbers")
    left, transpose, unit = (params[k] for k in ("left_side", "transpose_a", "unit_diagonal"))
    return products.triangular_solve(a, b, not params["lower"], left, transpose, unit)


def _dot_general(stage: Stage, params: Params, a: Staged, b: Staged) -> Staged:
    over, batch = params["dimension_numbers"]
    wanted = params.get("preferred_element_type")
    if not a.is_float and wanted is not None:
        a, b = (stage.cast(x, str(np.dtype(wanted))) for x in (a, b))
    return products.contract(a, b, over, batch)


OF_LIBRARY: dict[str, Whole] = {
    "det": lambda _, params, x: put("Determinant", x),
    "inv": lambda _, params, x: put("Inverse", x),
    "slogdet": lambda stage, params, x: stage.blocks("LogDeterminant", x)[::-1],
    "solve": lambda _, params, a, b: products.solve(a, b),
}
"""Functions of ``jax.numpy.linalg``."""
MATRICES: dict[str, Whole] = {
    "cholesky": lambda _, params, x: put("Cholesky", x),
    "dot_general": _dot_general,
    "triangular_solve": _triangular_solve,
}
