"""How a diagram is trained: its optimisers, the variables each owns, and the losses it follows.

Only form is checked here: fields, their types and their ranges. Which variables a pattern names
needs the diagram, and ``gradwire.runtime.training.recipe`` finds them, so that an author may save a
recipe that is not finished.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import AfterValidator, Field

from gradwire.blocks.names import is_name
from gradwire.runtime.diagram.document_types import (
    MAX_ENTRIES,
    Characters,
    Count,
    NotNegative,
    Place,
    Places,
    Record,
    Share,
    TaggedRecord,
)
from gradwire.runtime.diagram.optimisers import ANY_METHOD, Method, SGDMethod


def _name(text: str) -> str:
    if not is_name(text):
        raise ValueError("this is not a valid name")
    return text


Name: TypeAlias = Annotated[Characters, AfterValidator(_name)]
"""A name that follows ``NAME_RULE``."""


class ConstantSchedule(TaggedRecord):
    """The rate as given."""

    kind: Literal["constant"] = "constant"


class StepSchedule(TaggedRecord):
    """The rate is multiplied by ``gamma`` after every ``step_size`` updates."""

    kind: Literal["step"] = "step"
    step_size: Count = 100
    gamma: NotNegative = 0.5


class ExponentialSchedule(TaggedRecord):
    """The rate is multiplied by ``gamma`` after every update."""

    kind: Literal["exponential"] = "exponential"
    gamma: NotNegative = 0.99


class CosineSchedule(TaggedRecord):
    """Half a cosine down to ``eta_min`` in ``t_max`` updates; then up again, as in PyTorch."""

    kind: Literal["cosine"] = "cosine"
    t_max: Count = 1000
    eta_min: NotNegative = 0.0


class WarmupCosineSchedule(TaggedRecord):
    """From ``start_factor`` of the rate up to it in a straight line, then the cosine."""

    kind: Literal["warmup_cosine"] = "warmup_cosine"
    warmup_steps: Count = 100
    start_factor: Share = 0.0
    t_max: Count = 900
    """Updates of the cosine, which come after the warm-up."""
    eta_min: NotNegative = 0.0


AnySchedule: TypeAlias = (
    ConstantSchedule | StepSchedule | ExponentialSchedule | CosineSchedule | WarmupCosineSchedule
)
SCHEDULES: tuple[type[AnySchedule], ...] = get_args(AnySchedule)
Schedule: TypeAlias = Annotated[AnySchedule, Field(discriminator="kind")]


class Clip(Record):
    """A limit for gradients before each update.

    ``value`` limits every number to ±limit; ``norm`` shortens all gradients of the optimiser
    together to this Euclidean norm.
    """

    by: Literal["value", "norm"]
    limit: NotNegative


class Group(Record):
    """Variables with a rate or a weight decay of their own; None keeps the method's."""

    variables: Places
    lr: NotNegative | None = None
    weight_decay: NotNegative | None = None


class OptimiserRule(Record):
    """An optimiser, the variables that it owns and the losses that it follows."""

    name: Name
    method: Annotated[Method, ANY_METHOD] = Field(default_factory=SGDMethod)
    variables: Places = ("*",)
    """Patterns for variables, as in contracts; those that are frozen are not meant."""
    losses: Places = ()
    """Heads, whose sum it follows; all losses if there are none."""
    groups: Annotated[tuple[Group, ...], Field(max_length=MAX_ENTRIES)] = ()
    """The first that names a variable counts."""
    schedule: Schedule = Field(default_factory=ConstantSchedule)
    clip: Clip | None = None
    accumulate: Count = 1
    """Passes, with new data each, whose gradients make one update."""
    reduce: Literal["mean", "sum"] = "mean"
    """What becomes of the gradients of several passes."""
    steps: Count = 1
    """Updates an iteration."""
    every: Count = 1
    """It takes part in every so many-th iteration only."""


class Average(Record):
    """Frozen variables that follow the exponential moving average of trained ones.

    After each iteration, ``target = decay * target + (1 - decay) * source``. With a decay of 0 and
    ``every`` 100 iterations, targets are lagged copies, as in DQN.
    """

    name: Name
    of: Place
    """A pattern for the variables that are averaged."""
    into: Place
    """A pattern for the frozen variables that receive the averages."""
    decay: Share = 0.99
    every: Count = 1
    start: Literal["initial", "first_update", "zero_debiased"] = "initial"
    """From the targets' own values; from the sources after the first update; or from 0, with
    values divided by 1 - decay^t.
    """


class Training(Record):
    """The recipe by which a diagram is trained. An iteration lets every optimiser have its turn."""

    optimisers: Annotated[tuple[OptimiserRule, ...], Field(max_length=MAX_ENTRIES)] = ()
    order: Literal["alternating", "simultaneous"] = "alternating"
    """Whether gradients are taken after the updates of the optimisers before, or all before any."""
    averages: Annotated[tuple[Average, ...], Field(max_length=MAX_ENTRIES)] = ()
    steps: Count = 1000
    """Iterations of one training, unless told otherwise."""
    record: Places = ()
    """Ports, besides losses, whose values are recorded each iteration."""

    def to_record(self) -> dict[str, object]:
        """The JSON form, without fields that have their default values."""
        return self.model_dump(mode="json", exclude_defaults=True)
