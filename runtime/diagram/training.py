"""How a diagram is trained: its optimisers, the variables each owns, and the losses it follows.

Only form is checked here: fields, their types and their ranges. Which variables a pattern names
needs the diagram, and ``gradwire.runtime.training.recipe`` finds them, so that an author may save a
recipe that is not finished.

The defaults of the methods are PyTorch's, but for SGD, whose rate is 0.1.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import (
    AfterValidator,
    Field,
    SerializerFunctionWrapHandler,
    Strict,
    model_serializer,
)

from gradwire.blocks.names import is_name
from gradwire.runtime.diagram.document_types import (
    MAX_ENTRIES,
    Characters,
    Number,
    Place,
    Places,
    Record,
)

MAX_COUNT = 1_000_000_000
"""Steps, rounds or batches, at most."""


def _name(text: str) -> str:
    if not is_name(text):
        raise ValueError("this is not a valid name")
    return text


Name: TypeAlias = Annotated[Characters, AfterValidator(_name)]
"""A name that follows ``NAME_RULE``."""
NotNegative: TypeAlias = Annotated[Number, Field(ge=0)]
Share: TypeAlias = Annotated[Number, Field(ge=0, le=1)]
Decay: TypeAlias = Annotated[Number, Field(ge=0, lt=1)]
Count: TypeAlias = Annotated[int, Strict(), Field(ge=1, le=MAX_COUNT)]
Flag: TypeAlias = Annotated[bool, Strict()]


class _Kind(Record):
    """A record that says what kind it is, in the file too."""

    @model_serializer(mode="wrap")
    def _with_kind(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        kind: str = type(self).model_fields["kind"].default
        return {"kind": kind, **handler(self)}


class _Method(_Kind):
    """What all methods have."""

    weight_decay: NotNegative = 0.0
    """Pulls towards 0: added to the gradient times the value, or decoupled from it."""
    maximize: Flag = False
    """Whether to climb the loss instead."""


class _CoupledMethod(_Method):
    """A method whose weight decay is part of the gradient, unless it is decoupled."""

    decoupled_weight_decay: Flag = False
    """Whether the value shrinks by lr * weight_decay, apart from the gradient, as in AdamW."""


class SGDMethod(_CoupledMethod):
    """Gradient descent, with momentum and Nesterov's look ahead."""

    kind: Literal["sgd"] = "sgd"
    lr: NotNegative = 0.1
    momentum: NotNegative = 0.0
    dampening: Number = 0.0
    nesterov: Flag = False


class _AdamMethod(_Method):
    lr: NotNegative = 1e-3
    betas: tuple[Decay, Decay] = (0.9, 0.999)
    eps: NotNegative = 1e-8


class AdamMethod(_AdamMethod, _CoupledMethod):
    """Steps of about the size of the rate, by means of gradients and of their squares."""

    kind: Literal["adam"] = "adam"
    amsgrad: Flag = False
    """Whether to divide by the largest mean of squares so far."""


class AdamWMethod(_AdamMethod):
    """Adam with weight decay apart from the gradient."""

    kind: Literal["adamw"] = "adamw"
    weight_decay: NotNegative = 1e-2
    amsgrad: Flag = False
    """Whether to divide by the largest mean of squares so far."""


class RMSpropMethod(_CoupledMethod):
    """Divides a gradient by the root of the mean of its squares."""

    kind: Literal["rmsprop"] = "rmsprop"
    lr: NotNegative = 1e-2
    alpha: Share = 0.99
    eps: NotNegative = 1e-8
    momentum: NotNegative = 0.0
    centered: Flag = False
    """Whether to divide by the standard deviation instead."""


class AdagradMethod(_CoupledMethod):
    """Divides a gradient by the root of the sum of its squares."""

    kind: Literal["adagrad"] = "adagrad"
    lr: NotNegative = 1e-2
    lr_decay: NotNegative = 0.0
    initial_accumulator_value: NotNegative = 0.0
    eps: NotNegative = 1e-10


class AdadeltaMethod(_CoupledMethod):
    """Scales a gradient by the root of the mean of squared changes over that of its squares."""

    kind: Literal["adadelta"] = "adadelta"
    lr: NotNegative = 1.0
    rho: Share = 0.9
    eps: NotNegative = 1e-6


class LionMethod(_Method):
    """Steps by the sign of a mean of gradients. Weight decay is decoupled."""

    kind: Literal["lion"] = "lion"
    lr: NotNegative = 1e-4
    betas: tuple[Decay, Decay] = (0.9, 0.99)


class NAdamMethod(_AdamMethod, _CoupledMethod):
    """Adam with Nesterov's look ahead."""

    kind: Literal["nadam"] = "nadam"
    lr: NotNegative = 2e-3
    momentum_decay: NotNegative = 4e-3


class RAdamMethod(_AdamMethod, _CoupledMethod):
    """Adam that waits with dividing until the mean of squares is reliable."""

    kind: Literal["radam"] = "radam"


class AdamaxMethod(_AdamMethod, _CoupledMethod):
    """Adam with the largest gradient so far, fading, in place of the mean of squares."""

    kind: Literal["adamax"] = "adamax"
    lr: NotNegative = 2e-3


AnyMethod: TypeAlias = (
    SGDMethod
    | AdamMethod
    | AdamWMethod
    | RMSpropMethod
    | AdagradMethod
    | AdadeltaMethod
    | LionMethod
    | NAdamMethod
    | RAdamMethod
    | AdamaxMethod
)
METHODS: tuple[type[AnyMethod], ...] = get_args(AnyMethod)
Method: TypeAlias = Annotated[AnyMethod, Field(discriminator="kind")]


class ConstantSchedule(_Kind):
    """The rate as given."""

    kind: Literal["constant"] = "constant"


class StepSchedule(_Kind):
    """The rate is multiplied by ``gamma`` after every ``step_size`` updates."""

    kind: Literal["step"] = "step"
    step_size: Count = 100
    gamma: NotNegative = 0.5


class ExponentialSchedule(_Kind):
    """The rate is multiplied by ``gamma`` after every update."""

    kind: Literal["exponential"] = "exponential"
    gamma: NotNegative = 0.99


class CosineSchedule(_Kind):
    """Half a cosine down to ``eta_min`` in ``t_max`` updates; then up again, as in PyTorch."""

    kind: Literal["cosine"] = "cosine"
    t_max: Count = 1000
    eta_min: NotNegative = 0.0


class WarmupCosineSchedule(_Kind):
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
    method: Method = Field(default_factory=SGDMethod)
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
    """Updates a round."""
    every: Count = 1
    """It takes part in every so many-th round only."""


class Average(Record):
    """Frozen variables that follow the exponential moving average of trained ones.

    After each round, ``target = decay * target + (1 - decay) * source``. With a decay of 0 and
    ``every`` 100 rounds, targets are lagged copies, as in DQN.
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
    """The recipe by which a diagram is trained. A round lets every optimiser have its turn."""

    optimisers: Annotated[tuple[OptimiserRule, ...], Field(max_length=MAX_ENTRIES)] = ()
    order: Literal["alternating", "simultaneous"] = "alternating"
    """Whether gradients are taken after the updates of the optimisers before, or all before any."""
    averages: Annotated[tuple[Average, ...], Field(max_length=MAX_ENTRIES)] = ()
    steps: Count = 1000
    """Rounds of one training, unless told otherwise."""
    record: Places = ()
    """Ports, besides losses, whose values are recorded each round."""

    def to_record(self) -> dict[str, Any]:
        """The JSON form, without fields that have their default values."""
        return self.model_dump(mode="json", exclude_defaults=True)
