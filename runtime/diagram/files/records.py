"""Converts between blocks and their flat records in a file, ``{"type": "Mul", "a": 3}``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.block import RESERVED, Block, Opaque
from gradwire.blocks.errors import BlockError, GradwireError, ParameterError
from gradwire.blocks.registry import registry
from gradwire.blocks.values import PortLiteral, Tensor
from gradwire.runtime.diagram.files.tensors import MAX_INLINE

if TYPE_CHECKING:
    from collections.abc import Collection


def type_of(block: Block) -> str:
    """The type of the block in a file."""
    return block.original_type if isinstance(block, Opaque) else block.type_name()


def record_of(block: Block) -> dict[str, object]:
    """The block as a file stores it, its type first."""
    return {"type": type_of(block), **block.to_record()}


def strict_block(type_name: str, record: Mapping[str, object]) -> Block:
    """Make a block from a record without its ``type``.

    Raises UnknownBlockError if the type is not installed, ParameterError if the record does not
    fit it.
    """
    cls = registry().get(type_name)
    if "literals" in record:
        raise ParameterError(
            f"{type_name} has no parameter or input 'literals'.",
            next_step="Write each literal under the name of its input.",
        )
    try:
        return cls.from_record(record)
    except BlockError:
        raise
    except GradwireError as error:
        raise ParameterError(
            f"{type_name} is wrong: {error.what}", expected=error.expected, got=error.got
        ) from error
    except Exception as error:  # a plug-in's validator may fail in any way
        raise ParameterError(f"{type_name} rejects its parameters: {error!r}.") from error


def lenient_block(type_name: str, record: Mapping[str, object]) -> Block:
    """The block or, if it is invalid, an opaque one that keeps the record unchanged."""
    try:
        return strict_block(type_name, record)
    except BlockError:
        return Opaque(original_type=type_name, record=dict(record))


def changed_block(block: Block, values: Mapping[str, object]) -> Block:
    """A copy with parameters, literals or own variables changed; None removes one of the latter.

    An opaque block becomes a real one as soon as its record fits its type. Raises ParameterError.
    """
    for name in (RESERVED - {"bypassed"}) & set(values):
        raise ParameterError(f"A parameter or literal can't be called {name!r}.")
    if not isinstance(block, Opaque):
        return _changed(block, values)
    record = dict(block.record)
    for name, value in values.items():
        record[name] = _json_value(name, value)
        if value is None:
            del record[name]
    return lenient_block(block.original_type, record)


def large_tensors(block: Block) -> dict[str, Tensor]:
    """The arrays of more than ``MAX_INLINE`` elements among a block's parameters and literals."""
    if isinstance(block, Opaque):
        values = {key: _inner(value) for key, value in block.record.items()}
    else:
        values = {key: getattr(block, key) for key in type(block).parameter_names()}
        values |= _named_arrays(values)
        values |= {key: literal.tensor for key, literal in block.literals.items()}
        values |= {key: getattr(own, "value", None) for key, own in block.owned.items()}
    return {
        key: value
        for key, value in values.items()
        if isinstance(value, Tensor) and value.array.size > MAX_INLINE
    }


def _named_arrays(values: Mapping[str, object]) -> dict[str, object]:
    """The arrays of parameters that have several by name: ``arrays.value 0``."""
    return {
        f"{key}.{name}": array
        for key, value in values.items()
        if isinstance(value, Mapping)
        for name, array in value.items()
    }


def without_arrays(block: Block, large: Collection[str]) -> Block:
    """The block with its large arrays replaced by scalars, so they aren't converted to lists."""
    literals = {
        key: PortLiteral(0, literal.dtype if literal.typed else None) if key in large else literal
        for key, literal in block.literals.items()
    }
    owned = {
        key: own.model_copy(update={"value": Tensor(1)}) if key in large else own
        for key, own in block.owned.items()
    }
    parameters: dict[str, Any] = {}
    for key in large:
        field, _, name = key.partition(".")
        if name:
            parameters.setdefault(field, dict(getattr(block, field)))[name] = Tensor(1)
        elif not block.is_given(key):
            parameters[key] = Tensor(1)
    return block.model_copy(update=parameters | {"literals": literals, "owned": owned})


def with_arrays(record: Mapping[str, Any], arrays: Mapping[str, object]) -> dict[str, object]:
    """A record with arrays, or what stands for them, put in by their keys."""
    found = dict(record)
    for key, array in arrays.items():
        field, _, name = key.partition(".")
        found[field] = {**found[field], name: array} if name else array
    return found


def _inner(value: object) -> object:
    """The value of a typed literal or own variable of an opaque record; others unchanged."""
    if not isinstance(value, dict):
        return value
    if set(value) == {"variable"}:
        own = value["variable"]
        return own.get("value") if isinstance(own, dict) else own
    return value["value"] if set(value) == {"dtype", "value"} else value


def _changed(block: Block, values: Mapping[str, object]) -> Block:
    """As ``Block.with_parameters``, but without converting large arrays."""
    large = large_tensors(block)
    if not large:
        return block.with_parameters(**values)
    given = {**block.literals, **block.owned}
    kept = {key: given.get(key, tensor) for key, tensor in large.items()}
    record = {**with_arrays(without_arrays(block, large).to_record(), kept), **values}
    gone = {key for key, value in values.items() if value is None and block.port(key)}
    return block.from_record({key: value for key, value in record.items() if key not in gone})


def _json_value(name: str, value: object) -> object:
    """The JSON form of a value; opaque blocks have no pydantic fields that could convert it."""
    if isinstance(value, np.ndarray | np.generic):
        value = Tensor(value)
    if isinstance(value, PortLiteral | Tensor):
        return value.to_json()
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{name!r} can't be stored: {error}.") from None
