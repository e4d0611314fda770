"""Functions: those of the model, and the bodies that operators have in the standard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.onnx.tensors import CODES
from gradwire.runtime.interchange.importing.staged import Staged

if TYPE_CHECKING:
    from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, TypeProto
    from onnx.defs import OpSchema

    from gradwire.runtime.interchange.importing.onnx.operators.node import Item


class OnnxFunctions:
    """Finds the function that a node calls."""

    def __init__(self, model: ModelProto) -> None:
        self._local = {(f.domain, f.name, f.overload): f for f in model.functions}

    def local(self, node: NodeProto) -> FunctionProto | None:
        """The model's own function of a node, if it calls one."""
        return self._local.get((node.domain, node.op_type, node.overload))

    def of_operator(
        self, node: NodeProto, inputs: Sequence[Item], version: int
    ) -> FunctionProto | None:
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
