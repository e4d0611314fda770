"""TensorFlow's messages, described here as far as an import needs them, and read by protobuf."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from gradwire.blocks.errors import FileError
from gradwire.runtime.interchange.importing.wire import require_harmless

Message: TypeAlias = Any
"""An instance of a class that protobuf makes from the table."""

MOST = {"fields": 5_000_000}
"""What a file may have."""
_PACKAGE = "gradwire.tensorflow"
_ONE, _MANY = 1, 3

TABLE: dict[str, str] = {
    "SavedModel": "2 meta_graphs MetaGraph*",
    "MetaGraph": "2 graph Graph; 3 saver Saver; 5 signatures <Signature>; 7 objects Objects",
    "Saver": "3 restore string",
    "Signature": "1 inputs <TensorInfo>; 2 outputs <TensorInfo>",
    "TensorInfo": "1 name string; 2 dtype int32; 3 shape Shape",
    "Objects": "1 nodes Object*",
    "Object": "7 variable SavedVariable",
    "SavedVariable": "3 trainable bool; 6 name string",
    "Graph": "1 nodes Node*; 2 library Library",
    "Library": "1 functions Function*",
    "Function": "1 signature Signatory; 3 nodes Node*; 4 returns <string>",
    "Signatory": "1 name string; 2 inputs Argument*; 3 outputs Argument*",
    "Argument": "1 name string",
    "Node": "1 name string; 2 operator string; 3 inputs string*; 5 attributes <Attribute>",
    "Attribute": "1 list List; 2 text bytes; 3 whole int64; 4 number float; 5 flag bool; "
    "6 dtype int32; 7 shape Shape; 8 tensor Tensor; 10 function Name",
    "List": "2 texts bytes*; 3 wholes int64*; 4 numbers float*; 6 dtypes int32*; 7 shapes Shape*; "
    "9 functions Name*",
    "Name": "1 name string",
    "Shape": "2 axes Axis*; 3 unknown bool",
    "Axis": "1 length int64",
    "Tensor": "1 dtype int32; 2 shape Shape; 4 content bytes; 5 floats float*; 6 doubles double*; "
    "7 ints int32*; 8 texts bytes*; 10 int64s int64*; 11 flags bool*; 13 halves int32*; "
    "16 uint32s uint32*; 17 uint64s uint64*",
    "BundleHeader": "1 shards int32; 2 endianness int32",
    "BundleEntry": "1 dtype int32; 2 shape Shape; 3 shard int32; 4 offset int64; 5 size int64; "
    "7 slices Slice*",
    "Slice": "1 extent bytes",
}
"""The fields of each message: number, name and type; ``*`` repeats, ``<T>`` maps text to T."""


def parse(kind: str, data: bytes, source: str) -> Message:
    """The message of a file. Raises FileError where it is none, or too large to be read."""
    from google.protobuf.message import DecodeError

    message = _classes()[kind]()
    require_harmless(data, message.DESCRIPTOR, MOST, source)
    try:
        message.ParseFromString(data)
    except (DecodeError, ValueError, RecursionError) as error:
        raise FileError("The file is no message of TensorFlow.", path=source) from error
    return message


def _fields(kind: str) -> list[tuple[int, str, str, str]]:
    """Number, name, type and form of the fields of a message."""
    found = []
    for text in TABLE[kind].split("; "):
        number, name, type_ = text.split()
        form = "*" if type_.endswith("*") else "<" if type_.startswith("<") else ""
        found.append((int(number), name, type_.strip("*<>"), form))
    return found


@lru_cache
def _classes() -> Mapping[str, Callable[[], Message]]:
    """The classes of all messages."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(
        name="gradwire_tensorflow.proto", package=_PACKAGE, syntax="proto3"
    )
    for kind in TABLE:
        _describe(file.message_type.add(name=kind), kind)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        kind: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.{kind}"))
        for kind in TABLE
    }


def _describe(message: Message, kind: str) -> None:
    for number, name, type_, form in _fields(kind):
        field = message.field.add(name=name, number=number, label=_MANY if form else _ONE)
        if form == "<":
            title = name.capitalize() + "Entry"
            entry = message.nested_type.add(name=title)
            entry.options.map_entry = True
            _set_type(entry.field.add(name="key", number=1, label=_ONE), "string")
            _set_type(entry.field.add(name="value", number=2, label=_ONE), type_)
            type_ = f"{kind}.{title}"
        _set_type(field, type_)


def _set_type(field: Message, type_: str) -> None:
    """A scalar type has a small first letter, a message a capital one."""
    scalar = type_[0].islower()
    field.type = field.Type.Value(f"TYPE_{type_.upper() if scalar else 'MESSAGE'}")
    if not scalar:
        field.type_name = f".{_PACKAGE}.{type_}"
