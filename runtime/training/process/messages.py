"""What the two processes say to each other."""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.engine.session.engines import EngineChoice

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.diagram.pages import Address
    from gradwire.runtime.diagram.training import Training
    from gradwire.runtime.training.alarms import Alarm
    from gradwire.runtime.training.saving.checkpoint import TrainerState


# Messages between the two processes: pickles with their lengths, over pipes.
#
# Both ends are this program, and nobody else has the pipes.

_LENGTH = struct.Struct("<Q")


class _Pickler(pickle.Pickler):
    """Also pickles read-only views of dictionaries, which blocks have."""

    def reducer_override(self, found: object) -> Any:
        if isinstance(found, MappingProxyType):
            return _read_only, (dict(found),)
        return NotImplemented


def _read_only(content: dict[object, object]) -> MappingProxyType[object, object]:
    """What a pickle calls: the class itself can't be named in one."""
    return MappingProxyType(content)


def packed(message: object) -> bytes:
    """The bytes of a message. Raises what pickling does."""
    content = io.BytesIO()
    _Pickler(content, pickle.HIGHEST_PROTOCOL).dump(message)
    return content.getvalue()


def send(stream: IO[bytes], content: bytes) -> None:
    """Write the bytes of a message. Raises OSError once nobody reads."""
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Wait for a message; raises EOFError once nobody writes."""
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    return pickle.loads(_exactly(stream, length))


def _exactly(stream: IO[bytes], size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise EOFError
    return found


Edit: TypeAlias = "Sequence[tuple[Diagram, Diagram]]"
"""For each course what was shown, and what it is to be."""

# ---- to the process of the courses -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Begin:
    """Make a course of each diagram, in place of those there are."""

    serial: int
    diagrams: Sequence[Diagram]
    names: Sequence[str]
    training: Training
    """The recipe of diagrams that have none."""
    limit: int
    """Memory for the states of each course, in bytes."""
    allowed: Sequence[Path] = ()
    """Data files and folders that the user has chosen."""
    states: Sequence[TrainerState] = ()
    """States from which the courses go on; none for the start."""
    past: Sequence[Sequence[TrainerState]] = ()
    """For each course states before that, to go back to, in the order of their steps."""
    engine: EngineChoice = field(default_factory=EngineChoice)
    """What computes."""


@dataclass(frozen=True)
class Play:
    """Make steps; a course that had gone back goes on under its new name."""

    serial: int
    names: Sequence[str]
    pace: float | None
    most: int | None


@dataclass(frozen=True)
class Go:
    """Go to a step that was reached before."""

    serial: int
    step: int


Job: TypeAlias = Begin | Play | Go


class Drop(NamedTuple):
    """Drop the jobs up to one: nobody waits for them any more."""

    serial: int


class Stop(NamedTuple):
    """End the run after the step under way."""


class WantFrame(NamedTuple):
    """Give the next frame; there is none until the one before has been shown."""


class PlayPace(NamedTuple):
    """Make so many steps a second; None for as many as possible."""

    pace: float | None


class Take(NamedTuple):
    """Take an edit of what was shown."""

    edit: Edit


class Forget(NamedTuple):
    """Forget the courses."""


class Refuse(NamedTuple):
    """Don't read on in a data file, for this reason."""

    name: str
    reason: str


# ---- from the process of the courses ---------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Lane:
    """What a frame shows of one course."""

    step: int
    step_number: int
    """Of the session: Random and Dataset blocks draw for it."""
    epoch: int | None
    """How often the data were seen; None without data."""
    values: Mapping[Address, Array]
    """All variables."""
    losses: Mapping[str, float]
    """Of the last step, by port; empty if none was made."""
    state: TrainerState
    """All that the course needs to go on from here, in another process if need be."""
    alarms: tuple[Alarm, ...] = ()
    """Those since the frame before."""


@dataclass(frozen=True, eq=False)
class Frame:
    """All courses at one step, to be shown."""

    lanes: tuple[Lane, ...]
    rate: float
    """Steps a second since the frame before; 0 if nothing runs."""
    edits: int = 0
    """How many edits the courses had taken by then."""
    is_last: bool = False
    problem: str = ""
    """Why the training can't go on, if so."""
    place: str = ""
    """The block at which it can't."""
    is_structural: bool = False
    """An edit changed more than numbers, so that the courses are over."""

    @property
    def step(self) -> int:
        """Iterations made so far."""
        return self.lanes[0].step if self.lanes else 0


class Numbers(NamedTuple):
    """Numbers of a step, by the name of their curve."""

    step: int
    numbers: Mapping[str, float | None]


class Branch(NamedTuple):
    """The course goes on from a step under another name."""

    name: str
    step: int


Event: TypeAlias = Numbers | Branch


class States(NamedTuple):
    """The states that a course keeps of its past."""

    kept: int
    spacing: int
    """Steps between two of them."""
    first: int
    """The step of the first one."""
    nbytes: int
    limit: int


@dataclass(frozen=True)
class About:
    """What is known of a course at a moment."""

    step: int
    losses: tuple[str, ...]
    notes: tuple[str, ...]
    states: States


@dataclass(frozen=True, eq=False)
class CoursesReport:
    """What became of the courses since the report before, and what a job has to say."""

    begun: int
    """The serial number of the job that made the courses; 0 if there are none."""
    about: Sequence[About]
    events: Sequence[Sequence[Event]]
    """By course, in order."""
    serial: int = 0
    """The job; 0 for none."""
    content: Frame | None = None
    """What is to be shown."""
    is_end: bool = False
    """Whether the job is done."""
    problem: str = ""
    """Why a job could not be done."""


class Reading(NamedTuple):
    """How far the reading of a data file is, 0 … 1."""

    name: str
    fraction: float
