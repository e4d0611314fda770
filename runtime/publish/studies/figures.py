"""What the figures of a study show: numbers over each parameter, and losses over iterations."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from gradwire.runtime.diagram.paths import PortPath
from gradwire.runtime.flow.words.formatting import number as number_text
from gradwire.runtime.publish.studies.drawing import DrawnCurve, Figure, Panel
from gradwire.runtime.training.studies.results import finite, shown
from gradwire.runtime.training.studies.task import VALIDATION
from gradwire.runtime.training.studies.varying import SEED
from gradwire.runtime.views.axes import Axis, axis_around
from gradwire.runtime.views.colours import CLASSES, FIRST, LAST, Colour, sequential

if TYPE_CHECKING:
    from gradwire.runtime.training.studies.results import Combination, Results
    from gradwire.runtime.training.studies.task import LossCurve
    from gradwire.runtime.views.axes import Floats

MOST_LINES = 12
"""Lines of a panel; of more combinations, so many evenly chosen ones are drawn."""
_T = TypeVar("_T")
_MOST_PANELS = 4
_WIDE = 20.0
"""How many times the least of positive numbers the largest is on a logarithmic axis."""
_SPREAD = "Bands and dots: from the least to the largest of {count} seeds; lines: their mean."
_BANDS = "Bands: from the least to the largest of {count} seeds; lines: their mean."
_MISSING = "×: trainings without a number, which diverged or failed."
_BRIGHTEST = 0.86
"""Share of a sequential scale that is seen on white."""


def figures(results: Results, title: str = "") -> dict[str, Figure]:
    """The figures by the name of their file: one for each numeric parameter, and the curves."""
    combinations = results.combinations()
    names = [name for name in results.varied if name != SEED]
    found = {
        _file_name(name): _over_parameter(results, combinations, name, title)
        for name in names
        if _is_numeric(results.varied[name]) and results.measured
    }
    curves = _curves(results, combinations, title)
    return found if curves is None else found | {"curves.svg": curves}


def _file_name(name: str) -> str:
    """``lr.svg``; other characters than letters, digits, ``-`` and ``_`` are ``_``."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in name)
    return f"over_{plain}.svg"


def _is_numeric(values: Iterable[object]) -> bool:
    known = list(values)
    return len(known) > 1 and all(type(value) in (int, float) for value in known)


# ---- numbers over a parameter --------------------------------------------------------------------


def _over_parameter(
    results: Results, combinations: Sequence[Combination], name: str, title: str
) -> Figure:
    groups = _grouped(combinations, name)
    chosen = _chosen(list(groups.items()))
    rest = [key for key in results.varied if key not in (name, SEED)]
    colours = _colours(results, rest, len(chosen))
    values = sorted(results.varied[name])
    x = axis_around([values], log=is_geometric(values), margin=0.06)
    drawn = {
        number: tuple(
            _line(name, number, members, colour, place)
            for place, ((_, members), colour) in enumerate(zip(chosen, colours, strict=True))
        )
        for number in results.measured[:_MOST_PANELS]
    }
    panels = []
    for number, lines in drawn.items():
        # On rows for training and for validation, a number has one axis.
        alike = (each for other, each in drawn.items() if _port(other) == _port(number))
        y = _shared_axis(line for each in alike for line in each)
        panels.append(Panel(_title(number), name, x, y, lines, tuple(values)))
    first = next(iter(drawn.values()))
    legend = [(text, line) for (text, _), line in zip(chosen, first, strict=True) if text]
    caption = [_SPREAD.format(count=len(results.varied[SEED]))] if _has_spread(results) else []
    caption += [_MISSING] if any(line.missing for p in panels for line in p.lines) else []
    caption += _left_out(len(groups), len(chosen))
    return Figure(title, tuple(panels), tuple(legend), tuple(caption))


def _line(
    name: str, number: str, members: Sequence[Combination], colour: Colour, mark: int
) -> DrawnCurve:
    """The mean of a number over a parameter, with the least and the largest over the seeds."""
    ordered = sorted(members, key=lambda each: float(each.settings[name]))
    x = [float(each.settings[name]) for each in ordered]
    numbers = [each.values(number) for each in ordered]
    several = any(len(values) > 1 for values in numbers)
    return DrawnCurve(
        np.array(x),
        *_spread(numbers),
        colour,
        mark,
        dots=tuple(
            (at, value)
            for at, values in zip(x, numbers, strict=True)
            for value in values
            if several
        ),
        missing=tuple(
            at for at, values in zip(x, numbers, strict=True) if len(finite(values)) < len(values)
        ),
    )


def _spread(numbers: Iterable[Iterable[float]]) -> tuple[Floats, Floats, Floats]:
    """The mean, the least and the largest of the finite ones among some numbers each."""
    rows = []
    for values in numbers:
        known = finite(values)
        rows.append((float(np.mean(known)), min(known), max(known)) if known else (math.nan,) * 3)
    middle, low, high = np.array(rows, np.float64).reshape(-1, 3).T
    return middle, low, high


# ---- losses over the iterations ------------------------------------------------------------------


def _curves(results: Results, combinations: Sequence[Combination], title: str) -> Figure | None:
    """The losses of each combination over the iterations; None if there are none.

    What is varied last has a panel for each of its values, where these are few.
    """
    losses = _losses(combinations)
    names = [name for name in results.varied if name != SEED]
    aside = names[-1] if len(names) > 1 and len(losses) == 1 else None
    if aside is not None and len(results.varied[aside]) > _MOST_PANELS:
        aside = None
    groups = _grouped(combinations, aside)
    chosen = _chosen(list(groups.items()))
    colours = _colours(results, [name for name in names if name != aside], len(chosen))
    drawn = {
        heading: tuple(
            _curve(_curves_of(members, loss, aside, value), colour)
            for (_, members), colour in zip(chosen, colours, strict=True)
        )
        for heading, loss, value in _panels_of(results, losses, aside)
    }
    every = [line for lines in drawn.values() for line in lines if len(line.x)]
    if not every:
        return None
    x = Axis(0.0, max(1.0, *(float(line.x[-1]) for line in every)), whole=True)
    panels = tuple(
        Panel(heading, "iteration", x, _shared_axis(every if aside else lines), lines)
        for heading, lines in drawn.items()
    )
    first = next(iter(drawn.values()))
    legend = tuple((text, line) for (text, _), line in zip(chosen, first, strict=True) if text)
    caption = [_BANDS.format(count=len(results.varied[SEED]))] if _has_spread(results) else []
    return Figure(title, panels, legend, (*caption, *_left_out(len(groups), len(chosen))))


def _losses(combinations: Iterable[Combination]) -> list[str]:
    """The losses that any training has a curve of."""
    trainings = (training for each in combinations for training in each.trainings)
    return list(dict.fromkeys(name for training in trainings for name in training.curves))


def _curves_of(
    members: Iterable[Combination], loss: str, aside: str | None, value: object
) -> list[LossCurve]:
    """The curves of a loss of all seeds, where what is set aside has a value."""
    return [
        training.curves[loss]
        for each in members
        if aside is None or each.settings[aside] == value
        for training in each.trainings
        if loss in training.curves
    ]


def _grouped(
    combinations: Iterable[Combination], aside: str | None
) -> dict[str, list[Combination]]:
    """Combinations by the label of all that they have but one name."""
    groups: dict[str, list[Combination]] = {}
    for each in combinations:
        rest = {name: value for name, value in each.settings.items() if name != aside}
        groups.setdefault(_label(rest), []).append(each)
    return groups


def _panels_of(
    results: Results, losses: Sequence[str], aside: str | None
) -> Iterator[tuple[str, str, object]]:
    """The heading of each panel, its loss, and the value of what has a panel for each value."""
    for loss in losses[:_MOST_PANELS]:
        for value in (None,) if aside is None else results.varied[aside]:
            told = "" if aside is None else f", {aside} = {_value(value)}"
            yield _title(loss) + told, loss, value


def _curve(curves: Sequence[LossCurve], colour: Colour) -> DrawnCurve:
    """The mean of losses at each iteration that any has, with the least and the largest."""
    at: dict[int, list[float]] = {}
    for curve in curves:
        for step, value in zip(curve.steps, curve.values, strict=True):
            at.setdefault(step, []).append(value)
    steps = sorted(at)
    return DrawnCurve(np.array(steps, np.float64), *_spread(at[step] for step in steps), colour)


# ---- shared --------------------------------------------------------------------------------------


def _port(number: str) -> str:
    return number.removeprefix(VALIDATION)


def _title(number: str) -> str:
    rows = "" if _port(number) == number else ", validation rows"
    return f"{PortPath(_port(number)).short}{rows}"


def _shared_axis(lines: Iterable[DrawnCurve]) -> Axis:
    """An axis for the numbers of lines; logarithmic if they are positive and far apart."""
    ends = [array for line in lines for array in (line.low, line.high, line.middle)]
    known = [value for array in ends for value in array.tolist() if math.isfinite(value)]
    log = bool(known) and min(known) > 0 and max(known) >= _WIDE * min(known)
    return axis_around(ends, log=log)


def is_geometric(values: Sequence[float]) -> bool:
    """Whether positive values, in order, are rather at equal ratios than at equal distances."""
    if len(values) < 2 or min(values) <= 0:
        return False
    if len(values) == 2:
        return values[1] >= 5 * values[0]
    gaps, ratios = np.diff(values), np.diff(np.log(values))
    return bool(np.std(ratios) / np.mean(ratios) < np.std(gaps) / np.mean(gaps) - 1e-9)


def _chosen(items: list[_T]) -> list[_T]:
    """All items, or ``MOST_LINES`` evenly chosen ones."""
    if len(items) <= MOST_LINES:
        return items
    return [items[place] for place in np.linspace(0, len(items) - 1, MOST_LINES).astype(int)]


def _left_out(count: int, drawn: int) -> list[str]:
    return [f"{drawn} of {count} combinations are drawn."] if drawn < count else []


def _colours(results: Results, names: Sequence[str], count: int) -> list[Colour]:
    """Colours in order where lines have an order or are many; else such as differ most."""
    ordered = len(names) == 1 and _is_numeric(results.varied[names[0]])
    if count < 2 or (count <= 6 and not (ordered and count > 2)):
        return list(CLASSES[:count])
    levels = np.linspace(FIRST, FIRST + _BRIGHTEST * (LAST - FIRST), count).astype(int)
    table = sequential(CLASSES[0])
    return [_colour(table[level].tolist()) for level in levels]


def _colour(parts: Sequence[int]) -> Colour:
    red, green, blue = parts
    return red, green, blue


def _has_spread(results: Results) -> bool:
    return len(results.varied.get(SEED, ())) > 1


def _label(settings: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {_value(value)}" for name, value in settings.items())


def _value(value: object) -> str:
    return number_text(value, 3) if isinstance(value, float) else shown(value)
