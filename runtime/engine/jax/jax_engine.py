"""The JAX engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.engine.jax.devices import Devices, use_threads
from gradwire.runtime.engine.jax.loop import JaxLoop, JaxMemory
from gradwire.runtime.engine.jax.plan import JaxPlan
from gradwire.runtime.engine.jax.traced import Traced

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.engine import LoopPhase


MANY = 4_000
"""Operations of a forward pass that take long to compile."""
SMALL = 256
"""Mean elements of a value below which compiling so many does not pay."""


class JaxEngine:
    """Compiles whole programs for ``device``, see ``Session``; it computes as JAX does by default.

    Over several devices each batch is divided (data parallel), and with ``divide_weights`` large
    variables too, with the state of their optimisers. Raises RunError for a device that is not
    there, and for a number of threads that JAX can't have any more.
    """

    name = "jax"
    updates_in_place = False

    def __init__(
        self, device: str | None = None, threads: int | None = None, *, divide_weights: bool = False
    ) -> None:
        if threads is not None:
            use_threads(threads)
        self.devices = Devices(device)
        self._divide_weights = divide_weights

    @property
    def device(self) -> str:
        """Its devices, in words."""
        return str(self.devices)

    def unfit(self, values: Sequence[Value]) -> str | None:
        """It takes minutes to compile thousands of operations on single numbers."""
        if len(values) < MANY or sum(value.size for value in values) >= SMALL * len(values):
            return None
        read = {x for value in values for x in value.inputs}
        operations = Traced([value for value in values if value not in read]).operations
        if operations < MANY:
            return None
        return f"JAX would compile {operations:,} operations on small arrays, which takes minutes"

    def plan(self, outputs: Sequence[Value], *, rows: Collection[Value] = ()) -> JaxPlan:
        """A program for some values; ``rows`` are leaves whose axis 0 is that of a batch."""
        return JaxPlan(outputs, self.devices, rows)

    def memory(self, *, rows: Collection[Value] = ()) -> JaxMemory:
        """An empty memory on the devices; see ``plan`` for ``rows``."""
        return JaxMemory(self.devices, rows, self._divide_weights)

    def loop(self, stages: Sequence[LoopPhase], memory: JaxMemory) -> JaxLoop:
        """A program for many iterations in one call."""
        return JaxLoop(stages, memory)
