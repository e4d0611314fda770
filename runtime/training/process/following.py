"""A course that runs in another process, as far as it is known here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.runtime.training.process.messages import Branch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gradwire.runtime.training.curves import CurveRecording
    from gradwire.runtime.training.process.messages import About, Event, States


class FollowedCourse:
    """The curves of a course, its step, and what it keeps of its past; see ``Course``.

    One thread may let it ``follow`` while others read.
    """

    def __init__(self, recording: CurveRecording, about: About) -> None:
        self.recording = recording
        self.recording.losses = about.losses
        self._about = about
        self._every: set[str] = set()
        """The curves that have a number for every step."""

    @property
    def step(self) -> int:
        """Iterations made so far, to the state that the course is in."""
        return self._about.step

    @property
    def furthest(self) -> int:
        """The last step that was reached before going back."""
        return max(self.recording.step, self.step)

    @property
    def states(self) -> States:
        """The states that are kept of its past."""
        return self._about.states

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever trains should know."""
        return self._about.notes

    def follow(self, events: Iterable[Event], about: About) -> None:
        """Take over what became of it."""
        for event in events:
            if isinstance(event, Branch):
                self.recording = self.recording.copy(event.name, event.step)
            else:
                self._every |= event.numbers.keys()
                self.recording.add(event.step, event.numbers)
        self._about = about

    def measure(self, step: int, numbers: Mapping[str, float]) -> None:
        """Add to the curves what was measured here; what the course records stays as it is."""
        every = self._every
        self.recording.add(step, {n: x for n, x in numbers.items() if n not in every})
