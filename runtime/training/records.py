"""What an iteration of training reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Literal, TypeAlias

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import RunError
from gradwire.runtime.flow.words.sentences import names as listed

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.flow import Finding


# The error with which a training stops at the first number that is not finite.

Where: TypeAlias = Literal["loss", "gradient", "variable"]


class DivergedError(RunError):
    """A loss, a gradient or a variable is NaN or infinite, so the training stopped.

    The session has the values that the pass began with, unless the update itself went wrong
    (``where`` is "variable").
    """

    def __init__(self, where: Where, names: Sequence[str], optimiser: str) -> None:
        super().__init__(_what(where, names, optimiser))
        self.where = where
        """What was the first that is not finite."""
        self.names = tuple(names)
        """The losses, or the variables."""
        self.optimiser = optimiser
        self.iteration = 0
        """The iteration that was not finished, from 1 on."""
        self.step_number = 0
        """The session's step number in the pass."""
        self.findings: tuple[Finding, ...] = ()
        """What the doctor says of that pass: the worst first."""
        self.diagram: Diagram | None = None
        """The diagram with all numbers of that pass in it, on which ``gradwire doctor`` says the
        same; None if they could not be stored.
        """

    @property
    def round(self) -> int:
        """An old name of ``iteration``."""
        return self.iteration


def _what(where: Where, names: Sequence[str], optimiser: str) -> str:
    shown = listed(names)
    verb = "is" if len(names) == 1 else "are"
    if where == "loss":
        return f"{shown} {verb} not finite."
    if where == "gradient":
        return f"The gradient of {shown} that {optimiser} follows is not finite."
    return f"{shown} {verb} not finite after the update of {optimiser}."


@dataclass(slots=True)
class OptimiserRecord:
    """What one optimiser did in an iteration.

    ``lr`` is the rate of its last update, of the first group if there are several. ``grad_norm`` is
    the Euclidean norm of the gradient of that update, before clipping, over all its variables; None
    if none of them has a gradient. ``skipped`` are variables without a gradient: they stay as they
    are, without weight decay and without a change of the optimiser's state. ``updates`` counts the
    updates since the start.
    """

    lr: float
    grad_norm: float | None
    skipped: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    updates: int = 0


@dataclass(slots=True)
class StepRecord:
    """One iteration: numbers by name.

    ``losses`` are those that the optimisers followed, as they were when the iteration first
    computed them; over the passes that one update accumulates, their mean or sum. ``watched`` are
    the ports that the recipe records, as they were in the iteration's first pass; an array counts
    with the mean of its elements. ``validation`` are the losses on rows that are never trained on,
    after the iteration; None unless they were computed. An optimiser that did not take part in the
    iteration is not among ``optimisers``.
    """

    step: int
    """Iterations made so far."""
    losses: Mapping[str, float]
    optimisers: Mapping[str, OptimiserRecord] = field(default_factory=dict)
    watched: Mapping[str, float] = field(default_factory=dict)
    validation: Mapping[str, float] | None = None

    def columns(self) -> dict[str, float | None]:
        """The numbers by column of a history; None for a gradient norm that does not exist."""
        found: dict[str, float | None] = dict(self.losses)
        for name, about in self.optimisers.items():
            found[f"lr/{name}"] = about.lr
            found[f"grad_norm/{name}"] = about.grad_norm
        found |= self.watched
        if self.validation is not None:
            found |= {f"validation/{name}": value for name, value in self.validation.items()}
        return found
