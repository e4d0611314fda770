"""Imports a model: its inputs, its parameters, its graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import FileError
from gradwire.blocks.limits import MAX_CONSTANT
from gradwire.runtime.interchange.importing.imported import Imported, UnsupportedError
from gradwire.runtime.interchange.importing.onnx.graphs import GraphReader
from gradwire.runtime.interchange.importing.onnx.operators.node import Item
from gradwire.runtime.interchange.importing.onnx.places import ROLE, marks_of, module_of, split
from gradwire.runtime.interchange.importing.onnx.reading import read_model
from gradwire.runtime.interchange.importing.onnx.tensors import DTYPES, dtype_name
from gradwire.runtime.interchange.importing.onnx.weights import Role, roles_of
from gradwire.runtime.interchange.importing.options import DEFAULTS, ImportOptions, conclude
from gradwire.runtime.interchange.importing.stage import Stage
from gradwire.runtime.interchange.importing.staged import Staged

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, TensorProto, ValueInfoProto

    from gradwire.blocks.values import Array

OPEN_LENGTH = 2
"""The length of an axis that the model leaves open."""
Example: TypeAlias = "Array | list[Array] | None"


def import_onnx(path: Path, options: ImportOptions = DEFAULTS) -> Imported:
    """Import an ONNX model from its file.

    Raises FileError for a file that is damaged or asks for too much, UnsupportedError for a model
    that no blocks can express.
    """
    return import_model(read_model(path), options, folder=path.parent)


def import_model(
    model: ModelProto,
    options: ImportOptions = DEFAULTS,
    examples: Mapping[str, Example] | None = None,
    folder: Path | None = None,
) -> Imported:
    """Import a model that is in memory. ``examples`` are numbers for inputs, by name.

    ``folder`` is where the files with its numbers are; without it there are none.
    """
    if not model.opset_import:
        raise FileError("The model doesn't name the version of its operators.")
    stage = Stage(model.graph.name)
    reader = GraphReader(stage, model, folder, options.training)
    _require_names(model.graph)
    names = _Stored(reader, roles_of(model), model.graph)
    inputs = [value for value in model.graph.input if value.name not in names.tensors]
    given = _Inputs(stage, options, examples or {})
    for index, value in enumerate(inputs):
        names[value.name] = given.input(value, index)
    outputs = reader.main(model.graph, names)
    found = {name: x for name, x in _flat(outputs) if not _is_marked(x)}
    return conclude(stage, found, options)


def _is_marked(x: Staged) -> bool:
    """Whether a value is a loss already."""
    return x.source is not None and x.source.block.head


def _require_names(graph: GraphProto) -> None:
    """Raise FileError where a name stands for two things."""
    given = [value.name for value in graph.input]
    stored = [tensor.name for tensor in graph.initializer]
    for names in (given, stored):
        if len(set(names)) < len(names):
            raise FileError("Two inputs or two tensors of the model have the same name.")
    if graph.sparse_initializer:
        raise UnsupportedError("A sparse tensor", "there are no sparse values")


def _flat(outputs: Mapping[str, Item]) -> Iterator[tuple[str, Staged]]:
    """Outputs by name; the items of sequences are numbered."""
    for name, item in outputs.items():
        if isinstance(item, Staged):
            yield name, item
        else:
            yield from ((f"{name}_{i}", x) for i, x in enumerate(item or []))


@dataclass(frozen=True, eq=False)
class _Inputs:
    """Makes Input blocks; open axes of the same name get the same length."""

    stage: Stage
    options: ImportOptions
    examples: Mapping[str, Example]

    def input(self, value: ValueInfoProto, index: int) -> Item:
        """What the name of an input stands for."""
        if value.type.HasField("tensor_type"):
            self._dtype(value)
        if value.name in self.examples:
            example = self.examples[value.name]
            if isinstance(example, list):
                names = [f"{value.name}_{i}" for i in range(len(example))]
                return [self.stage.input(n, x) for n, x in zip(names, example, strict=True)]
            return None if example is None else self.stage.input(value.name, example)
        shape, dtype = self._shape(value), self._dtype(value)
        if any(length < 0 for length in shape) or np.prod(shape, dtype=float) > MAX_CONSTANT:
            raise FileError(f"The input {value.name!r} has no valid shape.", got=str(shape[:8]))
        example = self.options.example(index, shape, dtype)
        numbers = "standard normal" if dtype.startswith("float") else "zero"
        self.stage.remark("note", f"{value.name}: its numbers are {numbers}, of shape {shape}.")
        return self.stage.input(value.name, example, stand_in=True)

    def _dtype(self, value: ValueInfoProto) -> str:
        if not value.type.HasField("tensor_type"):
            raise UnsupportedError(f"The input {value.name!r}", "only arrays can be fed")
        code = value.type.tensor_type.elem_type
        if code not in DTYPES:
            why = f"there are no values of dtype {dtype_name(code)}"
            raise UnsupportedError(f"The input {value.name!r}", why)
        return DTYPES[code]

    def _shape(self, value: ValueInfoProto) -> tuple[int, ...]:
        chosen = self.options.shapes.get(value.name)
        if chosen is not None:
            return tuple(chosen)
        if not value.type.tensor_type.HasField("shape"):
            raise FileError(
                f"The input {value.name!r} has no shape.",
                next_step=f"Give one: --shape {value.name}=2,3.",
            )
        dimensions = value.type.tensor_type.shape.dim
        known = [d.HasField("dim_value") for d in dimensions]
        opened = [d.dim_param or str(i) for i, d in enumerate(dimensions) if not known[i]]
        if opened:
            self.stage.remark(
                "specialised",
                f"{value.name}: the model leaves {', '.join(opened)} open, here {OPEN_LENGTH}.",
            )
        return tuple(d.dim_value if known[i] else OPEN_LENGTH for i, d in enumerate(dimensions))


class _Stored(dict[str, Item]):
    """The names of the main graph; a stored tensor becomes a value when it is first read."""

    def __init__(self, reader: GraphReader, roles: Mapping[str, Role], graph: GraphProto) -> None:
        super().__init__()
        self.tensors: dict[str, TensorProto] = {tensor.name: tensor for tensor in graph.initializer}
        self._reader = reader
        self._roles = roles

    def __missing__(self, name: str) -> Item:
        self[name] = made = self._made(self.tensors[name])
        return made

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self.tensors

    def _made(self, tensor: TensorProto) -> Staged:
        array = self._reader.array(tensor)
        role = self._roles.get(tensor.name, Role())
        kept = marks_of(tensor.metadata_props).get(ROLE)
        if kept == "input":
            return self._reader.stage.input(tensor.name, array)
        if kept is not None:
            role = replace(role, trained=kept == "variable", frozen=kept == "frozen", added=False)
        trained = array.dtype.kind == "f" and role.is_trained(array)
        if not (trained or role.frozen):
            return self._reader.stage.constant(array)
        module, own = _home(tensor.name, role)
        stage, turned = self._reader.stage, _is_turned(tensor.name, role, array)
        array = np.ascontiguousarray(array.T) if turned else array
        made = stage.variable(tensor.name, array, trainable=trained, module=module, own=own)
        return stage.transpose(made, (1, 0)) if turned else made


def _is_turned(name: str, role: Role, array: Array) -> bool:
    """Whether PyTorch transposed the weight (out, in) of a Linear, and lost its name by that."""
    matrix = array.ndim == 2 and name.startswith("onnx::MatMul") and role.slot == 1
    return matrix and role.reader is not None and role.reader.op_type == "MatMul"


def _home(name: str, role: Role) -> tuple[Sequence[str], str]:
    """The module that a parameter belongs to, and its name there: that of its port, if it can be.

    PyTorch has no names of its own for weights that it transposed, ``onnx::MatMul_12``.
    """
    reading = module_of(role.reader) if role.reader is not None else ()
    if "::" in name:
        return reading, role.port or "weight"
    parts = split(name)
    if len(parts) < 2:
        return reading, name
    module = parts[:-1]
    return module, (role.port if module == reading else "") or parts[-1]
