"""Infers the open shapes of sources from the shapes around them.

Known shapes flow forward by tracing each block on its own; wanted shapes flow backward through
``Block.infer``. The two alternate until nothing new is found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from blocks.block import Opaque, OpenShape, Shape, Source
from blocks.trees import Tree
from runtime.calculus import Trace, Value
from runtime.calculus.dtypes import scalar_dtype, strong
from runtime.calculus.primitives.base import LEAF
from runtime.diagram.paths import PortPath
from runtime.engine.trees import results_of

if TYPE_CHECKING:
    from runtime.engine.flatten import Flat, Instance

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
    known: dict[str, KnownTree] = {}
    wanted: dict[str, Shape] = {}
    while True:
        before = len(known), len(wanted)
        for instance in instances:
            _forward(flat, instance, shapes, known)
        for instance in reversed(instances):
            _backward(flat, instance, known, wanted)
        for path, shape in open_sources.items():
            found = wanted.get(PortPath.named(path))
            if found is not None and path not in shapes and _fits(shape, found):
                shapes[path] = found
        if (len(known), len(wanted)) == before:
            return shapes


def _fits(shape: OpenShape | None, found: Shape) -> bool:
    return shape is None or (
        len(shape) == len(found) and all(n in (None, m) for n, m in zip(shape, found, strict=True))
    )


def _forward(
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
