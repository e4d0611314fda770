"""Matrices: inverses, solutions, factors and determinants, triangles and diagonals."""

from blocks.library.linear_algebra.diagonals import Diagonal, DiagonalMatrix, Trace, Triangle
from blocks.library.linear_algebra.solutions import (
    Cholesky,
    Determinant,
    Inverse,
    LogDeterminant,
    Solve,
)

__all__ = [
    "Cholesky",
    "Determinant",
    "Diagonal",
    "DiagonalMatrix",
    "Inverse",
    "LogDeterminant",
    "Solve",
    "Trace",
    "Triangle",
]
