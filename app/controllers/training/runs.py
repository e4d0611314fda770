"""The runs that were made in one window: their names and colours, and which are listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.panels.training.lines import Run
from app.services.translation import editor

if TYPE_CHECKING:
    from runtime.training.curves import Recording

_MOST = 8
"""Runs that are kept; the oldest goes first."""


class Runs:
    """Recordings in the order in which they were made."""

    def __init__(self) -> None:
        self.listed: list[Run] = []
        self.made = 0
        """How many there have been."""

    def next_name(self, start: int = 0) -> str:
        """The name of a new run, which goes on from a step of another if that is not 0."""
        name = editor.tr("Run {0}").format(self.made + 1)
        return editor.tr("{0} from step {1}").format(name, f"{start:,}") if start else name

    def add(self, recording: Recording) -> bool:
        """List a recording in the next colour; False if it is listed already."""
        if any(run.recording is recording for run in self.listed):
            return False
        self.listed.append(Run(recording, self.made))
        self.made += 1
        del self.listed[:-_MOST]
        return True

    def place_of(self, recording: Recording | None, default: int) -> int:
        """The number of a recording's colour; before it is listed, that of a new one."""
        places = (run.place for run in self.listed if run.recording is recording)
        return next(places, self.made + default)

    def forget(self, run: Run) -> list[Run]:
        """Remove a run from the list, and return the others."""
        self.listed = [other for other in self.listed if other is not run]
        return self.listed

    def clear(self) -> None:
        """Remove all, since another diagram is open."""
        self.listed, self.made = [], 0
