"""Fingerprints of what losses depend on, without the names that users give to blocks and pages."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradwire.blocks.block import Source
from gradwire.blocks.values import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gradwire.blocks.block import Block
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.paths import InstancePath, PortPath
    from gradwire.runtime.engine.flat import Flat

_LENGTH = 32
"""Hexadecimal digits of a fingerprint."""
_UNUSED = frozenset({"slider"})
"""Parameters that no computation reads."""


class Fingerprints(NamedTuple):
    """Of blocks and wires with shapes and dtypes, and of the numbers in them.

    They are kept in files: what changes them for blocks as they are needs a migration.
    """

    structure: str
    values: str


def structure_of(flat: Flat, losses: Iterable[PortPath]) -> str:
    """The first of the ``fingerprints``, without reading a number."""
    return _fingerprints(flat, losses, None).structure


def fingerprints(flat: Flat, losses: Iterable[PortPath]) -> Fingerprints:
    """What the losses depend on; a loss that isn't there depends on nothing.

    Blocks are numbered in the order in which a search from the losses meets them. Takes linear
    time, most of it for the numbers: about a second for a gigabyte.
    """
    return _fingerprints(flat, losses, sha256())


def _fingerprints(flat: Flat, losses: Iterable[PortPath], values: Any) -> Fingerprints:
    structure = sha256()
    number: dict[InstancePath, int] = {}
    heads = [flat.source(loss) for loss in losses]
    structure.update(repr([head.port for head in heads]).encode())
    pending = [head.block for head in reversed(heads)]
    while pending:
        path = pending.pop()
        if path in number or path not in flat.instances:
            continue
        number[path] = len(number)
        for is_number, part in _parts(flat.instances[path].block, path):
            if not is_number:
                structure.update(part)
            elif values is not None:
                values.update(part)
        pending += [end.block for _, end in reversed(_ends(flat, path))]
    for path in number:  # now that all have one
        for port, end in _ends(flat, path):
            read = port, number.get(end.block, -1), end.port, end.leaf
            structure.update(repr(read).encode())
    numbers = "" if values is None else values.hexdigest()
    return Fingerprints(structure.hexdigest()[:_LENGTH], numbers[:_LENGTH])


def _ends(flat: Flat, path: InstancePath) -> list[tuple[str, PortPath]]:
    """The inputs of a block that have a wire, and the ports that these come from."""
    wires = flat.instances[path].wires
    return [(port, flat.source(wires[port][1])) for port in sorted(wires)]


def _parts(block: Block, path: InstancePath) -> Iterator[tuple[bool, bytes | memoryview]]:
    """What a block consists of, and whether each part is a number."""
    yield False, f"{block.type_name()} {block.bypassed}\n".encode()
    if isinstance(block, Source):
        kind = block.open_shape, block.leaf_dtype, block.wants_gradient
        yield False, repr(kind).encode()
    fields = type(block).model_fields
    for name in block.parameter_names():
        value = getattr(block, name)
        if name in _UNUSED or value == fields[name].default:  # which later blocks may have more of
            continue
        if isinstance(value, Tensor):
            yield False, f"{name} {value.dtype} {value.shape}".encode()
            yield True, _bytes(value.array)
        else:
            yield isinstance(block, Source), f"{name} {value!r}".encode()
    if isinstance(block, Source) and getattr(block, "value", True) is None:
        yield True, path.encode("utf-8", "surrogatepass")  # what draws its numbers
    for port, literal in sorted(block.literals.items()):
        yield False, repr((port, literal.dtype, literal.weak, literal.tensor.shape)).encode()
        yield True, _bytes(literal.array)


def _bytes(array: Array) -> memoryview:
    return np.ascontiguousarray(array).data
