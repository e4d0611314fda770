"""A training that several processes make together: one of them writes, and all keep in step.

What a process does must not depend on the time, as all of them take part in every computation.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from gradwire.runtime.training.saving.checkpoint import has_checkpoint, load_checkpoint
from gradwire.runtime.training.saving.runs import CHECKPOINTS, OFTEN, TRAINED, TrainingRun

if TYPE_CHECKING:
    from types import TracebackType

    from gradwire.runtime.training.diverged import DivergedError
    from gradwire.runtime.training.records import StepRecord

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
