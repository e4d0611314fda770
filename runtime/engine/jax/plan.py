"""Plans of the JAX engine: one compiled program."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.engine.interruption import until_cancelled
from gradwire.runtime.engine.jax.compiling import called, compiled
from gradwire.runtime.engine.jax.traced import Traced, require_success

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.jax.devices import Devices


class _All(NamedTuple):
    """The whole of a plan, which is one piece of work."""

    values: Sequence[Value]
    covers: Sequence[Value]


class JaxPlan:
    """Computes some values of a trace by one program; see ``gradwire.runtime.engine.engine.Plan``.

    It is compiled at the first run. ``rows`` are leaves whose axis 0 is divided over the devices.
    """

    def __init__(
        self, outputs: Sequence[Value], devices: Devices, rows: Collection[Value] = ()
    ) -> None:
        self._traced = Traced(outputs)
        self._devices = devices
        divided = set(rows)
        self._where = {
            leaf: devices.batch(leaf.shape) if leaf in divided else devices.whole
            for leaf in self._traced.leaves
        }
        self._known: dict[Value, jax.Array] = {
            value: devices.put(array, devices.whole)
            for value, array in self._traced.constants.items()
        }
        self._found: dict[Value, jax.Array] = {}
        self._order = [*self._traced.leaves, *self._traced.constants]
        self._program: jax.stages.Compiled | None = None

    @property
    def leaves(self) -> Collection[Value]:
        """The leaves that the outputs depend on."""
        return self._where.keys()

    @property
    def bytes(self) -> int:
        """Bytes of intermediate values and results of the compiled program; 0 before a run."""
        if self._program is None or (memory := self._program.memory_analysis()) is None:
            return 0
        return int(memory.temp_size_in_bytes + memory.output_size_in_bytes)

    @property
    def parts(self) -> list[tuple[Callable[[], object], _All]]:
        """The program."""
        return [
            (self._wait, _All(self._traced.outputs, self._traced.values or self._traced.outputs))
        ]

    def __len__(self) -> int:
        """The program counts as one step."""
        return 1

    def writer(self, leaf: Value) -> Callable[[Array], None]:
        """Copies an array to where the program reads it, cast to the leaf's dtype."""
        return partial(self._write, leaf)

    def run(self) -> None:
        """Start the program; wait for it only where its arithmetic may fail.

        Raises RunError with the block that failed, or without memory for the program.
        """
        for _ in until_cancelled(iter((None,))):
            if self._traced.outputs:
                self._start()

    def reader(self, value: Value) -> Callable[[], Array]:
        """Fetches an output of the last run."""
        return partial(self.read, value)

    def read(self, value: Value) -> Array:
        """An output of the last run."""
        return self._devices.fetch(self._found[value])

    def _write(self, leaf: Value, array: Array) -> None:
        cast = np.asarray(array).astype(NUMPY[leaf.dtype], copy=False)
        self._known[leaf] = self._devices.put(cast, self._where[leaf])

    def _start(self) -> None:
        arrays = [self._known[value] for value in self._order]
        if self._program is None:
            operations, whole = self._traced.operations, self._devices.whole
            self._program = compiled(self._function, arrays, operations, out_shardings=whole)
        found, failures = called(self._program, arrays)
        if self._traced.checked:
            require_success(self._traced.checked, self._devices.fetch(failures))
        self._found = dict(zip(self._traced.outputs, found, strict=True))

    def _function(self, *arrays: Any) -> tuple[list[Any], Any]:
        return self._traced(dict(zip(self._order, arrays, strict=True)))

    def _wait(self) -> None:
        self.run()
        jax.block_until_ready(list(self._found.values()))
