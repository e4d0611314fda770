"""The Session: runs a diagram and keeps the values of its variables; and what it asks of an
optimiser. Those that there are, are in ``gradwire.runtime.training``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from functools import wraps
from operator import is_
from threading import RLock
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeGuard,
    TypeVar,
    cast,
)

import numpy as np
from numpy.typing import ArrayLike

from gradwire.blocks.arguments import explained
from gradwire.blocks.errors import GradwireError, RunError
from gradwire.runtime.diagram.model import MAIN, Diagram, Shown
from gradwire.runtime.engine.compiled import Request, compile_request
from gradwire.runtime.engine.flat import COMPILED, IN_ROWS
from gradwire.runtime.engine.lowering import lower_loops
from gradwire.runtime.engine.plan.numpy_engine import NumpyEngine
from gradwire.runtime.engine.rebind import rebind, with_values
from gradwire.runtime.engine.session import lookup
from gradwire.runtime.engine.session.engines import fitting, open_engine
from gradwire.runtime.engine.session.execution import Executor, Prepared, ValueStore, shapes_of
from gradwire.runtime.engine.session.lookup import (
    PLAIN,
    AskedGradients,
    AskedValues,
    SessionRequest,
    Wanted,
    frozen,
)
from gradwire.runtime.engine.session.programs import Programs
from gradwire.runtime.engine.session.resident import Looped, Resident
from gradwire.runtime.engine.session.run import Accumulated, InferredShapes, Run, by_path

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from gradwire.blocks.block import Shape
    from gradwire.blocks.values import Array
    from gradwire.runtime.data.rows import Phase
    from gradwire.runtime.diagram.checks.diagnostics import Diagnostic
    from gradwire.runtime.diagram.paths import InstancePath, PortPath
    from gradwire.runtime.engine.engine import Engine, LoopingEngine
    from gradwire.runtime.engine.plan.sparse_rows import SparseRows
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.engine.session.lookup import GradientRequests


class Optimiser(Protocol):
    """Anything that computes new values from values and gradients."""

    def update(
        self, values: Mapping[str, Array], gradients: Mapping[str, Array | None]
    ) -> dict[str, Array]:
        """New values of the updated variables, in their old dtypes.

        A variable whose gradient is None is not in the result: nothing updates it, not even
        weight decay.
        """


class RowOptimiser(Optimiser, Protocol):
    """An optimiser to which gradients of tables may be given as rows."""

    takes_rows: bool
    """Whether ``update_rows`` does what ``update`` does."""

    def update_rows(
        self, values: Mapping[str, Array], gradients: Mapping[str, Array | SparseRows | None]
    ) -> dict[str, Array]:
        """As ``update``. Values are left as they are, and new ones belong to the caller."""


def move(optimiser: Optimiser, program: Program, store: ValueStore, run: Run) -> None:
    """Let an optimiser update the variables of which a run has gradients.

    Copies are handed out, but to one that takes rows.
    """
    current: dict[str, Array] = {}
    wanted = set(run.gradients)
    for path in program.sources("variable"):
        if path in program.leaves and path in wanted:
            value = store.value(path, program.leaves[path])
            if value is not None:
                current[path] = value
    if _takes_rows(optimiser):
        rows = dict(run.sparse)
        found = {
            name: rows[name] if name in rows else run.gradients[name] for name in run.gradients
        }
        for name, array in optimiser.update_rows(current, found).items():
            store.adopt(name, array)
        return
    copies = {path: np.array(value) for path, value in current.items()}
    for name, new in optimiser.update(copies, run.gradients).items():
        store.set(name, new)


def _takes_rows(optimiser: Optimiser) -> TypeGuard[RowOptimiser]:
    """Whether gradients may be given as rows. An ``isinstance`` of a protocol takes as long as a
    step of a small network.
    """
    return bool(getattr(optimiser, "takes_rows", False))


class Locked(Protocol):
    """What has a lock."""

    @property
    def _lock(self) -> AbstractContextManager[object]: ...


P = ParamSpec("P")
R = TypeVar("R")
L = TypeVar("L", bound=Locked)


def locked(method: Callable[Concatenate[L, P], R]) -> Callable[Concatenate[L, P], R]:
    """Serialise calls, because plans reuse their buffers; wrong arguments are explained."""

    @wraps(method)
    def call(session: L, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with session._lock:
            return method(session, *args, **kwargs)

    return explained(call)


Feeds: TypeAlias = Mapping[str, ArrayLike]
A = TypeVar("A", bound=SessionRequest)
T = TypeVar("T")


class Session(Shown):
    """Runs a diagram.

    Keeps the values of variables, accumulated gradients, and a plan for each combination of fed
    shapes and requested results. All names are paths: variables ``encoder/W1``, ports ``mul1.out``,
    wires by their target ``mul1.a``, leaves of trees ``mul1.out:w``. A variable that several uses
    of a page share can be named in any of them; results have it once, under its first path.

    Deterministic: equal calls on equal sessions give equal bits. Results never alias anything.
    Thread-safe: calls, including prepared ones, wait for each other.

    With ``partial``, everything that can run does; blocks with problems and those that depend on
    them have no values, and ``diagnostics`` gives the reasons. Otherwise a problem that affects a
    requested result raises NotRunnableError.

    ``engine`` is "numpy", "jax", or an engine that another session has; the results are the same to
    rounding. Of NumPy, ``fast`` allows machine code for large arrays, whose results differ in the
    last digits (see ``gradwire.runtime.engine.plan.passes.FAST``). None allows it if the ``fast``
    extra is installed and GRADWIRE_FAST is not 0. Of JAX, ``device`` names where it computes:
    "cpu", "gpu", "tpu", one of them such as "gpu:1", or several such as "gpu:all", which share each
    batch. ``threads`` is the number of threads on the processor; None for as many as the process
    has. Raises RunError for an engine that is not there, or an argument that it doesn't take.
    """

    def __init__(
        self,
        diagram: Diagram,
        *,
        partial: bool = False,
        page: str = MAIN,
        engine: str | Engine = "numpy",
        fast: bool | None = None,
        device: str | None = None,
        threads: int | None = None,
    ) -> None:
        if not isinstance(diagram, Diagram):
            advice = "Write Session(build(...)) of expressions, Session(load(...)) of a file."
            got = type(diagram).__name__
            raise RunError("A session runs a diagram.", got=got, next_step=advice)
        if page != MAIN:
            lookup.require_page(diagram, page)
        self.partial = partial
        self.generation = 0
        """Incremented whenever another diagram resets the session."""
        self._lock = RLock()
        self._given = open_engine(engine, fast=fast, device=device, threads=threads)
        self._page = page
        self._reset(diagram)

    def __repr__(self) -> str:
        return f"<Session of {self.diagram!r}>"

    def _reset(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.generation += 1
        self._gradients = Accumulated({})
        self.updated: set[str] = set()
        """Variables that an optimiser has updated since the session started."""
        loops = IN_ROWS if isinstance(self._given, NumpyEngine) else COMPILED
        self._programs = Programs(diagram, self._page, None if self.partial else loops)
        self._store = ValueStore(self._programs.fed())
        self.engine, self._unfit = fitting(self._given, self._programs.first)
        """What computes; other sessions can be given it too."""
        self._executor = Executor(self._store, self.engine, self.partial, self._lock)
        self._known: dict[Hashable, Any] = {}

    @locked
    def update(self, diagram: Diagram) -> bool:
        """Replace the diagram. Returns True if only numbers of sources and literals differ: then
        plans and values that were set are kept, except for values whose source changed. Otherwise
        the session is reset.
        """
        base = self._programs.base
        changed = rebind(self._programs, self.diagram, diagram, self._page)
        if changed is None:
            self._reset(diagram)
            return False
        self.diagram = diagram
        self._programs.rebound(diagram)
        self._executor.problems.clear()
        self._store.rebind(base.fed(), changed)
        return True

    @property
    @locked
    def program(self) -> Program:
        """The traced diagram, for the shapes of the current values."""
        return self._program({})

    @property
    @locked
    def rolled(self) -> Program:
        """The program with long Scans as loops, which is ready sooner and has no ports and wires of
        their steps; ``program`` itself where there is none that can be one.
        """
        return self._program({}, rolled=True)

    @property
    @locked
    def shortest(self) -> Program:
        """``rolled``, with Scans of few steps as loops too: for who writes what is to be read."""
        shapes = {path: leaf.value.shape for path, leaf in self.rolled.leaves.items()}
        found = lower_loops(self.diagram, shapes, self._page)
        return self.program if found is None else found

    @property
    @locked
    def diagnostics(self) -> list[Diagnostic]:
        """All problems of the document, the trace, the engine and the last run."""
        return [*self.rolled.diagnostics, *self._unfit, *self._executor.problems.values()]

    @property
    @locked
    def losses(self) -> list[PortPath]:
        """Ports from which backward starts by default; see ``Program.heads``."""
        return self.rolled.heads()

    @property
    @locked
    def values(self) -> Mapping[str, Array]:
        """Copies of the current values of all variables, trainable or not, by path."""
        program = self.rolled
        found = {
            path: np.array(value)
            for path in program.sources("variable")
            if path in program.leaves
            and (value := self._store.value(path, program.leaves[path])) is not None
        }
        return by_path(found, program.flat)

    @property
    def has_own_numbers(self) -> bool:
        """Whether values were set or trained that the diagram doesn't have."""
        return bool(self._store.assigned)

    @property
    def step_number(self) -> int:
        """Number of training steps so far; Random and Dataset blocks give new numbers for each."""
        return self._store.step_number

    @step_number.setter
    def step_number(self, number: int) -> None:
        self._store.step_number = number

    @property
    def phase(self) -> Phase:
        """The rows that Dataset blocks give; prepared calls keep theirs.

        Setting it raises RunError unless it is one of ``phases``.
        """
        return self._store.phase

    @phase.setter
    def phase(self, phase: Phase) -> None:
        self._programs.require_phase(phase)
        self._store.phase = phase

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The phases that can be set: "validation" too if every Dataset keeps rows for it."""
        return self._programs.phases

    @property
    def gradients(self) -> MutableMapping[str, Array | None]:
        """Gradients by variable after the last backward; requests of "add" add to them."""
        return self._gradients

    @gradients.setter
    def gradients(self, gradients: Mapping[str, Array | None]) -> None:
        self._gradients = Accumulated(gradients)

    @locked
    def set(self, name: str, value: ArrayLike) -> None:
        """Set the value of a variable, constant or input until further notice; raises FeedError."""
        self._store.set(self._programs.canonical(name), value)

    @locked
    def arguments(self, heads: Sequence[str] | None = None) -> list[InstancePath]:
        """Variables and inputs that the heads depend on, in graph order: depth first, inputs in
        port order. Heads default to the losses or, without losses, to all blocks.
        """
        program = self.program
        names = lookup.as_names(heads or ())
        starts = [lookup.find_port(program, head) for head in names] or program.heads()
        return lookup.graph_order(program, starts)

    @locked
    def infer_shapes(self, given: Mapping[str, Sequence[int]] | None = None) -> InferredShapes:
        """Infer the shapes of all arguments and ports, without running.

        ``given`` has shapes of variables or inputs by path. A shape that can't be inferred is None.
        """
        canonical = self._programs.canonical
        shapes = {canonical(name): tuple(shape) for name, shape in (given or {}).items()}
        for name, shape in shapes.items():
            self._store.check_shape(name, shape)
        program = self._program(shapes)
        return InferredShapes(
            {
                path: program.leaves[path].value.shape if path in program.leaves else None
                for path in lookup.graph_order(program, program.heads())
            },
            {port: value.shape for port, value in program.ports.items()},
        )

    @locked
    def run(self, feeds: Feeds | None = None, ports: Collection[str] | None = None) -> Run:
        """Run forward and return the values of ``ports``, all by default.

        ``feeds`` are values of inputs, or of other sources, for this run only, by path. Raises
        FeedError, NotRunnableError, and RunError with the failing block.
        """
        fed = self._checked_feeds(feeds) if feeds else {}
        asked = self._asked(
            (frozen(ports),),
            fed,
            lambda program, executor, whole: AskedValues(program, executor, ports),
            rolled=ports is not None,
        )
        return asked.run(fed)

    @explained
    def backward(
        self,
        losses: Sequence[str] | None = None,
        *,
        feeds: Feeds | None = None,
        out_gradients: Mapping[str, ArrayLike] | None = None,
        wrt: Sequence[str] | None = None,
        ports: Collection[str] | None = None,
        adjoints: Literal["all", "stops"] | Collection[str] = (),
        contributions: bool | Collection[str] | None = None,
        norms: bool | Collection[str] = False,
        unconnected: Literal["none", "zero"] = "none",
        request: GradientRequests = "write",
        accumulate: bool = True,
    ) -> Run:
        """Run forward and backward over the sum of the losses.

        - ``losses``: heads, by block or port; ``self.losses`` by default. A head that is neither
          a Loss nor a scalar needs an output gradient of its shape in ``out_gradients``.
        - ``wrt``: variables or ports to differentiate by; all trainable variables by default.
        - ``ports``: the values to return, all by default; computed when they are first read,
          unless contributions are asked for.
        - ``adjoints``: ports whose adjoints dL/d(port) to return; "stops" means the outputs of
          StopGradient blocks.
        - ``contributions``: the wires whose contributions to return; True for all. By default all
          too, but computed when one is first read, so that gradients alone cost no more.
        - ``norms``: the wires whose norms to return; cheaper, as contributions need not be kept.
        - ``unconnected``: the gradient where no path connects, None or zeros.
        - ``request``: "write" replaces ``self.gradients``, "add" adds to them, "null" computes
          none. One request for all, by variable (the others are "null"), or in argument order.
        - ``accumulate``: whether ``self.gradients`` change at all; if not, gradients are only
          returned.

        Raises HeadError, FeedError, NotRunnableError, RunError.
        """
        names = losses, wrt, ports, adjoints, contributions, norms, unconnected, request, accumulate
        with self._lock:
            fed = self._checked_feeds(feeds) if feeds else {}
            if not out_gradients and all(map(is_, names, PLAIN)):
                asked = self._asked(None, fed, AskedGradients, rolled=True)
                return asked.run(fed, {}, self._gradients, self._store.step_number)
            wanted, seeded = Wanted(*names), out_gradients or {}
            lookup.require_choice("unconnected", unconnected, ("none", "zero"))
            asked = self._asked(
                (*map(frozen, names), tuple(seeded)),
                fed,
                lambda program, executor, whole: AskedGradients(
                    program, executor, whole, wanted, seeded
                ),
                rolled=not wanted.names_steps,
            )
            seeds = lookup.find_seeds(asked.program, asked.heads, seeded) if seeded else {}
            return asked.run(fed, seeds, self._gradients, self._store.step_number)

    def _asked(
        self,
        names: Hashable,
        fed: Mapping[str, Array],
        ask: Callable[[Program, Executor, Callable[[], Program]], A],
        rolled: bool,
    ) -> A:
        """The request with these names: as it was made before, unless the program is another.

        It is asked with what gives the program with all steps.
        """
        shapes = tuple([(path, array.shape) for path, array in fed.items()]) if fed else ()
        store = self._store
        key, version = (names, shapes, store.phase), store.version
        before: tuple[Program, A] | None = self._known.get(key)
        if before is not None and before[1].version == version:
            return before[1]
        program = self._program(dict(shapes), rolled)
        if before is None or before[0] is not program:
            # Late results are of this diagram and these shapes, whatever the session has by then.
            programs, phase, executor = self._programs, store.phase, self._executor
            required = shapes_of(store.assigned) | dict(shapes)

            def whole() -> Program:
                return programs.of_shapes(required, phase)

            made = self._in_steps(dict(shapes), program, lambda found: ask(found, executor, whole))
            before = self._known[key] = program, made
        asked = before[1]
        asked.version = version
        return asked

    def _in_steps(
        self, shapes: Mapping[str, Shape], program: Program, ask: Callable[[Program], T]
    ) -> T:
        """What is asked of a program; where it has loops and lacks something, of that with all
        steps.
        """
        if program.flat.loops:
            with suppress(GradwireError):  # asked again, and reported if it is one
                return ask(program)
            program = self._program(shapes)
        return ask(program)

    @locked
    def prepare(
        self,
        feeds: Sequence[str] = (),
        *,
        values: Sequence[str] = (),
        losses: Sequence[str] | None = None,
        wrt: Sequence[str] | None = None,
        shapes: Mapping[str, Sequence[int]] | None = None,
        sparse: bool = False,
    ) -> Prepared:
        """Prepare a call for tight loops: ``call(*feeds)`` returns the ``values`` (ports), then the
        gradients of the losses by ``wrt`` (all trainable variables by default; () for none).

        Each call uses the current values of the session's variables and its step number.
        ``shapes`` determine inputs of open shape. With ``sparse`` gradients that ``Run.sparse``
        would have are ``SparseRows``. Raises what ``backward`` does.
        """
        canonical = self._programs.canonical
        feeds = [canonical(name) for name in lookup.as_names(feeds)]
        given = {canonical(name): tuple(shape) for name, shape in (shapes or {}).items()}
        for name in (*feeds, *given):
            self._store.source(name)
        names = list(wrt) if wrt is not None and not isinstance(wrt, str) else wrt

        def prepared(program: Program) -> Prepared:
            trained = program.trainable if names is None else lookup.as_names(names)
            heads = lookup.find_heads(program, losses, self.partial) if trained else ()
            requests = lookup.gradient_requests(program, (), trained, "write")
            ports = lookup.traced_ports(program, values)
            lookup.traced_ports(program, feeds)
            request = Request(ports, heads, wrt=tuple(requests), sparse=sparse)
            compiled = compile_request(program, request, self.engine)
            return Prepared(program, compiled, self._store, feeds, self._lock)

        return self._in_steps(given, self._program(given, rolled=True), prepared)

    @locked
    def resident(self, program: Program | None = None) -> Resident:
        """Plans for training, which read variables where they are updated, without copies; of
        ``program``, which is the session's by default, or ``rolled``.
        """
        engine = self.engine if isinstance(self.engine, NumpyEngine) else NumpyEngine()
        return Resident(program or self.program, self._store, engine, self._lock)

    @locked
    def looped(self, program: Program | None = None) -> Looped:
        """Loops for training: the engine keeps the variables. See ``resident``."""
        engine = cast("LoopingEngine", self.engine)  # or it updates in place
        return Looped(program or self.program, self._store, engine, self._lock)

    @locked
    def step(
        self,
        optimiser: Optimiser,
        losses: Sequence[str] | None = None,
        *,
        feeds: Feeds | None = None,
        out_gradients: Mapping[str, ArrayLike] | None = None,
        wrt: Sequence[str] | None = None,
    ) -> Run:
        """Make one training step: run backward, then let the optimiser update the variables that
        have a gradient. The returned run has the values of the heads before the update.

        Raises RunError if ``optimiser`` is not one, and what ``backward`` does.
        """
        lookup.require_optimiser(optimiser)
        shapes = shapes_of(self._checked_feeds(feeds))
        program = self._program(shapes, rolled=True)
        heads = self._in_steps(
            shapes, program, lambda found: lookup.find_heads(found, losses, self.partial)
        )
        run = self.backward(
            heads, feeds=feeds, out_gradients=out_gradients, wrt=wrt, ports=heads,
            contributions=False,
        )  # fmt: skip
        self.updated.update(run.gradients)
        move(optimiser, program, self._store, run)
        self.step_number += 1
        return run

    @locked
    def diagram_with_values(self) -> Diagram:
        """The diagram with current values; independent uses that differ get pages of their own."""
        return with_values(self.diagram, self.rolled, self._store.assigned, self.values)

    def _checked_feeds(self, feeds: Feeds | None) -> dict[str, Array]:
        """The feeds as arrays, by canonical path."""
        return self._store.convert_all(feeds or {}, self._programs.canonical)

    def _program(self, shapes: Mapping[str, Shape], rolled: bool = False) -> Program:
        """The program for these shapes of feeds, lowered again only if shapes differ."""
        return self._programs.of_store(self._store, shapes, rolled)


def on_numpy(session: Session) -> Session:
    """The session if it is on NumPy, or else a copy that is, with all that was set and trained.

    What does not depend on a change has the same bits there before and after it. An engine that
    compiles whole programs may round it in another way in each, and takes long to compile them.
    """
    if isinstance(session.engine, NumpyEngine):
        return session
    with session._lock:
        copy = Session(session.diagram, partial=session.partial, page=session._page)
        for path, array in session._store.assigned.items():
            copy.set(path, array)
        copy.step_number, copy.phase = session.step_number, session.phase
        copy.updated |= session.updated
        return copy
