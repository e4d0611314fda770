"""The block library for a reader: by family, or one block with its ports and parameters."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from gradwire.blocks.classes.docstrings import docstring
from gradwire.blocks.values import Json, Tensor
from gradwire.runtime.calculus.choices.table import notes
from gradwire.runtime.publish.text import Part, TextTable

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from gradwire.blocks import Block, InputPort

_BOUNDS = {
    "ge": "≥ {}",
    "gt": "> {}",
    "le": "≤ {}",
    "lt": "< {}",
    "multiple_of": "a multiple of {}",
    "min_length": "at least {} long",
    "max_length": "at most {} long",
}
_NOTES = {
    "head": "Marks a loss: backward starts here without an output gradient.",
    "surrogate": "By its rule the gradient is not the derivative of the formula.",
}
_WORDS = {
    int: "integer",
    float: "number",
    str: "text",
    bool: "true or false",
    type(None): "null",
    Tensor: "numbers",
}


def library_parts(families: Mapping[str, Sequence[type[Block]]]) -> list[Part]:
    """One table a family: type, symbol, first line of the docstring."""
    return [
        TextTable(
            family,
            ("block", "symbol", "what it does"),
            tuple((c.type_name(), c.symbol, c.summary()) for c in classes),
        )
        for family, classes in families.items()
    ]


def block_parts(cls: type[Block]) -> list[Part]:
    """Everything about one block: documentation, formula, ports, parameters."""
    record = block_json(cls)
    head = f"{cls.type_name()}  {cls.symbol}".rstrip()
    parts: list[Part] = [f"{head}\n{_prose(record['doc'])}"]
    if cls.formula:
        parts.append(f"Formula  {cls.formula}")
    if marked := [text for mark, text in _NOTES.items() if record[mark]]:
        parts.append("\n".join(marked))
    if record["elsewhere"]:
        parts.append("\n".join(["Where systems disagree", *record["elsewhere"]]))
    if cls.inputs:
        rows = tuple((p.name + " …" * p.variadic, _unwired(p)) for p in cls.inputs)
        parts.append(TextTable("Inputs", ("port", "when it is not wired"), rows))
    if cls.outputs:
        parts.append("Outputs  " + ", ".join(cls.outputs))
    if record["parameters"]:
        parts.append(
            TextTable(
                "Parameters",
                ("parameter", "type", "default", "meaning"),
                tuple(
                    (p["name"], p["type"], json.dumps(p["default"]), _prose(p["doc"]))
                    for p in record["parameters"]
                ),
            )
        )
    return parts


def block_json(cls: type[Block]) -> dict[str, Any]:
    """The same as data: type, family, symbol, formula, doc, inputs, outputs, parameters."""
    return {
        "type": cls.type_name(),
        "family": cls.family,
        "symbol": cls.symbol,
        "formula": cls.formula,
        "summary": cls.summary(),
        "doc": docstring(cls),
        "elsewhere": notes(cls.type_name()),
        "head": cls.head,
        "surrogate": cls.surrogate,
        "inputs": [_input_json(port) for port in cls.inputs],
        "outputs": list(cls.outputs),
        "parameters": [
            {
                "name": name,
                "type": parameter_type(field),
                "default": _default_json(cls, name),
                "doc": " ".join((field.description or "").split()),
            }
            for name, field in cls.parameters().items()
        ],
    }


def parameter_type(field: FieldInfo) -> str:
    """``integer ≥ 0 or null``: the type of a parameter and its bounds, in words."""
    return _type_text(field.annotation) + _bounds(field.metadata)


def _prose(doc: str) -> str:
    return doc.replace("``", "")


def _input_json(port: InputPort) -> dict[str, Json]:
    return {
        "name": port.name,
        "required": port.required and not port.variadic,
        "default": None if port.required else port.default,
        "repeats": port.variadic,
    }


def _default_json(cls: type[Block], name: str) -> object:
    return cls().model_dump(mode="json", include={name})[name]


def _unwired(port: InputPort) -> str:
    if port.variadic:
        return "any number of wires"
    if port.required:
        return "must be wired or given a value"
    return "may be left unconnected" if port.default is None else json.dumps(port.default)


def _type_text(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if metadata := getattr(annotation, "__metadata__", None):
        return _type_text(arguments[0]) + _bounds(metadata)
    if origin is Literal:
        return " | ".join(map(str, arguments))
    if origin in (Union, types.UnionType):
        return " or ".join(map(_type_text, arguments))
    if origin is tuple:
        if arguments[-1:] == (Ellipsis,):
            item = _type_text(arguments[0])
            return f"list of ({item})" if " or " in item else f"list of {item}"
        return "(" + ", ".join(map(_type_text, arguments)) + ")"
    return _WORDS.get(annotation) or getattr(annotation, "__name__", str(annotation)).lower()


def _bounds(metadata: Sequence[object]) -> str:
    flat = [item for one in metadata for item in getattr(one, "metadata", [one])]
    return "".join(
        " " + text.format(bound)
        for item in flat
        for name, text in _BOUNDS.items()
        if (bound := getattr(item, name, None)) is not None
    )
