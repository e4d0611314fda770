"""The results of a study as tables for a reader, as CSV and as JSON."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gradwire.runtime.data.files.csv_text import csv_text
from gradwire.runtime.publish.text import Part, TextTable
from gradwire.runtime.training.studies.results import deviation, finite, mean, shown
from gradwire.runtime.training.studies.varying import SEED

if TYPE_CHECKING:
    from gradwire.blocks.values import Json
    from gradwire.runtime.training.studies.results import Combination, Results
    from gradwire.runtime.training.studies.task import Trained

MOST_ROWS = 100
"""Rows of a table that are written out."""


def results_parts(results: Results) -> list[Part]:
    """How many trainings there are, a table of all combinations, and why some have no number."""
    combinations = results.combinations()
    parts: list[Part] = [_summary(results, combinations)]
    seeds = len(results.varied.get(SEED, ()))
    names = [name for name in results.varied if name != SEED]
    head = (*names, *results.measured, "ended", "seconds")
    rows = [_row(each, names, results.measured) for each in combinations[:MOST_ROWS]]
    title = f"Mean ± standard deviation over {seeds} seeds" if seeds > 1 else "Results"
    parts.append(TextTable(title, head, tuple(rows)))
    if len(combinations) > MOST_ROWS:
        parts.append(f"… and {len(combinations) - MOST_ROWS:,} more combinations.")
    return parts + reasons_parts(results)


def results_json(results: Results) -> dict[str, object]:
    """What was varied and measured, the combinations, and each training; null is no number."""
    return {
        "varied": {name: list(values) for name, values in results.varied.items()},
        "measured": list(results.measured),
        "combinations": [_combination(each, results.measured) for each in results.combinations()],
        "trainings": [
            {
                "settings": dict(planned.settings),
                "status": trained.status,
                "reason": trained.reason,
                "measured": {n: _json(value) for n, value in trained.measured.items()},
                "seconds": trained.seconds,
            }
            for planned, trained in results.ended()
        ],
    }


def results_csv(results: Results) -> str:
    """A line for each training that has ended."""
    measured = results.measured
    rows: list[tuple[str | float | None, ...]] = [
        (*results.varied, *measured, "status", "reason", "seconds")
    ]
    for planned, trained in results.ended():
        settings = (_exact(planned.settings[name]) for name in results.varied)
        rows.append(
            (
                *settings,
                *map(trained.measured.get, measured),
                trained.status,
                trained.reason,
                f"{trained.seconds:.3f}",
            )
        )
    return csv_text(rows)


def reasons_parts(results: Results) -> list[Part]:
    """Why trainings have no number: a row for each combination and way to end, with its first."""
    first: dict[tuple[str, str], tuple[str, str]] = {}
    more: Counter[tuple[str, str]] = Counter()
    for planned, trained in results.ended():
        if trained.status != "trained":
            told = [f"{name} = {shown(value)}" for name, value in planned.settings.items()]
            rest = [text for name, text in zip(planned.settings, told, strict=True) if name != SEED]
            kind: tuple[str, str] = (", ".join(rest), trained.status)
            first.setdefault(kind, (", ".join(told), trained.reason))
            more[kind] += 1
    rows = []
    for kind, (training, reason) in list(first.items())[:MOST_ROWS]:
        others = f" and {more[kind] - 1} more" if more[kind] > 1 else ""
        rows.append((training + others, kind[1], reason))
    head = ("training", "status", "reason")
    return [TextTable("Not trained to the end", head, tuple(rows))] if rows else []


def _summary(results: Results, combinations: Sequence[Combination]) -> str:
    ended, of = len(results.trained), len(results.planned)
    counted = Counter(trained.status for trained in results.trained.values())
    told = f"{_counted(ended, 'training')} of {_counted(len(combinations), 'combination')}"
    if ended < of:
        told += f", {of - ended:,} more to do"
    told += "".join(
        f", {counted[status]:,} {status}" for status in ("diverged", "failed") if counted[status]
    )
    return f"{told}."


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _row(each: Combination, names: Iterable[str], measured: Iterable[str]) -> tuple[str, ...]:
    ended = ", ".join(
        f"{count} {status}"
        for status in ("trained", "diverged", "failed")
        if (count := each.count(status))
    )
    seconds = sum(training.seconds for training in each.trainings)
    return (
        *(shown(each.settings[name]) for name in names),
        *(_spread(each.values(name)) for name in measured),
        ended,
        f"{seconds:.3g}",
    )


def _spread(values: Sequence[float]) -> str:
    """``0.12 ± 0.01``, or the number if there is one alone."""
    middle, around = mean(values), deviation(values)
    if middle is None:
        return next((f"{value}" for value in values if not math.isnan(value)), "")
    return f"{middle:.4g}" if around is None else f"{middle:.4g} ± {around:.2g}"


def _combination(each: Combination, measured: Iterable[str]) -> dict[str, object]:
    return {
        "settings": dict(each.settings),
        "measured": {name: _spread_json(each.values(name)) for name in measured},
        "trained": each.count("trained"),
        "diverged": each.count("diverged"),
        "failed": each.count("failed"),
        "seconds": _seconds(each.trainings),
    }


def _spread_json(values: Sequence[float]) -> dict[str, Json]:
    known = finite(values)
    return {
        "mean": mean(values),
        "deviation": deviation(values),
        "least": min(known, default=None),
        "largest": max(known, default=None),
        "values": [value if math.isfinite(value) else None for value in values],
    }


def _seconds(trainings: Iterable[Trained]) -> float:
    return sum(training.seconds for training in trainings)


def _json(value: float) -> float | str:
    """A number for JSON, which has no infinite ones."""
    return value if math.isfinite(value) else str(value)


def _exact(value: object) -> str | float:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return value
    return json.dumps(value)
