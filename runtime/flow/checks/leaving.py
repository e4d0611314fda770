"""What a program of PyTorch should do instead, where it leaves autograd without saying so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gradwire.runtime.diagram.paths import InstancePath
from gradwire.runtime.flow.lazy import MANY
from gradwire.runtime.flow.words.sentences import names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gradwire.runtime.engine.program import Program
    from gradwire.runtime.flow.words.states import Verdict

_COPIED = "{} copies only the numbers: use the tensor itself, and torch.stack to join several."
_COMPUTED = "What {} gives has no gradient: compute with torch's own functions."
_APART = (
    "{} is apart from autograd: use the tensor itself, in a layer by torch.func.functional_call."
)
_CHECKPOINT = (
    "A reentrant checkpoint passes gradient only where an input needs it: give it "
    "use_reentrant=False, or a float input with requires_grad (enable_input_require_grads())."
)
CURES = {
    "tensor": _COPIED.format("torch.tensor()"),
    "as_tensor": _COPIED.format("torch.as_tensor() of a list"),
    "asarray": _COPIED.format("torch.asarray() of a list"),
    "new_tensor": _COPIED.format("new_tensor()"),
    "new": _COPIED.format("new()"),
    "item": _COPIED.format("item(), or torch.FloatTensor(),"),
    "data": _APART.format(".data"),
    "Parameter": _APART.format("A new Parameter"),
    "Buffer": _APART.format("A new Buffer"),
    "checkpoint": _CHECKPOINT,
    "grad": (
        "What autograd.grad() gives passes gradient on only with create_graph=True: give it that "
        "if a loss is to train by it."
    ),
    "numpy": _COMPUTED.format("numpy()"),
    "tolist": _COMPUTED.format("tolist()"),
    "sample": "sample() draws without gradient: use rsample(), where the distribution has it.",
}
"""By the names that captures give to stops. ``detach`` and ``no_grad`` say what they do."""
REGISTERED = (
    "Keep layers in a ModuleList or ModuleDict and a tensor as a Parameter, made in __init__."
)
"""What makes ``parameters()`` find everything."""
_NUMBER = re.compile(r"_?\d+$")


def cure_of(verdict: Verdict) -> str:
    """The cure of the first stop that has one, of those that programs have."""
    stops = (c for c in verdict.cutters[:MANY] if c.kind == "stop" and c.written)
    kinds = (_NUMBER.sub("", stop.block.name) for stop in stops)
    return next(filter(None, map(CURES.get, kinds)), "")


def derivatives_without_graph(stops: Iterable[InstancePath], program: Program) -> Iterator[str]:
    """The stops that autograd.grad has put up in a program that was captured."""
    for stop in stops:
        if program.block(stop).written and _NUMBER.sub("", stop.name) == "grad":
            yield stop


def unregistered(program: Program) -> dict[str, list[str]]:
    """Variables that a captured program trains and ``parameters()`` of its model lacks, by place.

    Of a captured diagram only these have a place: where the program uses them.
    """
    found: dict[str, list[str]] = {}
    for name in program.trainable if program.flat.comparison is not None else ():
        place, _, _ = program.block(InstancePath(name)).written.partition(": ")
        if place:
            found.setdefault(place, []).append(name)
    return found


def unregistered_sentence(variables: Sequence[str], place: str) -> str:
    """What is wrong with variables that are used at a place."""
    are, them = ("is", "it") if len(variables) == 1 else ("are", "them")
    return (
        f"UNREGISTERED: {names(variables)} ({place}) {are} trained, but parameters() of the model "
        f"lacks {them}, so its optimiser doesn't update {them}. {REGISTERED}"
    )
