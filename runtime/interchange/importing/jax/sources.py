"""What a staged value comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.staged import Staged


def kind_of(x: Staged) -> str:
    """The type of the block that gives a value; empty for constants."""
    return "" if x.source is None else x.source.block.type_name()


def inputs_of(x: Staged) -> list[Staged]:
    """What drives that block."""
    return [] if x.source is None else list(x.source.inputs.values())


def axes_of(x: Staged) -> tuple[int, ...]:
    """The axes that a reduction is over."""
    assert x.source is not None
    (whole,) = inputs_of(x)
    axis = getattr(x.source.block, "axis", None)
    if axis is None:
        return tuple(range(whole.ndim))
    return (axis,) if isinstance(axis, int) else tuple(axis)


def bare(x: Staged) -> Staged:
    """What is reshaped."""
    while kind_of(x) == "Reshape":
        (x,) = inputs_of(x)
    return x
