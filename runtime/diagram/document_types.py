"""The types that the records of a diagram's document are made of: its lesson, and its training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    Strict,
    StringConstraints,
    model_serializer,
)

from gradwire.blocks.classes.docstrings import field_docstrings

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

MAX_ENTRIES = 64
"""Entries of a list or a mapping."""
MAX_EXPRESSION = 400
"""Characters of one goal or condition of a lesson."""
MAX_COUNT = 1_000_000_000
"""Steps, iterations or batches, at most."""
_MAX_PATH = 1_000


def _well_formed(text: object) -> object:
    """The text with U+FFFD for halves of characters, which keyboards can type but no file has."""
    if not isinstance(text, str):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


Characters: TypeAlias = Annotated[str, BeforeValidator(_well_formed)]
"""Text of any length."""
Place: TypeAlias = Annotated[Characters, StringConstraints(max_length=_MAX_PATH)]
"""The path of a block, a port, or a wire by its target."""
Places: TypeAlias = Annotated[tuple[Place, ...], Field(max_length=MAX_ENTRIES)]
Number: TypeAlias = Annotated[float, Strict(), Field(allow_inf_nan=False)]
NotNegative: TypeAlias = Annotated[Number, Field(ge=0)]
Share: TypeAlias = Annotated[Number, Field(ge=0, le=1)]
Decay: TypeAlias = Annotated[Number, Field(ge=0, lt=1)]
Count: TypeAlias = Annotated[int, Strict(), Field(ge=1, le=MAX_COUNT)]
Flag: TypeAlias = Annotated[bool, Strict()]


class Record(BaseModel):
    """An immutable record with known fields alone."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """The schema with the docstrings of the fields, which are read from the source only now."""
        found = handler(schema)
        fields = handler.resolve_ref_schema(found)["properties"]
        texts: dict[str, str] = {}
        for base in reversed(cls.__mro__[: cls.__mro__.index(Record)]):
            texts |= dict.fromkeys(base.__annotations__, "") | field_docstrings(base)
        for name, text in texts.items():
            if text and name in fields:
                fields[name]["description"] = text
        return found


class TaggedRecord(Record):
    """A record that says what kind it is, in the file too."""

    @model_serializer(mode="wrap")
    def _with_kind(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        kind: str = type(self).model_fields["kind"].default
        return {"kind": kind, **handler(self)}
