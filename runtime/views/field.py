"""What a page computes over a plane, with the variables of one of its uses."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import GradwireError
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.sources import Input
from gradwire.blocks.nearest import did_you_mean
from gradwire.runtime.diagram.model import MAIN, Diagram, Page, page_ports
from gradwire.runtime.diagram.pages import uses_of
from gradwire.runtime.diagram.paths import InstancePath, PortName, PortPath
from gradwire.runtime.engine.session.session import Session
from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.views.colours import FIRST, NOT_FINITE
from gradwire.runtime.views.contours import contour
from gradwire.runtime.views.levels import levels_of, limits_of, remarks, span
from gradwire.runtime.views.pictures import FieldPicture, NoPicture, Picture, PointMarks
from gradwire.runtime.views.scatter import marks_of, plane, point_notes, thinned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradwire.blocks.library.views import Field
    from gradwire.blocks.values import Array
    from gradwire.runtime.engine.flat import Flat
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.views.axes import Axis, Floats

_USE = "use"
_MOST_CLASSES = 64
_MOST_CHOICES = 100


class _NotDrawn(Exception):
    """Why a field can't be drawn, in a few words."""


@dataclass(frozen=True, slots=True)
class _Grid:
    """A page on its own, with points for its inputs: the session that runs it, and its sources.

    ``sources`` are the paths of variables and inputs inside the page, relative to it.
    """

    session: Session
    inputs: tuple[str, ...]
    output: str
    sources: tuple[InstancePath, ...]


class Fields:
    """Evaluates pages over grids. Keeps the sessions, so that new numbers need no new plan."""

    def __init__(self) -> None:
        self._pages: Mapping[str, Page] = {}
        self._grids: dict[tuple[str, int, tuple[tuple[int, ...], ...], str], _Grid] = {}

    def picture(
        self,
        block: Field,
        diagram: Diagram,
        program: Program,
        values: Mapping[str, Array],
        step: int,
        points: Array | None,
        colour: Array | None,
    ) -> Picture:
        """The picture of a Field; ``values`` are those of a run of the program, by port."""
        x, y = plane(block, points)
        try:
            heights = self._heights(block, diagram, program, values, step, x, y)
        except _NotDrawn as why:
            return NoPicture(summary=str(why))
        except GradwireError as error:
            return NoPicture(summary=error.what)
        return _drawn(block, x, y, heights, points, colour)

    def _heights(
        self,
        block: Field,
        diagram: Diagram,
        program: Program,
        values: Mapping[str, Array],
        step: int,
        x: Axis,
        y: Axis,
    ) -> Floats:
        """What the page gives on the grid (r, r), or (r, r, k); the first row is at the top."""
        _require_page(block, diagram)
        use = _use_of(block, program.flat)
        ranks, dtype = _inputs_of(program, use, page_ports(diagram.pages[block.page]).inputs)
        grid = self._grid(block, diagram, ranks, dtype)
        _require_one_meaning(block, program.flat, grid)
        session = grid.session
        session.step_number = step
        for path in grid.sources:
            value = values.get(program.flat.source((use / path).port("out")))
            if value is not None:
                session.set(InstancePath(_USE) / path, value)
        run = session.run(_points(x, y, block.resolution, grid.inputs, ranks), ports=[grid.output])
        found = np.asarray(run.values[PortPath(grid.output)], np.float64)
        count = block.resolution**2
        if found.shape not in ((count,), (count, 1)) and (found.ndim != 2 or len(found) != count):
            shape = ", ".join(
                map(str, ("n", *found.shape[1:]) if found.shape[:1] == (count,) else found.shape)
            )
            raise _NotDrawn(f"{block.page} gives ({shape}), not (n,), (n, 1) or (n, k)")
        found = found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found
        return found.reshape(block.resolution, block.resolution, *found.shape[1:])

    def _grid(self, block: Field, diagram: Diagram, ranks: tuple[int, ...], dtype: str) -> _Grid:
        """The session of a page and resolution; new where any page of the diagram has changed."""
        if any(self._pages.get(name) is not page for name, page in diagram.pages.items()):
            self._forget_changed(diagram)
        count = block.resolution**2
        lengths = {1: (count,), 2: (count, 1), 3: (count, 2)}
        shapes = tuple(lengths[rank] for rank in ranks)
        key = (block.page, block.resolution, shapes, dtype)
        if key not in self._grids:
            self._grids[key] = _grid_of(diagram, block.page, shapes, dtype)
        return self._grids[key]

    def _forget_changed(self, diagram: Diagram) -> None:
        """Follow the newest pages; a change of MAIN alone leaves all grids as they are."""
        was = {name: page.blocks for name, page in self._pages.items() if name != MAIN}
        now = {name: page.blocks for name, page in diagram.pages.items() if name != MAIN}
        wires = {name: page.wires for name, page in self._pages.items() if name != MAIN}
        same = was.keys() == now.keys() and all(
            now[name] is blocks and diagram.pages[name].wires is wires[name]
            for name, blocks in was.items()
        )
        if not same:
            kept: dict[tuple[str, int, tuple[tuple[int, ...], ...], str], _Grid] = {}
            for key, grid in self._grids.items():
                page, _, shapes, dtype = key
                if page in diagram.pages and _is_function(diagram.pages[page]):
                    grid.session.update(_alone(diagram, page, shapes, dtype))
                    kept[key] = _read(grid.session, diagram.pages[page])
            self._grids = kept
        self._pages = dict(diagram.pages)


def choices(block: Field, diagram: Diagram) -> dict[str, tuple[str, ...]]:
    """What the page and the use of a Field may be, nothing first; also what they are."""
    pages = [name for name, page in diagram.pages.items() if name != MAIN and _is_function(page)]
    known = block.page in diagram.pages and block.page != MAIN
    uses = islice(uses_of(diagram, block.page), _MOST_CHOICES) if known else ()
    return {
        "page": tuple(dict.fromkeys(["", *pages, block.page])),
        "use": tuple(dict.fromkeys(["", *map(str, uses), block.use])),
    }


def _require_page(block: Field, diagram: Diagram) -> None:
    if not block.page:
        raise _NotDrawn("choose a page")
    if block.page not in diagram.pages or block.page == MAIN:
        near = did_you_mean(block.page, [name for name in diagram.pages if name != MAIN])
        raise _NotDrawn(f"no page {block.page!r}. {near or ''}".strip())
    if not _is_function(diagram.pages[block.page]):
        raise _NotDrawn(f"{block.page} needs one or two inputs and one output")


def _is_function(page: Page) -> bool:
    sides = page_ports(page)
    return len(sides.inputs) in (1, 2) and len(sides.outputs) == 1


def _use_of(block: Field, flat: Flat) -> InstancePath:
    """The use whose variables are taken; of several the first, which stands for those like it."""
    uses = flat.uses.get(block.page, [])
    if block.use:
        if block.use not in uses:
            near = did_you_mean(block.use, uses)
            raise _NotDrawn(f"{block.use!r} is no use of {block.page}. {near or ''}".strip())
        return InstancePath(block.use)
    if not uses:
        raise _NotDrawn(f"no block uses page {block.page!r}")
    return uses[0]


def _require_one_meaning(block: Field, flat: Flat, grid: _Grid) -> None:
    """Raise unless a use is named, or all uses of the page have the same variables."""
    uses = sorted(flat.uses.get(block.page, []))
    if block.use or len(uses) < 2:
        return
    apart = {tuple(flat.canonical(use / path) for path in grid.sources) for use in uses}
    if len(apart) > 1:
        few = ", ".join(uses[:3]) + (", …" if len(uses) > 3 else "")
        raise _NotDrawn(f"{block.page} has different variables in {few}: name one as use")


def _inputs_of(
    program: Program, use: InstancePath, names: Sequence[str]
) -> tuple[tuple[int, ...], str]:
    """What each input of the page gets, as the use does: 1 for numbers ``(n,)``, 2 for a column
    ``(n, 1)``, 3 for points ``(n, 2)``; and their dtype.
    """
    traced = [program.ports.get((use / name).port("out")) for name in names]
    floats = [v.dtype for v in traced if v is not None and v.dtype.startswith("float")]
    dtype = floats[0] if floats else "float32"
    if len(names) == 1:
        return (3,), dtype
    ranks = (2 if v is not None and len(v.shape) == 2 else 1 for v in traced)
    return tuple(ranks), dtype


def _alone(diagram: Diagram, page: str, shapes: Sequence[tuple[int, ...]], dtype: str) -> Diagram:
    """A diagram that runs nothing but a page, with Inputs of the given shapes for its inputs."""
    names = page_ports(diagram.pages[page]).inputs
    inputs = [f"in{i}" for i in range(len(names))]
    blocks = {
        name: Input.from_record({"shape": list(shape), "dtype": dtype})
        for name, shape in zip(inputs, shapes, strict=True)
    }
    wires = {
        PortName(_USE, port): PortName(name, "out")
        for port, name in zip(names, inputs, strict=True)
    }
    return Diagram({**diagram.pages, MAIN: Page({**blocks, _USE: PageBlock(page=page)}, wires)})


def _grid_of(diagram: Diagram, page: str, shapes: Sequence[tuple[int, ...]], dtype: str) -> _Grid:
    return _read(Session(_alone(diagram, page, shapes, dtype)), diagram.pages[page])


def _read(session: Session, page: Page) -> _Grid:
    sides = page_ports(page)
    program, use = session.program, InstancePath(_USE)
    sources = [
        path.relative_to(use)
        for path in map(InstancePath, program.sources("variable", "input"))
        if path.is_inside(use)
    ]
    inputs = tuple(f"in{i}" for i in range(len(sides.inputs)))
    return _Grid(session, inputs, use.port(sides.outputs[0]), tuple(sources))


def _points(
    x: Axis, y: Axis, count: int, inputs: Sequence[str], ranks: Sequence[int]
) -> dict[str, NDArray[np.float64]]:
    """The points of a grid for each input, row by row from the top."""
    across = np.tile(np.linspace(x.low, x.high, count), count)
    up = np.repeat(np.linspace(y.high, y.low, count), count)
    if len(inputs) == 1:
        return {inputs[0]: np.column_stack([across, up])}
    sides = zip(inputs, ranks, (across, up), strict=True)
    return {name: side[:, None] if rank == 2 else side for name, rank, side in sides}


def _drawn(
    block: Field, x: Axis, y: Axis, heights: Floats, points: Array | None, colour: Array | None
) -> Picture:
    marks, labels, _ = marks_of(points, colour)
    of_points = point_notes(x, y, points)
    if heights.ndim == 3 and block.column is None:
        finite: NDArray[np.bool_] = np.asarray(np.isfinite(heights).all(axis=2))
        best = np.where(finite[:, :, None], heights, 0.0).argmax(axis=2)
        levels = np.where(finite, FIRST + best % _MOST_CLASSES, NOT_FINITE).astype(np.uint8)
        count = heights.shape[2]
        marks, labels = _by_column(marks, labels, colour, count)
        return FieldPicture(
            x=x, y=y, levels=levels, scale="classes", low=0.0, high=float(count - 1),
            centre=0.0, marks=marks, labels=labels,
            summary=f"{block.page}: the largest of {count} columns, {_shares(best, count)}",
            notes=(*remarks(heights, -np.inf, np.inf), *of_points),
        )  # fmt: skip
    if heights.ndim == 3:
        column = block.column or 0
        if column >= heights.shape[2]:
            return NoPicture(summary=f"{block.page} has {heights.shape[2]} columns, not {column}")
        heights = heights[:, :, column]
    diverging = block.colours == "diverging"
    low, high = limits_of(heights, block.low, block.high, block.centre if diverging else None)
    lines = contour(heights, block.centre, x, y) if diverging else np.zeros((0, 4))
    known = heights[np.isfinite(heights)]
    text = f"{block.page}: {span(known.min(), known.max())}" if known.size else block.page
    if diverging and known.size:
        text += f", {100 * np.mean(known > block.centre):.0f} % above {number(block.centre)}"
    return FieldPicture(
        x=x, y=y, levels=_centred(heights, low, high, block), scale=block.colours,
        low=low, high=high, centre=block.centre, lines=lines, marks=marks, labels=labels,
        summary=text, notes=(*remarks(heights, low, high), *of_points),
    )  # fmt: skip


def _by_column(
    marks: tuple[PointMarks, ...], labels: tuple[str, ...], colour: Array | None, count: int
) -> tuple[tuple[PointMarks, ...], tuple[str, ...]]:
    """Marks and labels of a field of ``count`` columns: points of class 2 look like column 2, also
    where no point has class 1.
    """
    columns = tuple(map(str, range(count)))
    if not labels:
        return marks, columns
    classes = [float(each) for each in np.unique(np.asarray(colour))]
    if classes[0] < 0 or classes[-1] >= count or not all(map(float.is_integer, classes)):
        return marks, labels
    shown = thinned(np.asarray(colour).reshape(-1)).astype(int)
    levels = (FIRST + shown % _MOST_CLASSES).astype(np.uint8)
    return tuple(replace(each, levels=levels) for each in marks), columns


def _centred(heights: Floats, low: float, high: float, block: Field) -> NDArray[np.uint8]:
    """Levels; of a diverging scale the centre has the middle one, wherever the ends are."""
    if block.colours != "diverging":
        return levels_of(heights, low, high)
    centre = min(max(block.centre, low), high)
    below, above = (centre - low) or 1.0, (high - centre) or 1.0
    with np.errstate(all="ignore"):
        away = heights - centre
        scaled = np.where(away < 0, away / below, away / above)
    return levels_of(scaled, -1.0, 1.0)


def _shares(best: NDArray[np.intp], count: int) -> str:
    shares = np.bincount(best.ravel(), minlength=count) / best.size
    return ", ".join(f"{i}: {100 * share:.0f} %" for i, share in enumerate(shares[:4].tolist()))
