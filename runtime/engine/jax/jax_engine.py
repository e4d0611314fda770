"""The JAX engine: its plans, and loops of many iterations, are one compiled program each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.engine.interruption import until_cancelled
from gradwire.runtime.engine.jax.devices import Devices, called, compiled, use_threads
from gradwire.runtime.engine.jax.traced import Traced, require_success

if TYPE_CHECKING:
    from jax.sharding import NamedSharding

    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.engine import LoopPhase


class _All(NamedTuple):
    """The whole of a plan, which is one piece of work."""

    values: Sequence[Value]
    covers: Sequence[Value]


_LARGE = 1 << 16
"""Elements of a leaf from which it is worth to divide it."""


class JaxMemory:
    """Leaves on the devices; see ``gradwire.runtime.engine.engine.EngineMemory``.

    The axis 0 of ``rows`` is divided over the devices, with ``divide`` the longest axis of large
    leaves too.
    """

    def __init__(self, devices: Devices, rows: Collection[Value], divide: bool = False) -> None:
        self.devices = devices
        self.arrays: dict[Value, jax.Array] = {}
        self._rows = set(rows)
        self._divide = divide

    def where(self, leaf: Value) -> NamedSharding:
        """How the devices share a leaf."""
        if leaf in self._rows:
            return self.devices.batch(leaf.shape)
        if self._divide and leaf.size >= _LARGE:
            return self.devices.largest(leaf.shape)
        return self.devices.whole

    def writer(self, leaf: Value) -> Callable[[Array], None]:
        """Copies an array to the devices, cast to the leaf's dtype."""
        return partial(self._write, leaf)

    def read(self, leaf: Value) -> Array:
        """A copy of what a leaf is after all iterations that were started."""
        return self.devices.fetch(self.arrays[leaf])

    def _write(self, leaf: Value, array: Array) -> None:
        cast = np.asarray(array).astype(NUMPY[leaf.dtype], copy=False)
        self.arrays[leaf] = self.devices.put(cast, self.where(leaf))


class JaxPlan(JaxMemory):
    """Computes some values of a trace by one program; see ``gradwire.runtime.engine.engine.Plan``.

    It is compiled at the first run. ``rows`` are leaves whose axis 0 is divided over the devices.
    """

    def __init__(
        self, outputs: Sequence[Value], devices: Devices, rows: Collection[Value] = ()
    ) -> None:
        super().__init__(devices, rows)
        self._traced = Traced(outputs)
        self.leaves = dict.fromkeys(self._traced.leaves)
        """The leaves that the outputs depend on."""
        for value, array in self._traced.constants.items():
            self.arrays[value] = devices.put(array, devices.whole)
        self._found: dict[Value, jax.Array] = {}
        self._order = [*self._traced.leaves, *self._traced.constants]
        self._program: jax.stages.Compiled | None = None

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
        return self.devices.fetch(self._found[value])

    def _start(self) -> None:
        arrays = [self.arrays[value] for value in self._order]
        if self._program is None:
            operations, whole = self._traced.operations, self.devices.whole
            self._program = compiled(self._function, arrays, operations, out_shardings=whole)
        found, failures = called(self._program, arrays)
        if self._traced.checked:
            require_success(self._traced.checked, self.devices.fetch(failures))
        self._found = dict(zip(self._traced.outputs, found, strict=True))

    def _function(self, *arrays: Any) -> tuple[list[Any], Any]:
        return self._traced(dict(zip(self._order, arrays, strict=True)))

    def _wait(self) -> None:
        self.run()
        jax.block_until_ready(list(self._found.values()))


class JaxLoop:
    """Runs stages one after another, many times in a call; see
    ``gradwire.runtime.engine.engine.Loop``.

    What the stages write stays on the devices, in memory that each call takes over from the last.
    A program makes up to a number of iterations, for which it was compiled. The axis 0 of rows is
    divided over the devices.
    """

    def __init__(self, stages: Sequence[LoopPhase], memory: JaxMemory) -> None:
        self._stages = tuple(stages)
        self._memory = memory
        self._devices = memory.devices
        self._traced = [
            Traced([*stage.writes.values(), *stage.hands_on.values(), *stage.results])
            for stage in stages
        ]
        given = {leaf for stage in stages for leaf in (*stage.rows, *stage.hands_on)}
        written = dict.fromkeys(leaf for stage in stages for leaf in stage.writes)
        self._written = list(written)
        read = {leaf: None for traced in self._traced for leaf in traced.leaves}
        read |= {stage.guard: None for stage in stages if stage.guard is not None}
        self._read = [leaf for leaf in read if leaf not in given and leaf not in written]
        self.leaves = [*self._written, *self._read]
        """The leaves that must be in the memory before a run."""
        self._constants = {
            value: self._devices.put(array, self._devices.whole)
            for traced in self._traced
            for value, array in traced.constants.items()
        }
        self._programs: dict[int, jax.stages.Compiled] = {}

    def start(self, rows: Sequence[Sequence[Array]]) -> Callable[[], list[list[Array]]]:
        """Start as many iterations as there are rows; see
        ``gradwire.runtime.engine.engine.Loop``.
        """
        count = max((len(array) for arrays in rows for array in arrays), default=1)
        room = min((room for room in self._programs if room >= count), default=count)
        arrays = self.arrays(rows, count, room)
        if room not in self._programs:
            self._programs[room] = self.compiled(arrays, room)
        written, results, failures = called(self._programs[room], arrays)
        self._memory.arrays |= zip(self._written, written, strict=True)
        return partial(self._results, results, failures, count)

    def arrays(self, rows: Sequence[Sequence[Array]], count: int, room: int) -> list[Any]:
        """What a program with room for so many iterations is called with."""
        known = self._memory.arrays
        placed = [
            [
                self._placed(leaf, array, count, room)
                for leaf, array in zip(stage.rows, arrays, strict=True)
            ]
            for stage, arrays in zip(self._stages, rows, strict=True)
        ]
        read = [known[leaf] for leaf in self._read]
        number = self._devices.put(np.array(count, np.int32), self._devices.whole)
        written = [known[leaf] for leaf in self._written]
        return [written, placed, read, list(self._constants.values()), number]

    def compiled(self, arrays: Sequence[Any], room: int) -> jax.stages.Compiled:
        """A program for up to so many iterations on arrays such as these."""
        where = [self._memory.where(leaf) for leaf in self._written]
        return compiled(
            partial(self._iterations, room),
            arrays,
            sum(traced.operations for traced in self._traced),
            donate_argnums=0,
            out_shardings=(where, self._devices.whole, self._devices.whole),
        )

    def _placed(self, leaf: Value, array: Array, count: int, room: int) -> jax.Array:
        cast = np.asarray(array).astype(NUMPY[leaf.dtype], copy=False)
        if room > count:
            cast = np.concatenate([cast, np.zeros((room - count, *cast.shape[1:]), cast.dtype)])
        return self._devices.put(cast, self._devices.batch(cast.shape, axis=2))

    def _iterations(
        self, room: int, written: Any, rows: Any, read: Any, constants: Any, count: Any
    ) -> Any:
        """What is compiled: new leaves, and the results and failures of all iterations."""
        known = dict(zip(self._read, read, strict=True))
        known |= zip(self._constants, constants, strict=True)

        def iteration(number: Any, carried: Any) -> Any:
            written, kept = carried
            now = jax.tree.map(lambda row: lax.dynamic_index_in_dim(row, number, 0, False), rows)
            written, new = self._once(known, written, now)
            keep = partial(lax.dynamic_update_index_in_dim, index=number, axis=0)
            return written, jax.tree.map(keep, kept, new)

        if room == 1:
            written, new = self._once(known, written, jax.tree.map(lambda row: row[0], rows))
            results, failures = jax.tree.map(lambda one: one[None], new)
            return written, results, failures
        now = jax.tree.map(lambda array: jax.ShapeDtypeStruct(array.shape[1:], array.dtype), rows)
        forms = jax.eval_shape(lambda *given: self._once(known, *given)[1], written, now)
        kept = jax.tree.map(lambda form: jnp.zeros((room, *form.shape), form.dtype), forms)
        written, (results, failures) = lax.fori_loop(0, count, iteration, (written, kept))
        return written, results, failures

    def _once(self, known: Any, written: Any, rows: Any) -> Any:
        """One iteration: new leaves, and results and failures by stage."""
        found = known | dict(zip(self._written, written, strict=True))
        told = []
        for stage, traced, arrays in zip(self._stages, self._traced, rows, strict=True):
            new, given = _stage(stage, traced, found, arrays)
            found |= new
            told.append(given)
        return [found[leaf] for leaf in self._written], tuple(zip(*told, strict=True))

    def _results(self, results: Any, failures: Any, count: int) -> list[list[Array]]:
        for traced, flags in zip(self._traced, failures, strict=True):
            if traced.checked:
                require_success(traced.checked, self._devices.fetch(flags)[:count])
        return [[self._devices.fetch(result)[:count] for result in stage] for stage in results]


def _stage(stage: LoopPhase, traced: Traced, known: dict[Value, Any], rows: Any) -> Any:
    """One stage: new leaves, and its results and failures, along an axis of its times."""
    once = partial(_once, stage, traced, known)
    if stage.times == 1:
        new, told = once({}, [array[0] for array in rows])
        return new, jax.tree.map(lambda one: one[None], told)
    written = [*stage.writes, *stage.hands_on]

    def again(leaves: Any, now: Any) -> Any:
        new, told = once(dict(zip(written, leaves, strict=True)), now)
        return [new[leaf] for leaf in written], told

    leaves, told = lax.scan(again, [known[leaf] for leaf in written], rows)
    return dict(zip(written, leaves, strict=True)), told


def _once(
    stage: LoopPhase, traced: Traced, known: dict[Value, Any], own: dict[Value, Any], rows: Any
) -> Any:
    """A stage, once: new leaves, and its results and failures."""
    known = known | own | dict(zip(stage.rows, rows, strict=True))
    given = {value: known[value] for value in (*traced.leaves, *traced.constants)}
    written = {**stage.writes, **stage.hands_on}

    def computed() -> Any:
        outputs, failures = traced(given)
        new = dict(zip(traced.outputs, outputs, strict=True))
        results = [new[value] for value in stage.results]
        return [new[value] for value in written.values()], (results, failures)

    def skipped() -> Any:
        _, told = jax.eval_shape(computed)
        zeros = jax.tree.map(lambda form: jnp.zeros(form.shape, form.dtype), told)
        return [known[leaf] for leaf in written], zeros

    leaves, told = (
        computed() if stage.guard is None else lax.cond(known[stage.guard], computed, skipped)
    )
    return dict(zip(written, leaves, strict=True)), told


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
