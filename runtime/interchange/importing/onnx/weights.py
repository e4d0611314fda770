"""Which stored numbers of a model are its parameters, by who reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

Functions: TypeAlias = "Mapping[tuple[str, str], FunctionProto]"

TRAINED: dict[str, tuple[int, ...]] = {
    "BatchNormalization": (1, 2),
    "Conv": (1, 2),
    "ConvTranspose": (1, 2),
    "DeformConv": (1, 3),
    "Einsum": (0, 1, 2, 3),
    "GRU": (1, 2, 3),
    "Gather": (0,),
    "Gemm": (0, 1, 2),
    "GroupNormalization": (1, 2),
    "InstanceNormalization": (1, 2),
    "LSTM": (1, 2, 3, 7),
    "LayerNormalization": (1, 2),
    "MatMul": (0, 1),
    "PRelu": (1,),
    "RMSNormalization": (1,),
    "RNN": (1, 2, 3),
    "SimplifiedLayerNormalization": (1,),
}
"""Inputs of operators that are weights."""
FROZEN: dict[str, tuple[int, ...]] = {"BatchNormalization": (3, 4)}
"""Inputs that are statistics, which training does not change by a gradient."""
BROADCAST = ("Add", "Mul", "Sub", "Div")
"""Operators that add biases and multiply by scales, among much else."""
PASSING = ("Cast", "Expand", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze")
"""Operators whose output stands for their first input."""


@dataclass
class Role:
    """What the readers of a stored tensor make of it."""

    trained: bool = False
    frozen: bool = False
    added: bool = False
    """Whether it is added to values, or multiplies them: a parameter or a mask."""
    readers: list[NodeProto] = field(default_factory=list)
    slot: int = 0
    """The input that its first reader has it at."""

    def is_trained(self, array: NDArray[Any]) -> bool:
        """Whether these numbers are trained; those of a mask are no different from each other."""
        if self.trained or not self.added:
            return self.trained
        return bool(np.isfinite(array).all()) and np.unique(array).size > array.size // 2


def roles_of(model: ModelProto) -> dict[str, Role]:
    """The role of every stored tensor of the main graph that nodes read, by name."""
    stored = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    functions = {(f.domain, f.name): f for f in model.functions}
    reading = _Reading(stored, functions)
    reading.graph(model.graph, {name: name for name in stored})
    return reading.roles


class _Reading:
    def __init__(self, shapes: Mapping[str, tuple[int, ...]], functions: Functions) -> None:
        self._shapes = shapes
        self._functions = functions
        self.roles: dict[str, Role] = {}

    def graph(self, graph: GraphProto, known: Mapping[str, str], depth: int = 0) -> None:
        self._nodes(graph.node, dict(known), depth)

    def _nodes(self, nodes: Sequence[NodeProto], known: dict[str, str], depth: int) -> None:
        """``known`` maps names to the stored tensors that they stand for."""
        for node in nodes:
            function = self._functions.get((node.domain, node.op_type))
            given = [known.get(name, "") for name in node.input]
            if function is not None and depth < 8 and any(given):
                inside = {a: b for a, b in zip(function.input, given, strict=False) if b}
                self._nodes(function.node, inside, depth + 1)
            for slot, name in enumerate(given):
                if name:
                    self._read(node, slot, name)
            if node.op_type in PASSING and given and given[0] and node.output:
                known[node.output[0]] = given[0]
            for attribute in node.attribute:
                if attribute.HasField("g") and depth < 8:
                    self.graph(attribute.g, known, depth + 1)

    def _read(self, node: NodeProto, slot: int, name: str) -> None:
        role = self.roles.setdefault(name, Role())
        if node.op_type in PASSING:
            role.readers.append(node)
            return
        trained = slot in TRAINED.get(node.op_type, ())
        if node.op_type in BROADCAST:
            lengths = [length for length in self._shapes[name] if length != 1]
            trained = len(lengths) == 1  # a bias, or a scale
            role.added |= len(lengths) > 1
        if trained and not role.trained:
            role.slot = slot
            role.readers.insert(0, node)
        role.trained |= trained
        role.frozen |= slot in FROZEN.get(node.op_type, ())
        role.readers.append(node)
