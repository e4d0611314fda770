"""Why parameters of a running training get no gradient, or a bad one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.flow.checks.leaving import cure_of
from gradwire.runtime.flow.words.sentences import names as listed
from gradwire.runtime.flow.words.states import State
from gradwire.runtime.watch.step import shown

if TYPE_CHECKING:
    from gradwire.runtime.flow.words.states import Verdict
    from gradwire.runtime.watch.diagram import Structure


_MODES = frozenset({"no_grad", "inference_mode", "set_grad_enabled"})
_NUMBER = re.compile(r"_?\d+$")


class NotFiniteError(FloatingPointError):
    """A step whose loss or gradients are not finite, raised with ``guard`` before the update."""


class Trouble(Enum):
    """What can be wrong with parameters in a training."""

    NO_GRADIENT = "no gradient"
    NOT_FINITE = "not finite"
    ZERO = "zero gradient"
    NEVER_READ = "never read"
    REPLACED = "replaced"
    UNOWNED = "unowned"
    STALE = "stale optimiser"
    UNREGISTERED = "unregistered"
    MADE_IN_STEP = "made in the step"
    NOT_UPDATED = "not updated"
    LARGE_UPDATE = "large update"
    IN_PLACE = "changed in place"
    NO_BACKWARD = "no backward"
    DIAGNOSED = "found in the step"
    FAILED = "backward fails"


@dataclass(frozen=True, eq=False)
class Found:
    """One thing that is wrong in a training, since when, why, and what helps.

    ``parameters`` are names in the model; ``written`` are the lines to blame, ``model.py:42``.
    """

    trouble: Trouble
    parameters: tuple[str, ...]
    sentence: str
    step: int
    written: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[Trouble, tuple[str, ...], str]:
        """What makes it the same as another."""
        return self.trouble, self.parameters, self.sentence

    def __str__(self) -> str:
        return f"{self.trouble.value} (step {self.step}): {self.sentence}"


class Reason(NamedTuple):
    """Why one parameter gets no gradient."""

    trouble: Trouble
    sentence: str
    written: tuple[str, ...] = ()


def reason(structure: Structure, parameter: str, replaced: bool) -> Reason | None:
    """Why a parameter got no gradient in a recorded step; None where the record shows none."""
    step = structure.step
    value = next((v for v, name in step.names.items() if name == parameter), None)
    if value is None:
        return None
    if not step.losses:
        return Reason(Trouble.NO_BACKWARD, "No backward() was called in this step.")
    if not any(value in call.read for call in step.calls):
        if replaced:
            text = (
                f"{parameter} is not in the model any more: it was replaced after the watch, or "
                "the optimiser, was made. Make the optimiser once the model is complete."
            )
            return Reason(Trouble.REPLACED, text)
        text = (
            f"No call of the step reads {parameter}. Use it in forward, or leave it out; "
            "DistributedDataParallel needs find_unused_parameters=True for it."
        )
        return Reason(Trouble.NEVER_READ, text)
    verdict = structure.verdict(parameter)
    if verdict is None:
        text = f"{parameter} is read, and nothing that leads to the loss reads what is made of it."
        return Reason(Trouble.NO_GRADIENT, text)
    if verdict.state is State.FROZEN or verdict.state.row.passes:
        return None
    places = [c.written.partition(": ")[0] for c in verdict.cutters if c.written]
    sentence = " ".join(filter(None, (verdict.sentence, _cure(verdict))))
    if verdict.state is State.OFF_ROUTE:
        readers = step.readers()
        end = next(step.ends_of(value, readers), None)
        if end is not None:
            places.append(shown(end[1].line))
            sentence = f"{sentence} What is made of it ends at {end[1].name} ({places[-1]})."
    back = [
        inferred
        for name, inferred in structure.inferred.items()
        if any(c.block.name.startswith(name) for c in verdict.cutters)
    ]
    if back:
        came = back[0]
        sentence += (
            f" That {came.name} ({shown(came.line)}) brings these numbers back is not certain: "
            "it is the first call that could."
        )
    return Reason(Trouble.NO_GRADIENT, sentence, tuple(dict.fromkeys(filter(None, places))))


def _cure(verdict: Verdict) -> str:
    """What helps, where the sentence doesn't say it."""
    if found := verdict.cure or cure_of(verdict):
        return "" if found in verdict.sentence else found
    stops = (_NUMBER.sub("", c.block.name) for c in verdict.cutters if c.kind == "stop")
    name = next(stops, "")
    if name in _MODES:
        return f"Run what is to be trained outside of {name}, or freeze what is before it."
    if name == "detach":
        return "Remove detach(), or freeze what is before it."
    if name.endswith("_backward"):
        return "Give it back a gradient in backward(), one for each input of forward()."
    return ""


def grouped(step: int, reasons: Iterable[tuple[str, Reason]]) -> Iterator[Found]:
    """One finding for all parameters with the same reason."""
    groups: dict[tuple[Trouble, tuple[str, ...] | str], list[tuple[str, Reason]]] = {}
    for name, why in reasons:
        text = why.sentence.replace(name, "")
        key = (why.trouble, why.written) if why.written else (why.trouble, text)
        groups.setdefault(key, []).append((name, why))
    for (trouble, _), members in groups.items():
        parameters = tuple(name for name, _ in members)
        why = members[0][1]
        text = why.sentence
        if len(parameters) > 1:
            text = f"{listed(parameters)}: {text}"
        elif not re.search(rf"(?<![\w.]){re.escape(parameters[0])}(?![\w.])", text):
            text = f"{parameters[0]}: {text}"
        yield Found(trouble, parameters, text, step, why.written)
