"""Requests of ``Session.backward`` whose names were looked up, to be made again and again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.engine.compiled import Request, Table, with_zeros
from gradwire.runtime.engine.norms import with_tree_norms
from gradwire.runtime.engine.session import lookup
from gradwire.runtime.engine.session.run import Accumulated, LazyResults, Run, accumulate, by_path
from gradwire.runtime.gc_pause import uncollected

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.engine.compiled import Compiled
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.engine.session.execution import Executor
    from gradwire.runtime.engine.session.lookup import GradientRequests


class Wanted(NamedTuple):
    """The arguments of ``Session.backward`` that name things."""

    losses: Sequence[str] | None
    wrt: Sequence[str] | None
    ports: Collection[str] | None
    adjoints: Literal["all", "stops"] | Collection[str]
    contributions: bool | Collection[str] | None
    norms: bool | Collection[str]
    unconnected: Literal["none", "zero"]
    request: GradientRequests
    accumulate: bool

    @property
    def names_steps(self) -> bool:
        """Whether what is wanted may be of every step of a loop, and at once."""
        every = isinstance(self.adjoints, str) or self.contributions is True or self.norms is True
        at_once = self.ports is None and self.contributions not in (None, False)
        return every or at_once or not isinstance(self.request, str | Mapping)


PLAIN = Wanted(None, None, None, (), None, False, "none", "write", True)
"""What ``Session.backward`` is asked for without arguments."""


def frozen(argument: Any) -> Any:
    """An argument as part of a key: equal for equal names, and not changed by whoever passed it."""
    if isinstance(argument, str | bool | None):
        return argument
    if isinstance(argument, Mapping):
        return "mapping", tuple(argument.items())
    return tuple(argument) if isinstance(argument, Collection) else argument


class SessionRequest:
    """One request for one program: looked up and compiled once, run as often as it is made."""

    def __init__(self, program: Program, executor: Executor, request: Request) -> None:
        self.program = program
        self.version = -1
        """The version of the session's values for which the program is known to be right."""
        self.request = request
        self.executor = executor
        self._compiled: Compiled | None = None

    def _ran(self, feeds: Mapping[str, Array], seeds: Mapping[PortPath, Array]) -> Compiled:
        """Run; returns the plan, from which results are read."""
        compiled = self._compiled
        if compiled is None or feeds or seeds:
            compiled = self.executor.run(self.program, self.request, feeds, seeds)
            if not self.executor.partial:
                self._compiled = compiled
        else:
            self.executor.again(self.program, compiled)
        return compiled


class AskedValues(SessionRequest):
    """A request of ``Session.run``."""

    @uncollected()
    def __init__(self, program: Program, executor: Executor, ports: Collection[str] | None) -> None:
        found = lookup.ports_of(program, ports, executor.partial)
        super().__init__(program, executor, Request(found))

    def run(self, feeds: Mapping[str, Array]) -> Run:
        """Run forward for these feeds."""
        compiled = self._ran(feeds, {})
        return Run(
            values=by_path(compiled.values(), self.program.flat),
            trees=self.program.trees,
            wire_trees=self.program.wire_trees,
            problems=tuple(self.executor.problems.values()),
        )


class AskedGradients(SessionRequest):
    """A request of ``Session.backward``.

    Runs compute what is asked for by name, the values of heads, and gradients. Where nobody said
    whether to keep values and contributions, all of them follow when one is first read.
    """

    @uncollected()
    def __init__(
        self,
        program: Program,
        executor: Executor,
        whole: Callable[[], Program],
        wanted: Wanted = PLAIN,
        seeded: Collection[str] = (),
    ) -> None:
        self.heads = heads = lookup.find_heads(program, wanted.losses, executor.partial)
        lookup.require_asked(program, heads)
        how = wanted.request
        arguments = () if isinstance(how, str | Mapping) else lookup.graph_order(program, heads)
        self._requests = lookup.gradient_requests(program, arguments, wanted.wrt, how)
        asked, is_rolled = wanted.contributions, bool(program.flat.loops)
        self._whole = whole if is_rolled else lambda: program
        late_wires = asked is None and not executor.partial
        late_ports = wanted.ports is None and (
            late_wires or (asked is False and not executor.partial)
        )
        seeds = frozenset(lookup.find_port(program, name) for name in seeded)
        self._later = late_ports, late_wires, seeds
        request = Request(
            heads if late_ports else lookup.ports_of(program, wanted.ports, executor.partial),
            heads,
            seeds,
            tuple(name for name, request in self._requests.items() if request != "null"),
            lookup.adjoint_ports(program, wanted.adjoints),
            () if late_wires else lookup.find_wires(program, True if asked is None else asked),
            lookup.find_wires(program, wanted.norms),
            sparse=True,
        )
        super().__init__(program, executor, request)
        if not is_rolled:
            late_ports, late_wires = bool(self.later.ports), bool(self.later.contributions)
        self._zeros = wanted.unconnected == "zero"
        self._late_ports, self._late_wires = late_ports, late_wires
        self._drawn = bool(program.streams())
        self._late = late_ports or late_wires
        self._accumulates = wanted.accumulate
        self._writes = all(request == "write" for request in self._requests.values())
        self._leaves: Mapping[str, Array] = {}
        self._taken = -1
        self._named = bool(program.flat.aliases or program.flat.owned)
        self._always = {
            "losses": heads,
            "trees": program.trees,
            "wire_trees": program.wire_trees,
        }

    @cached_property
    def whole(self) -> Program:
        """The program with all steps, of which late results are."""
        return self._whole()

    @cached_property
    def later(self) -> Request:
        """What is computed when it is first read."""
        late_ports, late_wires, seeds = self._later
        with self.executor.lock:
            ports = lookup.ports_of(self.whole, None, False) if late_ports else ()
            wires = lookup.find_wires(self.whole, late_wires)
        return Request(ports, self.heads, seeds, contributions=wires, sparse=True)

    def run(
        self,
        feeds: Mapping[str, Array],
        seeds: Mapping[PortPath, Array],
        total: Accumulated,
        step: int,
    ) -> Run:
        """Run for these feeds and output gradients; gradients are written or added to ``total``,
        unless the request is not to accumulate.
        """
        again = None if self.executor.partial else self._again(feeds, seeds, step)
        compiled, flat = self._ran(feeds, seeds), self.program.flat
        values: Mapping[str, Array] = compiled.values()
        gradients = self.read(compiled, "gradients")
        contributions: Mapping[str, Array | None]
        if again is None or not self._late_wires:
            contributions = compiled.read("contributions")
        if again is not None and self._late:
            if self._late_ports:
                table = partial(again.table, "values")
                values = LazyResults(lambda: map(str, self.later.ports), values, table)
            if self._late_wires:
                table = partial(again.table, "contributions")
                contributions = LazyResults(lambda: map(str, self.later.contributions), {}, table)
        if again is not None and self._writes and self._accumulates:
            total.write(self.request.wrt, again.gradients)
        elif not self._writes or self._accumulates:
            into = total if self._accumulates else None
            gradients = accumulate(total, self._requests, gradients, into)
        fields = {
            **self._always,
            "values": by_path(values, flat) if self._named else values,
            "gradients": by_path(gradients, flat) if self._named else gradients,
            "contributions": contributions,
            "adjoints": {},
            "measured": {},
            "seeds": seeds,
            "step": step,
            "problems": tuple(self.executor.problems.values()) if again is None else (),
        }
        if self.request.adjoints:
            fields["adjoints"] = by_path(self.read(compiled, "adjoints"), flat)
        if self.request.norms:
            fields["measured"] = with_tree_norms(self.program, compiled.read("norms"))
        return Run.of(fields)

    def read(self, compiled: Compiled, table: Table) -> Mapping[str, Array | None]:
        """One kind of results of the last run, with zeros for None where that is wanted."""
        arrays = compiled.read(table)
        return with_zeros(self.program, arrays) if self._zeros else arrays

    def _again(
        self, feeds: Mapping[str, Array], seeds: Mapping[PortPath, Array], step: int
    ) -> Again:
        """What makes the run that comes once more; raises FeedError if a late result lacks one."""
        leaves: Mapping[str, Array]
        if feeds or self._drawn:
            leaves = self.executor.snapshot(self.program, feeds, self._late)
        elif self._taken == self.version:
            leaves = self._leaves
        else:
            leaves = self._leaves = self.executor.snapshot(
                self.program, feeds, self._late, self._leaves, self._taken
            )
            self._taken = self.version
        kept = {head: seed.copy() for head, seed in seeds.items()} if seeds else seeds
        return Again(self, leaves, kept, step)


class Again:
    """One run, to be made once more for results that it did not keep."""

    __slots__ = ("_asked", "_leaves", "_seeds", "_step", "_tables")

    def __init__(
        self,
        asked: AskedGradients,
        leaves: Mapping[str, Array],
        seeds: Mapping[PortPath, Array],
        step: int,
    ) -> None:
        self._asked = asked
        self._leaves = leaves
        self._seeds = seeds
        self._step = step
        self._tables: dict[str, Mapping[str, Any]] | None = None

    def _run(self, program: Program, request: Request) -> Compiled:
        leaves, flat = self._leaves, self._asked.program.flat
        if flat.loops and program is not self._asked.program:
            first = {path: flat.in_first_step(InstancePath(path)) for path in program.leaves}
            leaves = {path: leaves[name] for path, name in first.items() if name in leaves}
        return self._asked.executor.run(program, request, leaves, self._seeds, self._step)

    def table(self, name: str) -> Mapping[str, Any]:
        """The values, or contributions, that follow when they are read; computed together, once."""
        with self._asked.executor.lock:
            if self._tables is None:
                compiled = self._run(self._asked.whole, self._asked.later)
                tables: tuple[Table, ...] = "values", "contributions"
                self._tables = {table: compiled.read(table) for table in tables}
            return self._tables[name]

    def gradients(self) -> Mapping[str, Array | None]:
        """The gradients."""
        with self._asked.executor.lock:
            asked = self._asked
            return asked.read(self._run(asked.program, asked.request), "gradients")
