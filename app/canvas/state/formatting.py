"""Formats arrays as text: a small one as a grid of numbers, a large one in two lines.

Trees of arrays are described by the paths and shapes of their leaves, or by their branches.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from gradwire.app.canvas.state.charts import Chart, chart
from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.paths import path_text
from gradwire.blocks.trees import Kind, Passive
from gradwire.runtime.flow import DIGITS, number, wild

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.blocks.trees import Tree
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram import PortPath

Text = TypeVar("Text")

ROWS = 3
"""Largest number of rows of an array that is shown in full."""
COLUMNS = 4
"""Largest number of columns of an array that is shown in full."""
_FEW = ROWS * COLUMNS

_SUPERSCRIPT = str.maketrans("-−0123456789", "⁻⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


Cells: TypeAlias = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class FaceReadout:
    """Lines of cells; ``bracketed`` for an array shown in full, ``prose`` for a description."""

    cells: Cells
    bracketed: bool = False
    prose: bool = False
    fewer: Cells = ()
    """The cells in fewer digits."""

    @property
    def short(self) -> Cells:
        """The cells for a small space."""
        return self.fewer or self.cells


def _remembered(write: Callable[[Array], Text]) -> Callable[[Array], Text]:
    """``write`` with its texts of small arrays kept: most stay the same from edit to edit."""

    @lru_cache(maxsize=8192)
    def of_few(dtype: np.dtype[Any], shape: tuple[int, ...], data: bytes) -> Text:
        return write(np.frombuffer(data, dtype).reshape(shape))

    @wraps(write)
    def remembering(array: Array) -> Text:
        if not 0 < array.size <= _FEW or array.dtype.hasobject:
            return write(array)
        return of_few(array.dtype, array.shape, array.tobytes())

    return remembering


@dataclass(frozen=True, slots=True)
class FaceSection:
    """A readout on a face, after a mark: ∇ for a gradient."""

    mark: str
    readout: FaceReadout
    chart: Chart | None = None
    """The chart beside it."""


def charted(array: Array) -> FaceSection:
    """The readout of an array, with a chart if it is too large to be shown in full."""
    shown = readout(array)
    drawn = chart(array) if shown.prose else None
    if drawn is None:
        return FaceSection("", shown)
    briefly = ((dimensions(array.shape),), shown.short[1])
    return FaceSection("", replace(shown, fewer=briefly), drawn)


NONE = FaceReadout((("None",),), prose=True)
"""The gradient of a variable that no path connects to a loss; not the same as zero."""


@_remembered
def readout(array: Array) -> FaceReadout:
    """The text of an array.

    A scalar is one number; up to 3 × 4 numbers form a grid, to the same decimal
    place; larger arrays give shape, dtype, rms, least and largest.
    """
    if not array.ndim:
        return FaceReadout(((number(array[()]),),), fewer=((number(array[()], DIGITS - 1),),))
    if array.ndim <= 2 and array.size and fits(array.shape):
        # As Python's own numbers: for so few of them numpy takes several times as long.
        rows = array.tolist() if array.ndim == 2 else [array.tolist()]
        places = _places_of(rows) if _float(array) and array.size > 1 else None
        digits = DIGITS if len(rows[0]) < COLUMNS - 1 else DIGITS - 1
        cells = _aligned(rows, digits, places)
        return FaceReadout(cells, bracketed=True, fewer=_aligned(rows, 2, places))
    head = f"{dimensions(array.shape)} {array.dtype}"
    if not array.size:
        return FaceReadout(((head,), ("empty",)), prose=True)
    return FaceReadout(((head,), (spread(array),)), prose=True, fewer=((head,), (_briefly(array),)))


def _places_of(rows: list[list[float]]) -> int | None:
    """Decimal places of the largest of some numbers at one digit; None if they can't be aligned:
    integers, and what is written with an exponent.
    """
    finite = [abs(x) for row in rows for x in row if math.isfinite(x)]
    largest = max(finite, default=0.0)
    numbers = (x for row in rows for x in row)
    whole = all(x.is_integer() or math.isinf(x) for x in numbers)
    if whole or not 1e-3 <= largest < 1e5:
        return None
    return -math.floor(math.log10(largest))


def _aligned(rows: list[list[Any]], digits: int, first: int | None) -> Cells:
    """Numbers to the same decimal place, with ``digits`` of the largest; integers without a point.

    ``first`` is the place of its first digit, see :func:`_places_of`. A number too small for that
    place is written with an exponent: only zero looks like zero.
    """
    if first is None:
        return tuple([tuple([number(x, digits) for x in row]) for row in rows])
    places = max(0, digits - 1 + first)
    least = 0.5 * 10.0**-places

    def cell(value: float) -> str:
        if least <= abs(value) < math.inf:  # and not NaN
            return f"{value:.{places}f}".replace("-", "−")
        return number(value, 1)

    return tuple([tuple([cell(x) for x in row]) for row in rows])


def _float(array: Array) -> bool:
    return array.dtype.kind == "f"


def _is_wild(array: Array) -> bool:
    return _float(array) and not np.isfinite(array).all()


def fits(shape: tuple[int, ...]) -> bool:
    """Whether an array of that shape, one or two axes, is shown in full."""
    return shape[-1] <= COLUMNS and (len(shape) < 2 or shape[0] <= ROWS)


def lines(shape: tuple[int, ...]) -> int:
    """Number of lines of the readout of an array of that shape."""
    if not shape:
        return 1
    if len(shape) <= 2 and 0 not in shape and fits(shape):
        return shape[0] if len(shape) == 2 else 1
    return 2


def power_of_ten(value: float) -> str:
    """The magnitude of ``value`` as ``10⁻⁸``; ``0`` for zero."""
    if not value:
        return "0"
    return "10" + str(round(math.log10(abs(value)))).translate(_SUPERSCRIPT)


def _briefly(array: Array) -> str:
    return wild(array) if _is_wild(array) else spread(array, DIGITS - 1).partition(" · ")[0]


def spread(array: Array, digits: int = DIGITS) -> str:
    """``rms 0.52 · −1.2…3.4`` of finite values, and the number of others; ``all 1`` if equal."""
    if array.dtype == bool:
        return f"{int(array.sum())} of {array.size} true"
    wide = array.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    others = array.size - finite.size
    if not finite.size:
        return f"{others} not finite"
    if not others and (finite == finite[0]).all():
        return f"all {number(finite[0])}"
    text = (
        f"rms {number(_rms(finite), digits)} · {number(finite.min(), 2)}…{number(finite.max(), 2)}"
    )
    return f"{text} · {others} not finite" if others else text


def one_number(array: Array | None) -> tuple[str, ...]:
    """An array as one number, in shorter and shorter texts: a scalar's value, or the rms.

    ``None`` stands for a gradient that no path connects to a loss. What is not finite is the one
    number, whatever else there is.
    """
    if array is None:
        return ("None",)
    if not array.size:
        return ("empty",)
    if array.size == 1:
        value = array.reshape(())[()]
        return _ever_shorter(value)
    rms = _rms_of_few(array) if array.size <= _FEW and _float(array) else None
    if rms is None:
        if _is_wild(array):
            return (wild(array),)
        text = spread(array).partition(" · ")[0]
        if not text.startswith("rms "):
            return (text,)
        rms = _rms(array.astype(np.float64))
    texts = _ever_shorter(rms)
    return f"rms {texts[0]}", *texts


def _rms_of_few(array: Array) -> float | None:
    """The root mean square of a small array; None if it is no such number, or all are equal.

    For so few numbers numpy takes several times as long.
    """
    values: list[float] = array.ravel().tolist()
    largest = max(map(abs, values))
    if not math.isfinite(sum(values)) or min(values) == max(values):
        return None
    return largest * math.sqrt(sum((x / largest) ** 2 for x in values) / len(values))


@_remembered
def beside_wire(array: Array) -> tuple[str, ...]:
    """An array as one number with at least three digits, in shorter and shorter texts."""
    return tuple(dict.fromkeys(one_number(array)[: -(DIGITS - 2)] or one_number(array)))


def _ever_shorter(value: Any) -> tuple[str, ...]:
    return tuple(number(value, digits) for digits in range(DIGITS, 0, -1))


def _rms(finite: NDArray[np.float64]) -> float:
    largest = float(np.abs(finite).max())
    return largest * float(np.sqrt(np.mean(np.square(finite / largest)))) if largest else 0.0


def dimensions(shape: tuple[int, ...]) -> str:
    """``2 × 3``, ``scalar`` for no axis, ``(5)`` for one."""
    if not shape:
        return "scalar"
    return " × ".join(str(length) for length in shape) if len(shape) > 1 else f"({shape[0]})"


def described(array: Array) -> str:
    """Shape, dtype and the head of the value, several lines, for a tooltip."""
    shown = np.array2string(array, precision=6, threshold=60, edgeitems=3, max_line_width=72)
    return f"{dimensions(array.shape)} {array.dtype}\n{shown}"


def brief(array: Array) -> FaceReadout:
    """The text of an array in one line: a number, a row, or its shape and dtype."""
    shown = readout(array)
    if len(shown.cells) == 1:
        return shown
    return FaceReadout(((f"{dimensions(array.shape)} {array.dtype}",),), prose=True)


def gradient_lines(array: Array | None) -> int:
    """Number of lines of :func:`gradient_readout`, without writing the numbers."""
    if array is None or array.ndim > 2 or 0 in array.shape or not array.ndim:
        return 1
    return lines(array.shape) if fits(array.shape) and lines(array.shape) <= 2 else 1


def gradient_readout(array: Array | None) -> FaceReadout:
    """The text of a variable's gradient: None, a grid of at most two rows, or its spread.

    Without its shape, which is the value's.
    """
    if array is None:
        return NONE
    if lines(array.shape) <= 2 and not readout(array).prose:
        return readout(array)
    if not array.size:
        return FaceReadout((("empty",),), prose=True)
    return FaceReadout(((spread(array),),), prose=True, fewer=((_briefly(array),),))


TREE_ROWS = 4
"""Largest number of lines for a tree on a face."""
_MAX_LISTED = 24
_WIDEST = 16


def outline(tree: Tree, known: Mapping[PortPath, Any]) -> FaceReadout:
    """The text of a tree on a face: up to four leaves with their shapes.

    With more leaves, the branches and their numbers of arrays. ``known`` has the shapes by port.
    """
    leaves = [(path_text(path), kind) for path, kind in _kinds(tree, known)]
    if len(leaves) > TREE_ROWS:
        counts = Counter(str(path[0]) for path, _ in _kinds(tree, known))
        leaves = [(name, f"{count} array{'s' * (count > 1)}") for name, count in counts.items()]
    if len(leaves) > TREE_ROWS:
        rest = len(leaves) - TREE_ROWS + 1
        leaves = [*leaves[: TREE_ROWS - 1], ("…", f"{rest} more")]
    cells = tuple((_elided(name), kind) for name, kind in leaves) or (("", "empty"),)
    return FaceReadout(cells, prose=True)


def listed(tree: Tree, known: Mapping[PortPath, Any]) -> str:
    """The leaves of a tree, one per line with shape and dtype, for a tooltip."""
    lines = [f"{path_text(path)}: {kind}" for path, kind in _kinds(tree, known, dtypes=True)]
    more = [f"… {len(lines) - _MAX_LISTED} more"] if len(lines) > _MAX_LISTED else []
    return "\n".join([counted(tree), *lines[:_MAX_LISTED], *more])


def counted(tree: Tree) -> str:
    """``mapping of 4 arrays``."""
    kind, count = tree.nodes.get(()), len(tree.arrays)
    shape = kind.value if isinstance(kind, Kind) else "leaf"
    return f"{shape} of {count} array{'' if count == 1 else 's'}"


def _kinds(
    tree: Tree, known: Mapping[PortPath, Any], *, dtypes: bool = False
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every leaf's path with its shape, or with its value if it is not an array."""
    for path, leaf in tree.leaves.items():
        if isinstance(leaf, Passive):
            value = leaf.value
            yield path, number(value) if isinstance(value, int | float) else str(value)
        elif (port := known.get(leaf)) is None:
            yield path, "?"
        else:
            shape = dimensions(tuple(port.shape))
            yield path, f"{shape} {port.dtype}" if dtypes else shape


def _elided(name: str) -> str:
    """The end of a long path, which says more than its beginning."""
    return name if len(name) <= _WIDEST else f"…{name[1 - _WIDEST :]}"
