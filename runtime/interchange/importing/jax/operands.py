"""Values of a jaxpr under import: blocks' values, broadcast late, and numbers only JAX knows."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.values import DTYPES
from gradwire.runtime.interchange.importing.imported import UnsupportedError

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.interchange.importing.jax.jaxprs import Equation
    from gradwire.runtime.interchange.importing.stage import Stage
    from gradwire.runtime.interchange.importing.staged import Staged


@dataclass(eq=False)
class LazyBroadcast:
    """A value of blocks that is broadcast to ``shape`` only where something needs that.

    Elementwise blocks broadcast their inputs themselves, so ``x @ w + b`` needs no Broadcast for b.
    """

    narrow: Staged
    """Broadcasts to the shape by the rules of numpy."""
    shape: Shape
    _wide: Staged | None = field(default=None, repr=False)

    def wide(self, stage: Stage) -> Staged:
        """The value in its full shape."""
        if self._wide is None:
            padded = (1,) * (len(self.shape) - self.narrow.ndim) + self.narrow.shape
            x = self.narrow
            if padded == self.shape:
                x = stage.reshape(x, self.shape)
            self._wide = stage.broadcast(x, self.shape)
        return self._wide

    @property
    def is_constant(self) -> bool:
        """Whether it depends on no input and no variable."""
        return self.narrow.array is not None


@dataclass(eq=False, frozen=True)
class Held:
    """Numbers that no block carries, such as a random key; equations of them are run by JAX."""

    array: Any


@dataclass(eq=False, frozen=True)
class RecordedEquation:
    """An equation that no block computes, with what it is given."""

    equation: Equation
    inputs: tuple[Operand, ...]


@dataclass(eq=False, frozen=True)
class OpaqueOutput:
    """An output of such an equation that no block carries, such as complex numbers."""

    piece: RecordedEquation
    index: int


Operand: TypeAlias = "LazyBroadcast | Held | OpaqueOutput"


def staged(x: Staged) -> LazyBroadcast:
    """A value as it is."""
    return LazyBroadcast(x, x.shape)


def held(stage: Stage, array: Any) -> Operand:
    """Numbers from JAX, as a constant where blocks have their dtype."""
    dtype = str(array.dtype)
    if dtype == "bfloat16":
        return staged(stage.constant(np.asarray(array.astype("float32"))))
    return staged(stage.constant(np.asarray(array))) if dtype in DTYPES else Held(array)


def array_of(x: Operand) -> Any:
    """The numbers of an operand, in its full shape; None where it depends on inputs."""
    if isinstance(x, OpaqueOutput):
        return None
    if not isinstance(x, LazyBroadcast):
        return x.array
    return None if x.narrow.array is None else np.broadcast_to(x.narrow.array, x.shape)


def block_dtype(dtype: str) -> str:
    """The dtype of blocks for one of JAX: bfloat16 is computed in float32.

    Raises UnsupportedError where blocks have none.
    """
    found = "float32" if dtype == "bfloat16" else dtype
    if found not in DTYPES:
        raise UnsupportedError(dtype, "no block carries such numbers")
    return found
