"""Pictures: what the face of a view shows, as numbers that any painter can draw."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.classes.dataclass import dataclass

if TYPE_CHECKING:
    from gradwire.runtime.views.axes import Axis, Floats

Levels = NDArray[np.uint8]
Scale: TypeAlias = Literal["grey", "sequential", "diverging", "classes"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Picture:
    """A picture; each is equal to itself alone, so that faces can be kept by it."""

    summary: str = ""
    """What is shown, in one line."""
    notes: tuple[str, ...] = ()
    """What is not shown, and why, each in a few words."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NoPicture(Picture):
    """Nothing to show; ``summary`` says why."""


@dataclass(frozen=True, eq=False)
class Line:
    """Values (n,) over steps (n,); a single one is a point. NaN breaks it."""

    name: str
    steps: Floats
    values: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class PlotPicture(Picture):
    """Lines over steps."""

    x: Axis
    y: Axis
    lines: tuple[Line, ...]


@dataclass(frozen=True, eq=False)
class PointMarks:
    """Points (n, 2) and, where they have colours, a level 0 … 255 for each (n,).

    Of classes, level 1 is the first one; of shades, 1 is the least and 255 the greatest value.
    """

    points: Floats
    levels: Levels | None = None
    scale: Literal["classes", "sequential"] = "classes"
    crosses: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class ScatterPicture(Picture):
    """Points in a plane; ``labels`` name the classes in their order."""

    x: Axis
    y: Axis
    marks: tuple[PointMarks, ...]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class ImagePicture(Picture):
    """Pixels as levels (h, w) of a scale, or as red, green and blue (h, w, 3).

    Of several images it has ``rows`` of ``columns``, each ``tile`` px (height, width), with one px
    between; ``gaps`` are where nothing is (h, w).
    """

    pixels: Levels
    scale: Scale
    low: float = 0.0
    high: float = 1.0
    gaps: NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class HistogramPicture(Picture):
    """Counts (k,) of values between the edges (k + 1,) of bars of equal width."""

    x: Axis
    y: Axis
    counts: NDArray[np.int64]
    edges: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class FieldPicture(Picture):
    """Levels (r, r) over a plane, the first row at the top, and marks over them.

    ``lines`` are pieces (k, 4) of where two colours meet: x and y of both ends.
    """

    x: Axis
    y: Axis
    levels: Levels
    scale: Scale
    low: float
    high: float
    centre: float
    lines: Floats = field(default_factory=lambda: np.zeros((0, 4)))
    marks: tuple[PointMarks, ...] = ()
    labels: tuple[str, ...] = ()
