"""Generates the JSON Schema of diagram files from the installed blocks."""

from __future__ import annotations

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


def json_schema() -> dict[str, Any]:
    """The schema (2020-12) of the current file version, for text editors and other programs.

    Blocks of types that are not installed may have any fields.
    """
    classes = registry().classes
    generated = {
        name: cls.model_json_schema(schema_generator=_ParameterSchema)
        for name, cls in classes.items()
    }
    nested = {k: v for schema in generated.values() for k, v in schema.get("$defs", {}).items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Gradwire diagram",
        "type": "object",
        "properties": {
            FIELD: {"const": VERSION},
            "title": {"type": "string"},
            "description": {"type": "string"},
            "contracts": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Gradient contracts, such as flows(loss -> encoder/*).",
            },
            "views": {
                "description": "Bookmarks by name, in order.",
                "type": "object",
                "propertyNames": {"$ref": "#/$defs/name"},
                "additionalProperties": {"$ref": "#/$defs/view"},
            },
            "lesson": {"$ref": "#/$defs/Lesson"},
            "training": {"$ref": "#/$defs/Training"},
            "comparison": {"$ref": "#/$defs/Comparison"},
            "tensors": {"type": "string", "pattern": r"^[^/\\:]+\.safetensors$"},
            "pages": {
                "type": "object",
                "propertyNames": {"$ref": "#/$defs/name"},
                "additionalProperties": {"$ref": "#/$defs/page"},
            },
        },
        "required": [FIELD, "pages"],
        "additionalProperties": False,
        "$defs": nested
        | _definitions(Lesson)
        | _definitions(Training)
        | _definitions(Comparison)
        | _DEFINITIONS
        | {
            "block": {
                "type": "object",
                "properties": {"type": {"type": "string"}},
                "required": ["type"],
                "allOf": [_when_of_type(name) for name in classes],
            },
        }
        | {f"block-{name}": _block(cls, generated[name]) for name, cls in classes.items()}
        | {"variable": _without_type(_block(Variable, generated[Variable.type_name()]))},
    }


def _definitions(model: type[BaseModel]) -> dict[str, Any]:
    """Pydantic's schemas of a model and of the models that it consists of."""
    schema = model.model_json_schema()
    return {**schema.pop("$defs"), model.__name__: schema}


_BYPASSED: dict[str, Any] = {
    "type": "boolean",
    "description": "Whether the block computes nothing, and an input goes through to its outputs.",
}
_WRITTEN: dict[str, Any] = {
    "type": "string",
    "maxLength": MAX_WRITTEN,
    "description": "Where the program that the block was imported from has it, as model.py:42.",
}
_DEFINITIONS: dict[str, Any] = {
    "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_LENGTH,
        "pattern": "^[^./:= ]([^./:=]*[^./:= ])?$",
    },
    "port": {"type": "string", "pattern": r"^[^.]+\..+$"},
    "place": {
        "type": "array",
        "items": {"type": "number"},
        "minItems": 2,
        "maxItems": 2,
        "description": "x and y in px; y points down.",
    },
    "literal": {
        "description": "The value of an input that has no wire.",
        "anyOf": [
            {"type": ["number", "boolean", "array"]},
            _NONFINITE,
            _TENSOR_REFERENCE,
            {
                "type": "object",
                "properties": {"dtype": {"type": "string"}, "value": True},
                "required": ["dtype", "value"],
                "additionalProperties": False,
            },
        ],
    },
    "view": {
        "type": "object",
        "properties": {
            "page": {"type": "string"},
            "at": {"$ref": "#/$defs/place", "description": "The middle of the canvas."},
            "zoom": {"type": "number", "exclusiveMinimum": 0, "description": "1 is 100 %."},
        },
        "additionalProperties": False,
    },
    "colour": {"enum": list(COLOURS)},
    "style": {
        "type": "object",
        "properties": {
            "colour": {"$ref": "#/$defs/colour"},
            "collapsed": {
                "type": "boolean",
                "description": "Whether the block is shown as its title bar alone.",
            },
            "size": {
                "type": "array",
                "prefixItems": [
                    {"type": "number", "minimum": least, "maximum": most}
                    for least, most in zip(LEAST_SIZE, MOST_SIZE, strict=True)
                ],
                "items": False,
                "minItems": 2,
                "description": "Width and height of a view, px.",
            },
        },
        "additionalProperties": False,
    },
    "note": {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "at": {"$ref": "#/$defs/place"},
            "width": {"type": "number"},
            "height": {"type": "number"},
            "frame": {"type": "boolean"},
            "colour": {"$ref": "#/$defs/colour"},
        },
        "additionalProperties": False,
    },
    "page": {
        "type": "object",
        "properties": {
            "blocks": {
                "type": "object",
                "propertyNames": {"$ref": "#/$defs/name"},
                "additionalProperties": {"$ref": "#/$defs/block"},
            },
            "wires": {
                "description": "The output that drives each wired input, by input.",
                "type": "object",
                "propertyNames": {"$ref": "#/$defs/port"},
                "additionalProperties": {"$ref": "#/$defs/port"},
            },
            "layout": {
                "description": "Positions of blocks by name, and bends of wires by input.",
                "type": "object",
                "patternProperties": {
                    r"\.": {"type": "array", "items": {"$ref": "#/$defs/place"}, "minItems": 1}
                },
                "additionalProperties": {"$ref": "#/$defs/place"},
            },
            "routes": {
                "description": "How square wires run, by input: the x of the first vertical "
                "stretch, the y of the horizontal stretch that follows, and so on.",
                "type": "object",
                "propertyNames": {"$ref": "#/$defs/port"},
                "additionalProperties": {
                    "type": "array",
                    "items": {"type": "number", "minimum": -FARTHEST, "maximum": FARTHEST},
                    "minItems": 1,
                    "maxItems": MAX_ROUTE,
                },
            },
            "styles": {
                "description": "How blocks look, by name, where not as their types do.",
                "type": "object",
                "propertyNames": {"$ref": "#/$defs/name"},
                "additionalProperties": {"$ref": "#/$defs/style"},
            },
            "notes": {
                "type": "object",
                "propertyNames": {"$ref": "#/$defs/name"},
                "additionalProperties": {"$ref": "#/$defs/note"},
            },
        },
        "additionalProperties": False,
    },
}


def _when_of_type(name: str) -> dict[str, Any]:
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


def _described(schema: dict[str, Any], text: str | None) -> dict[str, Any]:
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
