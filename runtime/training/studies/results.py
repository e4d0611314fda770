"""What a study found: the trainings of each combination over its seeds, and their spread."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.training.studies.folder import StudyFolder, key
from gradwire.runtime.training.studies.varying import SEED

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradwire.runtime.training.studies.task import Runner, StudyWork, Trained
    from gradwire.runtime.training.studies.varying import PlannedTraining


def finite(values: Iterable[float]) -> tuple[float, ...]:
    """The finite ones among numbers."""
    return tuple(value for value in values if math.isfinite(value))


def mean(values: Iterable[float]) -> float | None:
    """Mean of the finite numbers; None without any."""
    known = finite(values)
    return float(np.mean(known)) if known else None


def deviation(values: Iterable[float]) -> float | None:
    """Standard deviation of the finite numbers, of a sample; None below two of them."""
    known = finite(values)
    return float(np.std(known, ddof=1)) if len(known) > 1 else None


@dataclass(frozen=True, slots=True)
class Combination:
    """The trainings with the same values of everything varied but the seed."""

    settings: Mapping[str, Any]
    """What is varied, without the seed."""
    trainings: tuple[Trained, ...]
    """Those that have ended, by seed."""

    def values(self, name: str) -> tuple[float, ...]:
        """A measured number of each training; NaN where there is none."""
        return tuple(training.measured.get(name, math.nan) for training in self.trainings)

    def count(self, status: str) -> int:
        """How many trainings ended so."""
        return sum(training.status == status for training in self.trainings)

    @property
    def label(self) -> str:
        """``lr = 0.001, units = 8``; "all" if only the seed is varied."""
        told = (f"{name} = {shown(value)}" for name, value in self.settings.items())
        return ", ".join(told) or "all"


def shown(value: object) -> str:
    """A varied value as a reader expects it: words without quotes."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value)


@dataclass(frozen=True, slots=True)
class Results:
    """How the trainings of a study ended; those that are not there have not ended yet."""

    varied: Mapping[str, Sequence[Any]]
    planned: Sequence[PlannedTraining]
    trained: Mapping[int, Trained]
    """By number of the planned training."""

    @property
    def is_complete(self) -> bool:
        """Whether all trainings have ended."""
        return len(self.trained) == len(self.planned)

    @property
    def measured(self) -> tuple[str, ...]:
        """The names of all measured numbers."""
        names = (name for _, training in self.ended() for name in training.measured)
        return tuple(dict.fromkeys(names))

    def ended(self) -> list[tuple[PlannedTraining, Trained]]:
        """The trainings that have ended, in the order of the plan."""
        return [(self.planned[number], self.trained[number]) for number in sorted(self.trained)]

    def combinations(self) -> list[Combination]:
        """The trainings that have ended, by what is varied besides the seed."""
        found: dict[str, tuple[dict[str, object], list[Trained]]] = {}
        for planned, training in self.ended():
            settings = {n: value for n, value in planned.settings.items() if n != SEED}
            found.setdefault(key(settings), (settings, []))[1].append(training)
        return [Combination(settings, tuple(each)) for settings, each in found.values()]


def carry_out(
    work: StudyWork,
    varied: Mapping[str, Sequence[object]],
    planned: Sequence[PlannedTraining],
    run: Runner,
    folder: StudyFolder | None = None,
    show: Callable[[Trained], object] = lambda trained: None,
) -> Results:
    """Make the trainings that are not in the folder yet, and write each there as it ends."""
    done = {} if folder is None else folder.done
    keys = [key(each.settings) for each in planned]
    trained = {number: done[text] for number, text in enumerate(keys) if text in done}
    left = [number for number in range(len(planned)) if number not in trained]
    for place, result in run(work, [planned[number].task for number in left]):
        trained[left[place]] = result
        if folder is not None:
            folder.append(planned[left[place]].settings, result)
        show(result)
    return Results(varied, planned, trained)
