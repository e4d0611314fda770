"""Blocks that show values on the canvas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field as Bounds

from gradwire.blocks.block import Block
from gradwire.blocks.elementwise import Elementwise
from gradwire.blocks.errors import Location, ShapeError

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value
    from gradwire.blocks.values import Array

Colours = Literal["sequential", "diverging"]
Count = Annotated[int, Bounds(ge=1, le=500)]
Length = Annotated[int, Bounds(ge=0)]
Finite = Annotated[float, Bounds(allow_inf_nan=False)]


class Display(Elementwise):
    """Shows its input on the canvas and passes it through, ``out = x``; so does the gradient.

    Any shape and dtype.
    """

    symbol: ClassVar[str] = "◉"
    formula: ClassVar[str] = r"y = x"

    def forward(self, xp: Namespace, x: Value) -> Value:
        return x


class ViewBlock(Block):
    """Base of blocks that draw their inputs on their face, and give nothing out.

    They compute nothing, so that they cost no run anything, and change no gradient and no verdict.
    An input that can't be shown is a warning.
    """

    abstract: ClassVar[bool] = True
    outputs: ClassVar[tuple[str, ...]] = ()
    bypassable: ClassVar[bool] = False


class Plot(ViewBlock):
    """Draws numbers over the steps of training, a line for each term.

    Any shapes; of an array it draws the mean. Without training it draws the present values as
    points at step 0.
    """

    symbol: ClassVar[str] = "∿"
    formula: ClassVar[str] = r"t \mapsto y_i(t)"

    log: bool = False
    """Draw the values on a logarithmic axis; those that are not positive are left out."""
    last: Length = 0
    """How many steps before the present one to draw; 0 for all."""

    def forward(self, xp: Namespace, *values: Value) -> tuple[()]:
        return ()


class _Plane(ViewBlock):
    """Base of blocks that draw points in a plane."""

    abstract: ClassVar[bool] = True

    x_min: Finite | None = None
    """Left end of the x axis, in units of the points; null for one that shows all points."""
    x_max: Finite | None = None
    """Right end of the x axis; null for one that shows all points."""
    y_min: Finite | None = None
    """Lower end of the y axis; null for one that shows all points."""
    y_max: Finite | None = None
    """Upper end of the y axis; null for one that shows all points."""


class Scatter(_Plane):
    """Draws points ``(n, 2)`` in a plane, and others ``(m, 2)`` as crosses.

    ``colour`` has a number for each of the points, ``(n,)`` or ``(n, 1)``: integers, booleans and
    floats of at most eight whole values are classes, each with a colour and a form; other floats
    are shades. Many points are drawn in part, evenly chosen. Raises ShapeError for other shapes.
    """

    symbol: ClassVar[str] = "⁘"
    formula: ClassVar[str] = r"\{(x_i, y_i)\}"

    def forward(
        self,
        xp: Namespace,
        points: Value | None = None,
        colour: Value | None = None,
        others: Value | None = None,
    ) -> tuple[()]:
        self.check(points, colour, others)
        return ()

    @staticmethod
    def check(
        points: Value | Array | None = None,
        colour: Value | Array | None = None,
        others: Value | Array | None = None,
    ) -> None:
        """Raise ShapeError unless the inputs fit each other."""
        _require_points(points, "points")
        _require_points(others, "others")
        _require_colour(colour, points)


class Image(ViewBlock):
    """Draws an image, or several side by side.

    ``(h, w)`` is an image in shades; ``(h, w, 3)`` has red, green and blue, 0 to 1 or, of integers,
    0 to 255. ``(n, h, w)``, ``(n, h, w, c)`` and ``(n, c, h, w)`` are n images, c being 1 or 3.
    With a ``height`` the last axis holds the pixels of an image, row by row: ``(n, height * w)``.
    Raises ShapeError for other shapes.
    """

    symbol: ClassVar[str] = "▦"
    formula: ClassVar[str] = r"x_{ij}"

    height: Length = 0
    """Height of each image, px, where the last axis holds all its pixels; 0 where it does not."""
    low: Finite | None = None
    """The value that is drawn darkest; null for the least one."""
    high: Finite | None = None
    """The value that is drawn brightest; null for the greatest one."""
    colours: Literal["grey", "sequential", "diverging"] = "grey"
    """Shades of grey, dark to yellow, or two colours that meet half-way."""
    columns: Annotated[int, Bounds(ge=0, le=100)] = 0
    """How many images stand side by side in a row; 0 for about a square."""

    def forward(self, xp: Namespace, x: Value | None = None) -> tuple[()]:
        if x is not None:
            images_of(x.shape, self.height)
        return ()


class Histogram(ViewBlock):
    """Draws how often values occur, those of all elements of an array of any shape.

    NaN and infinities are counted apart, and so are values beyond the range.
    """

    symbol: ClassVar[str] = "▥"
    formula: ClassVar[str] = r"\#\{i : a_k \le x_i < a_{k+1}\}"

    bins: Count = 30
    """Number of bars, of equal width."""
    low: Finite | None = None
    """Where the first bar begins, in units of x; null for the least value."""
    high: Finite | None = None
    """Where the last bar ends; null for the greatest value."""
    log: bool = False
    """Draw the counts on a logarithmic axis."""

    def forward(self, xp: Namespace, x: Value | None = None) -> tuple[()]:
        return ()


class Field(_Plane):
    """Draws what a page computes at each point of a plane: a decision, a value, an opinion.

    The page has one input, which gets the points ``(n, 2)``, or two, which get their x and y
    ``(n,)``, and one output, ``(n,)``, ``(n, 1)`` or, a number for each of k classes, ``(n, k)``.
    It runs with the present values of its variables, so that the picture follows training.
    ``points`` and ``colour`` are drawn over it as by a Scatter, darker than the field: of two
    classes the greater has the hue of high values, so that a point on the wrong side is seen.
    Raises ShapeError for points of another shape.
    """

    symbol: ClassVar[str] = "▧"
    formula: ClassVar[str] = r"(x, y) \mapsto f(x, y)"

    page: str = ""
    """Name of the page that is evaluated."""
    use: str = ""
    """Path of the use of the page whose variables are taken; empty for the only one, or for uses
    that share their variables."""
    resolution: Annotated[int, Bounds(ge=4, le=400)] = 64
    """Points along each axis."""
    colours: Colours = "diverging"
    """Two colours that meet at the centre, with a line there, or one scale from dark to yellow."""
    centre: Finite = 0.0
    """The value at which two colours meet: 0 for scores, 0.5 for probabilities."""
    low: Finite | None = None
    """The value of the first colour; null for one that all values fit."""
    high: Finite | None = None
    """The value of the last colour; null for one that all values fit."""
    column: Length | None = None
    """Which of several columns of the output is drawn; null for the number of the largest."""

    def forward(
        self, xp: Namespace, points: Value | None = None, colour: Value | None = None
    ) -> tuple[()]:
        Scatter.check(points, colour)
        return ()


def images_of(shape: tuple[int, ...], height: int = 0) -> tuple[tuple[int, ...], bool]:
    """How to read an array as images: the shape to give it, ``(n, h, w)``, ``(n, h, w, 3)`` or
    ``(n, 3, h, w)``, and whether the channels come first. Raises ShapeError.
    """
    rank = len(shape)
    if height:
        pixels = shape[-1] if shape else 0
        if not pixels or pixels % height:
            raise ShapeError(
                "The last axis does not hold whole rows of an image.",
                location=Location(port="x"),
                expected=f"a multiple of the height, {height}",
                got=str(list(shape)),
                next_step="Set height to the height of the images.",
            )
        return (_product(shape[:-1]), height, pixels // height), False
    if rank == 2:
        return (1, *shape), False
    if rank == 3:
        return ((1, *shape), False) if shape[2] == 3 else (shape, False)
    if rank == 4 and shape[3] in (1, 3):
        return (shape if shape[3] == 3 else shape[:3]), False
    if rank == 4 and shape[1] in (1, 3):
        return (shape, True) if shape[1] == 3 else ((shape[0], *shape[2:]), False)
    raise ShapeError(
        "This is not shaped like an image.",
        location=Location(port="x"),
        expected="(h, w), (h, w, 3), (n, h, w), (n, h, w, c) or (n, c, h, w), c being 1 or 3",
        got=str(list(shape)),
        next_step="Set height, or put a Reshape before it.",
    )


def _product(lengths: tuple[int, ...]) -> int:
    total = 1
    for length in lengths:
        total *= length
    return total


def _require_points(x: Value | Array | None, port: str) -> None:
    if x is not None and (len(x.shape) != 2 or x.shape[1] != 2):
        raise ShapeError(
            "Points have an x and a y each.",
            location=Location(port=port),
            expected="(n, 2)",
            got=str(list(x.shape)),
            next_step="Put a Slice, a Reshape or a Stack before it.",
        )


def _require_colour(colour: Value | Array | None, points: Value | Array | None) -> None:
    if colour is None or points is None:
        return
    count = points.shape[0]
    if tuple(colour.shape) not in ((count,), (count, 1)):
        raise ShapeError(
            "The colours need one number for each of the points.",
            location=Location(port="colour"),
            expected=f"({count},) or ({count}, 1)",
            got=str(list(colour.shape)),
            next_step="Wire what belongs to the same points.",
        )
