"""A training that can be watched: it keeps curves and states, goes back, and takes edits."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import numpy as np

from gradwire.blocks.classes.identity import by_identity
from gradwire.blocks.errors import RunError
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.sources import Variable
from gradwire.blocks.values import Tensor
from gradwire.runtime.data.rows import Stream
from gradwire.runtime.diagram.pages import Address, resolve
from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.engine import Session
from gradwire.runtime.engine.rebind import with_values
from gradwire.runtime.training.curves import CurveRecording
from gradwire.runtime.training.trainer import Trainer
from gradwire.runtime.training.watch import AlarmWatch, share

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.diagram.training import Training
    from gradwire.runtime.engine.engine import Engine
    from gradwire.runtime.training.alarms import Alarm
    from gradwire.runtime.training.records import StepRecord
    from gradwire.runtime.training.saving.checkpoint import TrainerState


# A ring of states in bounded memory, from which every step of a run can be reached again.

S = TypeVar("S")
LIMIT = 64 * 2**20
"""Bytes that the states of a run may take."""
_MOST = 1024
"""States that are kept at most, however small they are."""


class Ring(Generic[S]):
    """States by step, evenly spaced.

    The first state always stays, and so does one that is ``kept`` because the run can't be
    repeated past it. Whenever the others need more than ``limit`` bytes, every second one is
    dropped, and later ones are kept twice as far apart.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.spacing = 1
        """How many steps lie between two states."""
        self._states: dict[int, tuple[S, int, bool]] = {}
        self._steps: list[int] = []
        self.nbytes = 0
        """The memory of the states, in bytes."""

    def __len__(self) -> int:
        return len(self._states)

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps of which there is a state, in order."""
        return tuple(self._steps)

    def wants(self, step: int) -> bool:
        """Whether a state of this step is to be added."""
        return step % self.spacing == 0

    def add(self, step: int, state: S, nbytes: int, *, kept: bool = False) -> None:
        """Add the state after ``step`` steps, which takes ``nbytes``; steps only grow."""
        if step in self._states:
            self._drop(step)
        self._states[step] = state, nbytes, kept or not self._states
        self._steps.insert(bisect_right(self._steps, step), step)
        self.nbytes += nbytes
        while self.nbytes > self.limit or len(self) > _MOST:
            if not self._thin():
                break

    def before(self, step: int) -> tuple[int, S]:
        """The last state at ``step`` or before, with its step; KeyError if there is none."""
        place = bisect_right(self._steps, step)
        if not place:
            raise KeyError(step)
        found = self._steps[place - 1]
        return found, self._states[found][0]

    def forget_after(self, step: int) -> None:
        """Drop all states of later steps, as the run goes on from this one."""
        for later in [found for found in self._steps if found > step]:
            self._drop(later)

    def _thin(self) -> bool:
        """Keep states twice as far apart; False if nothing can be dropped."""
        if not any(not kept for _, _, kept in self._states.values()):
            return False
        self.spacing *= 2
        for step, (_, _, kept) in [*self._states.items()]:
            if step % self.spacing and not kept:
                self._drop(step)
        return True

    def _drop(self, step: int) -> None:
        self.nbytes -= self._states.pop(step)[1]
        self._steps.remove(step)


@by_identity
class _Kept(NamedTuple):
    """A state of the trainer, and the diagram whose numbers it was reached with."""

    state: TrainerState
    diagram: Diagram


class Course:
    """The training of one diagram: its trainer, its curves, its alarms and its past.

    A course belongs to one thread at a time; ``recording`` may be read by others.
    ``training`` is used if the diagram has no recipe. ``limit`` is the memory for states, in bytes.
    ``engine`` is that of its session.
    Raises RunError if there is nothing to train, and what ``Trainer`` does.
    """

    def __init__(
        self,
        diagram: Diagram,
        training: Training | None = None,
        *,
        name: str = "",
        limit: int = LIMIT,
        engine: str | Engine = "numpy",
    ) -> None:
        self.session = _session_of(diagram, engine)
        _require_trainable(self.session)
        given = training if diagram.training is None else None
        self.trainer = Trainer(self.session, given)
        self.recording = CurveRecording(name)
        self.recording.losses = tuple(self.session.losses)
        self.alarms: list[Alarm] = []
        """Alarms since ``take_alarms``."""
        self.on_numbers: Callable[[int, Mapping[str, float | None]], object] | None = None
        """Called with the numbers that steps add to the curves."""
        self._watch = AlarmWatch(self.trainer)
        self._every: frozenset[str] = frozenset()
        """The curves that have a number for every step."""
        self.ring: Ring[_Kept] = Ring(limit)
        self._keep(kept=True)

    @property
    def step(self) -> int:
        """Iterations made so far, to the state that the session is in."""
        return self.trainer.iterations

    @property
    def furthest(self) -> int:
        """The last step that was reached before going back."""
        return max(self.recording.step, self.step)

    @property
    def epoch(self) -> int | None:
        """How often all rows of the first data set were seen; None without data sets."""
        for leaf in self.session.rolled.leaves.values():
            if isinstance(leaf.source, Stream):
                batches = leaf.source.rows.batches("training")
                return int(self.session.step_number / batches) if batches else None
        return None

    def advance(self) -> StepRecord:
        """Make one iteration. After going back, call ``branch`` first. Raises what ``Trainer.step``
        does; the course is then where it was before.
        """
        record = self.trainer.step()
        columns = record.columns()
        self._every |= columns.keys()
        self._record(record.step, columns)
        self.alarms += self._watch.look(record)
        if self.ring.wants(record.step):
            self._keep()
        return record

    def advance_measured(self) -> StepRecord:
        """Make one iteration, and measure by how much each variable changes that an optimiser
        updated, as a share of its size: the curves ``update/NAME``.
        """
        before = self.session.values
        record = self.advance()
        after, updated = self.session.values, set[str]()
        for about in record.optimisers.values():
            updated.update(about.updated)
        moved = {f"update/{n}": share(before[n], after[n]) for n in after if n in updated}
        self._record(record.step, moved)
        return record

    def take_alarms(self) -> tuple[Alarm, ...]:
        """The alarms since the last call, the first first."""
        found, self.alarms = tuple(self.alarms), []
        return found

    def measure(self, step: int, numbers: Mapping[str, float]) -> None:
        """Add to the curves what was measured at a step; what every step records stays as it is."""
        every = self._every
        self.recording.add(step, {n: x for n, x in numbers.items() if n not in every})

    def branch(self, name: str) -> None:
        """Go on from the current step under another name, and forget what came after it.

        The old recording keeps all of its curves.
        """
        self.recording = self.recording.copy(name, self.step)
        self.ring.forget_after(self.step)
        self._watch = AlarmWatch(self.trainer)

    def resume(self, state: TrainerState, past: Iterable[TrainerState] = ()) -> None:
        """Go on from a state of another course of this diagram, whose steps can be reached from the
        first state of its ``past`` on: that has earlier states, in the order of their steps.

        Raises what ``Trainer.restore`` does.
        """
        self.trainer.restore(state)
        self.ring = Ring(self.ring.limit)
        for before in past:
            if before.iterations < state.iterations:
                self.ring.add(before.iterations, _Kept(before, self.session.diagram), before.nbytes)
        self._keep(kept=True)

    def go(self, step: int, superseded: Callable[[], bool] = lambda: False) -> bool:
        """Go to any step up to ``furthest``: from the last state before it, the iterations between
        are made again. Before the first state it goes to that one. False if it was superseded on
        the way; the course is then at another step.

        Numbers that were edited since stay as they are now.
        """
        step = min(max(step, self.ring.steps[0]), self.furthest)
        found, (state, diagram) = self.ring.before(step)
        now = self.session.diagram
        if diagram is not now:
            self.session.update(diagram)
        self.trainer.restore(state)
        while self.trainer.iterations < step and not superseded():
            self.trainer.step()
        if diagram is not now:
            self._update(now, self.values())
        return self.trainer.iterations == step or found == step

    def take(self, before: Diagram, after: Diagram) -> bool:
        """Take an edit of what was shown, ``before``: False if it changes more than numbers.

        Variables that it does not set keep the values that they have by now.
        """
        values = {
            address: value
            for address, value in self.values().items()
            if _has(after, address) and address.block(before) == address.block(after)
        } if _alike(before, after) else {}  # fmt: skip
        if not self._update(after, values):
            return False
        self._keep(kept=True)
        return True

    def losses(self) -> dict[str, float]:
        """The losses that were recorded at the current step; of many steps their mean."""
        found = {}
        for name in self.recording.losses:
            if name in self.recording.names:
                points = self.recording.points(name)
                at = int(np.searchsorted(points.steps, self.step))
                if self.step and at < len(points.steps):
                    found[name] = float(points.mean[at])
        return found

    def values(self) -> dict[Address, Array]:
        """Copies of the current values of all variables, by where they are in the document."""
        found = {}
        for path, value in self.session.values.items():
            address = resolve(self.session.diagram, InstancePath(path))
            if address is not None and not address.part:
                found[address] = value
        return found

    def _update(self, diagram: Diagram, values: Mapping[Address, Array]) -> bool:
        return self.session.update(stored(diagram, values))

    def _record(self, step: int, numbers: Mapping[str, float | None]) -> None:
        self.recording.add(step, numbers)
        if self.on_numbers is not None:
            self.on_numbers(step, numbers)

    def _keep(self, *, kept: bool = False) -> None:
        state = self.trainer.state()
        self.ring.add(self.step, _Kept(state, self.session.diagram), state.nbytes, kept=kept)


def stored(diagram: Diagram, values: Mapping[Address, Array]) -> Diagram:
    """The diagram with these values of variables; what it does not have is left out."""
    for page, own in _by_page(values).items():
        content = diagram.pages.get(page)
        if content is None:
            continue
        blocks = dict(content.blocks)
        for address, value in own.items():
            if not _has(diagram, address):
                continue
            blocks[address.name] = _with_value(blocks[address.name], address.owned, value)
        diagram = diagram.with_page(page, replace(content, blocks=blocks))
    return diagram


def _with_value(block: Block, owned: str, value: Array) -> Block:
    """A Variable, or a block with its own variable ``owned``, with another value.

    One of the same dtype and shape needs no validation, which takes longer than a step of training.
    """
    variable = block.owned[owned] if owned else block
    known = getattr(variable, "value", None)
    if known is not None and known.array.dtype == value.dtype and known.shape == value.shape:
        variable = variable.model_copy(update={"value": Tensor(value)})
    else:
        variable = variable.with_parameters(value=Tensor(value))
    if not owned:
        return variable
    return block.model_copy(update={"owned": MappingProxyType({**block.owned, owned: variable})})


def _by_page(values: Mapping[Address, Array]) -> dict[str, dict[Address, Array]]:
    found: dict[str, dict[Address, Array]] = {}
    for address, value in values.items():
        found.setdefault(address.page, {})[address] = value
    return found


def _has(diagram: Diagram, address: Address) -> bool:
    """Whether there is a variable at an address."""
    page = diagram.pages.get(address.page)
    block = None if page is None else page.blocks.get(address.name)
    if block is None or (address.owned and address.owned not in block.owned):
        return False
    return isinstance(address.block(diagram), Variable)


def _alike(before: Diagram, after: Diagram) -> bool:
    """Whether two diagrams have the same blocks, by name."""
    return before.pages.keys() == after.pages.keys() and all(
        before.pages[name].blocks.keys() == after.pages[name].blocks.keys() for name in after.pages
    )


def _session_of(diagram: Diagram, engine: str | Engine) -> Session:
    """A session in which each independent use of a page has a page of its own, so that the values
    of all its variables can be stored.
    """
    session = Session(diagram, partial=True, engine=engine)
    blocks = [block for page in diagram.pages.values() for block in page.blocks.values()]
    if not any(isinstance(block, PageBlock) and block.independent for block in blocks):
        return session
    values = session.values
    different = {
        path: np.full_like(value, place % 100) if value.size else value
        for place, (path, value) in enumerate(values.items(), start=1)
    }
    apart = with_values(diagram, session.program, values, different)
    if apart.pages.keys() == diagram.pages.keys():
        return session
    own = with_values(apart, session.program, values, values)
    return Session(own, partial=True, engine=session.engine)


def _require_trainable(session: Session) -> None:
    if not session.rolled.trainable:
        raise RunError(
            "There is no variable to train.", next_step="Add a Variable, or make one trainable."
        )
