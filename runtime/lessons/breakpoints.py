"""Breakpoints of a timeline: conditions on a step, for ``Timeline.search``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.errors import RunError
from gradwire.runtime.lessons.inside import PrimitiveBackward, PrimitiveForward
from gradwire.runtime.lessons.steps import BackwardStep, ForwardStep, Seed, UpdateStep

if TYPE_CHECKING:
    from gradwire.blocks.values import Array
    from gradwire.runtime.diagram.paths import InstancePath
    from gradwire.runtime.lessons.steps import Step


@dataclass(frozen=True, slots=True)
class GradientReaches:
    """Gradient arrives at the block ``path``, or inside the page used there."""

    path: InstancePath

    def __call__(self, step: Step) -> bool:
        """Whether this step stops here."""
        reached = step.path == self.path or step.path.is_inside(self.path)
        return reached and isinstance(step, Seed | BackwardStep | PrimitiveBackward)


@dataclass(frozen=True, slots=True)
class GradientExceeds:
    """A gradient with an element beyond ±``limit``. Raises RunError for a limit below 0 or NaN."""

    limit: float

    def __post_init__(self) -> None:
        if not self.limit >= 0:
            raise RunError(
                "A gradient is compared by its absolute value.",
                expected="a limit from 0 on",
                got=repr(self.limit),
            )

    def __call__(self, step: Step) -> bool:
        """Whether this step stops here."""
        return any(np.any(np.abs(array) > self.limit) for array in gradients_of(step))


@dataclass(frozen=True, slots=True)
class NotFinite:
    """A value or a gradient with NaN or ±∞."""

    def __call__(self, step: Step) -> bool:
        """Whether this step stops here."""
        arrays = (*_made(step), *gradients_of(step))
        return not all(np.all(np.isfinite(array)) for array in arrays)


Breakpoint: TypeAlias = GradientReaches | GradientExceeds | NotFinite


def _made(step: Step) -> tuple[Array, ...]:
    """The values that are computed in a step."""
    match step:
        case ForwardStep():
            return (*step.outputs.values(),)
        case PrimitiveForward() if step.value is not None:
            return (step.value,)
        case UpdateStep():
            return (step.after,)
        case _:
            return ()


def gradients_of(step: Step) -> Iterator[Array]:
    """All gradients that appear in a step."""
    match step:
        case Seed():
            yield step.value
        case BackwardStep():
            found = [*(a.total for a in step.arrivals), *(back.value for back in step.returns)]
            yield from (array for array in found if array is not None)
        case PrimitiveBackward():
            found = [step.total, *(back.value for back in step.returns)]
            yield from (array for array in found if array is not None)
        case UpdateStep() if step.gradient is not None:
            yield step.gradient
