"""The namespace ``xp`` that blocks compute with: array-API names on traced values."""

from __future__ import annotations

from runtime.calculus.primitives.convolution import ConvolutionNames
from runtime.calculus.primitives.elementwise import ElementwiseNames
from runtime.calculus.primitives.gradient import GradientNames
from runtime.calculus.primitives.linear import LinearNames
from runtime.calculus.primitives.logic import LogicNames
from runtime.calculus.primitives.random import RandomNames
from runtime.calculus.primitives.reduce import ReduceNames
from runtime.calculus.primitives.shape import ShapeNames


class Namespace(
    ElementwiseNames,
    LogicNames,
    ReduceNames,
    ShapeNames,
    LinearNames,
    ConvolutionNames,
    GradientNames,
    RandomNames,
):
    """All names; each family's module has its own.

    Arguments are traced values, Python scalars (weak: they take the dtype of what they meet) or
    numpy arrays. Each call appends primitives to the trace. Raises ShapeError and DTypeError with
    shapes and dtypes in the message; nothing is computed.
    """

    __slots__ = ()
