"""One difference between systems, and the place in a computation at which it is looked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Literal

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.blocks.values import Array

Quantity = Literal["value", "dtype", "gradient", "second derivative"]
SYSTEMS = ("PyTorch", "JAX", "TensorFlow", "MXNet")


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A block in a run: the arrays of its inputs, and the gradient that arrives at its output.

    ``arriving`` has a shape that broadcasts with the output's; 1 by default.
    """

    block: Block
    inputs: tuple[Array, ...]
    arriving: Array = field(default_factory=lambda: np.ones(()))

    @property
    def x(self) -> Array:
        """The first input, or the only one."""
        return self.inputs[0]

    @property
    def a(self) -> Array:
        """The first of two inputs, in their common shape."""
        return np.broadcast_arrays(*self.inputs[:2])[0]

    @property
    def b(self) -> Array:
        """The second of two inputs, in their common shape."""
        return np.broadcast_arrays(*self.inputs[:2])[1]

    @property
    def floats(self) -> list[Array]:
        """The inputs that have a gradient."""
        return [x for x in self.inputs if x.dtype.kind == "f"]

    def everywhere(self, found: bool = True) -> Array:
        """The same answer for every element of the first input."""
        return np.full(self.x.shape, found)

    def along(self, found: Array) -> Array:
        """Whether all elements along the axes that the block reduces are ``found``."""
        axis = getattr(self.block, "axis", -1)
        return np.asarray(np.all(found, axis=axis, keepdims=True))


@dataclass(frozen=True, slots=True)
class Choice:
    """One point at which a quantity of some blocks differs from system to system.

    ``at(site)`` marks the point, by element or by row. ``elsewhere`` has the systems that differ
    from ``here``, and no other. ``extreme`` marks what overflow and rounding of intermediate
    results do: too much for a first table. Rows that are not ``modelled`` are described, but the
    definitions of the other systems do not follow them; those not ``shown`` can't be seen at the
    block alone, or not on every machine.
    """

    blocks: tuple[str, ...]
    quantity: Quantity
    point: str
    at: Callable[[Site], Array]
    here: str
    elsewhere: Mapping[str, str]
    why: str
    extreme: bool = False
    modelled: bool = True
    shown: bool = True

    @property
    def everywhere(self) -> bool:
        """Whether the point is every place, whatever the numbers are."""
        return self.point == "everywhere"

    def marks(self, site: Site) -> Array:
        """Whether each place, along the first axis of the inputs, is the point."""
        with np.errstate(all="ignore"):
            found = np.asarray(self.at(site))
        return np.asarray(found.any(axis=tuple(range(1, found.ndim))))

    def occurs(self, site: Site) -> bool:
        """Whether some place is the point."""
        return bool(np.any(self.marks(site)))

    def sentence(self, block: str, system: str) -> str:
        """What happens at a block of a diagram: ``norm1: at length 0 the gradient is NaN …``."""
        point = "" if self.everywhere else f"at {self.point}, "
        return (
            f"{block}: {point}the {self.quantity} is {self.elsewhere[system]} in {system} "
            f"and {self.here} here."
        )

    def __str__(self) -> str:
        return f"{self.quantity} of {', '.join(self.blocks)} at {self.point}"


@dataclass(frozen=True, slots=True)
class Convention:
    """A difference in what is reported or done, not in a number of a block."""

    point: str
    here: str
    elsewhere: str
