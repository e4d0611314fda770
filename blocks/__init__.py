"""Blocks: forward arithmetic on a namespace ``xp``, and the registry that finds them."""

from typing import TYPE_CHECKING

from blocks.importing.names import imported_on_use
from blocks.registry import registry

if TYPE_CHECKING:
    from blocks.block import REQUIRED, Block, InputPort, Opaque, Source
    from blocks.elementwise import Elementwise
    from blocks.values import DTYPES, PortLiteral, Tensor

__all__ = [
    "DTYPES",
    "REQUIRED",
    "Block",
    "Elementwise",
    "InputPort",
    "Opaque",
    "PortLiteral",
    "Source",
    "Tensor",
    "registry",
]

_MODULES = {
    "block": "REQUIRED Block InputPort Opaque Source",
    "elementwise": "Elementwise",
    "values": "DTYPES PortLiteral Tensor",
}
"""Names by the module that they are imported from when they are first used: errors and names need
neither pydantic nor numpy."""

__getattr__ = imported_on_use(__name__, _MODULES)
