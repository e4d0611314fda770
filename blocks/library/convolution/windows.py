"""How a window moves along the axes after the channels: its parameters, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from gradwire.blocks.errors import ShapeError

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Value

Positive = Annotated[int, Field(ge=1)]
Natural = Annotated[int, Field(ge=0)]
Sizes: TypeAlias = Positive | tuple[Positive, ...]
Ends: TypeAlias = tuple[Natural, Natural]
"""How much before and after."""
Named: TypeAlias = Literal["valid", "same", "same-lower"]
Padding: TypeAlias = Named | Natural | tuple[Natural, ...] | tuple[Ends, ...]
Padding1D: TypeAlias = Named | Natural | Ends


def _or_one(count: int, one: Any, several: Any) -> BeforeValidator:
    """Lets one number stand for that of every axis."""
    return BeforeValidator(
        lambda given: (given,) * count if type(given) is int else given,
        json_schema_input_type=one | several,
    )


_Two: TypeAlias = tuple[Positive, Positive]
_Three: TypeAlias = tuple[Positive, Positive, Positive]
_Around2D: TypeAlias = Named | tuple[Natural, Natural] | tuple[Ends, Ends]
_Around3D: TypeAlias = Named | tuple[Natural, Natural, Natural] | tuple[Ends, Ends, Ends]
Pair: TypeAlias = Annotated[_Two, _or_one(2, Positive, _Two)]
Triple: TypeAlias = Annotated[_Three, _or_one(3, Positive, _Three)]
Padding2D: TypeAlias = Annotated[_Around2D, _or_one(2, Natural, _Around2D)]
Padding3D: TypeAlias = Annotated[_Around3D, _or_one(3, Natural, _Around3D)]
Widths: TypeAlias = tuple[tuple[int, int], ...]

AXES = {1: "length", 2: "height, width", 3: "depth, height, width"}
"""The axes after the channels, by their number."""


def each(sizes: Sizes) -> tuple[int, ...]:
    """One number for each axis."""
    return (sizes,) if isinstance(sizes, int) else sizes


def widths(
    lengths: Sequence[int],
    window: Sequence[int],
    stride: Sequence[int],
    padding: Padding,
    dilation: Sequence[int],
    ceil: bool = False,
) -> Widths:
    """Padding before and after, for each axis.

    With ``ceil`` it is as much after an axis as all windows need that begin before its end.
    """
    reach = [spread * (k - 1) + 1 for k, spread in zip(window, dilation, strict=True)]
    found = _explicit(padding, len(reach))
    if found is None:
        sides = zip(lengths, reach, stride, strict=True)
        total = [max((-(-n // step) - 1) * step + span - n, 0) for n, span, step in sides]
        found = divided(total, padding)
    if not ceil:
        return found
    axes = zip(lengths, reach, stride, found, strict=True)
    return tuple((ends[0], _after(n, span, step, ends)) for n, span, step, ends in axes)


def divided(total: Sequence[int], padding: Padding) -> Widths:
    """Padding in all, by axis, as that before and after: an odd one goes after, or before."""
    less = [(n // 2, n - n // 2) for n in total]
    return tuple(ends[::-1] for ends in less) if padding == "same-lower" else tuple(less)


def _explicit(padding: Padding, rank: int) -> Widths | None:
    """Padding that does not depend on lengths."""
    if isinstance(padding, str):
        return ((0, 0),) * rank if padding == "valid" else None
    if isinstance(padding, int):
        return ((padding, padding),)
    if rank == 1:  # the field of such a block takes two numbers, which its type here doesn't say
        return ((padding[0], padding[1]),)  # type: ignore[return-value]
    return tuple((n, n) if isinstance(n, int) else n for n in padding)


def _after(length: int, reach: int, step: int, ends: tuple[int, int]) -> int:
    """Padding after an axis with which windows are those of PyTorch's ceil_mode."""
    places = -(-(length + sum(ends) - reach) // step) + 1
    inside = length + ends[0]
    if (places - 1) * step >= inside:
        places -= 1
    return max((places - 1) * step + reach - inside, 0)


def require_batch(x: Value, rank: int) -> None:
    """Raise ShapeError unless x has ``rank`` axes after the batch and the channels."""
    if x.ndim != rank + 2:
        raise ShapeError(
            f"x is not a batch of {'images' if rank == 2 else f'channels with {rank} axes'}.",
            expected=f"(batch, channels, {AXES[rank]})",
            got=str(x.shape),
            next_step="Put a Reshape before it.",
        )
