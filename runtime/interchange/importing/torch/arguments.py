"""Arguments of the operators of an exported program, as the table of operators takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.torch.operators.table import DTYPES

Record: TypeAlias = "Mapping[str, Any]"


@dataclass(frozen=True)
class ValueName:
    """A value of the graph, by name."""

    name: str


@dataclass(frozen=True)
class InnerGraph:
    """A graph inside another one, which an operator runs."""

    record: Record


def argument(record: Record) -> Any:
    """What an argument is: a Name, a Graph, numbers, text, a dtype's name, or a list of them.

    Devices, layouts and formats of memory are None. Raises UnsupportedError for kinds that are not
    known, and KeyError, TypeError or ValueError for records that are none.
    """
    ((kind, value),) = record.items()
    if kind in ("as_tensor", "as_custom_obj"):
        return ValueName(value["name"])
    if kind in ("as_sym_int", "as_sym_bool", "as_sym_float"):
        return _symbol(value)
    if kind in ("as_sym_ints", "as_sym_bools", "as_sym_floats"):
        return [_symbol(x) for x in value]
    if kind == "as_tensors":
        return [ValueName(x["name"]) for x in value]
    if kind == "as_nested_tensors":
        return [[ValueName(x["name"]) for x in several] for several in value]
    if kind == "as_optional_tensors":
        return [_optional(x) for x in value]
    if kind == "as_optional_tensor":
        return _optional(value)
    if kind == "as_graph":
        return InnerGraph(value["graph"])
    if kind == "as_scalar_type":
        return _dtype(value)
    if kind in ("as_none", "as_device", "as_layout", "as_memory_format"):
        return None
    if kind in _PLAIN:
        return value
    raise UnsupportedError(f"an argument of kind {kind[:40]}")


_PLAIN = frozenset({
    "as_int", "as_ints", "as_float", "as_floats", "as_bool", "as_bools", "as_string", "as_strings",
    "as_int_lists", "as_float_lists", "as_operator",
})  # fmt: skip


def _symbol(record: Record) -> Any:
    ((kind, value),) = record.items()
    return ValueName(value) if kind == "as_name" else value


def _optional(record: Record) -> ValueName | None:
    return ValueName(record["as_tensor"]["name"]) if "as_tensor" in record else None


def _dtype(code: Any) -> str:
    if code == 13:
        return "float32"  # bfloat16 is computed with the range it has in float32
    if code not in DTYPES:
        raise UnsupportedError("a dtype", f"number {code} has no blocks")
    return DTYPES[code]


def output_names(records: Any) -> list[str]:
    """The names that an operator gives its results."""
    found: list[str] = []
    for record in records:
        ((kind, value),) = record.items()
        if kind == "as_none":
            found.append("")
        elif kind in ("as_tensors", "as_sym_ints"):
            found += [x.get("name", x.get("as_name", "")) for x in value]
        elif kind == "as_optional_tensors":
            found += [(x.get("as_tensor") or {"name": ""})["name"] for x in value]
        else:
            found.append(value.get("name", value.get("as_name", "")))
    return found
