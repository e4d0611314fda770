"""Inverses, solutions and determinants of square matrices, the last two axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from gradwire.blocks.block import Block, Shape
from gradwire.blocks.elementwise import same_shape

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value


class _Matrix(Block):
    """Base of blocks of square matrices."""

    abstract: ClassVar[bool] = True
    family: ClassVar[str] = "linear_algebra"


class _SameShape(_Matrix):
    """A matrix of the shape of x."""

    abstract: ClassVar[bool] = True

    def infer(self, inputs: Mapping[str, Shape | None], output: Shape | None) -> dict[str, Shape]:
        return {} if output is None else same_shape(inputs, output)


class Inverse(_SameShape):
    """Inverse of square matrices, ``out = x⁻¹``: (…, n, n) gives (…, n, n).

    Leading axes are a batch. Raises ShapeError unless the last two lengths are equal, and RunError
    for a singular matrix. Solve is more accurate where the inverse is only multiplied.

    Source: Giles 2008 (derivative).
    """

    symbol: ClassVar[str] = "X⁻¹"
    formula: ClassVar[str] = r"Y = X^{-1}"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.inverse(x)


class Solve(_Matrix):
    """Solution of linear equations, ``a @ out = b``: (…, n, n) and (…, n, k) give (…, n, k).

    A vector b (n,) gives vectors (…, n); leading axes broadcast. Raises ShapeError where the shapes
    don't fit, and RunError for a singular matrix.

    Source: Giles 2008 (derivative).
    """

    symbol: ClassVar[str] = "A⁻¹b"
    formula: ClassVar[str] = r"Y = A^{-1} B"

    def forward(self, xp: Namespace, a: Value, b: Value) -> Value:
        if b.ndim != 1:
            return xp.solve(a, b)
        columns = xp.solve(a, xp.expand_dims(b, 1))
        return xp.squeeze(columns, -1)


class Cholesky(_SameShape):
    """Lower triangle of positive definite matrices, ``out @ outᵀ = x``: (…, n, n) to (…, n, n).

    Of a matrix that is not symmetric it takes the symmetric part (x + xᵀ)/2; leading axes are a
    batch. Raises ShapeError unless the last two lengths are equal, and RunError for a matrix that
    is not positive definite.

    Source: Murray 2016 (derivative).
    """

    symbol: ClassVar[str] = "LLᵀ"
    formula: ClassVar[str] = r"L L^\top = X"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.cholesky(x)


class Determinant(_Matrix):
    """Determinant of square matrices, ``out = det(x)``: (…, n, n) gives (…).

    Raises ShapeError unless the last two lengths are equal, and RunError where the gradient of a
    singular matrix is computed: it is made of the inverse.

    Source: Giles 2008 (derivative).
    """

    symbol: ClassVar[str] = "det"
    formula: ClassVar[str] = r"y = \det X"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return xp.determinant(x)


class LogDeterminant(_Matrix):
    """Logarithm of the size of determinants, ``out = ln |det(x)|``: (…, n, n) gives (…).

    ``sign`` is that of the determinant: -1, 0 or 1, without gradient. Does not overflow; a singular
    matrix gives -∞ and sign 0, and its gradient a RunError. Raises ShapeError unless the last two
    lengths are equal.

    Source: Giles 2008 (derivative).
    """

    symbol: ClassVar[str] = "ln|X|"
    formula: ClassVar[str] = r"y = \ln |\det X|"
    outputs: ClassVar[tuple[str, ...]] = ("out", "sign")

    def forward(self, xp: Namespace, x: Value) -> tuple[Value, Value]:
        return xp.log_determinant(x), xp.determinant_sign(x)
