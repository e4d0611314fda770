"""The namespace ``xp`` that blocks compute with: array-API names on traced values."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gradwire.blocks.errors import DTypeError
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.calculus.primitives.elementwise import ElementwiseOps
from gradwire.runtime.calculus.primitives.gather import GatherOps
from gradwire.runtime.calculus.primitives.gradient import GradientOps
from gradwire.runtime.calculus.primitives.linear import LinearOps
from gradwire.runtime.calculus.primitives.logic import LogicOps
from gradwire.runtime.calculus.primitives.matrices import MatrixOps
from gradwire.runtime.calculus.primitives.random import RandomOps
from gradwire.runtime.calculus.primitives.recorded import RecordedOps
from gradwire.runtime.calculus.primitives.reduce import ReduceOps
from gradwire.runtime.calculus.primitives.scatter import ScatterOps
from gradwire.runtime.calculus.primitives.shape import ShapeOps
from gradwire.runtime.calculus.primitives.spatial import SpatialOps
from gradwire.runtime.calculus.reverse import sweep, unwrap
from gradwire.runtime.calculus.value import Primitive

if TYPE_CHECKING:
    from gradwire.runtime.calculus.value import Operand, Value


def primitives() -> list[Primitive]:
    """All primitives of the runtime, family by family."""
    rooms = dict.fromkeys(family.__module__ for family in Namespace.__mro__)
    values = (value for room in rooms for value in vars(sys.modules[room]).values())
    return list(dict.fromkeys(value for value in values if type(value) is Primitive))


class Namespace(
    ElementwiseOps,
    LogicOps,
    ShapeOps,
    GatherOps,
    ScatterOps,
    ReduceOps,
    LinearOps,
    MatrixOps,
    SpatialOps,
    GradientOps,
    RandomOps,
    RecordedOps,
):
    """Every operation, one mixin a family; the mixins stand on ``BaseOps`` alone.

    Arguments are traced values, Python scalars (weak: they take the dtype of the other operand) or
    numpy arrays. Each call appends primitives to the trace and computes nothing. Raises
    ShapeError and DTypeError with the shapes and dtypes in the message.
    """

    __slots__ = ()

    def gradient(self, of: Operand, wrt: Operand) -> Value:
        """``d Σ of / d wrt`` in primitives, so that it can be differentiated again.

        Stops inside ``of`` hold. Where no path that passes gradient leads from ``wrt`` to ``of``,
        the result is zeros and the trace keeps a remark. Raises DTypeError unless both are floats.
        """
        of, wrt = self.asarray(of), self.asarray(wrt)
        for name, x in (("of", of), ("wrt", wrt)):
            if not is_float(x.dtype):
                raise DTypeError(
                    f"{x.dtype} has no gradient: input {name!r} must be a float.",
                    next_step="Cast it before it is used.",
                )
        source = unwrap(wrt)
        found = sweep([(of, self.ones_like(of))], [source]).get(source)
        if found is None:
            self.trace.remark(
                "No path that passes gradient leads from wrt to of; it is 0.", "no-path"
            )
            return self.zeros_like(wrt)
        return found
