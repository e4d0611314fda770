"""What one port of a data set provides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import ShapeError
from gradwire.blocks.library.data.sources import MAX_COLUMNS, MAX_PATH
from gradwire.blocks.values import DType

if TYPE_CHECKING:
    from gradwire.blocks.block import Shape


def _texts(value: object) -> object:
    return (value,) if isinstance(value, str) else value


class Column(BaseModel):
    """What one port of a data set provides: columns of the source, and how they are prepared."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    of: Annotated[
        tuple[Annotated[str, Field(max_length=MAX_PATH)], ...],
        BeforeValidator(_texts),
        Field(max_length=MAX_COLUMNS),
    ] = ()
    """Names of the columns of the source, joined to a vector; none for that of the port's name."""
    dtype: DType = "float32"
    """Dtype of the port."""
    labels: Annotated[
        tuple[Annotated[str, Field(max_length=MAX_PATH)], ...], Field(max_length=MAX_COLUMNS)
    ] = ()
    """Texts of a column, each read as its position in this list; none for a column of numbers."""
    one_hot: Annotated[int, Field(ge=0, le=MAX_COLUMNS)] = 0
    """Number of classes: integers k become vectors with 1 at k; 0 leaves the integers."""
    standardise: bool = False
    """Whether each number becomes (number - mean) / std, of the training rows."""
    flatten: bool = False
    """Whether a row of several axes becomes a vector."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.standardise and not self.dtype.startswith("float"):
            raise ValueError(f"standardised numbers are floats, but the dtype is {self.dtype}")
        if self.standardise and (self.one_hot or self.labels):
            raise ValueError("labels are not standardised")
        if len(set(self.labels)) != len(self.labels):
            raise ValueError("the labels are not distinct")
        if self.one_hot and len(self.labels) > self.one_hot:
            raise ValueError(f"one_hot {self.one_hot} is below the {len(self.labels)} labels")
        return self

    def row_shape(self, parts: Sequence[Shape]) -> Shape:
        """The shape of one row of the port, given those of the columns that it joins.

        Raises ShapeError for columns that can't be joined: they have more than one axis.
        """
        shape = parts[0]
        if len(parts) > 1:
            deep = next((part for part in parts if len(part) > 1), None)
            if deep is not None:
                raise ShapeError(
                    "Only columns of numbers or vectors are joined.",
                    expected="rows of at most one axis",
                    got=f"rows of shape {list(deep)}",
                )
            shape = (sum(math.prod(part) for part in parts),)
        if self.flatten:
            shape = (math.prod(shape),)
        return (*shape, self.one_hot) if self.one_hot else shape


@dataclass(frozen=True, slots=True)
class Port:
    """Shape and dtype of a port of a data set."""

    open_shape: Shape | None
    leaf_dtype: str
