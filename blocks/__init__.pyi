from collections.abc import Callable

from gradwire.blocks.block import (
    REQUIRED as REQUIRED,
    Block as Block,
    InputPort as InputPort,
    Opaque as Opaque,
    Source as Source,
)
from gradwire.blocks.elementwise import Elementwise as Elementwise
from gradwire.blocks.values import DTYPES as DTYPES, PortLiteral as PortLiteral, Tensor as Tensor

def attach_stub(package: str, file: str) -> tuple[Callable[[str], object], list[str]]: ...
