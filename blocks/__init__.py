"""Blocks: forward arithmetic on a namespace ``xp``, and the registry that finds them."""

from blocks.block import REQUIRED, Block, InputPort, Opaque, Source
from blocks.elementwise import Elementwise
from blocks.registry import registry
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
