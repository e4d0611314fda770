"""The diagram of a recorded step: blocks without numbers, whose gradient flow is the product's own.

Every call is a Recorded block, and whatever autograd lost track of is behind a StopGradient, as in
captured programs. So states, reasons, cures and repairs are those of ``runtime.flow``.
"""

from __future__ import annotations

import linecache
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.blocks.library.recorded import MAX_PORTS
from gradwire.runtime.flow.analyse import Flow, analyse
from gradwire.runtime.interchange.importing.stage import Stage
from gradwire.runtime.interchange.importing.torch.places import place_of
from gradwire.runtime.watch.step import (
    GradientFate,
    Kind,
    NoGradRegion,
    RecordedStep,
    Returned,
    SourceLine,
    StepCall,
)

if TYPE_CHECKING:
    from gradwire.runtime.flow.words.states import Verdict
    from gradwire.runtime.interchange.importing.imported import Imported
    from gradwire.runtime.interchange.importing.staged import Staged

_NAMES = {
    "__array__": "numpy",
    "__float__": "item",
    "__setitem__": "setitem",
    "CheckpointFunction": "checkpoint",
    "data.__get__": "data",
    "data.__set__": "data",
}
"""What calls are called on diagrams, where that isn't their own name: as captures name them."""
_CHECKPOINT = "CheckpointFunction"


@dataclass(eq=False)
class Structure:
    """The diagram of a step, and where in it things are."""

    step: RecordedStep
    imported: Imported
    inferred: Mapping[str, Returned] = field(default_factory=dict)
    """Names of stops before numbers that came back into PyTorch, probably those that had left."""

    @cached_property
    def flow(self) -> Flow:
        """The gradient flow of all losses."""
        return analyse(self.imported.diagram)

    def verdict(self, parameter: str) -> Verdict | None:
        """Why a parameter gets gradient or not; None where the step has not read it."""
        key = self.imported.parameters.get(parameter)
        return None if key is None else self.flow.variable(key)


def structure_of(step: RecordedStep, title: str = "step", *, source: bool = False) -> Structure:
    """The structure of a step. With ``source`` blocks have the text of their lines, not only file
    and number.
    """
    return _Making(step, title, source).made()


class _Making:
    def __init__(self, step: RecordedStep, title: str, source: bool) -> None:
        self._step = step
        self._stage = Stage(title)
        self._source = source
        self._staged: dict[int, Staged] = {}
        self._inferred: dict[str, Returned] = {}
        self._calls = self._with_returned()

    def _with_returned(self) -> list[StepCall]:
        """The calls, with those that brought back numbers that had left before."""
        calls = list(self._step.calls)
        left = [c for c in calls if c.fate is GradientFate.LEFT or c.name in ("numpy", "__array__")]
        added = []
        for back in self._step.returned:
            before = [call for call in left if call.outputs[0] < back.values[0]]
            if before:
                taken = before[-1].outputs
                added.append(
                    StepCall(
                        back.name,
                        back.line,
                        back.path,
                        taken,
                        back.values,
                        GradientFate.CUT,
                        None,
                        0,
                    )
                )
                self._inferred.setdefault(_name(before[-1]), back)
        return sorted([*calls, *added], key=lambda call: call.outputs[0])

    def made(self) -> Structure:
        step, stage = self._step, self._stage
        step = RecordedStep(
            self._calls, step.kinds, step.tracked, step.names, step.leaves, step.losses
        )
        readers = step.readers()
        ends: dict[int, None] = {}
        reaching = step.needed(set(step.losses))
        for value in step.names:
            if value not in reaching and value in readers:
                found = next(step.ends_of(value, readers), None)
                if found is not None:
                    ends.setdefault(found[0])
        needed = step.needed({*step.losses, *ends})
        for value, name in step.names.items():
            if value in needed:
                self._variable(value, name)
        for value, leaf in step.leaves.items():
            if value in needed:
                self._variable(value, f"leaf{value}", leaf.line)
        for call in step.calls:
            if not needed.isdisjoint(call.outputs):
                self._put_up(call)
        for number, value in enumerate(step.losses):
            if value in self._staged:
                self._loss(self._staged[value], f"loss{number + 1 if number else ''}")
        for value in ends:
            if value in self._staged and value not in step.losses:
                stage.output(self._staged[value], "unused")
        return Structure(self._step, stage.finish(), self._inferred)

    def _loss(self, value: Staged, name: str) -> None:
        with self._stage.at(()):
            single = value if value.size == 1 else self._stage.block("Sum", value, name=name)
            self._stage.loss(self._stage.reshape(single, ()), name)

    def _variable(self, value: int, name: str, line: SourceLine | None = None) -> None:
        _, shape = self._step.kinds[value]
        *module, own = name.split(".")
        with self._stage.at((), self._written(line) if line else ""):
            self._staged[value] = self._stage.drawn(
                name, shape, "zeros", module, own, trainable=self._step.tracked[value]
            )

    def _written(self, line: SourceLine) -> str:
        if not line.number:
            return ""
        if not self._source:
            return place_of(*line).written
        return place_of(*line, linecache.getline(*line)).written

    def _put_up(self, call: StepCall) -> None:
        stage, tracked = self._stage, self._step.tracked
        with stage.at(call.path, self._written(call.line)):
            given = [
                self._stopped(call, value) if self._is_cut(call, value) else self._staged[value]
                for value in call.read
                if value in self._staged
            ]
            if given:
                self._staged |= zip(call.outputs, self._block(call, given), strict=True)
                return
        for value in call.outputs:  # of nothing that was seen
            if tracked[value]:
                self._variable(value, f"made{value}", call.line)

    def _is_cut(self, call: StepCall, value: int) -> bool:
        if not self._step.tracked[value]:
            return False
        lost = call.fate in (GradientFate.CUT, GradientFate.LEFT) or call.region is not None
        outside = value in call.enclosed and call.name != _CHECKPOINT
        return lost or outside or value in call.closed

    def _stopped(self, call: StepCall, value: int) -> Staged:
        """A value behind a stop that has the name of what made it lose its gradient."""
        name, line, path = _name(call), call.line, call.path
        if value in call.closed or (value in call.enclosed and call.name != _CHECKPOINT):
            name = f"{call.name}_backward"
        elif call.region is not None and call.name != _CHECKPOINT:
            name, line = call.region
        with self._stage.at(path, self._written(line)):
            return self._stage.block("StopGradient", self._staged[value], name=name)

    def _block(self, call: StepCall, given: Sequence[Staged]) -> Sequence[Staged]:
        name = _name(call)
        while len(given) > MAX_PORTS:
            head = self._recorded(name, given[:MAX_PORTS], [_kind_of(given[0])])
            given = [*head, *given[MAX_PORTS:]]
        return self._recorded(name, given, [_plain(self._step.kinds[v]) for v in call.outputs])

    def _recorded(self, name: str, given: Sequence[Staged], gives: Sequence[Kind]) -> Sequence[Any]:
        floats = tuple(i for i, x in enumerate(given) if x.is_float)
        return self._stage.blocks(
            "Recorded",
            *given,
            name=name,
            operation=name,
            takes=tuple(map(_kind_of, given)),
            gives=tuple(gives),
            depends=tuple(floats if dtype.startswith("float") else () for dtype, _ in gives),
        )


def _kind_of(x: Staged) -> Kind:
    return x.dtype, x.shape


def _plain(kind: Kind) -> Kind:
    """A kind of value that blocks have: of its dtype, whether it is a float matters here."""
    dtype, shape = kind
    if dtype.startswith(("float", "bfloat", "complex")):
        return "float32", shape
    return "bool" if dtype == "bool" else "int64", shape


def _name(call: StepCall | NoGradRegion) -> str:
    name = _NAMES.get(call.name, call.name)
    return name.removesuffix(".__get__").strip("_") or "call"
