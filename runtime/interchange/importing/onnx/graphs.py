"""Puts up the graphs of a model, node by node, in the order in which it has them."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from gradwire.blocks.errors import FileError, GradwireError, Location
from gradwire.blocks.limits import MAX_INSTANCES
from gradwire.blocks.names import snake_case
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.onnx.operators.learning import TRAINING_RULES
from gradwire.runtime.interchange.importing.onnx.operators.node import Item, OperatorNode
from gradwire.runtime.interchange.importing.onnx.places import (
    calls_of,
    marked,
    modules_of,
    place_of,
)
from gradwire.runtime.interchange.importing.onnx.rules import RULES
from gradwire.runtime.interchange.importing.onnx.tensors import CODES, array_of
from gradwire.runtime.interchange.importing.progress import counted
from gradwire.runtime.interchange.importing.scopes import ModuleCall, part_name
from gradwire.runtime.interchange.importing.staged import Staged, name_result

if TYPE_CHECKING:
    from onnx import (
        AttributeProto,
        FunctionProto,
        GraphProto,
        ModelProto,
        NodeProto,
        TensorProto,
        TypeProto,
    )
    from onnx.defs import OpSchema

    from gradwire.blocks.values import Array
    from gradwire.runtime.interchange.importing.scopes import Part
    from gradwire.runtime.interchange.importing.stage import Stage

RULES_BY_DOMAIN = {"": RULES, "ai.onnx.preview.training": TRAINING_RULES}
MAX_CALLS = 40
"""Functions that call one another, one inside the other."""
MAX_STORED = 4 << 30
"""Bytes of numbers in a model and in the files beside it, which it may name again and again."""
LIKE_ONNX = {"ai.onnx": "", "ai.onnx.ml": ""}
"""Other names of the domain of ONNX itself, and one that has a few of the same operators."""
_INVALID = (ArithmeticError, AssertionError, LookupError, TypeError, ValueError)
"""What reading attributes and inputs that don't fit the operator raises."""


class GraphReader:
    """Knows what each name stands for where the current node is."""

    def __init__(
        self, stage: Stage, model: ModelProto, folder: Path | None, training: bool = False
    ) -> None:
        self.stage = stage
        self.training = training
        self._modules = modules_of(tensor.name for tensor in model.graph.initializer)
        self._functions = {(f.domain, f.name, f.overload): f for f in model.functions}
        opsets = {entry.domain: entry.version for entry in model.opset_import}
        self._opsets: Mapping[str, int] = {"": 1, **opsets}
        self._folder = folder
        self._names: ChainMap[str, Item] = ChainMap()
        self._path: tuple[Part, ...] = ()
        self._attributes: Mapping[str, AttributeProto] = {}
        self._calls: list[tuple[str, str]] = []
        """The functions that are being put up, outermost first."""
        self._numbers: dict[tuple[object, ...], int] = {}
        """How often each function was called in each module."""
        self._count = 0
        self._stored = 0

    def main(self, graph: GraphProto, names: MutableMapping[str, Item]) -> dict[str, Item]:
        """The outputs of the main graph, in which ``names`` are known."""
        self._names = ChainMap(names)
        self._put_up(counted(graph.node, "nodes"))
        return {output.name: self._item(output.name, "the graph") for output in graph.output}

    def graph(self, graph: GraphProto, inputs: Sequence[Item], in_loop: bool = False) -> list[Item]:
        """The outputs of a graph inside the current one, which sees the names around it."""
        inner: dict[str, Item] = {
            tensor.name: self.stage.constant(self.array(tensor)) for tensor in graph.initializer
        }
        inner |= {value.name: item for value, item in zip(graph.input, inputs, strict=False)}
        path = () if in_loop else self._path
        self._count_node()
        with self._inside(self._names.new_child(inner), path):
            self._put_up(graph.node)
            return [self._item(output.name, "a graph") for output in graph.output]

    def named(self, name: str) -> Staged:
        """The value that a name stands for where the node is."""
        item = self._item(name, "A gradient")
        if not isinstance(item, Staged):
            raise FileError(f"{name!r} is no value.")
        return item

    def array(self, tensor: TensorProto) -> Array:
        """The numbers of a tensor, which may lie beside the model."""
        array = array_of(tensor, self._folder)
        self._stored += array.nbytes
        if self._stored > MAX_STORED:
            raise FileError(f"The model's numbers take more than {MAX_STORED >> 30} GiB.")
        return array

    def _put_up(self, nodes: Iterable[NodeProto]) -> None:
        for node in nodes:
            self._count_node()
            items = self._node(node)
            for name, item in zip(node.output, items, strict=False):
                if name in self._names.maps[0]:
                    raise FileError(f"Two nodes give {name!r}, in the graph or function of one.")
                if name:
                    self._names[name] = item

    def _count_node(self) -> None:
        """Count a node, or a graph that is put up again; each takes time."""
        self._count += 1
        if self._count > MAX_INSTANCES:
            raise FileError(f"The model has more than {MAX_INSTANCES} nodes.")

    def _item(self, name: str, reader: str) -> Item:
        if name not in self._names:
            raise FileError(
                f"{reader} reads {name[:200]!r}, which no node before it gives.",
                next_step="Check the model: it may have a cycle.",
            )
        return self._names[name]

    def _node(self, proto: NodeProto) -> Sequence[Item]:
        inputs = [self._item(name, proto.op_type) if name else None for name in proto.input]
        module, name, written = place_of(proto)
        around = self._path
        self._path = path = around + calls_of(module, self._modules)
        before = len(self.stage.so_far)
        try:
            with self.stage.at(path, written or None):
                result = self._result(proto, inputs)
        except GradwireError as error:
            raise error.at(Location(block="/".join(map(part_name, path)))) from None
        finally:
            self._path = around
        name_result(name, result, self.stage.so_far[before:])
        return result if isinstance(result, tuple) else (result,)

    def _result(self, proto: NodeProto, inputs: list[Item]) -> Item | tuple[Item, ...]:
        domain = LIKE_ONNX.get(proto.domain, proto.domain)
        function = self._functions.get((proto.domain, proto.op_type, proto.overload))
        if function is not None:
            return self._call(function, proto, inputs)
        if proto.op_type == "Identity" and inputs and isinstance(inputs[0], Staged):
            found = marked(self.stage, proto, inputs[0], self.named)
            if found is not None:
                return found
        rule = RULES_BY_DOMAIN.get(domain, {}).get(proto.op_type)
        if rule is not None:
            node = OperatorNode(
                proto.op_type, self.stage, self, inputs, with_attributes(proto, self._attributes),
                list(proto.output), self._opsets.get(domain, 1), self.training,
                proto.name.rpartition("/")[2],
            )  # fmt: skip
            try:
                with self.stage.operation(snake_case(proto.op_type)):
                    result = rule(node)
                if result is not NotImplemented:
                    return result
            except _INVALID as error:
                why = "its inputs or attributes don't fit it"
                raise UnsupportedError(proto.op_type, why) from error
        body = _body_of(proto, inputs, self._opsets.get(domain, 1))
        if body is None:
            where = f" in {domain}" if domain else ""
            raise UnsupportedError(proto.op_type, f"no blocks are known for it{where}")
        return self._call(body, proto, inputs)

    def _call(
        self, function: FunctionProto, proto: NodeProto, inputs: Sequence[Item]
    ) -> tuple[Item, ...]:
        """A function is a page; its calls that compute alike are uses of one page."""
        key = function.domain, function.name
        if key in self._calls:
            raise FileError(f"The function {function.name[:200]!r} calls itself.")
        if len(self._calls) >= MAX_CALLS:
            raise FileError(f"More than {MAX_CALLS} functions are inside one another.")
        given = with_attributes(proto, self._attributes)
        defaults = {attribute.name: attribute for attribute in function.attribute_proto}
        place = (*self._path, *key)
        self._numbers[place] = number = self._numbers.get(place, 0) + 1
        path = (*self._path, ModuleCall(function.name, number))
        given_names = zip_longest(function.input, inputs[: len(function.input)])
        names: ChainMap[str, Item] = ChainMap(dict(given_names))
        opsets = {**self._opsets, **{o.domain: o.version for o in function.opset_import}}
        before = self._attributes, self._opsets
        self._attributes, self._opsets = {**defaults, **given}, opsets
        self._calls.append(key)
        try:
            with self.stage.at(path), self._inside(names, path):
                self._put_up(function.node)
                return tuple(self._names.get(name) for name in function.output)
        finally:
            self._attributes, self._opsets = before
            self._calls.pop()

    @contextmanager
    def _inside(self, names: ChainMap[str, Item], path: tuple[Part, ...]) -> Iterator[None]:
        before = self._names, self._path
        self._names, self._path = names, path
        try:
            yield
        finally:
            self._names, self._path = before


def _body_of(node: NodeProto, inputs: Sequence[Item], version: int) -> FunctionProto | None:
    """The body that the standard gives to an operator; None where it has none."""
    from onnx import FunctionProto, defs

    try:
        schema = defs.get_schema(node.op_type, version, node.domain)
    except defs.SchemaError:
        return None
    body = FunctionProto()
    if schema.has_function:
        body.CopyFrom(schema.function_body)
    elif schema.has_context_dependent_function:
        _parse_body(body, schema, node, inputs, version)
    given = {attribute.name for attribute in body.attribute_proto}
    for name, attribute in schema.attributes.items():
        if attribute.default_value.name and name not in given:
            body.attribute_proto.add().CopyFrom(attribute.default_value)
    return body if body.node else None


def _parse_body(
    body: FunctionProto, schema: OpSchema, node: NodeProto, inputs: Sequence[Item], version: int
) -> None:
    """The newest body of an operator whose body depends on the types of its inputs."""
    types = [_type_of(item).SerializeToString() for item in inputs]
    known = [v for v in schema.context_dependent_function_opset_versions if v <= version]
    if known:
        try:
            made = schema.get_context_dependent_function_with_opset_version(
                max(known), node.SerializeToString(), types
            )
        except (RuntimeError, ValueError) as error:  # of the parser behind it
            raise UnsupportedError(node.op_type, "its names or attributes are wrong") from error
        body.ParseFromString(made)


def with_attributes(
    node: NodeProto, around: Mapping[str, AttributeProto]
) -> dict[str, AttributeProto]:
    """The attributes of a node; some stand for those of the function around it."""
    found = {}
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            found[attribute.name] = attribute
        elif attribute.ref_attr_name in around:
            found[attribute.name] = around[attribute.ref_attr_name]
    return found


def _type_of(item: Item) -> TypeProto:
    from onnx import TypeProto, helper

    if not isinstance(item, Staged):
        return TypeProto()
    return helper.make_tensor_type_proto(CODES[item.dtype], item.shape)
