"""Diagrams on JAX: compiled for processors and accelerators, where numpy is outgrown."""

# All of numpy comes before JAX, whose extensions import parts of it: of two threads that import
# them at once, one would get half of either.
import numpy as np  # noqa: F401  # only so that it is complete before JAX asks for it
