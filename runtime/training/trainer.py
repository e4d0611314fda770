"""The trainer: makes the iterations of a recipe on a session's variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gradwire.blocks.arguments import explained
from gradwire.blocks.errors import RunError
from gradwire.runtime.diagram.training import OptimiserRule, Training
from gradwire.runtime.flow.words.sentences import names as listed
from gradwire.runtime.training.iterations.looped import iterations_of
from gradwire.runtime.training.iterations.validation import Validation, in_phase
from gradwire.runtime.training.nonfinite import explain
from gradwire.runtime.training.recipe import resolve
from gradwire.runtime.training.saving.checkpoint import TrainerState
from gradwire.runtime.training.saving.fingerprint import (
    fingerprint,
    forms_of,
    require_same,
    same_bits,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.engine import Session
    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.training.iterations.protocols import Iterations, OptimiserStep
    from gradwire.runtime.training.recipe import Recipe
    from gradwire.runtime.training.records import DivergedError, StepRecord


DEFAULT = Training(optimisers=(OptimiserRule(name="SGD"),))
"""The recipe of a diagram that has none."""
NO_RECIPE = (
    "The diagram has no recipe, so every variable follows the sum of all losses by SGD with a "
    "learning rate of 0.1."
)
EVERY = 100
"""Iterations after which losses on validation rows are computed, unless told otherwise."""


class Trainer:
    """Trains a session's variables by a recipe: that of its diagram, or ``training``.

    Without a recipe every trained variable follows the sum of all losses by SGD with a rate of 0.1,
    and ``notes`` say so. Each iteration lets every optimiser have its turn: see ``OptimiserRule``.
    The plans are made once, all variables of an optimiser are updated in one sweep, and what nobody
    reads is not copied. The session has the new values whenever it is asked for them, and what
    is set there between two iterations counts. A variable without a gradient is skipped: it stays
    as it is, without weight decay, and each record names it.

    ``validate`` is the number of iterations between two computations of the losses on validation
    rows, if the diagram has any; 0 for never.

    Deterministic: equal sessions and recipes give equal bits, also over ``state`` and ``restore``.
    Raises RunError for a recipe that doesn't fit the diagram, and what ``Session.backward`` does.
    """

    @explained
    def __init__(
        self, session: Session, training: Training | None = None, *, validate: int = EVERY
    ) -> None:
        self.session = session
        self.iterations = 0
        """Iterations made so far."""
        self.notes: tuple[str, ...] = ()
        """What whoever trains should know: no recipe, or variables without a gradient."""
        self.validate = validate
        self._given = training
        self._diagram: Diagram
        self._generation: int
        self._made_by: Iterations
        self._error: DivergedError | None = None
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
    def optimisers(self) -> Sequence[OptimiserStep]:
        """The optimisers at work, in the order of the recipe; others after a rebuild."""
        return self._made_by.optimisers

    @property
    def rounds(self) -> int:
        """An old name of ``iterations``."""
        return self.iterations

    @property
    def turns(self) -> Sequence[OptimiserStep]:
        """An old name of ``optimisers``."""
        return self.optimisers

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a history: every number that a record of an iteration can have."""
        optimisers = self.optimisers
        found = [str(head) for head in self._heads]
        found += [
            f"{kind}/{optimiser.name}" for optimiser in optimisers for kind in ("lr", "grad_norm")
        ]
        found += map(str, self._recipe.record)
        if self._validation is not None:
            found += [f"validation/{head}" for head in self._heads]
        return tuple(dict.fromkeys(found))

    @explained
    def run(self, steps: int | None = None, *, together: int = 1) -> Iterator[StepRecord]:
        """Make iterations, one whenever the next record is asked for; ``training.steps`` by
        default.

        Up to ``together`` of them are made in one call of the engine, which saves time on engines
        that compile: then ``iterations``, and what the session has, are those of the last one made.
        Raises DivergedError at the first number that is not finite; the iteration is not counted.
        """
        if steps is not None and (
            isinstance(steps, bool) or not isinstance(steps, int | np.integer)
        ):
            raise RunError("The number of iterations is not an integer.", got=repr(steps))
        if steps is not None and steps < 0:
            raise RunError("The number of iterations is negative.", got=repr(steps))
        return self._run(self.training.steps if steps is None else int(steps), max(1, together))

    def _run(self, steps: int, together: int) -> Iterator[StepRecord]:
        last = self.iterations + steps
        while self.iterations < last:
            yield from self.advance(min(together, last - self.iterations))

    def step(self) -> StepRecord:
        """Make one iteration; see ``run``."""
        (record,) = self.advance(1)
        return record

    def advance(self, most: int) -> list[StepRecord]:
        """Make up to ``most`` iterations in one call of the engine, and at least one.

        Fewer where losses on validation rows are due, where one diverges, and on engines that make
        one at a time. Raises DivergedError if the first of them diverges, or diverged before.
        """
        with self._made_by.lock:
            self._keep_up()
            if self._error is not None:
                raise self._error
            if self._validation is not None:
                most = min(most, self.validate - self.iterations % self.validate)
            records, error = self._made_by.make(self.iterations + 1, most)
            self.iterations += len(records)
            if error is not None:
                explain(error, self.session, self._heads)
                if not records:
                    raise error
                self._error = error
            elif self._validation is not None and self.iterations % self.validate == 0:
                records[-1].validation = self._validation.losses()
            return records

    def state(self) -> TrainerState:
        """Everything from which the training goes on bit by bit; see ``restore``."""
        with self._made_by.lock:
            self._keep_up()
            session, variables = self.session, self._made_by.program.sources("variable")
            arrays = {f"variable/{path}": array for path, array in session.values.items()}
            arrays |= {
                f"set/{path}": array
                for path, array in self._made_by.assigned().items()
                if path not in variables
            }
            counts: dict[str, dict[str, int]] = {}
            for kind, parts in self._made_by.parts():
                counts[kind] = {part.name: part.updates for part in parts}
                for part in parts:
                    start = f"{kind}/{part.name}/"
                    arrays |= {start + name: array for name, array in part.state().items()}
            about = {"step_number": session.step_number, "updates": counts, **self._identity()}
            return TrainerState(self.iterations, arrays, about)

    @explained
    def restore(self, state: TrainerState) -> None:
        """Go on from a state: the iterations that follow equal those of an uninterrupted training.

        The state may be that of another engine. Raises FileError, and changes nothing, if the state
        is of another diagram or recipe, or if inputs or constants were set to other values; it says
        what differs.
        """
        iterations = self._made_by
        with iterations.lock:
            require_same(self.state(), state)
            for name, array in state.arrays.items():
                kind, _, path = name.partition("/")
                if kind == "set" or (
                    kind == "variable"
                    and path not in iterations.moving
                    and not same_bits(self.session.values[path], array)
                ):
                    self.session.set(path, array)
            iterations.refresh()
            for kind, parts in iterations.parts():
                for part in parts:
                    start = f"{kind}/{part.name}/"
                    arrays = {
                        name.removeprefix(start): array
                        for name, array in state.arrays.items()
                        if name.startswith(start)
                    }
                    part.restore(arrays, state.about["updates"][kind][part.name])
            self.iterations = state.iterations
            self.session.step_number = state.about["step_number"]
            iterations.restore(
                {path: state.arrays[f"variable/{path}"] for path in iterations.moving}
            )
            self._error = None

    def _identity(self) -> dict[str, object]:
        """What a state is bound to: the recipe but for its length, and digests of all blocks."""
        record = self.training.to_record()
        record.pop("steps", None)
        if self._fingerprint is None or self._fingerprint[0] is not self.session.diagram:
            self._fingerprint = self.session.diagram, fingerprint(self.session.diagram)
        return {"recipe": record, "diagram": self._fingerprint[1]}

    @property
    def is_over(self) -> bool:
        """Whether the session was reset for another diagram, so that no iteration can follow."""
        return self.session.generation != self._generation

    def _keep_up(self) -> None:
        """Take over what changed in the session since the last iteration."""
        session, iterations = self.session, self._made_by
        if self.is_over:
            raise RunError(
                "The session has another diagram now, so this training can't go on.",
                next_step="Make a new Trainer, and restore a state if it still fits.",
            )
        if session.diagram is not self._diagram and self._written() != self.training:
            self._rebuild()
        elif not iterations.is_current:
            if self._program() is iterations.program:
                iterations.refresh()
                self._error = None
            else:
                self._rebuild()
        self._diagram = session.diagram

    def _program(self) -> Program:
        """The session's program on the rows for training."""
        with in_phase(self.session, "training"):
            return self.session.program if self._names_steps else self.session.rolled

    def _written(self) -> Training:
        return self._given or self.session.diagram.training or DEFAULT

    def _rebuild(self) -> None:
        """Make everything anew for other shapes or another recipe; what still fits is kept."""
        before = {
            (kind, part.name): (part.state(), part.updates)
            for kind, parts in self._made_by.parts()
            for part in parts
        }
        self._build()
        for kind, parts in self._made_by.parts():
            for part in parts:
                state, updates = before.get((kind, part.name), ({}, 0))
                if forms_of(part.state()) == forms_of(state):
                    part.restore(state, updates)

    def _build(self) -> None:
        """Make the plans and the memory for the diagram as it is."""
        session = self.session
        self._diagram, self._generation = session.diagram, session.generation
        self._names_steps = False
        try:
            recipe = resolve(self._written(), self._program())
        except RunError:  # it may name what only the steps of a loop have
            self._names_steps = True
            recipe = resolve(self._written(), self._program())
        self._recipe = recipe
        with in_phase(session, "training"):
            self._made_by = iterations_of(session, recipe, self._program())
        self._error = None
        session.updated.update(self._made_by.moving)
        self._heads = tuple(dict.fromkeys(head for rule in recipe.rules for head in rule.heads))
        self._validation = Validation.of(session, self._heads) if self.validate else None
        self.notes = self._notes()

    def _notes(self) -> tuple[str, ...]:
        found = []
        if self._given is None and self._diagram.training is None:
            found.append(NO_RECIPE)
        for optimiser in self.optimisers:
            if optimiser.missing:
                shown = listed(optimiser.missing)
                verb = "has" if len(optimiser.missing) == 1 else "have"
                found.append(
                    f"{shown} {verb} no gradient of what {optimiser.name} follows, "
                    "and stay as they are."
                )
        return tuple(found)
