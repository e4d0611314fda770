"""Arguments of the operators of an exported program, as the table of operators takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.torch.operators.table import DTYPES

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.torch.types import JSON, Record


@dataclass(frozen=True)
class ValueName:
    """A value of the graph, by name."""

    name: str


@dataclass(frozen=True)
class InnerGraph:
    """A graph inside another one, which an operator runs."""

    record: Record


def argument(record: Record) -> Any:
    """What an argument is: a name, a graph, numbers, text, a dtype's name, or a list of them.

    Devices, layouts and formats of memory are None. Raises UnsupportedError for kinds that are not
    known, and KeyError, TypeError or ValueError for records that are none.
    """
    ((kind, value),) = record.items()
    if kind not in _READERS:
        raise UnsupportedError(f"an argument of kind {kind[:40]}")
    return _READERS[kind](value)


def output_names(records: Sequence[Record]) -> list[str]:
    """The names that an operator gives its results; empty for what is no value."""
    found: list[str] = []
    for value in map(argument, records):
        several = value if isinstance(value, list) else [value]
        found += [x.name if isinstance(x, ValueName) else "" for x in several]
    return found


def _named(record: Record) -> ValueName:
    return ValueName(record["name"])


def _symbol(record: Record) -> ValueName | JSON:
    ((kind, value),) = record.items()
    return ValueName(value) if kind == "as_name" else value


def _optional(record: Record) -> ValueName | None:
    return _named(record["as_tensor"]) if "as_tensor" in record else None


def _dtype(code: JSON) -> str:
    if code not in DTYPES:
        raise UnsupportedError("a dtype", f"number {code} has no blocks")
    return DTYPES[code]


def _each(read: Reader) -> Reader:
    return lambda records: [read(record) for record in records]


Reader: TypeAlias = "Callable[[JSON], Any]"
_READERS: dict[str, Reader] = {
    **dict.fromkeys(("as_tensor", "as_custom_obj"), _named),
    **dict.fromkeys(("as_sym_int", "as_sym_bool", "as_sym_float"), _symbol),
    **dict.fromkeys(("as_sym_ints", "as_sym_bools", "as_sym_floats"), _each(_symbol)),
    "as_tensors": _each(_named),
    "as_nested_tensors": _each(_each(_named)),
    "as_optional_tensors": _each(_optional),
    "as_optional_tensor": _optional,
    "as_graph": lambda record: InnerGraph(record["graph"]),
    "as_scalar_type": _dtype,
    **dict.fromkeys(
        ("as_none", "as_device", "as_layout", "as_memory_format"), lambda _: None
    ),
    **dict.fromkeys(
        ("as_int", "as_ints", "as_float", "as_floats", "as_bool", "as_bools", "as_string",
         "as_strings", "as_int_lists", "as_float_lists", "as_operator"), lambda value: value
    ),
}  # fmt: skip
"""By kind, what an argument is."""
