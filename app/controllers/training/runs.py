"""The runs that were made in one window: their names and colours, and which are listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.app.panels.training.lines import ListedRun
from gradwire.app.services.translation import editor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gradwire.app.panels.training.curves import Curves
    from gradwire.runtime.training import CurveRecording

_MOST = 8
"""Runs that are kept; the oldest goes first."""


class Runs:
    """Recordings in the order in which they were made or read, in the panel of curves."""

    def __init__(self, panel: Curves) -> None:
        self._panel = panel
        self.listed: list[ListedRun] = []
        self.made = 0
        """How many there have been."""

    def next_name(self, start: int = 0) -> str:
        """The name of a new run, which goes on from a step of another if that is not 0."""
        name = editor.tr("Run {0}").format(self.made + 1)
        return editor.tr("{0} from step {1}").format(name, f"{start:,}") if start else name

    def show(self, recordings: Iterable[CurveRecording]) -> None:
        """List recordings, each that is not listed yet in the next colour."""
        known = {id(run.recording) for run in self.listed}
        new = [recording for recording in recordings if id(recording) not in known]
        for recording in new:
            self.listed.append(ListedRun(recording, self.made))
            self.made += 1
        del self.listed[:-_MOST]
        if new:
            self._panel.show_runs(self.listed)

    def place_of(self, recording: CurveRecording | None, default: int) -> int:
        """The number of a recording's colour; before it is listed, that of a new one."""
        places = (run.place for run in self.listed if run.recording is recording)
        return next(places, self.made + default)

    def forget(self, run: ListedRun) -> None:
        """Remove a run from the list."""
        self.listed = [other for other in self.listed if other is not run]
        self._panel.show_runs(self.listed)

    def clear(self) -> None:
        """Remove all, since another diagram is open."""
        self.listed, self.made = [], 0
        self._panel.show_runs([])
