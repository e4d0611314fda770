"""What has no rules: an operation, function or hook of a program, as it was in one run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import (
    TYPE_CHECKING,
    Annotated,
    ClassVar,
    Literal,
    NamedTuple,
    Protocol,
    Self,
    TypeAlias,
)

from pydantic import Field, PrivateAttr, model_validator

from gradwire.blocks.block import Block, Shape
from gradwire.blocks.classes.identity import by_identity
from gradwire.blocks.errors import TraceError
from gradwire.blocks.values import DType, Tensor, fitted

if TYPE_CHECKING:
    from gradwire.blocks.symbolic import Namespace, Value
    from gradwire.blocks.values import Array

MAX_PORTS = 256
"""Inputs, outputs and losses of a recorded operation, at most of each."""
SEEN = 6
"""Numbers by which an input is known again: see ``runtime.calculus.measuring``."""
LEFT_OUT = -2.0
"""The count of an input whose run was left out: nothing can be computed of it."""

Kind: TypeAlias = tuple[DType, tuple[Annotated[int, Field(ge=0)], ...]]
"""The dtype and the shape of an array."""
Kinds: TypeAlias = Annotated[tuple[Kind, ...], Field(max_length=MAX_PORTS)]


@by_identity
class RecordedLoss(NamedTuple):
    """What one loss sent back through an output: the gradient that arrived, and its products."""

    arrived: Array | None
    products: Mapping[int, Array]
    """By the number of the input; none where no gradient came to it."""
    rounding: float
    """Gradients below this are 0 but for rounding."""


@by_identity
class RecordedOutput(NamedTuple):
    """An output of a recorded operation."""

    kind: tuple[Shape, str]
    value: Array | None
    """None where it is the value of the first input."""
    depends: frozenset[int]
    """The inputs that the program's own rules have a path to."""
    losses: tuple[RecordedLoss, ...]

    def passes(self, slot: int) -> bool:
        """Whether gradient passes to an input: by what came or, if none arrived, by the rules."""
        sent = [loss for loss in self.losses if loss.arrived is not None]
        return any(slot in loss.products for loss in sent) if sent else slot in self.depends


class RecordedProgram(Protocol):
    """The program itself, where it can be asked for other inputs and gradients than those of a run.

    What is asked raises ValueError where that fails.
    """

    @property
    def why_not(self) -> str:
        """Why it can't be asked; empty where it can."""

    @property
    def depends(self) -> Sequence[frozenset[int]] | None:
        """For each output the inputs that gradient can come to; None where no more is known than
        of the run.
        """

    @property
    def withheld(self) -> Collection[tuple[int, int]]:
        """The outputs and inputs between which no gradient came when it was last asked for."""

    def knows(self, inputs: Sequence[Array]) -> bool:
        """Whether inputs are those of the run but for rounding."""

    def value(self, run: RecordedRun, output: int, inputs: Sequence[Array]) -> Array:
        """An output for these inputs."""

    def product(
        self, run: RecordedRun, output: int, slot: int, gradient: Array, inputs: Sequence[Array]
    ) -> Array:
        """What a gradient that comes to one output sends on to an input."""


@by_identity
class RecordedRun(NamedTuple):
    """One run of an operation."""

    operation: str
    written: str
    """Where the program has it, ``model.py:42``; empty where that is not known."""
    inputs: tuple[tuple[Shape, str], ...]
    seen: tuple[tuple[float, float, float, float, float, float], ...]
    """What is known of each input, as ``measured`` gives it; a negative count where nothing is."""
    has_numbers: bool
    outputs: tuple[RecordedOutput, ...]
    unasked: tuple[int, ...]
    """The inputs that no gradient was asked for."""
    asked: RecordedProgram | None = None
    """Who knows more than the run has shown; nobody for one from a file."""

    @property
    def live(self) -> RecordedProgram | None:
        """Who can be asked for other inputs and gradients, if anybody can."""
        return None if self.asked is None or self.asked.why_not else self.asked

    @property
    def unknown(self) -> tuple[int, ...]:
        """The inputs of which it can't be told what gradient would come to them."""
        live = self.live
        return self.unasked if live is None or live.depends is None else ()

    def passes(self, output: int, slot: int) -> bool:
        """Whether gradient of an output passes to an input."""
        live = self.live
        if live is not None and live.depends is not None:
            return slot in live.depends[output]
        withheld = live is not None and (output, slot) in live.withheld
        return self.outputs[output].passes(slot) and not withheld

    @property
    def why_not(self) -> str:
        """A sentence that says why nobody can be asked, after a space; empty where that is not
        known.
        """
        why = "" if self.asked is None else self.asked.why_not
        return f". It can't be asked again: {why}" if why else ""

    @property
    def is_left_out(self) -> bool:
        """Whether the numbers of an input were left out, so that nothing can be computed of it."""
        return any(count == LEFT_OUT for count, *_ in self.seen)

    @property
    def named(self) -> str:
        """The operation, with its place in the program."""
        return f"{self.operation} ({self.written})" if self.written else self.operation

    @property
    def known(self) -> str:
        """What holds for no other run: the beginning of a sentence."""
        return f"{self.named} is known for the run that was captured alone"


class Recorded(Block):
    """An operation without rules, as it was in one run of the program it comes from.

    It has the values of that run, and the vector-Jacobian products for the gradients that arrived
    in it, from which follow those of sums and multiples. For any other input or gradient it is
    *live* where the program is at hand, and asked; otherwise nothing is known: a run raises
    RunError. With ``keeps_value`` the value is that of the first input, in any
    run, and gradients alone are recorded: a hook, or a function with a backward of its own.

    Without any ``arrays`` it has the structure alone, and nothing can be computed of it.

    ``arrays`` are by name: ``seen``, ``value 0``, ``rounding``, ``arrived 1 0`` (of loss 1, at
    output 0), ``product 1 0 2`` (of those, to input 2). Raises TraceError for one that records
    nothing, and ShapeError for inputs of other shapes.
    """

    symbol: ClassVar[str] = "rec"
    formula: ClassVar[str] = r"y = f(x), \qquad \bar{x} = \bar{y} \, \partial f"
    surrogate: ClassVar[bool] = True
    bypassable: ClassVar[bool] = False

    operation: Annotated[str, Field(max_length=200)] = ""
    """What the program calls it: an operator, a function or a hook."""
    takes: Kinds = ()
    """The dtype and shape of each input."""
    gives: Kinds = ()
    """The dtype and shape of each output."""
    depends: Annotated[tuple[tuple[int, ...], ...], Field(max_length=MAX_PORTS)] = ()
    """For each output the inputs that gradient could come to."""
    unasked: Annotated[tuple[int, ...], Field(max_length=MAX_PORTS)] = ()
    """The inputs that no gradient was asked for in the run: what would come to them is unknown."""
    keeps_value: bool = False
    """Whether the value is that of the first input."""
    losses: Annotated[int, Field(ge=0, le=MAX_PORTS)] = 0
    """For how many losses gradients were recorded."""
    arrays: Mapping[str, Tensor] = Field(default_factory=dict)
    """The numbers of the run, by name."""
    _asked: RecordedProgram | None = PrivateAttr(default=None)
    """No file has it."""

    @property
    def standing(self) -> Literal["live", "recorded", "unknown"]:
        """Of which inputs and gradients it is known what comes of them: all, those of the run, or
        none.
        """
        if self.run.live is not None:
            return "live"
        return "recorded" if self.arrays and not self.run.is_left_out else "unknown"

    def answered_by(self, asked: RecordedProgram) -> Self:
        """The same, where other inputs and gradients are a question to the program."""
        made = self.model_copy()
        made.__dict__.pop("run", None)
        made._asked = asked
        return made

    def output_names(self) -> tuple[str, ...]:
        """One port for each output."""
        count = max(1, len(self.gives))
        return ("out",) if count == 1 else tuple(f"out{place}" for place in range(count))

    def label(self) -> str:
        return f"{self.operation}, {self.standing}" if self.operation else self.symbol

    def forward(self, xp: Namespace, *xs: Value) -> Value | tuple[Value, ...]:
        if not self.gives:
            raise TraceError("It records nothing.", next_step="It is made by capturing a program.")
        if len(xs) != len(self.takes):
            raise TraceError(
                "It has not the inputs that were recorded.",
                expected=f"{len(self.takes)} inputs",
                got=f"{len(xs)}",
            )
        found = xp.recorded(self.run, *xs)
        return found if len(found) > 1 else found[0]

    @cached_property
    def run(self) -> RecordedRun:
        """The run that it records."""
        seen = self.arrays.get("seen")
        rows = () if seen is None else tuple(map(tuple, seen.array.tolist()))
        outputs = tuple(
            RecordedOutput(
                (shape, dtype),
                self._array(f"value {j}"),
                frozenset(self.depends[j]),
                tuple(self._loss(k, j) for k in range(self.losses)),
            )
            for j, (dtype, shape) in enumerate(self.gives)
        )
        line, _, _ = self.written.partition(": ")
        takes = tuple((shape, dtype) for dtype, shape in self.takes)
        numbers = bool(self.arrays)
        return RecordedRun(
            self.operation, line, takes, rows, numbers, outputs, self.unasked, self._asked
        )

    def _loss(self, loss: int, output: int) -> RecordedLoss:
        name = f"product {loss} {output} "
        products = {
            int(key.removeprefix(name)): tensor.array
            for key, tensor in self.arrays.items()
            if key.startswith(name)
        }
        rounding = self._array("rounding")
        least = 0.0 if rounding is None else float(rounding[loss])
        return RecordedLoss(self._array(f"arrived {loss} {output}"), products, least)

    def _array(self, name: str) -> Array | None:
        tensor = self.arrays.get(name)
        return None if tensor is None else tensor.array

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        expected = dict(self._expected())
        found = {}
        for name, tensor in self.arrays.items():
            if name not in expected:
                raise ValueError(f"there is no array {name!r} of such a run")
            dtype, shape = expected[name]
            if tensor.shape != tuple(shape):
                raise ValueError(f"{name!r} has not the shape {list(shape)}")
            found[name] = fitted(tensor, dtype)
        object.__setattr__(self, "arrays", found)
        needed = [] if self.keeps_value else [f"value {j}" for j in range(len(self.gives))]
        needed += ["seen"] if self.takes else []
        missing = [name for name in needed if self.arrays and name not in self.arrays]
        if missing:
            raise ValueError(f"the array {missing[0]!r} is missing")
        if len(self.depends) != len(self.gives) or any(
            not 0 <= slot < len(self.takes)
            for slots in (*self.depends, self.unasked)
            for slot in slots
        ):
            raise ValueError("depends and unasked have other inputs than there are")
        if self.keeps_value and (not self.takes or self.gives != self.takes[:1]):
            raise ValueError("the value of the first input goes through to one output like it")
        return self

    def _expected(self) -> Iterator[tuple[str, Kind]]:
        """The arrays that there may be, with their kinds."""
        if self.takes:
            yield "seen", ("float64", (len(self.takes), SEEN))
        if self.losses:
            yield "rounding", ("float64", (self.losses,))
        for j, output in enumerate(self.gives):
            if not self.keeps_value:
                yield f"value {j}", output
            for k in range(self.losses):
                yield f"arrived {k} {j}", output
                for i in self.depends[j] if j < len(self.depends) else ():
                    if i < len(self.takes):
                        yield f"product {k} {j} {i}", self.takes[i]
