"""The Session: a diagram made ready to run, with the values of its variables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blocks.block import Shape, Source
from blocks.errors import FeedError, HeadError, Location, NotRunnableError, RunError
from blocks.library.gradient import StopGradient
from blocks.library.sources import Variable, fitted
from blocks.values import Tensor
from runtime.calculus import Value
from runtime.diagram.diagnostics import Diagnostic
from runtime.diagram.model import MAIN, Diagram
from runtime.engine.compiled import Compiled, Request, compile_request, port_name
from runtime.engine.flatten import block_of
from runtime.engine.lower import lower
from runtime.engine.optimisers import Optimiser
from runtime.engine.program import Program
from runtime.engine.run import Run, Shapes

Array = NDArray[Any]
Feeds: TypeAlias = Mapping[str, ArrayLike]
GradientRequest: TypeAlias = Literal["write", "add", "null"]
Unconnected: TypeAlias = Literal["none", "zero"]


class Session:
    """A diagram made ready to run.

    Keeps the variables' values, the gradients that accumulate, and plans by the shapes fed and
    the results asked for. All names are paths: variables ``encoder/W1``, ports ``mul1.out``,
    wires by their target ``mul1.a``. Deterministic: equal calls on equal sessions give equal
    bits. Results never alias inputs, buffers or each other. For one thread at a time.

    With ``partial`` whatever can run does: blocks with problems, and what lies behind them, have
    no values, and ``diagnostics`` says why. Otherwise a problem on the way to what was asked for
    raises NotRunnableError.
    """

    def __init__(self, diagram: Diagram, *, partial: bool = False, page: str = MAIN) -> None:
        self.diagram = diagram
        self.partial = partial
        self.gradients: dict[str, Array | None] = {}
        """Gradients by variable after the last backward; requests of "add" add to them."""
        self.step_number = 0
        """Steps made; Random blocks draw anew for each."""
        self._page = page
        self._set: dict[str, Array] = {}
        self._initial: dict[tuple[str, Shape], Array | None] = {}
        self._programs: dict[frozenset[tuple[str, Shape]], Program] = {}
        self._compiled: dict[tuple[int, Request, frozenset[Value]], Compiled] = {}
        self._run_problems: dict[str, Diagnostic] = {}

    @property
    def program(self) -> Program:
        """The traced diagram, with the shapes of the values that are set now."""
        return self._program({})

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """All problems: of the document, of the trace, and of the last run."""
        return [*self.program.diagnostics, *self._run_problems.values()]

    @property
    def losses(self) -> list[str]:
        """Ports that backward starts from when nothing else is said; see ``Program.heads``."""
        return self.program.heads()

    @property
    def values(self) -> dict[str, Array]:
        """Copies of the variables' values now, trainable or not, by path."""
        program = self.program
        return {
            path: np.array(value)
            for path in program.sources("variable")
            if path in program.leaves and (value := self._value(program, path)) is not None
        }

    def set(self, name: str, value: ArrayLike) -> None:
        """Give a variable, constant or input a value that stays; raises FeedError."""
        self._set[name] = self._checked(name, value)

    def arguments(self, heads: Sequence[str] | None = None) -> list[str]:
        """Variables and inputs that the heads read, in graph order: depth first, inputs in port
        order. Heads default to the losses, else to all ports that nothing reads."""
        flat = self.program.flat
        starts = [self._port(head) for head in heads] if heads else self.losses
        stack = [block_of(port) for port in reversed(starts)] or list(reversed(flat.instances))
        seen: set[str] = set()
        found = []
        while stack:
            path = stack.pop()
            if path in seen or path not in flat.instances:
                continue
            seen.add(path)
            instance = flat.instances[path]
            if isinstance(instance.block, Source) and instance.block.kind != "constant":
                found.append(path)
            sources = [flat.source(port) for _, port in instance.wires.values()]
            stack += [block_of(port) for port in reversed(sources)]
        return found

    def infer_shapes(self, given: Mapping[str, Sequence[int]] | None = None) -> Shapes:
        """Shapes of all arguments and ports from those given (variables or inputs by path),
        without running. A shape that can't be told is None."""
        shapes = {name: tuple(shape) for name, shape in (given or {}).items()}
        for name, shape in shapes.items():
            self._check_shape(name, shape)
        program = self._program(shapes)
        return Shapes(
            {
                path: program.leaves[path].value.shape if path in program.leaves else None
                for path in self.arguments()
            },
            {port: value.shape for port, value in program.ports.items()},
        )

    def run(self, feeds: Feeds | None = None, ports: Collection[str] | None = None) -> Run:
        """Forward only: values of ``ports``, all by default.

        ``feeds`` are values of inputs (or any source) for this run alone, by path. Raises
        FeedError, NotRunnableError, and RunError with the block where arithmetic fails.
        """
        fed = self._feeds(feeds)
        program = self._program({name: value.shape for name, value in fed.items()})
        names = self._ports(program, ports)
        compiled = self._execute(program, Request(names), fed, {})
        return Run(values={p: compiled.plan.read(v) for p, v in compiled.values.items()})

    def backward(
        self,
        losses: Sequence[str] | None = None,
        *,
        feeds: Feeds | None = None,
        out_gradients: Mapping[str, ArrayLike] | None = None,
        wrt: Sequence[str] | None = None,
        ports: Collection[str] | None = None,
        adjoints: Literal["all", "stops"] | Sequence[str] = (),
        contributions: bool = True,
        unconnected: Unconnected = "none",
        request: GradientRequest | Mapping[str, GradientRequest] | Sequence[str] = "write",
    ) -> Run:
        """Forward and backward over the sum of the losses.

        - ``losses``: heads, by block or port; ``self.losses`` by default. A head that is neither
          a Loss nor a scalar needs an entry in ``out_gradients`` (its shape).
        - ``wrt``: variables or ports to have gradients of; all trainable variables by default.
        - ``ports``: which values to return, all by default.
        - ``adjoints``: ports to return dL/d(port) of; "stops" for outputs of StopGradients, "all".
        - ``contributions``: whether to return what every wire brings back.
        - ``unconnected``: None, or zeros, where no path connects.
        - ``request``: "write" replaces, "add" adds to ``self.gradients``, "null" computes none;
          one for all, by variable (one that is not named is "null"), or in argument order.

        Raises HeadError, FeedError, NotRunnableError, RunError.
        """
        fed = self._feeds(feeds)
        program = self._program({name: value.shape for name, value in fed.items()})
        requests = self._requests(program, wrt, request)
        heads = self._heads(program, losses)
        seeds = self._seeds(program, heads, out_gradients or {})
        asked = Request(
            self._ports(program, ports),
            heads,
            frozenset(seeds),
            tuple(name for name, how in requests.items() if how != "null"),
            self._adjoint_ports(program, adjoints),
            contributions,
        )
        compiled = self._execute(program, asked, fed, seeds)

        def read(results: Mapping[str, Value | None], zero: bool) -> dict[str, Array | None]:
            found = {k: None if v is None else compiled.plan.read(v) for k, v in results.items()}
            if zero:
                for name, array in found.items():
                    if array is None:
                        value = program.ports[port_name(program, name)]
                        found[name] = np.zeros(value.shape, value.dtype)
            return found

        zero = unconnected == "zero"
        fresh = read(compiled.gradients, zero)
        return Run(
            values={p: compiled.plan.read(v) for p, v in compiled.values.items()},
            gradients=self._accumulate(requests, fresh),
            adjoints=read(compiled.adjoints, zero),
            contributions=read(compiled.contributions, False),
            losses=heads,
        )

    def step(
        self,
        optimiser: Optimiser,
        losses: Sequence[str] | None = None,
        *,
        feeds: Feeds | None = None,
        wrt: Sequence[str] | None = None,
    ) -> Run:
        """One training step: backward, then the optimiser moves the variables that have a
        gradient. The run's values are those of the heads, from before the step."""
        heads = self._heads(self._program(_shapes(self._feeds(feeds))), losses)
        run = self.backward(heads, feeds=feeds, wrt=wrt, ports=heads, contributions=False)
        current = {name: value for name, value in self.values.items() if name in run.gradients}
        self._set |= optimiser.update(current, run.gradients)
        self.step_number += 1
        return run

    def diagram_with_values(self) -> Diagram:
        """The diagram with the variables' values of now in it.

        Raises RunError where two uses of one page have trained apart: a page has one value.
        """
        chosen: dict[tuple[str, str], tuple[str, Array]] = {}
        for path, value in self._set.items():
            instance = self.program.instances[path]
            if not isinstance(instance.block, Variable):
                continue
            other = chosen.setdefault((instance.page, instance.name), (path, value))
            if not np.array_equal(other[1], value, equal_nan=True):
                raise RunError(
                    f"{other[0]} and {path} are one variable of page {instance.page!r} "
                    "and have different values.",
                    next_step="Make a copy of the page for one of them.",
                )
        diagram = self.diagram
        for (page, name), (_, value) in chosen.items():
            content = diagram.pages[page]
            block = content.blocks[name].with_parameters(value=Tensor(value))
            blocks = {**content.blocks, name: block}
            diagram = diagram.with_page(page, replace(content, blocks=blocks))
        return diagram

    # ---- what was asked for -------------------------------------------------------------------

    def _port(self, name: str) -> str:
        """A port by its name, or by its block's when that has one output."""
        program = self.program
        name = program.flat.source(name)
        if name in program.ports:
            return name
        if name in program.instances:
            outputs = program.instances[name].block.outputs
            if len(outputs) == 1:
                return f"{name}.{outputs[0]}"
        if block_of(name) in program.instances:
            instance = program.instances[block_of(name)]
            if name in {instance.port(output) for output in instance.block.outputs}:
                return name
        known = [*program.instances, *program.ports]
        near = get_close_matches(name, known, n=3)
        raise RunError(
            f"There is no block or output {name!r}.",
            next_step=f"Did you mean {', '.join(near)}?" if near else None,
        )

    def _require(self, program: Program, ports: Iterable[str]) -> tuple[str, ...]:
        """The ports, all of which must have been traced; raises NotRunnableError."""
        names = tuple(self._port(port) for port in ports)
        for port in names:
            path = block_of(port)
            if port in program.ports:
                continue
            culprit = program.blocked.get(path, path)
            reasons = [d for d in program.diagnostics if d.severity == "error"]
            mine = [d for d in reasons if d.location.block in (culprit, culprit.split("/")[-1])]
            raise NotRunnableError(
                "; ".join(str(d) for d in (mine or reasons)) or f"{culprit} can't run.",
                location=Location(block=path) if path != culprit else None,
            )
        return names

    def _ports(self, program: Program, ports: Collection[str] | None) -> tuple[str, ...]:
        if ports is not None:
            return self._require(program, ports)
        if not self.partial:
            all_outputs = [
                instance.port(output)
                for instance in program.instances.values()
                for output in instance.block.outputs
            ]
            self._require(program, all_outputs)
        return tuple(program.ports)

    def _heads(self, program: Program, losses: Sequence[str] | None) -> tuple[str, ...]:
        if losses is not None:
            return self._require(program, losses)
        heads = tuple(program.heads())
        if not heads and not self.partial:
            if program.failed or program.blocked:
                self._ports(program, None)
            raise HeadError(
                "The diagram has no loss: no Loss block, and no scalar that nothing reads.",
                next_step="Add a Loss block, or say which output to differentiate.",
            )
        return heads

    def _seeds(
        self, program: Program, heads: tuple[str, ...], given: Mapping[str, ArrayLike]
    ) -> dict[str, Array]:
        seeds = {}
        for name, seed in given.items():
            port = self._port(name)
            if port not in heads:
                raise HeadError(
                    f"{name!r} has an output gradient but is no head of this run.",
                    expected=f"one of {', '.join(heads)}",
                )
            value = program.ports[port]
            array = np.asarray(seed)
            if array.shape != value.shape:
                raise HeadError(
                    "The output gradient has the wrong shape.",
                    location=Location(block=block_of(port), port=port.partition(".")[2]),
                    expected=str(list(value.shape)),
                    got=str(list(array.shape)),
                )
            seeds[port] = array
        return seeds

    def _adjoint_ports(self, program: Program, wanted: str | Sequence[str]) -> tuple[str, ...]:
        if wanted == "all":
            return tuple(program.ports)
        if wanted == "stops":
            return tuple(
                port
                for port in program.ports
                if isinstance(program.block(block_of(port)), StopGradient)
            )
        return self._require(program, wanted)

    def _requests(
        self,
        program: Program,
        wrt: Sequence[str] | None,
        request: GradientRequest | Mapping[str, GradientRequest] | Sequence[str],
    ) -> dict[str, str]:
        names = [n for n in program.trainable if n in program.leaves] if wrt is None else list(wrt)
        for name in names:
            if name not in program.leaves:
                self._require(program, [name])
        if isinstance(request, str):
            requests = dict.fromkeys(names, request)
        elif isinstance(request, Mapping):
            for name in request:
                if name not in program.leaves:
                    self._require(program, [name])
            wanted = {*names, *request}
            order = [*names, *(name for name in request if name not in names)]
            requests = {n: str(request.get(n, "null")) for n in order if n in wanted}
        else:
            arguments = self.arguments()
            if len(request) != len(arguments):
                raise RunError(
                    "One gradient request for each argument is needed.",
                    expected=f"{len(arguments)} ({', '.join(arguments)})",
                    got=str(len(request)),
                )
            requests = dict(zip(arguments, request, strict=True))
        for name, how in requests.items():
            if how not in ("write", "add", "null"):
                raise RunError(
                    f"The gradient request for {name!r} is wrong.",
                    expected="write, add or null",
                    got=repr(how),
                )
        return requests

    def _accumulate(
        self, requests: Mapping[str, str], fresh: Mapping[str, Array | None]
    ) -> dict[str, Array | None]:
        result: dict[str, Array | None] = {}
        for name, how in requests.items():
            gradient = fresh.get(name)
            if how == "add":
                held = self.gradients.get(name)
                if held is not None:
                    gradient = np.array(held) if gradient is None else held + gradient
            result[name] = gradient
            if how != "null":
                self.gradients[name] = None if gradient is None else np.array(gradient)
        return result

    # ---- values -------------------------------------------------------------------------------

    def _source(self, name: str) -> Source:
        for path, block in self._sources().items():
            if path == name:
                return block
        near = get_close_matches(name, self._sources(), n=3)
        raise FeedError(
            f"There is no variable, constant or input {name!r}.",
            expected="one of " + ", ".join(self._sources()) if self._sources() else None,
            next_step=f"Did you mean {', '.join(near)}?" if near else None,
        )

    def _sources(self) -> dict[str, Source]:
        return self.program.sources("variable", "constant", "input")

    def _check_shape(self, name: str, shape: Shape) -> None:
        wanted = self._source(name).open_shape
        fits = wanted is None or (
            len(wanted) == len(shape)
            and all(n in (None, m) for n, m in zip(wanted, shape, strict=True))
        )
        if not fits and wanted is not None:
            raise FeedError(
                "The value has the wrong shape.",
                location=Location(block=name),
                expected=str(["any" if n is None else n for n in wanted]),
                got=str(list(shape)),
            )

    def _checked(self, name: str, value: ArrayLike) -> Array:
        source = self._source(name)
        try:
            array = fitted(Tensor(value), source.leaf_dtype).array
        except (ValueError, TypeError) as error:
            raise FeedError(
                f"The value can't be used: {error}.",
                location=Location(block=name),
                expected=f"numbers of {source.leaf_dtype}",
            ) from error
        self._check_shape(name, array.shape)
        return array

    def _feeds(self, feeds: Feeds | None) -> dict[str, Array]:
        return {name: self._checked(name, value) for name, value in (feeds or {}).items()}

    def _value(self, program: Program, path: str) -> Array | None:
        """What a source is bound to without a feed; drawn or copied once per shape."""
        if path in self._set:
            return self._set[path]
        leaf = program.leaves[path]
        key = path, leaf.value.shape
        if key not in self._initial:
            if isinstance(leaf.source, Source):
                self._initial[key] = leaf.source.data(leaf.value.shape, path)
            else:
                self._initial[key] = leaf.source.array
        return self._initial[key]

    # ---- running ------------------------------------------------------------------------------

    def _program(self, shapes: Mapping[str, Shape]) -> Program:
        """The program for these fed shapes; lowered again only where they differ from the last."""
        wanted = _shapes(self._set) | dict(shapes)
        base = self._programs.get(frozenset())
        if base is None:
            base = self._programs[frozenset()] = lower(self.diagram, {}, self._page)
        told = {
            path: shape
            for path, shape in wanted.items()
            if path not in base.leaves or base.leaves[path].value.shape != shape
        }
        key = frozenset(told.items())
        if key not in self._programs:
            self._programs[key] = lower(self.diagram, wanted, self._page)
        return self._programs[key]

    def _execute(
        self,
        program: Program,
        request: Request,
        fed: Mapping[str, Array],
        seeds: Mapping[str, Array],
    ) -> Compiled:
        """Compile or reuse, bind the leaves, and run; a partial session leaves out what fails."""
        self._run_problems.clear()
        without: frozenset[Value] = frozenset()
        while True:
            compiled = self._compile(program, request, without)
            unfed = self._bind(program, compiled, fed)
            if not unfed:
                for head, value in compiled.seeds.items():
                    if value in compiled.plan.leaves:
                        np.copyto(compiled.plan.leaves[value], seeds[head], casting="unsafe")
                try:
                    compiled.plan.run()
                    return compiled
                except RunError as error:
                    if not self.partial or error.location is None:
                        raise
                    path = error.location.block or ""
                    self._problem(path, Diagnostic.from_error(error, "run-failed"))
                    unfed = [v for v in program.trace.values if v.owner == path]
            without |= frozenset(unfed)

    def _compile(
        self, program: Program, request: Request, without: frozenset[Value]
    ) -> Compiled:
        key = id(program), request, without
        if key not in self._compiled:
            self._compiled[key] = compile_request(program, request, without)
        return self._compiled[key]

    def _bind(
        self, program: Program, compiled: Compiled, fed: Mapping[str, Array]
    ) -> list[Value]:
        """Fill the plan's leaves; returns those of inputs that have no value."""
        leaves = compiled.plan.leaves
        unfed = []
        for path, leaf in program.leaves.items():
            if leaf.value not in leaves:
                continue
            array = fed[path] if path in fed else self._value(program, path)
            if array is not None:
                np.copyto(leaves[leaf.value], array, casting="unsafe")
                continue
            problem = FeedError(
                "This input has no value and was not fed.",
                location=Location(program.instances[path].page, path),
                expected=f"an array of {leaf.value.dtype}, shape {list(leaf.value.shape)}",
                next_step="Feed it, or give the block a value.",
            )
            if not self.partial:
                raise problem
            self._problem(path, Diagnostic.from_error(problem, "not-fed"))
            unfed.append(leaf.value)
        step = program.trace.step
        if step is not None and step in leaves:
            leaves[step][...] = self.step_number
        return unfed

    def _problem(self, path: str, diagnostic: Diagnostic) -> None:
        self._run_problems[path] = diagnostic


def _shapes(arrays: Mapping[str, Array]) -> dict[str, Shape]:
    return {name: array.shape for name, array in arrays.items()}


