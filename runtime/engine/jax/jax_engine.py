"""The JAX engine: its plans, and loops of many iterations, are one compiled program each. On which
devices it computes, and where arrays go there; compiling, which is told to whoever waits, and kept
on disk; and errors of ours.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from gradwire.blocks.errors import LimitError, RunError
from gradwire.runtime import extras
from gradwire.runtime.calculus.dtypes import NUMPY
from gradwire.runtime.diagram.files.stored import all_own, own_folder
from gradwire.runtime.engine.compilation import compiling
from gradwire.runtime.engine.engine import LostProcessError
from gradwire.runtime.engine.interruption import until_cancelled
from gradwire.runtime.engine.jax.traced import Traced, require_success

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.engine.engine import LoopPhase


@contextmanager
def explained() -> Iterator[None]:
    """Within, raises LimitError without memory on a device, and LostProcessError where several
    processes compute together and one of them does not answer.
    """
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" in str(error):
            raise LimitError(
                "There is not enough memory on the device for this.",
                next_step="Make the batch smaller, ask for less, or use several devices.",
            ) from error
        if jax.process_count() > 1:
            raise LostProcessError(
                f"One of the {jax.process_count()} processes is gone, or can't be reached.",
                next_step="Start them again, with as many processes as you like: they go on from "
                "the last checkpoint.",
            ) from error
        raise


_LONG = 0.2
"""Seconds of compiling from which the program is kept on disk."""
_MOST_BYTES = 1 << 30
"""Bytes of programs that are kept."""


def compiled(
    function: Callable[..., Any], arrays: Sequence[Any], operations: int, **how: Any
) -> jax.stages.Compiled:
    """The program for arrays such as these; ``how`` is passed to ``jax.jit``.

    See ``explained`` for what it raises.
    """
    _keep_programs()
    with compiling(operations), jax.enable_x64(True), explained():
        return jax.jit(function, **how).lower(*arrays).compile()


def called(program: jax.stages.Compiled, arrays: Sequence[Any]) -> Any:
    """What a program returns; see ``explained`` for what it raises."""
    with jax.enable_x64(True), explained():
        return program(*arrays)


@cache
def _keep_programs() -> None:
    """Let JAX keep what takes long to compile in the user's cache, unless JAX was told where."""
    if jax.config.jax_compilation_cache_dir is not None:
        return
    if not extras.installed("filelock"):
        return  # without it, JAX can't bound what it keeps
    if (folder := own_folder("jax")) is None or not all_own(folder):
        return
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", _LONG)
    jax.config.update("jax_compilation_cache_max_size", _MOST_BYTES)


_SPELLING = re.compile(r"(cpu|gpu|cuda|rocm|tpu)(?::(all|[0-9]{1,4}(?:,[0-9]{1,4})*))?")
_BATCH = "batch"
_started: int | None = None
"""The number of threads that JAX was told to use, in this process."""


class Devices:
    """One device or several, by a description such as "cpu", "gpu:1", "gpu:0,2" or "gpu:all".

    None is the first device of JAX's choice, and all devices of all processes if there are several
    processes. Raises RunError for a description that can't be one, or a device that isn't there.
    """

    def __init__(self, description: str | None) -> None:
        self.all = _found(description)
        mesh = Mesh(np.array(self.all), (_BATCH,), axis_types=(AxisType.Auto,))
        self._whole = NamedSharding(mesh, PartitionSpec())
        self._divided = NamedSharding(mesh, PartitionSpec(_BATCH))
        self._mesh = mesh
        self._here = jax.process_count() == 1
        self.are_many = len(self.all) > 1

    def __str__(self) -> str:
        kinds = dict.fromkeys(device.device_kind for device in self.all)
        return f"{', '.join(kinds)} × {len(self.all)}" if self.are_many else next(iter(kinds))

    @property
    def whole(self) -> NamedSharding:
        """Where an array is that every device has whole."""
        return self._whole

    def batch(self, shape: Shape, axis: int = 0) -> NamedSharding:
        """Where an array is whose axis is divided over the devices, if its length allows it."""
        if (
            not self.are_many
            or len(shape) <= axis
            or not shape[axis]
            or shape[axis] % len(self.all)
        ):
            return self._whole
        return NamedSharding(self._mesh, PartitionSpec(*(None,) * axis, _BATCH))

    def largest(self, shape: Shape) -> NamedSharding:
        """Where an array is whose longest axis is divided over the devices, if one can be."""
        count = len(self.all)
        axes = [axis for axis, length in enumerate(shape) if length and length % count == 0]
        if not self.are_many or not axes:
            return self._whole
        return self.batch(shape, max(axes, key=lambda axis: shape[axis]))

    def put(self, array: Array, where: NamedSharding) -> jax.Array:
        """A copy of an array on the devices."""
        with jax.enable_x64(True):
            if self._here:
                return jax.device_put(array.copy(), where)
            return jax.make_array_from_callback(array.shape, where, lambda part: array[part].copy())

    def fetch(self, array: jax.Array) -> Array:
        """A copy of an array that the devices have; of one that is divided between processes, all
        processes must ask.
        """
        with explained():
            if not array.is_fully_addressable and not array.is_fully_replicated:
                from jax.experimental.multihost_utils import process_allgather

                return np.array(process_allgather(array, tiled=True))
            return np.array(array if self._here else array.addressable_data(0))


def use_threads(count: int) -> None:
    """Let JAX use so many threads on the processor; raises RunError if it has started already."""
    global _started
    if _started == count:
        return
    if _started is not None or _has_started():
        raise RunError(
            "JAX has started already, and can't change its number of threads any more.",
            expected="the number that it has" if _started is None else f"threads={_started}",
            got=f"threads={count}",
            next_step="Give the number to the first session of a process.",
        )
    os.environ["NPROC"] = str(count)
    _started = count


def _has_started() -> bool:
    """Whether JAX has looked for devices, after which it no longer reads settings."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    return bool(bridge is not None and bridge.backends_are_initialized())


def _found(description: str | None) -> list[Any]:
    if description is None:
        devices: list[Any] = jax.devices()
        return devices if jax.process_count() > 1 else devices[:1]
    match = _SPELLING.fullmatch(description) if isinstance(description, str) else None
    if match is None:
        raise RunError(
            "This is no device.",
            expected='"cpu", "gpu" or "tpu", or with numbers: "gpu:1", "gpu:0,1" or "gpu:all"',
            got=repr(description)[:80],
        )
    kind, numbers = match.groups()
    try:
        devices = jax.devices(kind)
    except RuntimeError:
        kinds = ", ".join(sorted({device.platform for device in jax.devices()}))
        raise RunError(
            f"JAX finds no {kind} here.",
            expected=f"a device that it finds: {kinds}",
            got=repr(description),
            next_step="Install JAX for it, such as jax[cuda12]." if kind != "cpu" else None,
        ) from None
    if numbers == "all" or (numbers is None and jax.process_count() > 1):
        return devices
    chosen = list(dict.fromkeys(map(int, (numbers or "0").split(","))))
    missing = [number for number in chosen if number >= len(devices)]
    if missing:
        raise RunError(
            f"There is no {kind}:{missing[0]}.",
            expected=f"a number below {len(devices)}, as there are {len(devices)}",
            got=repr(description),
        )
    return [devices[number] for number in chosen]


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
        results, failures = ([given[i] for given in told] for i in (0, 1))  # none in an idle one
        return [found[leaf] for leaf in self._written], (results, failures)

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
