"""What an iteration of training reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from gradwire.blocks.classes.dataclass import dataclass


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
