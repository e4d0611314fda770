"""Finds wires through which a loss trains what it should not: targets, labels, advantages."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gradwire.runtime.calculus.dtypes import is_float
from gradwire.runtime.flow.structure.neighbours import SHAPES, Neighbours, neighbours_of
from gradwire.runtime.flow.words import sentences
from gradwire.runtime.flow.words.states import PASSING

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape
    from gradwire.runtime.diagram.paths import InstancePath, PortPath, WirePath
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.analyse import Flow

PREDICTIONS = {
    "BinaryCrossEntropy": ("prediction", "target"),
    "CrossEntropy": ("logits", "labels"),
    "Huber": ("prediction", "target"),
    "MeanAbsoluteError": ("prediction", "target"),
    "MeanSquaredError": ("prediction", "target"),
}
"""The inputs of losses, by type: the prediction and the target."""
_DISTANCES = ("Huber", "MeanAbsoluteError", "MeanSquaredError")
_EXPANDING = ("Broadcast", "PageInput", "PageOutput")
AVERAGED = SHAPES | {"Abs", "Add", "Cast", "Div", "Mean", "Mul", "Neg", "Pow", "Sqrt", "Square",
                      "Sub", "Sum"}  # fmt: skip
"""Types between a difference and the loss that is its mean."""
_ASYMMETRIC = ("BinaryCrossEntropy", "CrossEntropy")
_LOGARITHMS = ("BinaryCrossEntropy", "CrossEntropy", "Log", "Log1p", "LogSoftmax", "LogSumExp",
               "Softplus")  # fmt: skip
_INDEXED = ("Embedding", "Gather", "PickAlong", "ScatterAlong", "ScatterRows",
            "TakeAlong")  # fmt: skip
_SOFT = ("Sigmoid", "Softmax")
_SIGNS = SHAPES | {"Neg"}
_MAX_STEPS = 6
"""Maximum number of blocks between a logarithm and the product that it enters."""


def swapped_inputs(flow: Flow) -> Iterator[tuple[InstancePath, str, str]]:
    """Losses whose target is trained while no variable affects the prediction, with both inputs."""
    near = neighbours_of(flow.program)
    for path, (predicted, target) in _losses(flow, _ASYMMETRIC):
        sources = near.sources(path)
        given = sources.get(predicted)
        if target not in sources or not flow.trained_upstream(path.wire(target)):
            continue
        before = [] if given is None else near.before(given.block)
        if not any(near.kind(block) == "Variable" for block in before):
            yield path, predicted, target


def moving_targets(flow: Flow) -> Iterator[tuple[WirePath, WirePath]]:
    """The wires into target and prediction of losses that send gradient through both."""
    for path, (predicted, target) in _losses(flow, PREDICTIONS):
        wires = path.wire(predicted), path.wire(target)
        if all(_carries(flow, wire) for wire in wires):
            yield wires[1], wires[0]


def crossed_shapes(flow: Flow) -> Iterator[tuple[InstancePath, PortPath, PortPath]]:
    """The differences in losses that pair each number with each, by broadcasting ``(n, 1)`` and
    ``(n,)`` to ``(n, n)``, with what is compared.
    """
    near = neighbours_of(flow.program)
    for path, instance in flow.program.instances.items():
        kind = instance.block.type_name()
        if kind not in _DISTANCES and kind != "Sub":
            continue
        sources = near.sources(path)
        if len(sources) != 2:
            continue
        a, b = (_unexpanded(near, port) for port in sources.values())
        if not _is_crossed(*(flow.program.ports[port].shape for port in (a, b))):
            continue
        if kind in _DISTANCES or _is_error(flow, near, path, a, b):
            yield path, a, b


def _unexpanded(near: Neighbours, port: PortPath) -> PortPath:
    """What a Broadcast block was given."""
    while near.kind(port.block) in _EXPANDING and (sources := near.sources(port.block)):
        port = next(iter(sources.values()))
    return port


def _is_crossed(a: Shape, b: Shape) -> bool:
    """Whether two arrays of different rank broadcast to one larger than either."""
    if len(a) == len(b):
        return False
    try:
        return math.prod(np.broadcast_shapes(a, b)) > max(math.prod(a), math.prod(b))
    except ValueError:
        return False


def _is_error(flow: Flow, near: Neighbours, path: InstancePath, a: PortPath, b: PortPath) -> bool:
    """Whether a difference of what is trained and what is given is all that a loss averages.

    Where one side was given a further axis on purpose, where there are more numbers on one side,
    and where both sides are trained, all pairs may be meant, as in a ranking.
    """
    shapes = {port: flow.program.ports[port].shape for port in (a, b)}
    column = max(shapes, key=lambda port: len(shapes[port]))
    is_meant = near.kind(column.block) in ("ExpandDims", "Reshape")
    if is_meant or len({math.prod(shape) for shape in shapes.values()}) > 1:
        return False
    sources = near.sources(path)
    trained = [flow.trained_upstream(path.wire(port)) for port in sources]
    if not any(trained):  # an advantage, from values that are stopped
        trained = [_is_made(near, source.block) for source in sources.values()]
    if all(trained) or not any(trained):
        return False
    heads = {loss.block for loss in flow.losses}
    return any(block in heads for block in near.through(path, AVERAGED | {"Loss"}))


def _is_made(near: Neighbours, block: InstancePath) -> bool:
    """Whether a variable has a part in what a block gives, with gradient or without."""
    return any(near.kind(at) == "Variable" for at in near.before(block))


def weights_of_logarithms(flow: Flow) -> Iterator[tuple[WirePath, InstancePath]]:
    """The wires by which a difference weights the logarithm of a probability, with the difference.

    Gradient flows through them to an estimate that is fitted elsewhere, as in an actor-critic.
    """
    near = neighbours_of(flow.program)
    for path, instance in flow.program.instances.items():
        if instance.block.type_name() != "Mul":
            continue
        for port, other in (("a", "b"), ("b", "a")):
            wires = path.wire(port), path.wire(other)
            if all(_carries(flow, wire) for wire in wires):
                found = _difference(near, near.sources(path)[port].block)
                if found and _is_logarithm(near, path, other) and _is_fitted(flow, near, found):
                    yield wires[0], found


def choice_cure(program: Program, path: InstancePath, port: str) -> str:
    """What to do about an input without a derivative, by what it reads and what is made of it."""
    return program.derived(("choice cure", path, port), lambda: _choice_cure(program, path, port))


def _choice_cure(program: Program, path: InstancePath, port: str) -> str:
    near = neighbours_of(program)
    if _leads_to_index(program, path):
        return sentences.INDEX
    if near.kind(path) == "ArgMax" and _is_accuracy(near, path):
        return sentences.ACCURACY
    source = near.sources(path).get(port)
    soft = path if source is None else near.origin(source)
    return sentences.soft_already(soft, path) if near.kind(soft) in _SOFT else ""


def _is_accuracy(near: Neighbours, path: InstancePath) -> bool:
    """Whether an ArgMax is tested for equality with what depends on no variable."""
    for wire in near.beyond(path, SHAPES | {"Cast"}):
        if near.kind(wire.block) == "Equal":
            other = near.sources(wire.block).get({"a": "b", "b": "a"}[wire.port])
            before = [] if other is None else near.before(other.block)
            return not any(near.kind(block) == "Variable" for block in before)
    return False


def _leads_to_index(program: Program, path: InstancePath) -> bool:
    """Whether integers that a block computes are used as indices."""
    near, pending, seen = neighbours_of(program), [path], {path}
    while pending:
        for wire in near.readers(pending.pop()):
            if wire.port == "indices" and near.kind(wire.block) in _INDEXED:
                return True
            at, port = program.wire_targets[wire], program.wire_targets[wire].port("out")
            is_whole = port in program.ports and not is_float(program.ports[port].dtype)
            if is_whole and at not in seen:
                seen.add(at)
                pending.append(at)
    return False


def _losses(
    flow: Flow, kinds: tuple[str, ...] | dict[str, tuple[str, str]]
) -> Iterator[tuple[InstancePath, tuple[str, str]]]:
    for path, instance in flow.program.instances.items():
        if (kind := instance.block.type_name()) in kinds:
            yield path, PREDICTIONS[kind]


def _carries(flow: Flow, wire: WirePath) -> bool:
    return wire in flow.program.wire_sources and flow.state(wire) in PASSING


def _difference(near: Neighbours, path: InstancePath) -> InstancePath | None:
    """The Sub block whose result reaches this block with at most its sign or shape changed."""
    while near.kind(path) in _SIGNS and (sources := near.sources(path)):
        path = next(iter(sources.values())).block
    return path if near.kind(path) == "Sub" else None


def _is_logarithm(near: Neighbours, path: InstancePath, port: str) -> bool:
    before = near.before(near.sources(path)[port].block, _MAX_STEPS)
    return any(near.kind(block) in _LOGARITHMS for block in before)


def _is_fitted(flow: Flow, near: Neighbours, difference: InstancePath) -> bool:
    """Whether one side of a difference is trained by a distance of it or of the difference."""
    for port, source in near.sources(difference).items():
        if flow.trained_upstream(difference.wire(port)):
            wires = [*near.beyond(difference, _SIGNS), *near.beyond(source.block, _SIGNS)]
            if any(_judges(near, wire, difference) for wire in wires):
                return True
    return False


def _judges(near: Neighbours, wire: WirePath, difference: InstancePath) -> bool:
    kind = near.kind(wire.block)
    if kind == "Sub" and wire.block != difference:
        return any(near.kind(w.block) in ("Abs", "Square") for w in near.beyond(wire.block))
    return kind in ("Abs", "Square") or kind in PREDICTIONS
