"""Generates the JSON Schema of diagram files from the installed blocks."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pydantic import json_schema as pydantic_schema

from gradwire.blocks.block import MAX_WRITTEN
from gradwire.blocks.library.pages import Composite
from gradwire.blocks.library.sources import Variable
from gradwire.blocks.names import MAX_LENGTH
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram.comparison import Comparison
from gradwire.runtime.diagram.files.migrations import FIELD, VERSION
from gradwire.runtime.diagram.files.reading import FARTHEST, MAX_ROUTE
from gradwire.runtime.diagram.lesson import Lesson
from gradwire.runtime.diagram.model import COLOURS, LEAST_SIZE, MOST_SIZE
from gradwire.runtime.diagram.training import Training

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import core_schema

    from gradwire.blocks.block import Block

_NONFINITE = {"enum": ["nan", "inf", "-inf"]}
_ANY_LITERAL = {"$ref": "#/$defs/literal"}
_OWN_VARIABLE = {
    "description": "A variable of the block's own, with the fields of a Variable.",
    "type": "object",
    "properties": {"variable": {"$ref": "#/$defs/variable"}},
    "required": ["variable"],
    "additionalProperties": False,
}
_TENSOR_REFERENCE = {
    "description": "An array in the file given by the diagram's tensors field.",
    "type": "object",
    "properties": {
        "tensor": {"type": "string"},
        "dtype": {"type": "string"},
        "shape": {"type": "array", "items": {"type": "integer", "minimum": 0}},
    },
    "required": ["tensor", "dtype", "shape"],
    "additionalProperties": False,
}


def json_schema() -> dict[str, object]:
    """The schema (2020-12) of the current file version, for text editors and other programs.

    Blocks of types that are not installed may have any fields. What does not follow from classes
    or limits is in ``schema.json``.
    """
    classes = registry().classes
    generated = {
        name: cls.model_json_schema(schema_generator=_ParameterSchema)
        for name, cls in classes.items()
    }
    nested = {k: v for schema in generated.values() for k, v in schema.get("$defs", {}).items()}
    found: dict[str, Any] = json.loads(files(__package__).joinpath("schema.json").read_bytes())
    found["properties"][FIELD] = {"const": VERSION}
    of_type = [_when_of_type(name) for name in classes]
    block = {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]}
    found["$defs"] = {
        **nested,
        **_definitions(Lesson),
        **_definitions(Training),
        **_definitions(Comparison),
        **_limited(found["$defs"]),
        "block": {**block, "allOf": of_type},
        **{f"block-{name}": _block(cls, generated[name]) for name, cls in classes.items()},
        "variable": _without_type(_block(Variable, generated[Variable.type_name()])),
    }
    return found


def _limited(definitions: dict[str, Any]) -> dict[str, Any]:
    """The definitions of ``schema.json`` with the limits of what they define."""
    definitions["name"]["maxLength"] = MAX_LENGTH
    definitions["literal"]["anyOf"][1:1] = [_NONFINITE, _TENSOR_REFERENCE]
    definitions["colour"]["enum"] = list(COLOURS)
    definitions["style"]["properties"]["size"]["prefixItems"] += (
        {"type": "number", "minimum": least, "maximum": most}
        for least, most in zip(LEAST_SIZE, MOST_SIZE, strict=True)
    )
    route = definitions["page"]["properties"]["routes"]["additionalProperties"]
    route["items"] |= {"minimum": -FARTHEST, "maximum": FARTHEST}
    route["maxItems"] = MAX_ROUTE
    return definitions


def _definitions(model: type[BaseModel]) -> dict[str, object]:
    """Pydantic's schemas of a model and of the models that it consists of."""
    schema = model.model_json_schema()
    return {**schema.pop("$defs"), model.__name__: schema}


_BYPASSED: dict[str, object] = {
    "type": "boolean",
    "description": "Whether the block computes nothing, and an input goes through to its outputs.",
}
_WRITTEN: dict[str, object] = {
    "type": "string",
    "maxLength": MAX_WRITTEN,
    "description": "Where the program that the block was imported from has it, as model.py:42.",
}


def _when_of_type(name: str) -> dict[str, object]:
    is_this = {"properties": {"type": {"const": name}}}
    return {"if": is_this, "then": {"$ref": f"#/$defs/block-{name}"}}


def _block(cls: type[Block], generated: dict[str, Any]) -> dict[str, Any]:
    """Pydantic's schema of the parameters, with their docstrings, and a literal for each input."""
    parameters = {
        name: {"anyOf": [schema, _TENSOR_REFERENCE]} if _holds_array(schema) else schema
        for name, field in cls.parameters().items()
        for schema in (_described(generated["properties"][name], field.description),)
    }
    may_own = {"anyOf": [_ANY_LITERAL, _OWN_VARIABLE]}
    single = {
        port.name: may_own if port.name in cls.ownable else _ANY_LITERAL
        for port in cls.inputs
        if not port.variadic
    }
    bypassed = {"bypassed": _BYPASSED} if cls.can_be_bypassed() else {}
    repeating = {
        rf"^{port.name}\.(0|[1-9][0-9]*)$": _ANY_LITERAL for port in cls.inputs if port.variadic
    }
    return {
        "description": cls.summary(),
        "type": "object",
        "properties": {
            "type": {"const": cls.type_name()},
            "written": _WRITTEN,
            **bypassed,
            **parameters,
            **single,
        },
        "patternProperties": repeating,
        "additionalProperties": _ANY_LITERAL if issubclass(cls, Composite) else False,
    }


def _without_type(block: dict[str, Any]) -> dict[str, Any]:
    fields = {name: schema for name, schema in block["properties"].items() if name != "type"}
    return block | {"properties": fields}


def _described(schema: dict[str, object], text: str | None) -> dict[str, object]:
    return dict(sorted((schema | {"description": text}).items())) if text else schema


def _holds_array(schema: dict[str, Any]) -> bool:
    """Whether the schema admits arrays of any depth: that of a Tensor does not constrain items."""
    return (schema.get("type") == "array" and "items" not in schema) or any(
        _holds_array(part) for part in schema.get("anyOf", ())
    )


class _ParameterSchema(pydantic_schema.GenerateJsonSchema):
    """Schemas of parameters: floats may be non-finite; a type without a schema admits anything."""

    def float_schema(self, schema: core_schema.FloatSchema) -> pydantic_schema.JsonSchemaValue:
        return {"anyOf": [super().float_schema(schema), _NONFINITE]}

    def handle_invalid_for_json_schema(
        self, schema: core_schema.CoreSchema, error_info: str
    ) -> pydantic_schema.JsonSchemaValue:
        return {}
