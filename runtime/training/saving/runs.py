"""A training that is written to a folder as it goes: its history, checkpoints and result.

history.jsonl, history.csv    a line for each iteration
checkpoints/                  the last two states
trained.gradwire.json         the diagram with the values it ended with
data/                         its data files that lie outside of the folder
diverged.gradwire.json        the diagram in the pass that was not finite; diverged.json tells of it
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from gradwire.blocks.errors import FeedError, FileError, GradwireError
from gradwire.runtime.data.files.gathering import with_data_inside
from gradwire.runtime.diagram.files.storage import replace_file, save, system_errors
from gradwire.runtime.training.records import DivergedError
from gradwire.runtime.training.saving.checkpoint import (
    has_checkpoint,
    load_checkpoint,
    save_checkpoint,
    tidy,
)
from gradwire.runtime.training.saving.locking import LOCK, FolderLock
from gradwire.runtime.training.saving.reading import HISTORIES, HistoryFiles
from gradwire.runtime.training.watch import AlarmWatch

if TYPE_CHECKING:
    from types import TracebackType

    from gradwire.runtime.engine import Session
    from gradwire.runtime.training.alarms import Alarm
    from gradwire.runtime.training.records import StepRecord
    from gradwire.runtime.training.trainer import Trainer


# How many iterations to make in one call of an engine.

_FIRST = 10
"""Iterations of the first calls."""
_MOST = 100
"""Iterations of a call, where they are quick."""
_QUICK, _SLOW = 0.1, 2.0
"""Seconds that the first iterations take: below, more are made in a call; above, only one."""


class Pace:
    """Chooses how many iterations each call makes, for engines that gain by making many at once.

    Each number is compiled for by itself, so that few are tried. ``together`` is a number to keep
    to; a call that takes long can't be interrupted, which is what ends the choice.
    """

    def __init__(self, gains: bool, together: int | None = None) -> None:
        self.most = together or (_FIRST if gains else 1)
        """Iterations that the next call should make, at most."""
        self._is_open = gains and together is None
        self._compiled = False

    def took(self, iterations: int, seconds: float) -> None:
        """A call took so long."""
        if not self._is_open or iterations < self.most:
            return
        if not self._compiled:  # the first call compiles too
            self._compiled = True
            return
        self._is_open = False
        if seconds < _QUICK:
            self.most = _MOST
        elif seconds > _SLOW:
            self.most = 1


CHECKPOINTS = "checkpoints"
TRAINED = "trained.gradwire.json"
DIVERGED = "diverged.gradwire.json"
ABOUT_DIVERGED = "diverged.json"
OFTEN = 100
"""Iterations of which a multiple has a checkpoint, unless told otherwise."""
SELDOM = 1.0
"""Seconds between two checkpoints at least, unless told how often."""
LONGEST = 30.0
"""Seconds from a checkpoint to the next at most, whatever the iteration, unless told how often."""


class TrainingRun:
    """Trains, and writes everything to a folder, so that it can go on after being killed.

    ``every`` is the number of iterations between checkpoints; None for multiples of 100, at most
    one a second, and the end of the first iteration after 30 s without one. ``together`` is how
    many iterations are made in one call of an engine that gains by it; None for what suits the
    diagram. With ``resume``, the folder of a training, which may be the same one, it goes on from
    the last checkpoint there, bit by bit as if it had not been interrupted.

    A context manager: within, no other process can train into the folder. ``notes`` tell where it
    goes on. Raises FileError if there is a training in the folder already, or if that to be resumed
    does not fit the trainer's diagram.
    """

    regularly: ClassVar[int | None] = None
    """Iterations between checkpoints, unless told otherwise; None to go by the clock."""
    at_once: ClassVar[int | None] = None
    """Iterations in one call, unless told otherwise; None to go by the clock."""

    def __init__(
        self,
        trainer: Trainer,
        folder: str | Path,
        *,
        every: int | None = None,
        resume: str | Path | None = None,
        together: int | None = None,
    ) -> None:
        self.trainer = trainer
        self.folder = Path(folder)
        self.notes: list[str] = []
        self._every = every or self.regularly
        self._resume = None if resume is None else Path(resume)
        self._files = HistoryFiles(self.folder, trainer.columns)
        self._lock = FolderLock(self.folder)
        gains = not trainer.session.engine.updates_in_place
        self._pace = Pace(gains, together or self.at_once)
        self._saved = -1
        self._saved_at = time.monotonic()
        self.alarms: list[Alarm] = []
        """What went wrong, each trouble of a block once."""
        self._watch = AlarmWatch(trainer)

    def __enter__(self) -> Self:
        if self._resume is not None:
            _require_begun(self._resume)
        with system_errors(self.folder, "write"):
            self.folder.mkdir(parents=True, exist_ok=True)
            if (self.folder / CHECKPOINTS).is_symlink():
                raise FileError("This folder is a link.", path=str(self.folder / CHECKPOINTS))
            self._lock.take()
        try:
            if self._resume is None:
                self._require_new()
                self._files.begin()
            else:
                self._go_on(self._resume)
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._files.close()
        self._lock.release()

    def iterations(self, until: int) -> Iterator[StepRecord]:
        """Train until so many iterations are made in all; one whenever the next record is asked
        for.

        Raises DivergedError after it wrote the pass that was not finite to the folder.
        """
        trainer = self.trainer
        try:
            while trainer.iterations < until:
                yield from self._made(until)
        except DivergedError as error:
            self._files.flush()
            self._write_diverged(error)
            raise

    rounds = iterations  # its old name

    def _made(self, until: int) -> list[StepRecord]:
        """The next iterations that the engine makes in one call, written down; none goes beyond one
        that may have a checkpoint.
        """
        iterations, often = self.trainer.iterations, self._every or OFTEN
        most = min(until - iterations, often - iterations % often, self._pace.most)
        began = time.perf_counter()
        records = self.trainer.advance(most)
        self._pace.took(len(records), time.perf_counter() - began)
        for record in records:
            self._write(record)
            said = {(alarm.trouble, alarm.block) for alarm in self.alarms}
            found = self._watch.look(record)
            self.alarms += [a for a in found if (a.trouble, a.block) not in said]
        if self._is_due(self.trainer.iterations):
            self.checkpoint()
        return records

    def _write(self, record: StepRecord) -> None:
        """Add an iteration to the history."""
        self._files.append(record)

    def checkpoint(self) -> None:
        """Write a checkpoint, unless this iteration has one."""
        if self._saved == self.trainer.iterations:
            return
        position = self._files.sync()
        save_checkpoint(self.folder / CHECKPOINTS, self.trainer.state(), {"history": position})
        self._saved = self.trainer.iterations
        self._saved_at = time.monotonic()

    def finish(self) -> Path:
        """Write the last checkpoint and the trained diagram with its data; returns its path."""
        self.checkpoint()
        path = self.folder / TRAINED
        diagram = self.trainer.session.diagram_with_values()
        save(with_data_inside(diagram, self.folder), path)
        return path

    def _is_due(self, iterations: int) -> bool:
        if self._every is not None:
            return iterations % self._every == 0
        passed = time.monotonic() - self._saved_at
        return passed >= LONGEST or (iterations % OFTEN == 0 and passed >= SELDOM)

    def _require_new(self) -> None:
        if has_checkpoint(self.folder / CHECKPOINTS) or self._files.exist():
            raise FileError(
                "There is a training in this folder already.",
                path=str(self.folder),
                next_step="Resume it, or choose another folder.",
            )

    def _go_on(self, folder: Path) -> None:
        same = os.path.realpath(folder) == os.path.realpath(self.folder)
        if not same:
            self._require_new()
        if same and not has_checkpoint(folder / CHECKPOINTS):
            self.notes.append("There is no checkpoint yet, so the training begins anew.")
            self._files.begin()
            return
        found = load_checkpoint(folder / CHECKPOINTS)
        self.trainer.restore(found.state)
        self.notes += found.notes
        self.notes.append(f"The training goes on after iteration {found.state.iterations}.")
        position = found.extra.get("history")
        if same:
            self._files.go_on(position)
            self._saved = found.state.iterations
            with system_errors(folder, "write"):
                tidy(folder / CHECKPOINTS)
        else:
            try:
                self._files.copy(folder, position)
            except FileError as error:
                self.notes.append(f"The history begins here: {error.what}")
                self._files.begin()

    def about(self, error: DivergedError) -> dict[str, object]:
        """What is known of the pass that was not finite, as plain JSON."""
        return {
            "round": error.iteration,
            "step_number": error.step_number,
            "where": error.where,
            "names": list(error.names),
            "optimiser": error.optimiser,
            "findings": [
                {"kind": found.complaint.name, "about": found.key, "block": found.culprit,
                 "sentence": found.sentence}
                for found in error.findings
            ],
        }  # fmt: skip

    def _write_diverged(self, error: DivergedError) -> None:
        with suppress(GradwireError):
            with system_errors(self.folder, "write"):
                text = json.dumps(
                    {"report": "diverged", "version": 2, **self.about(error)}, indent=1
                )
                replace_file(self.folder / ABOUT_DIVERGED, f"{text}\n".encode())
            if error.diagram is not None:
                save(with_data_inside(error.diagram, self.folder), self.folder / DIVERGED)


def take_settings(session: Session, folder: Path) -> None:
    """Set the inputs and constants that were set when the training in a folder began, and that are
    not set in the session; does nothing where there is no checkpoint.
    """
    if not has_checkpoint(folder / CHECKPOINTS):
        return
    program = session.rolled
    known, given = program.sources(), session.resident(program).assigned()
    for name, array in load_checkpoint(folder / CHECKPOINTS).state.arrays.items():
        path = name.removeprefix("set/")
        if path != name and path in known and path not in given:
            with suppress(FeedError):  # of another diagram, which is refused later
                session.set(path, array)


def _require_begun(folder: Path) -> None:
    """Raise FileError unless a training was begun in a folder."""
    with system_errors(folder, "read"):
        names = {path.name for path in folder.iterdir()}
    if not names & {LOCK, CHECKPOINTS, *HISTORIES}:
        raise FileError(
            "There is no training in this folder.",
            path=str(folder),
            next_step="Name the folder that --out named, or begin one with --out.",
        )


# A training that several processes make together: one of them writes, and all keep in step.
#
# What a process does must not depend on the time, as all of them take part in every computation.

TOGETHER = 10
"""Iterations in one call, unless told otherwise."""


class LeadingRun(TrainingRun):
    """The run of the process that writes; see ``TrainingRun``. Without ``every`` each multiple of
    100 iterations has a checkpoint.
    """

    regularly = OFTEN
    at_once = TOGETHER


class FollowingRun(LeadingRun):
    """The run of another process: it makes the same iterations, and writes nothing.

    To resume, it must be able to read the folder.
    """

    def __enter__(self) -> Self:
        if self._resume is not None and has_checkpoint(self._resume / CHECKPOINTS):
            self.trainer.restore(load_checkpoint(self._resume / CHECKPOINTS).state)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """There is nothing to close."""

    def checkpoint(self) -> None:
        """Take part in what the writing process needs for a checkpoint."""
        if self._saved != self.trainer.iterations:
            self.trainer.state()
            self._saved = self.trainer.iterations

    def finish(self) -> Path:
        """Take part in the last checkpoint; returns where the trained diagram is written."""
        self.checkpoint()
        return self.folder / TRAINED

    def _write(self, record: StepRecord) -> None:
        """The other process does."""

    def _write_diverged(self, error: DivergedError) -> None:
        """The other process does."""
