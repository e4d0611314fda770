"""The input ports of a class of blocks, as its ``forward`` says them."""

from __future__ import annotations

from typing import Any

from gradwire.blocks.classes.dataclass import dataclass


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: object = _Required()
"""Default of an input port that must be wired or given a literal."""


@dataclass(frozen=True, slots=True)
class InputPort:
    """One argument of ``forward``: its name, its default, and whether it repeats.

    ``default`` is ``REQUIRED``, a scalar, or None (the port may stay open, and forward
    gets None). A repeating port ``terms`` appears in a diagram as ``terms.0``, ``terms.1``, …
    """

    name: str
    default: Any = REQUIRED
    variadic: bool = False

    @property
    def required(self) -> bool:
        """Whether it must be wired or given a literal."""
        return self.default is REQUIRED
