"""Products of matrices and tensors."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.meanings.products import einsum
from gradwire.runtime.interchange.importing.meanings.shapes import swap
from gradwire.runtime.interchange.importing.staged import put
from gradwire.runtime.interchange.importing.tensorflow.operators.elementwise import one

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.tensorflow.call import Operator, TensorFlowCall


def _turned(call: TensorFlowCall, number: int, *keys: str) -> Staged:
    """An input, transposed where one of the attributes says so."""
    x = call.x(number)
    return swap(x, -2, -1) if any(map(call.attributes.flag, keys)) else x


def _product(call: TensorFlowCall) -> Staged:
    return _turned(call, 0, "transpose_a", "adj_x") @ _turned(call, 1, "transpose_b", "adj_y")


OPERATORS: dict[str, Operator] = {
    **dict.fromkeys(("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"), _product),
    "Einsum": lambda c: einsum(c.attributes.text("equation"), c.xs()),
    "MatrixInverse": lambda c: put("Inverse", _turned(c, 0, "adjoint")),
    "MatrixSolve": lambda c: put("Solve", _turned(c, 0, "adjoint"), c.x(1)),
    "Cholesky": one(partial(put, "Cholesky")),
    "MatrixDeterminant": one(partial(put, "Determinant")),
}
