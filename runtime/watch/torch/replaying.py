"""A step again, with the same random numbers, to find what made its numbers bad.

Calls of the model are kept until the step ends. A replay leaves parameters, gradients, buffers and
random state as they were.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from gradwire.blocks.classes.dataclass import dataclass
from gradwire.runtime.interchange.importing.torch.capture.frames import user_line
from gradwire.runtime.watch.step import SourceLine, shown
from gradwire.runtime.watch.torch import listening
from gradwire.runtime.watch.torch.measures import is_finite, parameters_of
from gradwire.runtime.watch.torch.processes import is_distributed

_FILLING = frozenset({"masked_fill", "masked_fill_", "full", "full_like", "where", "fill_"})
"""Functions that may be asked for infinities."""


def random_state(*, numpy: bool = True) -> Any:
    """The state of all random numbers that a model may draw, or of all but NumPy's."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    return torch.get_rng_state(), cuda, random.getstate(), numpy_state() if numpy else None


def numpy_state() -> Any:
    """The state of NumPy's random numbers, which takes longer to get than all others together."""
    return np.random.get_state(legacy=True)


def has_drawn(before: Any) -> bool:
    """Whether NumPy has drawn numbers since it had a state."""
    _, key, *rest = numpy_state()
    return rest != list(before[2:]) or not np.array_equal(key, before[1])


def set_random_state(state: Any) -> None:
    """Go on from a state of random numbers."""
    cpu, cuda, python, drawn = state
    torch.set_rng_state(cpu)
    if cuda is not None:
        torch.cuda.set_rng_state_all(cuda)
    random.setstate(python)
    if drawn is not None:
        np.random.set_state(drawn)


@dataclass(eq=False)
class ModelCall:
    """One call of the model in a step: what it was given, and what came back to its results."""

    args: Sequence[object]
    kwargs: Mapping[str, object]
    state: Any
    """Of random numbers, when it began."""
    came: dict[int, Tensor] = field(default_factory=dict)
    """The gradients that arrived at its results, by their places."""


class ReplayedCall(NamedTuple):
    """A call in the replay."""

    sequence: int
    name: str
    line: SourceLine


@dataclass(frozen=True, eq=False)
class ReplayFindings:
    """What a replay has found: sentences, and the places they name."""

    sentences: tuple[str, ...] = ()
    written: tuple[str, ...] = ()


class _Looking(TorchFunctionMode):  # type: ignore[misc]  # torch has no annotation of it
    """Looks at each result."""

    def __init__(self) -> None:
        super().__init__()
        self.first: tuple[ReplayedCall, tuple[int, ...]] | None = None
        self.calls: list[ReplayedCall] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        outputs = list(tensors_in(result))
        if outputs and (self.first is None or any(x.requires_grad for x in outputs)):
            name = getattr(func, "__name__", "")
            call = ReplayedCall(torch.autograd._get_sequence_nr(), name, SourceLine(*user_line()))
            self.calls.append(call)
            bad = [x for x in outputs if not is_finite(x)]
            if self.first is None and bad and name not in _FILLING and _is_new(args, kwargs, bad):
                self.first = call, tuple(bad[0].shape)
        return result

    def of(self, node: torch.autograd.graph.Node) -> ReplayedCall:
        """The call that made a node of autograd."""
        place = bisect_left([call.sequence for call in self.calls], node._sequence_nr() + 1)
        return self.calls[min(place, len(self.calls) - 1)]


def _is_new(args: object, kwargs: object, bad: Sequence[Tensor]) -> bool:
    """Whether results that are not finite are so of themselves: NaN, or of finite arguments."""
    given = [x.detach() for x in tensors_in((args, kwargs)) if x.is_floating_point()]
    if all(map(is_finite, given)):
        return True
    return any(bool(x.detach().isnan().any()) for x in bad) and not any(
        bool(x.isnan().any()) for x in given
    )


def tensors_in(x: object) -> Iterator[Tensor]:
    """The tensors in nested lists, tuples, dicts and the outputs of models."""
    if isinstance(x, torch.Tensor):
        yield x
    elif isinstance(x, dict):
        for inner in x.values():
            yield from tensors_in(inner)
    elif isinstance(x, list | tuple):
        for inner in x:
            yield from tensors_in(inner)


def blamed(
    model: nn.Module, forwards: Sequence[ModelCall], wrong: Callable[[Tensor], bool], *, whole: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What a replay of the calls of a step says of where a gradient first goes ``wrong``, or why
    there is none; and the lines that it names.
    """
    if is_distributed():  # one of several alone would wait for the others for ever
        return ("The step isn't replayed, as other processes take part in it.",), ()
    if not forwards:
        return ("The model was not called in this step, so it can't be replayed.",), ()
    for forward in forwards:
        try:
            with listening.paused():
                blame = replayed(model, forward, wrong, whole=whole)
        except RuntimeError as error:
            first, *_ = str(error).splitlines()
            return (f"The step can't be replayed ({first}).",), ()
        if blame.sentences:
            return blame.sentences, blame.written
    return (), ()


def replayed(
    model: nn.Module, forward: ModelCall, wrong: Callable[[Tensor], bool], *, whole: bool
) -> ReplayFindings:
    """What made gradients wrong in a call of the model, and values that are not finite.

    ``wrong`` tells whether a gradient is. With ``whole`` a node is blamed if all it sends on is
    wrong, and nothing that arrived at it; by default if anything is.
    """
    said: list[str] = []
    places: list[str] = []
    given = [x for x in tensors_in((forward.args, forward.kwargs)) if not is_finite(x)]
    if given:
        said.append("The batch itself has numbers that are not finite.")
    spoilt = [name for name, p in parameters_of(model).items() if not is_finite(p)]
    if spoilt:
        others = f" and {len(spoilt) - 1} more" if len(spoilt) > 1 else ""
        said.append(f"{spoilt[0]}{others} had numbers that are not finite before this step.")
    with _as_before(model, forward.state):
        with torch.enable_grad(), _Looking() as looking:
            result = model(*forward.args, **forward.kwargs)
        if looking.first is not None:
            call, shape = looking.first
            places.append(shown(call.line))
            said.append(
                f"{call.name} ({places[-1]}) is the first call whose result, of shape "
                f"{list(shape)}, is not finite."
            )
        ends = [
            (x, forward.came[place])
            for place, x in enumerate(tensors_in(result))
            if place in forward.came and x.requires_grad
        ]
        if looking.first is None and any(not is_finite(g) for _, g in ends):
            said.append(
                "The gradient that comes back to the model's result is not finite: what computes "
                "the loss of it, outside of the model, makes it so."
            )
        trained = [p for p in model.parameters() if p.requires_grad]
        for node in _blamed(ends, trained, wrong, whole):
            call = looking.of(node)
            places.append(shown(call.line))
            what = "turns all gradient into 0" if whole else "is the first to give one not finite"
            said.append(f"{call.name} ({places[-1]}) {what}, in backward.")
    return ReplayFindings(tuple(said), tuple(places))


def _blamed(
    ends: Sequence[tuple[Tensor, Tensor]],
    trained: Sequence[Tensor],
    wrong: Callable[[Tensor], bool],
    whole: bool,
) -> list[torch.autograd.graph.Node]:
    """The nodes of autograd that make gradients wrong, in the order of the backward pass.

    Gradients are asked for and not accumulated: hooks behind accumulation, of which some update
    parameters, don't run.
    """
    found: list[torch.autograd.graph.Node] = []
    pending, seen = [x.grad_fn for x, _ in ends if x.grad_fn is not None], set()
    judge: Callable[..., bool] = all if whole else any
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)

        def look(sent: Any, came: Any, node: Any = node) -> None:
            if found and not whole:
                return
            sent, came = ([g for g in gs if g is not None] for gs in (sent, came))
            if sent and came and judge(map(wrong, sent)) and not judge(map(wrong, came)):
                found.append(node)

        if not hasattr(node, "variable"):
            node.register_hook(look)
        pending.extend(following for following, _ in node.next_functions if following is not None)
    if ends and trained:
        outputs, gradients = zip(*ends, strict=True)
        torch.autograd.grad(outputs, trained, gradients, allow_unused=True)
    return found[:3]


@contextmanager
def _as_before(model: nn.Module, state: Any) -> Iterator[None]:
    """The model and random numbers as a call found them, and afterwards as they are now."""
    now = random_state()
    buffers = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    set_random_state(state)
    try:
        yield
        if state[-1] is None and has_drawn(now[-1]):
            raise RuntimeError("it draws random numbers from NumPy, as it did in no recorded step")
    finally:
        set_random_state(now)
        for buffer, numbers in buffers:
            buffer.data.copy_(numbers)
