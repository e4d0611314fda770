"""Products of matrices and tensors."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.interchange.importing.staged import Staged
    from gradwire.runtime.interchange.importing.tensorflow.call import Call, Operator


def _turned(call: Call, x: Staged, *keys: str) -> Staged:
    """The last two axes of a matrix exchanged, where one of the attributes says so."""
    if not any(call.attributes.flag(key) for key in keys):
        return x
    axes = list(range(x.ndim))
    axes[-2:] = axes[:-3:-1]
    return call.stage.transpose(x, axes)


def _product(call: Call) -> Staged:
    a = _turned(call, call.x(0), "transpose_a", "adj_x")
    b = _turned(call, call.x(1), "transpose_b", "adj_y")
    return call.block("MatMul", a, b)


def _einsum(call: Call) -> Staged:
    terms = call.xs()
    subscripts = expanded(call.attributes.text("equation"), [x.ndim for x in terms])
    return call.block("Einsum", *terms, subscripts=subscripts)


def expanded(equation: str, ranks: Sequence[int]) -> str:
    """Subscripts with an output, and a letter for each axis that ``...`` stands for."""
    text = equation.replace(" ", "")
    given, arrow, output = text.partition("->")
    terms = given.split(",")
    if not arrow:
        output = "".join(sorted(c for c in set(given) if c.isalpha() and given.count(c) == 1))
        output = ("..." if "..." in given else "") + output
    free = [c for c in string.ascii_letters if c not in text]
    widths = [
        rank - len(term.replace("...", "")) if "..." in term else 0
        for term, rank in zip(terms, ranks, strict=True)
    ]
    most = max(widths, default=0)
    letters = "".join(free[:most])
    full = [
        term.replace("...", letters[most - width :])
        for term, width in zip(terms, widths, strict=True)
    ]
    return ",".join(full) + "->" + output.replace("...", letters)


def _inverse(call: Call) -> Staged:
    return call.block("Inverse", _turned(call, call.x(), "adjoint"))


def _solve(call: Call) -> Staged:
    return call.block("Solve", _turned(call, call.x(0), "adjoint"), call.x(1))


def _one(kind: str) -> Operator:
    return lambda call: call.block(kind, call.x())


OPERATORS: dict[str, Operator] = {
    "MatMul": _product, "BatchMatMul": _product, "BatchMatMulV2": _product,
    "BatchMatMulV3": _product, "Einsum": _einsum, "MatrixInverse": _inverse,
    "MatrixSolve": _solve, "Cholesky": _one("Cholesky"), "MatrixDeterminant": _one("Determinant"),
}  # fmt: skip
