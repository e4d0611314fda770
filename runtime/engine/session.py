"""The Session: a diagram made ready to run, with the values of its variables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from threading import RLock
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blocks.errors import FeedError, Location, RunError
from runtime.diagram.model import MAIN, Diagram
from runtime.engine import lookup
from runtime.engine.by_path import by_path
from runtime.engine.execution import Executor
from runtime.engine.lowering import lower
from runtime.engine.norms import with_trees
from runtime.engine.plan.compiled import Request, Table, compile_request, with_zeros
from runtime.engine.plan.passes import select_passes
from runtime.engine.prepared import Prepared
from runtime.engine.rebind import rebind, with_values
from runtime.engine.run import Run, Shapes, accumulate
from runtime.engine.store import Store, shapes_of

if TYPE_CHECKING:
    from blocks.block import Shape
    from runtime.diagram.checks.diagnostics import Diagnostic
    from runtime.diagram.paths import InstancePath, PortPath
    from runtime.engine.flatten import Flat
    from runtime.engine.lookup import GradientRequests
    from runtime.engine.optimisers import Optimiser
    from runtime.engine.program import Program

Array = NDArray[Any]
Feeds: TypeAlias = Mapping[str, ArrayLike]
P = ParamSpec("P")
R = TypeVar("R")


def _one_at_a_time(
    method: Callable[Concatenate[Session, P], R],
) -> Callable[Concatenate[Session, P], R]:
    """Let one thread at a time into a session: plans compute in buffers that they keep."""

    @wraps(method)
    def call(session: Session, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with session._lock:
            return method(session, *args, **kwargs)

    return call


class Session:
    """A diagram made ready to run.

    Keeps the variables' values, the gradients that accumulate, and plans by the shapes fed and
    the results asked for. All names are paths: variables ``encoder/W1``, ports ``mul1.out``,
    wires by their target ``mul1.a``, leaves of trees ``mul1.out:w``. A variable that uses of a page
    share is named by any of them, and results have it once, at its path in the first.

    Deterministic: equal calls on equal sessions give equal bits. Results never alias inputs,
    buffers or each other. Threads may share a session: calls wait for each other, those of
    prepared ones included.

    With ``partial`` whatever can run does: blocks with problems, and what lies behind them, have
    no values, and ``diagnostics`` says why. Otherwise a problem on the way to what was asked for
    raises NotRunnableError.

    ``fast`` is whether large arrays may be computed by machine code, whose results differ in the
    last digits (see ``runtime.engine.plan.passes.FAST``); None is where the ``fast`` extra is
    installed, unless GRADWIRE_FAST=0. Raises RunError where it is asked for in vain.
    """

    def __init__(
        self,
        diagram: Diagram,
        *,
        partial: bool = False,
        page: str = MAIN,
        fast: bool | None = None,
    ) -> None:
        if not isinstance(diagram, Diagram):
            raise RunError(
                "A session runs a diagram.",
                got=type(diagram).__name__,
                next_step="Write Session(build(...)) of expressions, Session(load(...)) of a file.",
            )
        self.partial = partial
        self._lock = RLock()
        self._passes = select_passes(fast)
        self._page = page
        self._begin(diagram)

    def _begin(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.gradients: dict[str, Array | None] = {}
        """Gradients by variable after the last backward; requests of "add" add to them."""
        self.updated: set[str] = set()
        """Variables that an optimiser was given, over all steps."""
        program = lower(diagram, {}, self._page)
        self._programs: dict[frozenset[tuple[str, Shape]], Program] = {frozenset(): program}
        self._store = Store(program.sources())
        self._executor = Executor(self._store, self._passes, self.partial)

    @_one_at_a_time
    def update(self, diagram: Diagram) -> bool:
        """Go on with a changed diagram; returns whether only numbers (of sources and literals)
        changed, so that nothing is planned anew. What was set stays then, but for what changed;
        else the session starts again as if new.
        """
        changed = rebind(self._programs.values(), self.diagram, diagram, self._page)
        if changed is None:
            self._begin(diagram)
            return False
        self.diagram = diagram
        self._executor.problems.clear()
        self._store.renumber(self._programs[frozenset()].sources(), changed)
        return True

    @property
    @_one_at_a_time
    def program(self) -> Program:
        """The traced diagram, with the shapes of the values that are set now."""
        return self._program({})

    @property
    @_one_at_a_time
    def diagnostics(self) -> list[Diagnostic]:
        """All problems: of the document, of the trace, and of the last run."""
        return [*self.program.diagnostics, *self._executor.problems.values()]

    @property
    @_one_at_a_time
    def losses(self) -> list[PortPath]:
        """Ports that backward starts from when nothing else is said; see ``Program.heads``."""
        return self.program.heads()

    @property
    @_one_at_a_time
    def values(self) -> Mapping[str, Array]:
        """Copies of the variables' values now, trainable or not, by path."""
        program = self.program
        found = {
            path: np.array(value)
            for path in program.sources("variable")
            if path in program.leaves
            and (value := self._store.value(path, program.leaves[path])) is not None
        }
        return by_path(found, program.flat)

    @property
    def step_number(self) -> int:
        """Steps made; Random blocks draw anew for each."""
        return self._store.step_number

    @step_number.setter
    def step_number(self, number: int) -> None:
        self._store.step_number = number

    @_one_at_a_time
    def set(self, name: str, value: ArrayLike) -> None:
        """Give a variable, constant or input a value that stays; raises FeedError."""
        self._store.set(self._flat.first(name), value)

    @_one_at_a_time
    def arguments(self, heads: Sequence[str] | None = None) -> list[InstancePath]:
        """Variables and inputs that the heads read, in graph order: depth first, inputs in port
        order. Heads default to the losses, else to all blocks.
        """
        program = self.program
        names = lookup.listed(heads or ())
        starts = [lookup.find_port(program, head) for head in names] or program.heads()
        return lookup.graph_order(program, starts)

    @_one_at_a_time
    def infer_shapes(self, given: Mapping[str, Sequence[int]] | None = None) -> Shapes:
        """Shapes of all arguments and ports from those given (variables or inputs by path),
        without running. A shape that can't be told is None.
        """
        shapes = {self._flat.first(name): tuple(shape) for name, shape in (given or {}).items()}
        for name, shape in shapes.items():
            self._store.check_shape(name, shape)
        program = self._program(shapes)
        return Shapes(
            {
                path: program.leaves[path].value.shape if path in program.leaves else None
                for path in lookup.graph_order(program, program.heads())
            },
            {port: value.shape for port, value in program.ports.items()},
        )

    @_one_at_a_time
    def run(self, feeds: Feeds | None = None, ports: Collection[str] | None = None) -> Run:
        """Forward only: values of ``ports``, all by default.

        ``feeds`` are values of inputs (or any source) for this run alone, by path. Raises
        FeedError, NotRunnableError, and RunError with the block where arithmetic fails.
        """
        fed = self._fed(feeds)
        program = self._program(shapes_of(fed))
        compiled = self._executor.run(program, Request(self._ports(program, ports)), fed, {})
        return Run(
            values=by_path(compiled.values(), program.flat),
            trees=program.trees,
            wire_trees=program.wire_trees,
            problems=tuple(self._executor.problems.values()),
        )

    @_one_at_a_time
    def backward(
        self,
        losses: Sequence[str] | None = None,
        *,
        feeds: Feeds | None = None,
        out_gradients: Mapping[str, ArrayLike] | None = None,
        wrt: Sequence[str] | None = None,
        ports: Collection[str] | None = None,
        adjoints: Literal["all", "stops"] | Collection[str] = (),
        contributions: bool | Collection[str] = True,
        norms: bool | Collection[str] = False,
        unconnected: Literal["none", "zero"] = "none",
        request: GradientRequests = "write",
    ) -> Run:
        """Forward and backward over the sum of the losses.

        - ``losses``: heads, by block or port; ``self.losses`` by default. A head that is neither
          a Loss nor a scalar needs an entry in ``out_gradients`` (its shape).
        - ``wrt``: variables or ports to have gradients of; all trainable variables by default.
        - ``ports``: which values to return, all by default.
        - ``adjoints``: ports to return dL/d(port) of; "stops" for outputs of StopGradients, "all".
        - ``contributions``: whether to return what every wire brings back, or which are watched.
        - ``norms``: the same for norms alone: a pass over what is there anyway, and no memory.
        - ``unconnected``: None, or zeros, where no path connects.
        - ``request``: "write" replaces, "add" adds to ``self.gradients``, "null" computes none;
          one for all, by variable (one that is not named is "null"), or in argument order.

        Raises HeadError, FeedError, NotRunnableError, RunError.
        """
        fed = self._fed(feeds)
        program = self._program(shapes_of(fed))
        heads = lookup.find_heads(program, losses, self.partial)
        seeds = lookup.find_seeds(program, heads, out_gradients or {})
        arguments = () if isinstance(request, str | Mapping) else lookup.graph_order(program, heads)
        requests = lookup.gradient_requests(program, arguments, wrt, request)
        asked = Request(
            self._ports(program, ports),
            heads,
            frozenset(seeds),
            tuple(name for name, how in requests.items() if how != "null"),
            lookup.adjoint_ports(program, adjoints),
            lookup.wires_named(program, contributions),
            lookup.wires_named(program, norms),
        )
        compiled = self._executor.run(program, asked, fed, seeds)

        def arrived(table: Table) -> Mapping[str, Array | None]:
            arrays = compiled.read(table)
            return with_zeros(program, arrays) if unconnected == "zero" else arrays

        gradients = accumulate(self.gradients, requests, arrived("gradients"))

        return Run(
            values=by_path(compiled.values(), program.flat),
            gradients=by_path(gradients, program.flat),
            adjoints=by_path(arrived("adjoints"), program.flat),
            contributions=compiled.read("contributions"),
            losses=heads,
            measured=with_trees(program, compiled.read("norms")),
            trees=program.trees,
            wire_trees=program.wire_trees,
            problems=tuple(self._executor.problems.values()),
        )

    @_one_at_a_time
    def prepare(
        self,
        feeds: Sequence[str] = (),
        *,
        values: Sequence[str] = (),
        losses: Sequence[str] | None = None,
        wrt: Sequence[str] | None = None,
        shapes: Mapping[str, Sequence[int]] | None = None,
    ) -> Prepared:
        """A call for tight loops: ``call(*feeds)`` returns the ``values`` (ports), then the
        gradients of the losses for ``wrt`` (all trainable variables by default; () for none).

        It reads the session's variables and step number as they are at each call. ``shapes`` are
        those of inputs whose shape is open. Raises what ``backward`` does.
        """
        first = self._flat.first
        feeds = [first(name) for name in lookup.listed(feeds)]
        given = {first(name): tuple(shape) for name, shape in (shapes or {}).items()}
        for name in (*feeds, *given):
            self._store.source(name)
        program = self._program(given)
        names = program.trainable if wrt is None else lookup.listed(wrt)
        heads = lookup.find_heads(program, losses, self.partial) if names else ()
        requests = lookup.gradient_requests(program, (), names, "write")
        ports = lookup.traced_ports(program, values)
        lookup.traced_ports(program, feeds)
        asked = Request(ports, heads, wrt=tuple(requests))
        compiled = compile_request(program, asked, passes=self._passes)
        return Prepared(program, compiled, self._store, feeds, self._lock)

    @_one_at_a_time
    def step(
        self,
        optimiser: Optimiser,
        losses: Sequence[str] | None = None,
        *,
        feeds: Feeds | None = None,
        out_gradients: Mapping[str, ArrayLike] | None = None,
        wrt: Sequence[str] | None = None,
    ) -> Run:
        """One training step: backward, then the optimiser moves the variables that have a
        gradient. The run's values are those of the heads, from before the step.

        Raises RunError without an optimiser, and what ``backward`` does.
        """
        if isinstance(optimiser, type) or not hasattr(optimiser, "update"):
            raise RunError(
                "A step needs an optimiser.",
                got=optimiser.__name__ if isinstance(optimiser, type) else repr(optimiser),
                next_step="Make one, such as SGD(lr=0.1) or Adam(), and pass it to every step.",
            )
        heads = lookup.find_heads(self._program(shapes_of(self._fed(feeds))), losses, self.partial)
        run = self.backward(
            heads,
            feeds=feeds,
            out_gradients=out_gradients,
            wrt=wrt,
            ports=heads,
            contributions=False,
        )
        self.updated.update(run.gradients)
        current = {name: value for name, value in self.values.items() if name in run.gradients}
        for name, value in optimiser.update(current, run.gradients).items():
            self._store.set(name, value)
        self.step_number += 1
        return run

    @_one_at_a_time
    def diagram_with_values(self) -> Diagram:
        """The diagram with the variables' values of now in it.

        Raises RunError where independent uses of a page have trained apart: a page has one value.
        """
        return with_values(self.diagram, self.program, self._store.held, self.values)

    @property
    def _flat(self) -> Flat:
        return self._programs[frozenset()].flat

    def _ports(self, program: Program, ports: Collection[str] | None) -> tuple[PortPath, ...]:
        if ports is None:
            return lookup.all_ports(program, self.partial)
        return lookup.traced_ports(program, ports)

    def _fed(self, feeds: Feeds | None) -> dict[str, Array]:
        fed: dict[str, Array] = {}
        for name, value in (feeds or {}).items():
            path = self._flat.first(name)
            if path in fed:
                raise FeedError(
                    f"{name} is fed twice.",
                    location=Location(block=name),
                    expected="one value for a variable that uses of a page share",
                    next_step="Feed it under one of its paths.",
                )
            fed[path] = self._store.checked(path, value)
        return fed

    def _program(self, shapes: Mapping[str, Shape]) -> Program:
        """The program for these fed shapes; lowered again only where they differ from the first."""
        base = self._programs[frozenset()]
        wanted = shapes_of(self._store.held) | dict(shapes)
        told = {
            path: shape
            for path, shape in wanted.items()
            if path not in base.leaves or base.leaves[path].value.shape != shape
        }
        key = frozenset(told.items())
        if key not in self._programs:
            self._programs[key] = lower(self.diagram, wanted, self._page)
        return self._programs[key]
