"""Compiles a request: finds the values that it needs, and lets an engine plan their computation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from gradwire.blocks.errors import HeadError
from gradwire.runtime.calculus import Value, sweep
from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.engine.norms import norm_of
from gradwire.runtime.engine.plan.memory import no_room, require_room
from gradwire.runtime.engine.plan.numpy_engine import NumpyEngine
from gradwire.runtime.engine.plan.sparse_rows import WholeOnRead, form_of
from gradwire.runtime.gc_pause import uncollected

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.paths import WirePath
    from gradwire.runtime.engine.engine import Engine, Plan, Reader, Writer
    from gradwire.runtime.engine.program import Program


Table: TypeAlias = Literal["values", "gradients", "adjoints", "contributions", "norms"]
"""The kinds of results of a run."""


class Request(NamedTuple):
    """The part of a request that determines the arithmetic; everything by path."""

    ports: tuple[PortPath, ...]
    heads: tuple[PortPath, ...] = ()
    seeded: frozenset[PortPath] = frozenset()
    wrt: tuple[str, ...] = ()
    adjoints: tuple[PortPath, ...] = ()
    contributions: tuple[WirePath, ...] = ()
    norms: tuple[WirePath, ...] = ()
    sparse: bool = False
    """Whether gradients, adjoints and contributions that have few rows may be read as these."""


class Compiled:
    """A plan and, by name, the readers of its results; None where no path connects."""

    def __init__(
        self,
        program: Program,
        plan: Plan,
        results: Mapping[Table, Mapping[str, Value | None]],
        seeds: Mapping[PortPath, Value],
        sparse: Collection[Value] = (),
    ) -> None:
        self.plan = plan
        self.seeds = {head: seed for head, seed in seeds.items() if seed in plan.leaves}
        """The leaves of output gradients, by head."""
        self.leaves = {p: leaf for p, leaf in program.leaves.items() if leaf.value in plan.leaves}
        self.results = results
        """The values that are read, by kind and name."""
        self._readers = {
            table: {name: None if v is None else plan.reader(v) for name, v in values.items()}
            for table, values in results.items()
        }
        self._nothing: dict[Table, dict[str, Array | None]] = {
            table: dict.fromkeys(readers) for table, readers in self._readers.items()
        }
        self._connected = {
            table: [(name, reader) for name, reader in readers.items() if reader is not None]
            for table, readers in self._readers.items()
        }
        self._by_rows = frozenset(
            table for table, values in results.items() if any(v in sparse for v in values.values())
        )
        self.bound: int | None = None
        """The version of the session's values that all leaves have, if none was fed or drawn."""
        self._bound: dict[Value, Array] = {}
        self._writers: dict[Value, Writer] = {}
        step = program.trace.step
        self._step = plan.writer(step) if step is not None and step in plan.leaves else None

    def readers(self, table: Table) -> Mapping[str, Reader | None]:
        """The readers of one kind of results, by name."""
        return self._readers[table]

    def read(self, table: Table) -> Mapping[str, Array | None]:
        """One kind of results of the last run, by name; raises RunError without memory for it."""
        try:
            found = self._nothing[table].copy()
            for name, reader in self._connected[table]:
                found[name] = reader()
            return WholeOnRead(found) if table in self._by_rows else found
        except MemoryError:
            raise no_room(v for v in self.results[table].values() if v is not None) from None

    def values(self) -> dict[str, Array]:
        """The values of ports in the last run."""
        # A request has only those it can read.
        return cast("dict[str, Array]", self.read("values"))

    def feed(self, leaf: Value, array: Array) -> None:
        """Copy a value into a leaf, for the next run only."""
        writer = self._writers.get(leaf)
        if writer is None:
            writer = self._writers[leaf] = self.plan.writer(leaf)
        writer(array)
        self._bound.pop(leaf, None)
        self.bound = None

    def bind(self, leaf: Value, array: Array) -> None:
        """Copy a value that nobody modifies into a leaf, unless it is there from an earlier run."""
        if self._bound.get(leaf) is not array:
            self.feed(leaf, array)
            self._bound[leaf] = array

    def count(self, step: int) -> None:
        """Let random numbers count by this step."""
        if self._step is not None:
            self._step(np.asarray(step))


@uncollected()
def compile_request(
    program: Program,
    request: Request,
    engine: Engine,
    without: frozenset[Value] = frozenset(),
) -> Compiled:
    """Append the derivatives that the request needs to the trace, and plan everything.

    ``without`` are values that can't be computed, such as an input that was not fed; they and
    everything that depends on them are left out. Raises HeadError for a head that has no gradient
    or needs an output gradient.
    """
    results, seeds = derive(program, request, without)
    outputs, rows = wanted(results), rows_of(program)
    if request.sparse and isinstance(engine, NumpyEngine):
        sparse = _with_few_rows(results)
        plan = engine.plan(outputs, rows=rows, sparse=sparse)
        return Compiled(program, plan, results, seeds, sparse)
    return Compiled(program, engine.plan(outputs, rows=rows), results, seeds)


def _with_few_rows(results: Mapping[Table, Mapping[str, Value | None]]) -> set[Value]:
    """The results that may be read as rows, and are not wanted as values too."""
    tables: tuple[Table, ...] = "gradients", "adjoints", "contributions"
    found = {v for table in tables for v in results[table].values() if v is not None and form_of(v)}
    return found - {v for v in results["values"].values() if v is not None}


def rows_of(program: Program) -> frozenset[Value]:
    """The leaves whose axis 0 is that of a batch: those of data sets and of inputs."""
    return program.derived("rows", lambda: _rows_of(program))


def _rows_of(program: Program) -> frozenset[Value]:
    paths = (*program.sources("input"), *program.streams())
    return frozenset(program.leaves[path].value for path in paths if path in program.leaves)


class Derived(NamedTuple):
    """The values of all results of a request, None where no path connects, and of the seeds."""

    results: Mapping[Table, Mapping[str, Value | None]]
    seeds: Mapping[PortPath, Value]


def derive(program: Program, request: Request, without: frozenset[Value] = frozenset()) -> Derived:
    """Append the derivatives that a request needs to the trace; see ``compile_request``."""
    seeds = {head: _seed(program, head, request) for head in request.heads}
    targets = {name: program.ports[PortPath.named(name)] for name in request.wrt}
    ports = {port: program.ports[port] for port in request.adjoints}
    keys = [key for key in (*request.contributions, *request.norms) if key in program.wires]
    wires = {key: program.wires[key] for key in keys if program.wires[key] in program.reached}
    heads = [(program.ports[head], seed) for head, seed in seeds.items()]
    found = sweep(heads, [*targets.values(), *ports.values(), *wires.values()])
    bad = _depending(program, without) if without else set()

    def usable(value: Value | None) -> Value | None:
        return None if value is None or value in bad else value

    def arrived(wire: WirePath) -> Value | None:
        return usable(found.get(wires[wire])) if wire in wires else None

    values: dict[str, Value | None]
    values = {p: v for p in request.ports if (v := usable(program.ports[p])) is not None}
    norms = {wire: arrived(wire) for wire in request.norms}
    results: dict[Table, Mapping[str, Value | None]] = {
        "values": values,
        "gradients": {name: usable(found.get(value)) for name, value in targets.items()},
        "adjoints": {name: usable(found.get(value)) for name, value in ports.items()},
        "contributions": {wire: arrived(wire) for wire in request.contributions},
        "norms": {wire: None if v is None else norm_of(v) for wire, v in norms.items()},
    }
    return Derived(results, seeds)


def wanted(results: Mapping[Table, Mapping[str, Value | None]]) -> list[Value]:
    """The values of all results; raises LimitError without memory for them."""
    found = [v for table in results.values() for v in table.values() if v is not None]
    require_room(found)
    return found


def with_zeros(program: Program, arrays: Mapping[str, Array | None]) -> dict[str, Array | None]:
    """Gradients by name, with zeros in place of None."""
    found = dict(arrays)
    for name, array in arrays.items():
        if array is None:
            value = program.ports[PortPath.named(name)]
            found[name] = np.zeros(value.shape, value.dtype)
    return found


def _seed(program: Program, head: PortPath, request: Request) -> Value:
    value = program.ports[head]
    location = head.location()
    if not is_float(value.dtype):
        raise HeadError(
            f"Backward can't start at values of {value.dtype}: they have no gradient.",
            location=location,
            next_step="Start at a float, or Cast before.",
        )
    if head in request.seeded:
        trace = program.trace
        return trace.apply(LEAF, shape=value.shape, dtype=value.dtype)
    if value.shape and not program.block(head.block).head:
        raise HeadError(
            f"Backward needs a number to start from, and this has shape {list(value.shape)}.",
            location=location,
            expected="a scalar, a Loss block, or an output gradient of that shape",
            next_step=f"Reduce it (Sum, Mean), put a Loss behind it, or give "
            f"out_gradients={{{head!r}: …}}.",
        )
    return program.trace.xp.ones_like(value)


def _depending(program: Program, without: frozenset[Value]) -> set[Value]:
    """All values that depend on one of ``without``, and these themselves."""
    bad = set(without)
    for value in program.trace.values:
        if any(
            source in bad and slot not in value.primitive.unread
            for slot, source in enumerate(value.inputs)
        ):
            bad.add(value)
    return bad
