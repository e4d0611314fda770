"""Matrices: inverses, solutions, factors and determinants, triangles and diagonals."""
