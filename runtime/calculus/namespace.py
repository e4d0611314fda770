"""The namespace ``xp`` that blocks compute with: array-API names on traced values."""

from __future__ import annotations

from runtime.calculus.primitives.random import RandomNames


class Namespace(RandomNames):
    """All names; each family's module has its own, and stands on the families below it.

    Arguments are traced values, Python scalars (weak: they take the dtype of what they meet) or
    numpy arrays. Each call appends primitives to the trace. Raises ShapeError and DTypeError with
    shapes and dtypes in the message; nothing is computed.
    """

    __slots__ = ()
