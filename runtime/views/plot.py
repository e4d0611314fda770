"""Numbers over the steps of training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from gradwire.runtime.flow.words.formatting import number
from gradwire.runtime.views.axes import Axis, axis_around
from gradwire.runtime.views.pictures import Line, NoPicture, Picture, PlotPicture

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gradwire.blocks.library.views import Plot
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.paths import PortPath

MOST_STEPS = 2000
"""Steps of one line that are drawn; of more, these many evenly chosen ones are."""


class RecordedNumbers(Protocol):
    """What training remembers: numbers over steps, by column; those of ports under their paths."""

    @property
    def names(self) -> Collection[str]:
        """The columns."""

    def series(self, name: str) -> tuple[Array, Array]:
        """The steps (n,) and numbers (n,) of a column."""


def plot(
    block: Plot,
    ports: Sequence[PortPath | None],
    values: Sequence[Array | None],
    step: int,
    history: RecordedNumbers | None,
) -> Picture:
    """The picture of a Plot for its terms: their ports and present values, None where unknown."""
    lines = [
        line
        for port, value in zip(ports, values, strict=True)
        if (line := _line(block, port, value, step, history)) is not None
    ]
    if not lines:
        return NoPicture(summary="wire numbers" if not values else "not computed")
    x = _steps_axis([line.steps for line in lines])
    y = axis_around([line.values for line in lines], log=block.log)
    hidden = [line for line in lines if block.log and not (line.values > 0).any()]
    notes = [f"{line.name} is not positive" for line in hidden]
    bad = sum(int(np.count_nonzero(~np.isfinite(line.values))) for line in lines)
    return PlotPicture(
        x=x,
        y=y,
        lines=tuple(lines),
        summary=", ".join(f"{line.name} {number(line.values[-1])}" for line in lines),
        notes=(*notes, *([f"{bad:,} not finite"] if bad else ())),
    )


def _line(
    block: Plot,
    port: PortPath | None,
    value: Array | None,
    step: int,
    history: RecordedNumbers | None,
) -> Line | None:
    """The recorded numbers of a term; without any, its present value, of an array the mean."""
    name = "literal" if port is None else str(port.block)
    if port is not None and history is not None and port in history.names:
        steps, numbers = history.series(port)
        if len(steps):
            return _thinned(name, steps, numbers, block.last)
    if value is None:
        return None
    with np.errstate(all="ignore"):
        mean = float(np.mean(np.asarray(value, np.float64))) if np.size(value) else np.nan
    return Line(name, np.array([float(step)]), np.array([mean]))


def _thinned(name: str, steps: Array, numbers: Array, last: int) -> Line:
    steps, numbers = np.asarray(steps, np.float64), np.asarray(numbers, np.float64)
    if last:
        first = int(np.searchsorted(steps, steps[-1] - last))
        steps, numbers = steps[first:], numbers[first:]
    if len(steps) > MOST_STEPS:
        chosen = np.linspace(0, len(steps) - 1, MOST_STEPS).astype(int)
        steps, numbers = steps[chosen], numbers[chosen]
    return Line(name, steps, numbers)


def _steps_axis(steps: Sequence[NDArray[np.float64]]) -> Axis:
    """From the first step to the last; around a single one."""
    first, last = min(float(s[0]) for s in steps), max(float(s[-1]) for s in steps)
    return Axis(first, last, whole=True) if last > first else Axis(first - 1, last + 1, whole=True)
