"""Inverses, factors and determinants of square matrices, the last two axes; the others are a batch.

Sources: Giles 2008, "An extended collection of matrix derivative results" (inverse, solution,
determinant); Murray 2016, "Differentiation of the Cholesky decomposition".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.errors import ShapeError
from gradwire.runtime.calculus.primitives.base import BaseOps, broadcast_shapes
from gradwire.runtime.calculus.sizes import require_constant
from gradwire.runtime.calculus.spelling import Refused, Spelling, shared
from gradwire.runtime.calculus.value import NoDerivative, Primitive, Value

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus.namespace import Namespace
    from gradwire.runtime.calculus.value import Operand


NO_INVERSE = "singular: it has no inverse"
NO_SOLUTION = "singular: there is no one solution"
"""Why matrices are refused."""
_NO_MATRICES = Refused(
    "it has the determinant of a matrix, but neither its inverse nor its factors"
)


def _wide(x: Array) -> Array:
    """In a dtype that LAPACK has."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def refused(why: str, shape: Shape) -> ValueError:
    """The error of a matrix, or of one of many, of which an array of this shape was to be made."""
    return ValueError(f"{'a' if len(shape) > 2 else 'the'} matrix is {why}")


def _or_refused(function: Callable[..., object], why: str, *arrays: Array, out: Array) -> None:
    try:
        out[...] = function(*map(_wide, arrays))
    except np.linalg.LinAlgError:
        raise refused(why, out.shape) from None


def _inverse_kernel(x: Array, *, out: Array) -> None:
    _or_refused(np.linalg.inv, NO_INVERSE, x, out=out)


def _solve_kernel(a: Array, b: Array, *, out: Array) -> None:
    _or_refused(np.linalg.solve, NO_SOLUTION, a, b, out=out)


def _cholesky_kernel(x: Array, *, out: Array) -> None:
    symmetric = (x + np.swapaxes(x, -1, -2)) / 2
    _or_refused(np.linalg.cholesky, "not positive definite", symmetric, out=out)


def _determinant_kernel(x: Array, *, out: Array) -> None:
    out[...] = np.linalg.det(_wide(x))


def _log_determinant_kernel(x: Array, *, out: Array) -> None:
    out[...] = np.linalg.slogdet(_wide(x))[1]


def _determinant_sign_kernel(x: Array, *, out: Array) -> None:
    out[...] = np.linalg.slogdet(_wide(x))[0]


def _transposed(xp: Namespace, x: Value) -> Value:
    return xp.permute_dims(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def _inverse_rule(xp: Namespace, g: Value, out: Value, x: Value) -> Value:
    back = _transposed(xp, out)
    return -(back @ g @ back)


def _solve_a_rule(xp: Namespace, g: Value, out: Value, a: Value, b: Value) -> Value:
    return -(xp.solve(_transposed(xp, a), g) @ _transposed(xp, out))


def _solve_b_rule(xp: Namespace, g: Value, out: Value, a: Value, b: Value) -> Value:
    return xp.solve(_transposed(xp, a), g)


def _cholesky_rule(xp: Namespace, g: Value, out: Value, x: Value) -> Value:
    """The symmetric part of L⁻ᵀ P L⁻¹, P the lower half of Lᵀ g with half its diagonal."""
    n, upper = out.shape[-1], _transposed(xp, out)
    require_constant(n, n)
    halved = np.tril(np.ones((n, n))) - np.eye(n) / 2
    half = (upper @ g) * xp.asarray(halved, g.dtype)
    left = xp.solve(upper, half)
    whole = _transposed(xp, xp.solve(upper, _transposed(xp, left)))
    return (whole + _transposed(xp, whole)) / 2


def _determinant_rule(xp: Namespace, g: Value, out: Value, x: Value) -> Value:
    return _each(xp, g * out) * _transposed(xp, xp.inverse(x))


def _log_determinant_rule(xp: Namespace, g: Value, out: Value, x: Value) -> Value:
    return _each(xp, g) * _transposed(xp, xp.inverse(x))


def _each(xp: Namespace, x: Value) -> Value:
    """One number a matrix."""
    return xp.reshape(x, (*x.shape, 1, 1))


def _same(x: Value) -> tuple[Shape, str]:
    return x.shape, x.dtype


def _one_each(x: Value) -> tuple[Shape, str]:
    return x.shape[:-2], x.dtype


def _solve_infer(a: Value, b: Value) -> tuple[Shape, str]:
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return (*batch, *b.shape[-2:]), a.dtype


# fmt: off
INVERSE = Primitive("inverse", _same, _inverse_kernel, (_inverse_rule,),
                    spelling=shared("linalg.inv(a)", onnx=_NO_MATRICES,
                                    latex=("a:atom^{-1}", "power"), plain=("a:atom⁻¹", "power")))
SOLVE = Primitive("solve", _solve_infer, _solve_kernel, (_solve_a_rule, _solve_b_rule),
                  spelling=shared("linalg.solve(a, b)", onnx=_NO_MATRICES,
                                  latex=("a:atom^{-1} b:product", "product"),
                                  plain=("a:atom⁻¹ b:product", "product")))
CHOLESKY = Primitive("cholesky", _same, _cholesky_kernel, (_cholesky_rule,),
                     spelling=Spelling("_cholesky(a)", "torch.linalg.cholesky((a + a.mT) / 2)",
                                       "jnp.linalg.cholesky(a)", _NO_MATRICES,
                                       latex=r"\mathrm{chol}", plain="chol"))
DETERMINANT = Primitive("determinant", _one_each, _determinant_kernel, (_determinant_rule,),
                        spelling=shared("linalg.det(a)", onnx="Det(a)", latex=r"\det",
                                        plain="det"))
LOG_DETERMINANT = Primitive("log_determinant", _one_each, _log_determinant_kernel,
                            (_log_determinant_rule,),
                            spelling=shared("linalg.slogdet(a)[1]", onnx="Log(Abs(Det(a)))",
                                            latex=r"\ln\left|\det a:atom\right|",
                                            plain="ln |det a:atom|"))
DETERMINANT_SIGN = Primitive(
    "determinant_sign", _one_each, _determinant_sign_kernel, (None,),
    no_derivative=NoDerivative("returns a sign, which is piecewise constant"),
    spelling=shared("linalg.slogdet(a)[0]", onnx="Sign(Det(a))"),
)
# fmt: on


class MatrixOps(BaseOps):
    """Square matrices: a singular one is an error when the diagram runs."""

    __slots__ = ()

    def _square(self, x: Operand) -> Value:
        found = self.as_float(x)
        if found.ndim < 2 or found.shape[-1] != found.shape[-2]:
            raise ShapeError(
                "A square matrix is needed.", expected="(…, n, n)", got=str(list(found.shape))
            )
        return found

    def inverse(self, x: Operand) -> Value:
        """``x⁻¹``; a singular matrix fails when the diagram runs."""
        return self.trace.apply(INVERSE, self._square(x))

    def solve(self, a: Operand, b: Operand) -> Value:
        """``a⁻¹ b`` of matrices b; leading axes broadcast."""
        a, b, _ = self._promoted(a, b, floats=True)
        a = self._square(a)
        if b.ndim < 2 or b.shape[-2] != a.shape[-1]:
            raise ShapeError(
                "The right side doesn't fit the matrix.",
                expected=f"(…, {a.shape[-1]}, columns)",
                got=str(list(b.shape)),
            )
        return self.trace.apply(SOLVE, a, b)

    def cholesky(self, x: Operand) -> Value:
        """The lower triangular ``L`` with ``L Lᵀ = (x + xᵀ)/2``, which is positive definite."""
        return self.trace.apply(CHOLESKY, self._square(x))

    def determinant(self, x: Operand) -> Value:
        """``det x``; its derivative needs the inverse."""
        return self.trace.apply(DETERMINANT, self._square(x))

    def log_determinant(self, x: Operand) -> Value:
        """``ln |det x|``, −∞ for a singular matrix; its derivative needs the inverse."""
        return self.trace.apply(LOG_DETERMINANT, self._square(x))

    def determinant_sign(self, x: Operand) -> Value:
        """The sign of ``det x``: −1, 0 or 1. No gradient."""
        return self.trace.apply(DETERMINANT_SIGN, self._square(x))
