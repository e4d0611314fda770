"""Lowers a diagram to a program. Problems become diagnostics; everything else is still traced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from gradwire.blocks.block import Opaque, Shape, Source
from gradwire.blocks.errors import GradwireError, LimitError, Location, ShapeError, reason_of
from gradwire.blocks.importing.kinds import is_dataset, is_kind, is_view
from gradwire.blocks.library.pages import Scan
from gradwire.blocks.limits import MAX_VALUES
from gradwire.blocks.paths import path_text
from gradwire.blocks.trees import Tree
from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.bodies import BodyTrace, ClosedBody
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.data.opening import open_rows
from gradwire.runtime.diagram.checks.checks import check
from gradwire.runtime.diagram.checks.diagnostics import Diagnostic
from gradwire.runtime.diagram.model import MAIN, Diagram
from gradwire.runtime.diagram.plain import blocks_of
from gradwire.runtime.engine.flat import COMPILED, Instance, Loops, topological_order
from gradwire.runtime.engine.flatten import flatten
from gradwire.runtime.engine.infer import infer_shapes, own_forward, results_of
from gradwire.runtime.engine.interruption import until_cancelled
from gradwire.runtime.engine.program import Leaf, Program
from gradwire.runtime.gc_pause import uncollected

if TYPE_CHECKING:
    from gradwire.blocks.library.data import Dataset
    from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
    from gradwire.runtime.engine.infer import Forward

    _Kind: TypeAlias = tuple[Shape, str]
    """The shape and dtype of an array."""

LARGE = 1 << 21
"""Elements of what all steps compute from which they do not fit into the caches."""


@uncollected()
def lower(diagram: Diagram, shapes: Mapping[str, Shape] | None = None, page: str = MAIN) -> Program:
    """Trace every block of ``page`` that can be traced; never raises because of the diagram.

    ``shapes`` are the shapes of fed inputs and bound variables, by block path.
    """
    flat = flatten(diagram, page)
    problems = list(check(diagram))
    program = Program(Trace(), flat, diagnostics=problems, checked=len(problems))
    instances, looped = topological_order(flat)
    for path in looped:
        program.blocked[path] = path
    _Lowering(program, infer_shapes(flat, instances, shapes or {})).run(instances)
    program.forward_end = len(program.trace.values)
    return program


@uncollected()
def lower_loops(
    diagram: Diagram,
    shapes: Mapping[str, Shape] | None = None,
    page: str = MAIN,
    loops: Loops = COMPILED,
) -> Program | None:
    """The program with long Scans as loops, without the ports and wires of their steps.

    None where no Scan is long, where there is a problem, and where a step does not stand for all.
    """
    if not any(blocks_of(each, Scan) for each in diagram.pages.values()):
        return None
    problems = list(check(diagram))
    for peeled in (False, True):
        flat = flatten(diagram, page, loops.long, peeled)
        instances, looped = topological_order(flat)
        if looped or not flat.loops:
            return None
        program = Program(Trace(), flat, diagnostics=[*problems], checked=len(problems))
        lowering = _LoopLowering(program, infer_shapes(flat, instances, shapes or {}))
        try:
            lowering.run(instances)
        except _FirstDiffersError:
            continue
        except _NoLoopError:
            return None
        return program if lowering.is_worthwhile(loops.many) else None
    return None


@uncollected()
def retrace(program: Program, forward: Forward) -> Program:
    """The same diagram and shapes, traced with another meaning of its blocks.

    ``trace.owner`` is the path of the block while ``forward`` is called.
    """
    again = Program(Trace(), program.flat)
    instances, looped = topological_order(program.flat)
    again.blocked.update({path: path for path in looped})
    shapes = {path: leaf.value.shape for path, leaf in program.leaves.items()}
    _Lowering(again, shapes, forward).run(instances)
    again.forward_end = len(again.trace.values)
    return again


class _Lowering:
    """Traces one instance after another into a program."""

    def __init__(
        self, program: Program, shapes: Mapping[str, Shape], forward: Forward = own_forward
    ) -> None:
        self.program = program
        self.shapes = shapes
        self._nodes = 0
        self._full: InstancePath | None = None
        self._open: dict[InstancePath, ShapeError] = {}
        """Sources whose shape nothing determines, and the error that says so."""
        self.forward = forward

    def run(self, instances: list[Instance]) -> None:
        trace = self.program.trace
        for instance in until_cancelled(instances):
            trace.owner = instance.path
            if self._full is None:
                self._wire_up(instance)
            culprit = self._full or self._culprit(instance)
            if culprit is not None:
                self.program.blocked[instance.path] = culprit
                continue
            try:
                if instance.outputs or not is_view(instance.block):
                    self._require_room(instance)
                self._trace(instance)
            except GradwireError as error:
                if isinstance(instance.block, Source) and isinstance(error, ShapeError):
                    self._open[instance.path] = error
                else:
                    self._fail(instance, error, "trace")
            except Exception as error:  # a plug-in's forward may fail in any way
                wrapped = GradwireError(
                    f"{type(instance.block).__name__}.forward failed: {reason_of(error)}."
                )
                self._fail(instance, wrapped, "forward-failed")
        trace.owner = None
        if self._open:
            self._settle_open(instances)
        for remark in trace.remarks:
            place = self._location(remark.owner)
            self.program.diagnostics.append(
                Diagnostic(
                    "warning", place, remark.text, next_step=remark.next_step, code=remark.code
                )
            )

    def _settle_open(self, instances: list[Instance]) -> None:
        """Report open shapes, except those that a block with a problem would have determined."""
        program = self.program
        readers: dict[InstancePath, list[Instance]] = {}
        for instance in instances:
            for _, port in instance.wires.values():
                readers.setdefault(program.flat.source(port).block, []).append(instance)
        causes: dict[InstancePath, InstancePath] = {}
        for path, error in self._open.items():
            cause = self._cause(path, readers)
            if cause is None:
                self._fail(program.flat.instances[path], error, "trace")
            else:
                causes[path] = cause
        for path, culprit in program.blocked.items():
            program.blocked[path] = causes.get(culprit, culprit)
        program.blocked |= causes

    def _cause(
        self, path: InstancePath, readers: Mapping[InstancePath, list[Instance]]
    ) -> InstancePath | None:
        """The block with a problem whose outputs meet those of an open source, or None."""
        blocked = self.program.blocked
        waiting, seen = [path], {path}
        while waiting:
            for reader in readers.get(waiting.pop(), ()):
                for _, port in reader.wires.values():
                    before = self.program.flat.source(port).block
                    root = blocked.get(before, before)
                    is_problem = root in self.program.failed or blocked.get(root) == root
                    if is_problem and root not in self._open:
                        return root
                if reader.path not in seen:
                    seen.add(reader.path)
                    waiting.append(reader.path)
        return None

    def _require_room(self, instance: Instance) -> None:
        """Raise LimitError once there are too many values; then nothing further is traced."""
        count = len(self.program.trace.values) + self._nodes
        if count > MAX_VALUES:
            self._full = instance.path
            raise LimitError(
                "The diagram computes too many values, with the leaves of its trees.",
                expected=f"at most {MAX_VALUES:,}",
                got=f"{count:,} before this block",
                next_step="Use fewer blocks, or smaller trees.",
            )

    def _location(self, path: InstancePath) -> Location:
        return Location(self.program.flat.instances[path].page, path)

    def _fail(self, instance: Instance, error: GradwireError, code: str) -> None:
        error.at(self._location(instance.path))
        if instance.block.plugin and error.next_step is None:
            error.next_step = f"The block is from {instance.block.plugin}."
        if is_view(instance.block):  # whatever it can't show, the rest is sound
            found = Diagnostic.from_error(error, "not-shown")
            self.program.diagnostics.append(replace(found, severity="warning"))
            return
        self.program.failed[instance.path] = error.what
        code = "too-large" if isinstance(error, LimitError) else code
        self.program.diagnostics.append(Diagnostic.from_error(error, code))

    def _wire_up(self, instance: Instance) -> None:
        """Trace a marker for every wire whose source has a value."""
        program = self.program
        for key, port in instance.wires.values():
            source = program.flat.source(port) if program.flat.aliases else port
            program.wire_sources[key] = source
            program.wire_targets[key] = instance.path
            if source in program.trees and key not in program.wire_trees:
                self._wire_tree(instance, key, source)
            elif source in program.ports and key not in program.wires:
                self._mark(key, source)

    def _wire_tree(self, instance: Instance, key: WirePath, source: PortPath) -> None:
        """Record a separate wire for every array of the tree."""
        program = self.program
        tree = program.trees[source]
        self._nodes += _cost(tree)
        wires = program.wire_trees[key] = tree.map(lambda path, _: key.leaf_at(path))
        for path, port in tree.arrays.items():
            wire = wires.arrays[path]
            program.wire_sources[wire] = port
            program.wire_targets[wire] = instance.path
            self._mark(wire, port)

    def _mark(self, wire: WirePath, source: PortPath) -> None:
        self.program.wires[wire] = self.program.trace.xp.wire(self.program.ports[source])

    def _culprit(self, instance: Instance) -> InstancePath | None:
        """The block whose problem prevents this one from being traced, or None."""
        if not instance.outputs and isinstance(instance.block, Opaque):
            return instance.path
        for port in instance.inputs:
            if port in instance.wires:
                key, source = instance.wires[port]
                if key not in self.program.wires and key not in self.program.wire_trees:
                    before = self.program.flat.source(source).block
                    return self.program.blocked.get(before, before)
            elif port not in instance.block.literals:
                declared = instance.block.port(port)
                if declared is None or declared.required:
                    return instance.path
        return None

    def _trace(self, instance: Instance) -> None:
        block, program = instance.block, self.program
        if is_dataset(block):
            self._trace_data(instance, block)
            return
        if not instance.inputs and isinstance(block, Source):
            leaf = program.trace.xp.leaf(block, self.shapes.get(instance.path))
            program.leaves[instance.path] = Leaf(leaf, block)
            program.ports[instance.port("out")] = leaf
            return
        arguments = [self._argument(instance, port) for port in instance.inputs]
        results = self._results(instance, arguments)
        outputs = instance.outputs or [instance.port(name) for name in block.output_names()]
        for port, result in zip(outputs, results, strict=True):
            if instance.like is not None:
                self._require_like(instance, result, instance.like)
            self._record(port, result)

    def _results(self, instance: Instance, arguments: list[Any]) -> list[Any]:
        xp = self.program.trace.xp
        return results_of(instance.block, xp, instance.inputs, arguments, self.forward)

    def _require_like(self, instance: Instance, result: Any, before: InstancePath) -> None:
        """Raise ShapeError unless a carried value has the shape and dtype of the step before.

        At first only the shape counts, and that of a scalar may be any.
        """
        port = before.port("out")
        leaves = {p.leaf: self.program.ports[p] for p in self.program.leaf_ports(port)}
        now, was = _kinds(_by_leaf(result)), _kinds(leaves)
        at_first = self.program.flat.instances[before].like is None
        if now == was or (at_first and _begins(was, now)):
            return
        raise ShapeError(
            f"What is carried to {instance.name!r} does not keep its shape and dtype.",
            expected=f"{_listed(was)}, as in step {before.use.name}",
            got=f"{_listed(now)} in step {instance.path.use.name}",
            next_step="Carry in what has the shape and dtype that a step gives out.",
        )

    def _trace_data(self, instance: Instance, block: Dataset) -> None:
        """Trace a leaf for each column; all columns of one batch have equally many rows."""
        rows = open_rows(block, self.program.flat.folder, until_cancelled)
        for name, stream in rows.streams().items():
            port = instance.port(name)
            shape = self.shapes.get(port, stream.shape("training"))
            leaf = self.program.trace.xp.leaf(stream, shape)
            self.program.leaves[port] = Leaf(leaf, stream)
            self.program.ports[port] = leaf

    def _record(self, port: PortPath, result: Any) -> None:
        """Record an output of a block: an array, or a tree and each of its arrays."""
        program = self.program
        if not isinstance(result, Tree):
            program.ports[port] = program.trace.xp.asarray(result)
            return
        self._nodes += _cost(result)
        leaves = program.trees[port] = result.map(lambda path, _: port.leaf_at(path))
        for path, leaf in result.arrays.items():
            program.ports[leaves.arrays[path]] = program.trace.xp.asarray(leaf)

    def _argument(self, instance: Instance, port: str) -> Any:
        """The traced value or tree of an input; None for an optional port that is not connected."""
        if port in instance.wires:
            wires, key = self.program.wires, instance.wires[port][0]
            tree = self.program.wire_trees.get(key)
            return wires[key] if tree is None else tree.map(lambda _, wire: wires[wire])
        if port in instance.block.literals:
            return self._literal(instance, port)
        declared = instance.block.port(port)
        assert declared is not None  # or the block would be blocked
        if declared.default is None:
            return None
        return self.program.trace.xp.scalar(declared.default)

    def _literal(self, instance: Instance, port: str) -> Value:
        literal = instance.block.literals[port]
        dtype = literal.tensor.dtype if literal.weak else literal.dtype
        value = self.program.trace.apply(
            LEAF, shape=literal.tensor.shape, dtype=dtype, weak=literal.weak
        )
        if literal.weak and isinstance(number := literal.tensor.array.item(), int):
            self.program.trace.weak_integers[value] = number, port
        self.program.leaves[instance.port(port)] = Leaf(value, literal)
        return value


def _in_step(scan: InstancePath, start: int, owner: Any, number: int) -> Any:
    """A block of a step of a Scan, in the step of that number from ``start`` on."""
    return owner if owner is None else owner.in_step(scan, start + number)


class _NoLoopError(BaseException):
    """A step of a Scan does not stand for all of them. No Exception: those are errors of blocks."""


class _FirstDiffersError(_NoLoopError):
    """What is carried into the first step is of another kind than what a step gives."""


class _LoopLowering(_Lowering):
    """Traces the step of each loop that stands for others as the body of a scan.

    What depends on nothing that changes from step to step is traced outside, once.
    """

    def __init__(self, program: Program, shapes: Mapping[str, Shape]) -> None:
        super().__init__(program, shapes)
        self._bodies: dict[InstancePath, BodyTrace] = {}
        self._inside: dict[PortPath, Value] = {}
        """What a step reads of a port outside, if that changes from step to step."""
        self._roles: dict[InstancePath, InstancePath] = {}
        """What enters and leaves a loop, with its path."""
        self._carried: dict[InstancePath, list[str]] = {}
        """The outputs that are carried, in the order in which their inputs came."""
        self._closed: dict[InstancePath, ClosedBody] = {}
        self._drawn: set[InstancePath] = set()
        """Blocks of steps that draw random numbers, though nothing else changes what they give."""
        for path, loop in program.flat.loops.items():
            in_step = partial(_in_step, path, loop.start)
            self._bodies[path] = BodyTrace(program.trace, loop.steps, loop.scan.reverse, in_step)
            self._carried[path] = []
            ends = (*loop.carried, *loop.rows, *loop.leaving.values())
            self._roles |= dict.fromkeys(ends, path)

    def run(self, instances: list[Instance]) -> None:
        """Raises _NoLoopError where the steps may differ in more than their numbers."""
        super().run(instances)
        program, flat = self.program, self.program.flat
        has_errors = any(problem.severity == "error" for problem in program.diagnostics)
        bodies = [body.trace for body in self._bodies.values()]
        if has_errors or program.failed or program.blocked or any(t.remarks for t in bodies):
            raise _NoLoopError
        program.forward_end = len(program.trace.values)
        told = [remark.owner for remark in program.trace.remarks]
        outside = [*(program.drawn() - self._drawn), *told]
        if any(flat.instances[path].loop for path in outside) or self._has_losses():
            raise _NoLoopError
        for port in [port for port in program.ports if self._is_of_step(port)]:
            program.inside[port] = program.ports.pop(port)
        self._name_last()
        joining = {at for loop in flat.loops.values() for at in loop.leaving.values()}
        for loop in flat.loops.values():
            if loop.first is not None:
                joining.update(loop.carried)
                for at in loop.carried:
                    del program.ports[at.port("out")]
        for wire, target in list(program.wire_targets.items()):
            if target in joining or flat.instances[target].loop:
                del program.wires[wire], program.wire_sources[wire], program.wire_targets[wire]

    def is_worthwhile(self, many: int) -> bool:
        """Whether a loop has more steps than ``many``, or large arrays."""
        for path, loop in self.program.flat.loops.items():
            values = self._bodies[path].trace.values
            size = sum(value.size for value in values if not value.primitive.view)
            if loop.scan.steps > many or loop.scan.steps * size > LARGE:
                return True
        return False

    def _name_last(self) -> None:
        """Call what reversed loops carry out as by their last step, which stands for the others."""
        program, flat = self.program, self.program.flat
        for path, loop in flat.loops.items():
            for name, at in loop.leaving.items() if loop.scan.reverse else ():
                if name in loop.scan.carry.values():
                    old, new = at.port("out"), self._given(at)
                    program.ports[new] = program.ports.pop(old)
                    flat.aliases[path.port(name)] = new
                    for wire, source in program.wire_sources.items():
                        if source == old:
                            program.wire_sources[wire] = new

    def _is_of_step(self, port: PortPath) -> bool:
        instance = self.program.flat.instances[port.block]
        if port in self._inside and self.program.ports[port].trace is not self.program.trace:
            return True
        is_variable = isinstance(instance.block, Source) and instance.block.kind == "variable"
        return bool(instance.loop) and not is_variable

    def _has_losses(self) -> bool:
        """Whether backward may start in a step, at a Loss or a number that nobody reads, or a step
        has what is fed or shown.
        """
        flat = self.program.flat
        inside = [instance for instance in flat.instances.values() if instance.loop]
        read = {flat.source(port) for each in flat.instances.values()
                for _, port in each.wires.values()}  # fmt: skip
        return any(
            instance.block.head
            or is_view(instance.block)
            or (isinstance(instance.block, Source) and instance.block.kind == "input")
            or any(
                not self.program.ports[port].shape and port not in read
                for name in instance.block.output_names()
                if (port := instance.port(name)) in self.program.ports
            )
            for instance in inside
        )

    def _wire_up(self, instance: Instance) -> None:
        super()._wire_up(instance)
        if instance.loop is None:
            return
        for key, port in instance.wires.values():
            source = self.program.flat.source(port)
            if source in self._inside:
                body = self._bodies[instance.loop]
                body.trace.owner = instance.path
                self.program.wires[key] = body.trace.xp.wire(self._inside[source])

    def _mark(self, wire: WirePath, source: PortPath) -> None:
        value = self.program.ports[source]
        value.trace.owner = self.program.trace.owner
        self.program.wires[wire] = value.trace.xp.wire(value)

    def _results(self, instance: Instance, arguments: list[Any]) -> list[Any]:
        loop, role = instance.loop, self._roles.get(instance.path)
        if loop is None and role is None:
            return super()._results(instance, arguments)
        if not all(isinstance(x, Value | None) for x in arguments):
            raise _NoLoopError
        if role is not None:
            return self._crossed(instance, role, arguments)
        assert loop is not None  # or it would cross
        if is_kind(instance.block, "Recorded"):
            raise _NoLoopError
        body, values = self._bodies[loop], [x for x in arguments if x is not None]
        if all(x.trace is not body.trace for x in values):
            before = len(self.program.trace.values)
            results = self._plain(super()._results(instance, arguments))
            step, made = self.program.trace.step, self.program.trace.values[before:]
            if not any(x is step for value in made for x in value.inputs):
                return results
            self._drawn.add(instance.path)
        body.trace.owner = instance.path
        here = [x if x is None else body.here(x) for x in arguments]
        return self._plain(results_of(instance.block, body.trace.xp, instance.inputs, here))

    def _plain(self, results: list[Any]) -> list[Any]:
        if not all(isinstance(x, Value) for x in results):
            raise _NoLoopError
        return results

    def _crossed(self, instance: Instance, path: InstancePath, arguments: list[Any]) -> list[Any]:
        """What enters a loop, or leaves it."""
        loop, body = self.program.flat.loops[path], self._bodies[path]
        body.trace.owner = self.program.trace.owner
        at = instance.path
        if at in loop.leaving.values():
            name = next(name for name, left in loop.leaving.items() if left == at)
            return [self._left(path, name, arguments[1:])]
        results = super()._results(instance, arguments)
        if at in loop.rows:
            whole = arguments[0]
            if loop.first is not None:
                whole = whole[:-1] if loop.first else whole[1:]
            port = instance.port(str(loop.standing))
            self._inside[port] = body.row(whole)
            return [*results[:-1], self._inside[port]]
        if results[0].weak:
            raise _FirstDiffersError
        self._inside[instance.port("out")] = body.carry(results[0])
        self._carried[path].append(loop.carried[at])
        return results

    def _given(self, at: InstancePath) -> PortPath:
        """What a step gives to what leaves its loop."""
        flat = self.program.flat
        return flat.source(flat.instances[at].wires["x"][1])

    def _left(self, path: InstancePath, name: str, first: Sequence[Value]) -> Value:
        loop, body, carried = self.program.flat.loops[path], self._bodies[path], self._carried[path]
        given = {
            output: body.here(self.program.ports[self._given(at)])
            for output, at in loop.leaving.items()
        }
        if path not in self._closed:
            after = [given[output] for output in carried]
            if not body.keeps(after):
                raise _FirstDiffersError
            self._closed[path] = body.closed(after)
        if name in loop.scan.carry.values():
            return self._closed[path].last(carried.index(name))
        if given[name].weak:
            raise _NoLoopError
        others = self._closed[path].stack(given[name])
        if not first:
            return others
        xp = self.program.trace.xp
        alone = xp.reshape(first[0], (1, *first[0].shape))
        return xp.concat((others, alone) if loop.scan.reverse else (alone, others))


def _by_leaf(result: Any) -> dict[str, Value]:
    """The arrays of a tree by the text of their path; that of the root, of an array, is empty."""
    if not isinstance(result, Tree):
        return {"": result}
    return {path_text(path): leaf for path, leaf in result.arrays.items()}


def _kinds(leaves: Mapping[str, Value]) -> dict[str, _Kind]:
    return {leaf: (value.shape, value.dtype) for leaf, value in leaves.items()}


def _begins(was: Mapping[str, _Kind], now: Mapping[str, _Kind]) -> bool:
    """Whether what is carried in may become what the first step gives out."""
    if not any(shape for shape, _ in was.values()):
        return True
    return {leaf: kind[0] for leaf, kind in was.items()} == {n: kind[0] for n, kind in now.items()}


def _listed(kinds: Mapping[str, _Kind]) -> str:
    """Shapes and dtypes, with the leaves of a tree."""
    return ", ".join(
        f"{leaf}: " * bool(leaf) + f"{dtype} {list(shape)}"
        for leaf, (shape, dtype) in kinds.items()
    )


def _cost(tree: Tree) -> int:
    """The nodes of a tree; with long paths each counts for several."""
    return len(tree.nodes) * (1 + tree.longest // 100)
