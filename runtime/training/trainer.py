"""The trainer: makes the rounds of a recipe on a session's variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blocks.arguments import explained
from blocks.errors import RunError
from runtime.calculus.dtypes import NUMPY
from runtime.diagram.training import OptimiserRule, Training
from runtime.flow.words.sentences import names as listed
from runtime.training.diverged import DivergedError
from runtime.training.nonfinite import explain
from runtime.training.recipe import resolve
from runtime.training.records import StepRecord
from runtime.training.rounds.arenas import Arena, Form
from runtime.training.rounds.averages import Averaging
from runtime.training.rounds.turns import Turn
from runtime.training.rounds.validation import Validation, in_phase
from runtime.training.saving.checkpoint import TrainerState
from runtime.training.saving.fingerprint import fingerprint, forms_of, require_same, same_bits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.diagram import Diagram
    from runtime.engine import Session
    from runtime.engine.program import Program
    from runtime.engine.session.resident import Resident
    from runtime.training.recipe import Recipe

Array = NDArray[Any]

DEFAULT = Training(optimisers=(OptimiserRule(name="SGD"),))
"""The recipe of a diagram that has none."""
NO_RECIPE = (
    "The diagram has no recipe, so every variable follows the sum of all losses by SGD with a "
    "learning rate of 0.1."
)
EVERY = 100
"""Rounds after which losses on validation rows are computed, unless told otherwise."""


class Trainer:
    """Trains a session's variables by a recipe: that of its diagram, or ``training``.

    Without a recipe every trained variable follows the sum of all losses by SGD with a rate of 0.1,
    and ``notes`` say so. Each round lets every optimiser have its turn: see ``OptimiserRule``. The
    plans are made once, all variables of an optimiser are updated in one sweep, and what nobody
    reads is not copied. The session has the new values whenever it is asked for them, and what
    is set there between two rounds counts. A variable without a gradient is skipped: it stays as it
    is, without weight decay, and each record names it.

    ``validate`` is the number of rounds between two computations of the losses on validation rows,
    if the diagram has any; 0 for never.

    Deterministic: equal sessions and recipes give equal bits, also over ``state`` and ``restore``.
    Raises RunError for a recipe that doesn't fit the diagram, and what ``Session.backward`` does.
    """

    @explained
    def __init__(
        self, session: Session, training: Training | None = None, *, validate: int = EVERY
    ) -> None:
        self.session = session
        self.rounds = 0
        """Rounds made so far."""
        self.notes: tuple[str, ...] = ()
        """What whoever trains should know: no recipe, or variables without a gradient."""
        self.validate = validate
        self._given = training
        self._diagram: Diagram
        self._generation: int
        self._resident: Resident
        self._fingerprint: tuple[Diagram, dict[str, dict[str, str]]] | None = None
        self._build()

    @property
    def recipe(self) -> Recipe:
        """The recipe, with the paths of variables and losses that it names."""
        return self._recipe

    @property
    def training(self) -> Training:
        """The recipe as it is written."""
        return self._recipe.training

    @property
    def turns(self) -> list[Turn]:
        """The optimisers at work, in the order of the recipe; others after a rebuild."""
        return self._turns

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a history: every number that a record of a round can have."""
        turns = self._turns
        found = [str(head) for head in self._heads]
        found += [f"{kind}/{turn.name}" for turn in turns for kind in ("lr", "grad_norm")]
        found += map(str, self._recipe.record)
        if self._validation is not None:
            found += [f"validation/{head}" for head in self._heads]
        return tuple(dict.fromkeys(found))

    @explained
    def run(self, steps: int | None = None) -> Iterator[StepRecord]:
        """Make rounds, one whenever the next record is asked for; ``training.steps`` by default.

        Raises DivergedError at the first number that is not finite; the round is not counted.
        """
        if steps is not None and (
            isinstance(steps, bool) or not isinstance(steps, int | np.integer)
        ):
            raise RunError("The number of rounds is not an integer.", got=repr(steps))
        if steps is not None and steps < 0:
            raise RunError("The number of rounds is negative.", got=repr(steps))
        return self._rounds(self.training.steps if steps is None else int(steps))

    def _rounds(self, steps: int) -> Iterator[StepRecord]:
        for _ in range(steps):
            yield self.step()

    def step(self) -> StepRecord:
        """Make one round; see ``run``."""
        with self._resident.lock:
            self._keep_up()
            number = self.rounds + 1
            turns = [turn for turn in self._turns if number % turn.rule.every == 0]
            try:
                losses = self._take_turns(turns)
                for average in self._averages:
                    if number % average.rule.every == 0:
                        average.update()
            except DivergedError as error:
                error.round, error.step_number = number, self.session.step_number
                self._resident.moved()
                explain(error, self.session, self._heads)
                raise
            finally:
                self._resident.moved()
            self.rounds = number
            validation = None
            if self._validation is not None and number % self.validate == 0:
                validation = self._validation.losses()
            watched = turns[0].watched if turns else {}
            records = {turn.name: turn.record() for turn in turns}
            return StepRecord(number, losses, records, watched, validation)

    def _take_turns(self, turns: Sequence[Turn]) -> dict[str, float]:
        """All passes and updates of a round; returns each loss as it was first computed."""
        session = self.session
        losses: dict[str, float] = {}
        simultaneous = self.training.order == "simultaneous"
        if simultaneous:
            for turn in turns:
                turn.collect(session, turn is turns[0])
                losses = turn.losses | losses
        for turn in turns:
            for number in range(turn.rule.steps):
                if number or not simultaneous:
                    turn.collect(session, turn is turns[0] and not number)
                    losses = turn.losses | losses
                turn.update()
        return losses

    def state(self) -> TrainerState:
        """Everything from which the training goes on bit by bit; see ``restore``."""
        with self._resident.lock:
            self._keep_up()
            session, variables = self.session, self._resident.program.sources("variable")
            arrays = {f"variable/{path}": array for path, array in session.values.items()}
            arrays |= {
                f"set/{path}": array
                for path, array in self._resident.assigned().items()
                if path not in variables
            }
            counts: dict[str, dict[str, int]] = {}
            for kind, parts in self._parts():
                counts[kind] = {part.name: part.updates for part in parts}
                for part in parts:
                    start = f"{kind}/{part.name}/"
                    arrays |= {start + name: array for name, array in part.state().items()}
            about = {"step_number": session.step_number, "updates": counts, **self._identity()}
            return TrainerState(self.rounds, arrays, about)

    @explained
    def restore(self, state: TrainerState) -> None:
        """Go on from a state: the rounds that follow equal those of an uninterrupted training.

        Raises FileError, and changes nothing, if the state is of another diagram or recipe, or if
        inputs or constants were set to other values; it says what differs.
        """
        with self._resident.lock:
            require_same(self.state(), state)
            for name, array in state.arrays.items():
                kind, _, path = name.partition("/")
                if kind == "set" or (
                    kind == "variable"
                    and path not in self._values
                    and not same_bits(self.session.values[path], array)
                ):
                    self.session.set(path, array)
            self._resident.refresh()
            for path, target in self._values.arrays.items():
                np.copyto(target, state.arrays[f"variable/{path}"])
            for kind, parts in self._parts():
                for part in parts:
                    start = f"{kind}/{part.name}/"
                    arrays = {
                        name.removeprefix(start): array
                        for name, array in state.arrays.items()
                        if name.startswith(start)
                    }
                    part.restore(arrays, state.about["updates"][kind][part.name])
            self.rounds = state.rounds
            self.session.step_number = state.about["step_number"]
            self._resident.moved()

    def _parts(self) -> Iterator[tuple[str, Sequence[Turn | Averaging]]]:
        yield "optimiser", self._turns
        yield "average", self._averages

    def _identity(self) -> dict[str, Any]:
        """What a state is bound to: the recipe but for its length, and digests of all blocks."""
        record = self.training.to_record()
        record.pop("steps", None)
        if self._fingerprint is None or self._fingerprint[0] is not self.session.diagram:
            self._fingerprint = self.session.diagram, fingerprint(self.session.diagram)
        return {"recipe": record, "diagram": self._fingerprint[1]}

    def _keep_up(self) -> None:
        """Take over what changed in the session since the last round."""
        session, resident = self.session, self._resident
        if session.generation != self._generation:
            raise RunError(
                "The session has another diagram now, so this training can't go on.",
                next_step="Make a new Trainer, and restore a state if it still fits.",
            )
        if session.diagram is not self._diagram and self._written() != self.training:
            self._rebuild()
        elif not resident.is_current:
            if self._program() is resident.program:
                resident.refresh()
            else:
                self._rebuild()
        self._diagram = session.diagram

    def _program(self) -> Program:
        """The session's program on the rows for training."""
        with in_phase(self.session, "training"):
            return self.session.program

    def _written(self) -> Training:
        return self._given or self.session.diagram.training or DEFAULT

    def _rebuild(self) -> None:
        """Make everything anew for other shapes or another recipe; what still fits is kept."""
        before = {
            (kind, part.name): (part.state(), part.updates)
            for kind, parts in self._parts()
            for part in parts
        }
        self._build()
        for kind, parts in self._parts():
            for part in parts:
                state, updates = before.get((kind, part.name), ({}, 0))
                if forms_of(part.state()) == forms_of(state):
                    part.restore(state, updates)

    def _build(self) -> None:
        """Make the plans and the memory for the diagram as it is."""
        session = self.session
        self._diagram, self._generation = session.diagram, session.generation
        self._recipe = recipe = resolve(self._written(), self._program())
        with in_phase(session, "training"):
            self._resident = resident = session.resident()
        self._turns: list[Turn] = []
        for rule, is_first in zip(recipe.rules, _ever_first(recipe), strict=True):
            watched = recipe.record if is_first else ()
            pending = resident.derive(rule.heads, rule.variables, (*rule.heads, *watched))
            self._turns.append(Turn(rule, pending, watched))
        self._averages = [Averaging(rule, pairs) for rule, pairs in recipe.averages]
        self._values = Arena()
        forms = _forms(resident.program)
        for _, parts in self._parts():
            for part in parts:
                part.settle(self._values, forms)
        resident.settle(self._values.arrays)
        for turn in self._turns:
            turn.plan(resident)
        resident.refresh()
        session.updated.update(self._values.arrays)
        self._heads = tuple(dict.fromkeys(head for rule in recipe.rules for head in rule.heads))
        self._validation = Validation.of(session, self._heads) if self.validate else None
        self.notes = self._notes()

    def _notes(self) -> tuple[str, ...]:
        found = []
        if self._given is None and self._diagram.training is None:
            found.append(NO_RECIPE)
        for turn in self._turns:
            if turn.missing:
                shown = listed(turn.missing)
                verb = "has" if len(turn.missing) == 1 else "have"
                found.append(
                    f"{shown} {verb} no gradient of what {turn.name} follows, and stay as they are."
                )
        return tuple(found)


def _forms(program: Program) -> dict[str, Form]:
    """The forms of all variables, by path."""
    leaves = {
        path: program.leaves[path].value
        for path in program.sources("variable")
        if path in program.leaves
    }
    return {path: Form(path, NUMPY[v.dtype], v.shape) for path, v in leaves.items()}


def _ever_first(recipe: Recipe) -> list[bool]:
    """Whether each rule is the first to take part in some round, which records the ports."""
    found: list[bool] = []
    seen: list[int] = []
    for rule in recipe.rules:
        found.append(not any(rule.rule.every % every == 0 for every in seen))
        seen.append(rule.rule.every)
    return found
