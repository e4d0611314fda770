"""Which stored numbers of a model are its parameters, by who reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.limits import MAX_INSTANCES

if TYPE_CHECKING:
    from onnx import FunctionProto, ModelProto, NodeProto

    from gradwire.blocks.values import Array

Functions: TypeAlias = "Mapping[tuple[str, str], FunctionProto]"
Origins: TypeAlias = "Mapping[str, set[str]]"

TRAINED: dict[str, tuple[int, ...]] = {
    "BatchNormalization": (1, 2), "Conv": (1, 2), "ConvTranspose": (1, 2), "DeformConv": (1, 3),
    "Einsum": (0, 1, 2, 3), "GRU": (1, 2, 3), "Gather": (0,), "Gemm": (0, 1, 2),
    "GroupNormalization": (1, 2), "InstanceNormalization": (1, 2), "LSTM": (1, 2, 3, 7),
    "LayerNormalization": (1, 2), "MatMul": (0, 1), "PRelu": (1,), "RMSNormalization": (1,),
    "RNN": (1, 2, 3), "SimplifiedLayerNormalization": (1,),
}  # fmt: skip
"""Inputs of operators that are weights."""
FROZEN: dict[str, tuple[int, ...]] = {"BatchNormalization": (3, 4)}
"""Inputs that are statistics, which training does not change by a gradient."""
BROADCAST = ("Add", "Mul", "Sub", "Div")
"""Operators that add biases and multiply by scales, among much else."""
PORTS: dict[str, tuple[str, ...]] = {
    **{f"{kind}Normalization": ("x", "weight", "bias", "mean", "variance")
       for kind in ("Batch", "Group", "Instance", "Layer", "RMS")},
    **dict.fromkeys(("Conv", "ConvTranspose", "Gemm"), ("x", "weight", "bias")),
    "Gather": ("weight",), "MatMul": ("weight", "weight"), "PRelu": ("x", "slope"),
}  # fmt: skip
"""What blocks call the inputs of operators, by position."""
PASSING = {
    "Cast": 1, "Concat": 64, "Expand": 1, "Flatten": 1, "Identity": 1, "Reshape": 1, "Slice": 1,
    "Split": 1, "Squeeze": 1, "Transpose": 1, "Unsqueeze": 1,
}  # fmt: skip
"""Operators whose outputs stand for their inputs, the first ones of them."""
MAX_DEPTH = 8
"""Graphs and functions inside one another that are looked into."""
MAX_ORIGINS = 64
"""Stored tensors that one value may be made of."""


@dataclass
class Role:
    """What the readers of a stored tensor make of it."""

    trained: bool = False
    frozen: bool = False
    added: bool = False
    """Whether it is added to values, or multiplies them: a parameter or a mask."""
    reader: NodeProto | None = None
    """The first node that reads it, as a parameter if one does."""
    slot: int = 0
    """Which input of that node it is."""

    @property
    def port(self) -> str:
        """What the block that it is for calls it."""
        ports = PORTS.get(self.reader.op_type if self.reader is not None else "", ())
        return ports[self.slot] if self.slot < len(ports) else ""

    def is_trained(self, array: Array) -> bool:
        """Whether these numbers are trained; those of a mask are no different from each other."""
        if self.trained or not self.added:
            return self.trained
        return bool(np.isfinite(array).all()) and np.unique(array).size > array.size // 2


def roles_of(model: ModelProto) -> dict[str, Role]:
    """The role of every stored tensor of the main graph that nodes read, by name."""
    stored = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    functions = {(f.domain, f.name): f for f in model.functions}
    reading = _Reading(stored, functions)
    reading.nodes(model.graph.node, {name: {name} for name in stored})
    return reading.roles


@dataclass(eq=False)
class _Reading:
    shapes: Mapping[str, tuple[int, ...]]
    functions: Functions
    roles: dict[str, Role] = field(default_factory=dict)
    visited: int = 0

    def nodes(self, nodes: Sequence[NodeProto], origins: Origins, depth: int = 0) -> None:
        """``origins`` are the stored tensors that names stand for."""
        known = dict(origins)
        for node in nodes:
            self.visited += 1
            if self.visited > MAX_INSTANCES:  # functions that call others many times
                return
            given = [known.get(name, set()) for name in node.input]
            function = self.functions.get((node.domain, node.op_type))
            if function is not None and depth < MAX_DEPTH and any(given):
                inside = {a: b for a, b in zip(function.input, given, strict=False) if b}
                self.nodes(function.node, inside, depth + 1)
            for slot, names in enumerate(given):
                for name in names:
                    self._read(node, slot, name)
            passed = set().union(*given[: PASSING.get(node.op_type, 0)])
            if 0 < len(passed) <= MAX_ORIGINS:
                known.update(dict.fromkeys(node.output, passed))
            for attribute in node.attribute:
                if attribute.HasField("g") and depth < MAX_DEPTH:
                    self.nodes(attribute.g.node, known, depth + 1)

    def _read(self, node: NodeProto, slot: int, name: str) -> None:
        role = self.roles.setdefault(name, Role())
        trained = slot in TRAINED.get(node.op_type, ())
        frozen = slot in FROZEN.get(node.op_type, ())
        if node.op_type in BROADCAST:
            lengths = [length for length in self.shapes[name] if length != 1]
            trained = len(lengths) == 1  # a bias, or a scale
            role.added |= len(lengths) > 1
        if role.reader is None or ((trained or frozen) and not (role.trained or role.frozen)):
            role.reader, role.slot = node, slot
        role.trained |= trained
        role.frozen |= frozen
