"""Linear algebra."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.interchange.importing.imported import UnsupportedError

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.jax.jaxprs import Params
    from gradwire.runtime.interchange.importing.jax.operations.handlers import Whole
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


def cholesky(stage: Stage, params: Params, x: Staged) -> Staged:
    """The lower triangle whose product with its transpose is x."""
    return stage.block("Cholesky", x)


def triangular_solve(stage: Stage, params: Params, a: Staged, b: Staged) -> Staged:
    """The solution of equations, of whose matrix one triangle counts."""
    if params["conjugate_a"] and not a.is_float:
        raise UnsupportedError("triangular_solve", "it has complex numbers")
    a = stage.block("Triangle", a, part="lower" if params["lower"] else "upper")
    if params["unit_diagonal"]:
        a = stage.block("Where", stage.constant(np.eye(a.shape[-1], dtype=bool)), a.like(1), a)
    if params["left_side"] is bool(params["transpose_a"]):
        a = _transposed(stage, a)
    if params["left_side"]:
        return stage.block("Solve", a, b)
    return _transposed(stage, stage.block("Solve", a, _transposed(stage, b)))


def _transposed(stage: Stage, x: Staged) -> Staged:
    return stage.transpose(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])


def solve(stage: Stage, params: Params, a: Staged, b: Staged) -> Staged:
    """``jax.numpy.linalg.solve``."""
    if b.ndim == 1 or b.ndim == a.ndim:
        return stage.block("Solve", a, b)
    solved = stage.block("Solve", a, stage.reshape(b, (*b.shape, 1)))
    return stage.reshape(solved, solved.shape[:-1])


def inverse(stage: Stage, params: Params, x: Staged) -> Staged:
    """``jax.numpy.linalg.inv``."""
    return stage.block("Inverse", x)


def determinant(stage: Stage, params: Params, x: Staged) -> Staged:
    """``jax.numpy.linalg.det``."""
    return stage.block("Determinant", x)


def sign_and_log_determinant(stage: Stage, params: Params, x: Staged) -> list[Staged]:
    """``jax.numpy.linalg.slogdet``."""
    size, sign = stage.blocks("LogDeterminant", x)
    return [sign, size]


MATRICES: dict[str, Whole] = {
    "cholesky": cholesky,
    "triangular_solve": triangular_solve,
}
