"""Requests of a session, whose names are resolved to ports, heads, seeds and gradient requests once
for all times that they are made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from gradwire.blocks.block import Source
from gradwire.blocks.errors import HeadError, Location, NotRunnableError, RunError
from gradwire.blocks.importing.kinds import is_kind
from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.nearest import did_you_mean
from gradwire.blocks.terms import term_index
from gradwire.runtime.calculus.reverse import passes_gradient
from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
from gradwire.runtime.engine.compiled import Request, Table, with_zeros
from gradwire.runtime.engine.norms import with_tree_norms
from gradwire.runtime.engine.session.run import Accumulated, LazyResults, Run, accumulate, by_path
from gradwire.runtime.gc_pause import uncollected

if TYPE_CHECKING:
    from gradwire.blocks.library.recorded import Recorded
    from gradwire.blocks.values import Array
    from gradwire.runtime.calculus import Value
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine.compiled import Compiled
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.engine.session.execution import Executor


GradientRequest: TypeAlias = Literal["write", "add", "null"]
GradientRequests: TypeAlias = GradientRequest | Mapping[str, GradientRequest] | Sequence[str]

REQUESTS = ("write", "add", "null")


def as_names(names: Iterable[str]) -> list[str]:
    """The names as a list; a string is a single name."""
    return [names] if isinstance(names, str) else list(names)


def require_page(diagram: Diagram, name: str) -> None:
    """Raise RunError, with similar names, unless the diagram has the page."""
    if name not in diagram.pages:
        raise RunError(
            f"There is no page {name!r}.",
            expected="one of " + ", ".join(diagram.pages),
            next_step=did_you_mean(str(name), diagram.pages),
        )


def require_choice(argument: str, value: object, choices: Sequence[str]) -> None:
    """Raise RunError unless the value of an argument is one of the choices."""
    if value not in choices:
        raise RunError(
            f"{argument} can't be {value!r}.",
            expected=" or ".join(map(repr, choices)),
            next_step=did_you_mean(str(value), choices),
        )


def require_optimiser(value: object) -> None:
    """Raise RunError unless the value can update variables."""
    if isinstance(value, type) or not hasattr(value, "update"):
        raise RunError(
            "A step needs an optimiser.",
            got=value.__name__ if isinstance(value, type) else repr(value),
            next_step="Make one, such as SGD(lr=0.1) or Adam(), and pass it to every step.",
        )


def find_port(program: Program, name: str) -> PortPath:
    """The port or leaf called ``name``, which may be a block with one output.

    Raises RunError that suggests similar names.
    """
    if name in program.ports:
        return PortPath(name)
    instance = program.instances.get(InstancePath(program.flat.canonical(name)))
    if instance is not None and len(names := instance.block.output_names()) == 1:
        return instance.port(names[0])
    port = program.flat.source(PortPath(name))
    owner = program.instances.get(port.block)
    outputs = () if owner is None else tuple(map(owner.port, owner.block.output_names()))
    if port in outputs or port in program.ports:
        return port
    raise RunError(
        f"There is no block or output {name!r}.",
        next_step=did_you_mean(name, [*program.instances, *program.ports]),
    )


def traced_ports(program: Program, names: Iterable[str]) -> tuple[PortPath, ...]:
    """The ports with these names, all of which must have been traced; trees as their leaves.

    Raises NotRunnableError with the problem that prevents it.
    """
    ports = [
        leaf for name in as_names(names) for leaf in program.leaf_ports(find_port(program, name))
    ]
    for port in ports:
        if port not in program.ports:
            path = port.block
            culprit = program.culprit(path)
            errors = [d for d in program.diagnostics if d.severity == "error"]
            own = program.instances.get(culprit)  # None for a page that could not be expanded
            named = (culprit, culprit.name if own is None else own.name)
            relevant = [d for d in errors if d.location.block in named] or errors
            raise NotRunnableError(
                " ".join(str(d) for d in relevant) or f"{culprit} can't run.",
                location=Location(program.instances[path].page, path) if path != culprit else None,
            )
    return tuple(ports)


def all_ports(program: Program, partial: bool) -> tuple[PortPath, ...]:
    """All ports; if some can't be computed, they are omitted or, unless ``partial``, an error."""
    if partial:
        return tuple(program.ports)
    return program.derived("all ports", lambda: traced_ports(program, _outputs(program)))


def ports_of(
    program: Program, names: Collection[str] | None, partial: bool
) -> tuple[PortPath, ...]:
    """The ports with these names, all by default; see ``traced_ports`` and ``all_ports``."""
    return all_ports(program, partial) if names is None else traced_ports(program, names)


def _outputs(program: Program) -> list[PortPath]:
    return [
        instance.port(output)
        for instance in program.instances.values()
        for output in instance.block.output_names()
    ]


def find_heads(
    program: Program, losses: Sequence[str] | None, partial: bool
) -> tuple[PortPath, ...]:
    """The ports from which backward starts; raises HeadError if there are none."""
    if losses is not None:
        return traced_ports(program, losses)
    heads = tuple(program.heads())
    if not heads and not partial:
        all_ports(program, partial)
        raise HeadError(
            "The diagram has no loss: it has no Loss block, and no scalar output is unused.",
            next_step="Add a Loss block, or name the output to differentiate.",
        )
    return heads


def require_asked(program: Program, heads: Iterable[PortPath]) -> None:
    """Raise RunError where trained variables would get gradient through an input of a Recorded
    block that no gradient was asked for in the recorded run.
    """
    unasked = program.derived("unasked", lambda: _reached_unasked(program))
    arriving = _arriving(program, heads) if unasked else set()
    for path, slot in unasked.items():
        block = cast("Recorded", program.block(path))
        if any(program.ports.get(path.port(name)) in arriving for name in block.output_names()):
            raise RunError(
                f"{block.run.known}, in which no gradient was asked for at its input {slot}"
                f"{block.run.why_not}.",
                location=Location(block=path),
                next_step="Change the program, and capture it again.",
            )


def _reached_unasked(program: Program) -> dict[InstancePath, int]:
    """The Recorded blocks with such an input that trained variables reach, and which it is."""
    found: dict[InstancePath, int] = {}
    for path, instance in program.instances.items():
        if is_kind(instance.block, "Recorded"):
            block = cast("Recorded", instance.block)
            # By the value that goes through, no gradient ever passes.
            unasked = [slot for slot in block.run.unknown if slot or not block.keeps_value]
            for port, value in program.markers(path) if unasked else ():
                slot = term_index(port, "xs")
                if slot is not None and slot in unasked and value in program.reached:
                    found.setdefault(path, slot)
    return found


def _arriving(program: Program, heads: Iterable[PortPath]) -> set[Value]:
    """The values to which gradient comes from these heads."""
    found = {program.ports[head] for head in heads if head in program.ports}
    for value in reversed(program.trace.values[: program.forward_end]):
        if value in found:
            found.update(x for slot, x in enumerate(value.inputs) if passes_gradient(value, slot))
    return found


def find_seeds(
    program: Program, heads: tuple[PortPath, ...], given: Mapping[str, ArrayLike]
) -> dict[PortPath, Array]:
    """Output gradients by head; raises HeadError for other ports and for wrong shapes."""
    seeds = {}
    for name, seed in given.items():
        port = find_port(program, name)
        if port not in heads:
            raise HeadError(
                f"{name!r} has an output gradient but is not a head of this run.",
                expected=f"one of {', '.join(heads)}" if heads else None,
            )
        array, shape = np.asarray(seed), program.ports[port].shape
        if array.shape != shape:
            raise HeadError(
                "The output gradient has the wrong shape.",
                location=port.location(),
                expected=str(list(shape)),
                got=str(list(array.shape)),
            )
        seeds[port] = array
    return seeds


def adjoint_ports(
    program: Program, wanted: Literal["all", "stops"] | Collection[str]
) -> tuple[PortPath, ...]:
    """Ports whose adjoints are wanted; "stops" means outputs, or leaves, that are stopped."""
    if wanted == "all":
        return tuple(program.ports)
    if wanted == "stops":
        return program.derived("stopped ports", lambda: _stopped_ports(program))
    return traced_ports(program, wanted)


def _stopped_ports(program: Program) -> tuple[PortPath, ...]:
    return tuple(
        port
        for port, value in program.ports.items()
        if value.primitive.stops and isinstance(program.block(port.block), StopGradient)
    )


def find_wires(program: Program, wanted: bool | Collection[str]) -> tuple[WirePath, ...]:
    """The wires with these targets, trees as their leaves; True means all wires.

    Raises RunError that suggests similar names.
    """
    if isinstance(wanted, bool):
        return tuple(program.wires) if wanted else ()
    wires = [WirePath(name) for name in as_names(wanted)]
    for name in wires:
        if name not in program.wire_sources:
            raise RunError(
                f"There is no wire into {name!r}.",
                next_step=did_you_mean(name, program.wire_sources),
            )
    return tuple(dict.fromkeys(leaf for name in wires for leaf in program.leaf_wires(name)))


def gradient_requests(
    program: Program,
    arguments: Sequence[str],
    wrt: Sequence[str] | None,
    request: GradientRequests,
) -> dict[str, str]:
    """The request for each gradient, by variable or port; raises RunError for invalid ones."""
    trained = [name for name in program.trainable if name in program.leaves]
    names = (
        trained if wrt is None else [n for name in as_names(wrt) for n in _leaves_of(program, name)]
    )
    requests: dict[str, str]
    if isinstance(request, str):
        requests = dict.fromkeys(names, request)
    elif isinstance(request, Mapping):
        given = {leaf: how for n, how in request.items() for leaf in _leaves_of(program, n)}
        requests = {name: given.get(name, "null") for name in dict.fromkeys([*names, *given])}
    elif len(request) == len(arguments):
        requests = dict(zip(arguments, request, strict=True))
    else:
        raise RunError(
            "Every argument needs one gradient request.",
            expected=f"{len(arguments)} ({', '.join(arguments)})",
            got=str(len(request)),
        )
    for name, how in requests.items():
        if name not in program.leaves or (
            program.flat.loops and PortPath.named(name) not in program.ports
        ):
            traced_ports(program, [name])
        if how not in REQUESTS:
            raise RunError(
                f"The gradient request for {name!r} is invalid.",
                expected="write, add or null",
                got=repr(how),
            )
    return requests


def _leaves_of(program: Program, name: str) -> tuple[str, ...]:
    """The leaves of the tree with this name; for an array, its canonical path."""
    port = program.flat.source(PortPath.named(name))
    return program.leaf_ports(port) if port in program.trees else (program.flat.canonical(name),)


def graph_order(program: Program, heads: Sequence[PortPath]) -> list[InstancePath]:
    """Variables and inputs that the heads depend on: depth first, inputs in port order."""
    flat = program.flat
    stack = [port.block for port in reversed(heads)] or list(reversed(flat.instances))
    seen: set[InstancePath] = set()
    found = []
    while stack:
        path = stack.pop()
        if path in seen or path not in flat.instances:
            continue
        seen.add(path)
        instance = flat.instances[path]
        if isinstance(instance.block, Source) and instance.block.kind != "constant":
            found.append(path)
        stack += reversed(flat.predecessors(instance))
    return found


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
        found = ports_of(program, ports, executor.partial)
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
        self.heads = heads = find_heads(program, wanted.losses, executor.partial)
        require_asked(program, heads)
        how = wanted.request
        arguments = () if isinstance(how, str | Mapping) else graph_order(program, heads)
        self._requests = gradient_requests(program, arguments, wanted.wrt, how)
        asked, is_rolled = wanted.contributions, bool(program.flat.loops)
        self._whole = whole if is_rolled else lambda: program
        late_wires = asked is None and not executor.partial
        late_ports = wanted.ports is None and (
            late_wires or (asked is False and not executor.partial)
        )
        seeds = frozenset(find_port(program, name) for name in seeded)
        self._later = late_ports, late_wires, seeds
        request = Request(
            heads if late_ports else ports_of(program, wanted.ports, executor.partial),
            heads,
            seeds,
            tuple(name for name, request in self._requests.items() if request != "null"),
            adjoint_ports(program, wanted.adjoints),
            () if late_wires else find_wires(program, True if asked is None else asked),
            find_wires(program, wanted.norms),
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
            ports = ports_of(self.whole, None, False) if late_ports else ()
            wires = find_wires(self.whole, late_wires)
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
