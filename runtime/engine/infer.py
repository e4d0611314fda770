"""Runs a block's forward on trees, leaf by leaf or on whole trees, as the block declares; and
infers the open shapes of sources from the shapes around them.

Known shapes flow forward by tracing each block on its own; wanted shapes flow backward through
``Block.infer``. The two alternate until nothing new is found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from gradwire.blocks.block import Opaque, OpenShape, Shape, Source
from gradwire.blocks.errors import GradwireError, Location, TraceError
from gradwire.blocks.importing.kinds import is_dataset
from gradwire.blocks.limits import MAX_VALUES
from gradwire.blocks.paths import Path, path_text
from gradwire.blocks.trees import Kind, Passive, Tree
from gradwire.runtime.calculus import Trace, Value
from gradwire.runtime.calculus.dtypes import scalar_dtype, strong
from gradwire.runtime.calculus.primitives.base import LEAF
from gradwire.runtime.calculus.trace import kept_value
from gradwire.runtime.data.opening import open_rows
from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.engine.interruption import until_cancelled

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.blocks.block import Block
    from gradwire.blocks.library.data import Dataset
    from gradwire.runtime.engine.flat import Flat, Instance

    Forward: TypeAlias = Callable[[Block, Any, Sequence[Any]], Any]
    """``forward(block, xp, inputs)``: what a block computes, one output or a tuple of them."""


def own_forward(block: Block, xp: Any, inputs: Sequence[Any]) -> Any:
    """What a block says that it computes."""
    return block.forward(xp, *inputs)


def results_of(
    block: Block,
    xp: Any,
    names: Sequence[str],
    arguments: Sequence[Any],
    forward: Forward = own_forward,
) -> list[Any]:
    """The result of ``forward`` for each output: a value or a tree.

    Raises GradwireError if the inputs don't fit, such as a tree for a block that takes none.
    """
    at = [i for i, argument in enumerate(arguments) if isinstance(argument, Tree)]
    if not at or block.trees == "whole":
        found = _forward(block, xp, arguments, forward)
    elif block.trees == "by leaf":
        found = _by_leaf(block, xp, names, arguments, forward)
    else:
        raise TraceError(
            f"{type(block).__name__} takes an array here, and this is a tree.",
            location=Location(port=names[at[0]]),
            expected="one array",
            got=_described(arguments[at[0]]),
            next_step="Put a Pick or an Unpack before it.",
        )
    return [_bare(result) for result in found]


def _forward(block: Block, xp: Any, arguments: Sequence[Any], forward: Forward) -> list[Any]:
    before = [(x, x.shape, x.dtype) for x in arguments if isinstance(x, Value)]
    results = forward(block, xp, arguments)
    results = results if isinstance(results, tuple) else (results,)
    expected = block.output_names()
    if len(results) != len(expected):
        raise GradwireError(
            f"{type(block).__name__}.forward returned {len(results)} values.",
            expected=f"{len(expected)}: {', '.join(expected)}",
        )
    for result in results:
        for value in result.arrays.values() if isinstance(result, Tree) else (result,):
            if isinstance(value, Value) and value.trace is not xp.trace:
                raise kept_value()
    for x, shape, dtype in before:
        if (x.shape, x.dtype) != (shape, dtype):
            x.shape, x.dtype = shape, dtype  # others read it, too
            raise TraceError(f"{type(block).__name__}.forward changed one of its inputs.")
    return list(results)


def _by_leaf(
    block: Block, xp: Any, names: Sequence[str], arguments: Sequence[Any], forward: Forward
) -> list[Any]:
    """One tree for each output, with the structure shared by all trees among the arguments."""
    trees = {n: a for n, a in zip(names, arguments, strict=True) if isinstance(a, Tree)}
    (first, model), *others = trees.items()
    for name, tree in others:
        if (difference := model.difference(tree)) is not None:
            raise TraceError(
                f"The trees at {first} and {name} differ: {difference}.",
                location=Location(port=name),
                expected=f"the structure of {first}",
                next_step="Pick what they have in common, or Merge what is missing.",
            )
    made: list[dict[Path, Any]] = [dict(model.nodes) for _ in block.output_names()]
    for path in model.arrays:
        chosen = [a.nodes[path] if isinstance(a, Tree) else a for a in arguments]
        try:
            results = _forward(block, xp, chosen, forward)
        except GradwireError as error:
            error.what = f"{error.what} This is at the leaf {path_text(path)}."
            raise
        for nodes, result in zip(made, results, strict=True):
            nodes[path] = result
    return [Tree(nodes) for nodes in made]


def _bare(result: Any) -> Any:
    """The result; for a tree that consists of one array, that array."""
    if isinstance(result, Tree) and not isinstance(result.nodes[()], Kind | Passive):
        return result.nodes[()]
    return result


def _described(tree: Tree) -> str:
    root = tree.nodes[()]
    if not isinstance(root, Kind):
        return f"{root.value!r}, which is not an array"
    count = len(tree.arrays)
    return f"a {root.value} of {count} array" + "s" * (count != 1)


Known: TypeAlias = tuple[Shape, str]
KnownTree: TypeAlias = Known | Tree


def infer_shapes(
    flat: Flat, instances: Sequence[Instance], given: Mapping[str, Shape]
) -> dict[str, Shape]:
    """Shapes, by path, of all sources for which they can be inferred.

    ``given`` are the shapes of fed or bound sources. A source whose shape stays open is missing
    from the result.
    """
    shapes: dict[str, Shape] = dict(given)
    open_sources: dict[str, OpenShape | None] = {}
    for instance in instances:
        if isinstance(instance.block, Source) and instance.path not in shapes:
            shape = instance.block.open_shape
            if shape is None or None in shape:
                open_sources[instance.path] = shape
            else:
                shapes[instance.path] = tuple(n for n in shape if n is not None)
    if not open_sources:
        return shapes
    return _Inference(flat, instances, shapes, open_sources).run()


class _Inference:
    """Passes over the blocks, forward and backward, in turn.

    Only those are visited whose surroundings have changed since: a chain of open sources, each
    known once the one before it is, takes as many passes as it has sources.
    """

    def __init__(
        self,
        flat: Flat,
        instances: Sequence[Instance],
        shapes: dict[str, Shape],
        open_sources: Mapping[str, OpenShape | None],
    ) -> None:
        self._flat = flat
        self._instances = instances
        self._shapes = shapes
        self._open_sources = open_sources
        self._known: dict[str, KnownTree] = {}
        self._wanted: dict[str, Shape] = {}
        self._index = {instance.path: i for i, instance in enumerate(instances)}
        self._readers: dict[str, list[int]] = {}
        for i, instance in enumerate(instances):
            for _, source in instance.wires.values():
                self._readers.setdefault(flat.source(source), []).append(i)
        self._ahead = list(range(len(instances)))
        self._back = set(self._ahead)
        self._nodes = 0

    def run(self) -> dict[str, Shape]:
        """The shapes of sources, once nothing new is found."""
        while self._ahead or self._back:
            self._pass_forward()
            if self._nodes > MAX_VALUES:
                break  # lowering meets the same limit and reports it with its place
            self._pass_backward()
        return self._shapes

    def _pass_forward(self) -> None:
        waiting, queued = self._ahead, set(self._ahead)
        heapify(waiting)
        while waiting and self._nodes <= MAX_VALUES:
            i = heappop(waiting)
            before = len(self._known)
            _known_forward(self._flat, self._instances[i], self._shapes, self._known)
            if len(self._known) == before:
                continue
            self._back.add(i)
            for port in islice(reversed(self._known), len(self._known) - before):
                entry = self._known[port]
                self._nodes += len(entry.nodes) if isinstance(entry, Tree) else 0
                readers = self._readers.get(port, ())
                self._back.update(readers)
                for reader in readers:
                    if reader not in queued:
                        queued.add(reader)
                        heappush(waiting, reader)
        self._ahead = []

    def _pass_backward(self) -> None:
        waiting = [-i for i in self._back]
        queued, self._back = self._back, set()
        heapify(waiting)
        while waiting:
            i = -heappop(waiting)
            queued.discard(i)
            before = len(self._wanted)
            _backward(self._flat, self._instances[i], self._known, self._wanted)
            for port in islice(reversed(self._wanted), len(self._wanted) - before):
                source = self._index.get(PortPath(port).block)
                self._settle(PortPath(port))
                for j in (*self._readers.get(port, ()), *(() if source is None else (source,))):
                    if j >= i:
                        self._back.add(j)
                    elif j not in queued:
                        queued.add(j)
                        heappush(waiting, -j)

    def _settle(self, port: PortPath) -> None:
        """Give an open source the shape that its readers need."""
        path, found = port.block, self._wanted[port]
        if path in self._open_sources and path not in self._shapes:
            if _fits(self._open_sources[path], found):
                self._shapes[path] = found
                self._ahead.append(self._index[path])


def _fits(shape: OpenShape | None, found: Shape) -> bool:
    return shape is None or (
        len(shape) == len(found) and all(n in (None, m) for n, m in zip(shape, found, strict=True))
    )


def _known_forward(
    flat: Flat, instance: Instance, shapes: Mapping[str, Shape], known: dict[str, KnownTree]
) -> None:
    """Trace one block on its own once all of its inputs are known."""
    block = instance.block
    outputs = [instance.port(name) for name in block.output_names()]
    if not outputs or outputs[0] in known or isinstance(block, Opaque):
        return
    if isinstance(block, Source):
        if instance.path in shapes:
            known[outputs[0]] = shapes[instance.path], block.leaf_dtype
        return
    if is_dataset(block):
        known.update(_data(flat, instance, block, shapes))
        return
    inputs = [_input(flat, instance, port, known) for port in instance.inputs]
    if any(entry is None for entry in inputs):
        return
    trace = Trace()
    arguments = [_argument(trace, entry) if entry else None for entry in inputs]
    try:
        results = results_of(block, trace.xp, instance.inputs, arguments)
    except Exception:  # a plug-in's forward may fail in any way
        return  # lowering meets the same error and reports it with its place
    for port, result in zip(outputs, results, strict=True):
        if isinstance(result, Tree):
            known[port] = result.map(lambda _, leaf: (leaf.shape, leaf.dtype))
        elif isinstance(result, Value):
            known[port] = result.shape, result.dtype


def _data(
    flat: Flat, instance: Instance, block: Dataset, shapes: Mapping[str, Shape]
) -> dict[str, Known]:
    """Shape and dtype of each port of a data set; none where its rows can't be opened."""
    try:
        streams = open_rows(block, flat.folder, until_cancelled).streams()
    except GradwireError:
        return {}  # lowering meets the same error and reports it with its place
    ports = ((instance.port(name), stream) for name, stream in streams.items())
    return {p: (shapes.get(p, s.shape("training")), s.leaf_dtype) for p, s in ports}


def _argument(trace: Trace, entry: KnownTree) -> Any:
    """A leaf of the given shape and dtype, or a tree of such leaves."""
    if isinstance(entry, Tree):
        return entry.map(lambda _, leaf: _argument(trace, leaf))
    return trace.apply(LEAF, shape=entry[0], dtype=entry[1])


def _input(
    flat: Flat, instance: Instance, port: str, known: Mapping[str, KnownTree]
) -> KnownTree | tuple[()] | None:
    """Shape and dtype of an input; () if it stays unconnected, None if it is not known yet."""
    if port in instance.wires:
        return known.get(flat.source(instance.wires[port][1]))
    if port in instance.block.literals:
        literal = instance.block.literals[port]
        return literal.tensor.shape, literal.dtype
    declared = instance.block.port(port)
    if declared is None or declared.required:
        return None
    if declared.default is None:
        return ()
    return (), strong(scalar_dtype(declared.default))


def _backward(
    flat: Flat, instance: Instance, known: Mapping[str, KnownTree], wanted: dict[str, Shape]
) -> None:
    """Infer the shapes of a block's unknown inputs; blocks with trees infer nothing."""
    shapes: dict[str, Shape | None] = {}
    for port in instance.inputs:
        entry = _input(flat, instance, port, known)
        if port in instance.wires and entry is None:
            source = flat.source(instance.wires[port][1])
            shapes[port] = wanted.get(source)
        elif isinstance(entry, Tree):
            return
        elif entry:
            shapes[port] = entry[0]
    if None not in shapes.values():
        return
    names = instance.block.output_names()
    output = instance.port(names[0]) if names else ""
    given = known.get(output)
    if isinstance(given, Tree):
        return
    output_shape = wanted.get(output) if given is None else given[0]
    for port, shape in instance.block.infer(shapes, output_shape).items():
        if port in instance.wires and shapes.get(port) is None:
            wanted.setdefault(flat.source(instance.wires[port][1]), tuple(shape))
