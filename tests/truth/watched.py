"""The same programs in a training that is watched: what is said of them, and what they compute.

A program that is captured as a step, or as what gives a loss, runs here some times, as it would in
the loop of its user.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from unittest import mock

import torch
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook

import gradwire
from gradwire.runtime.interchange.importing.torch.capture.naming import loose
from gradwire.runtime.watch.torch.everything import watched_everything

if TYPE_CHECKING:
    from gradwire.runtime.watch import Found
    from tests.truth.cases import Case, Score

STEPS = 7
_OWN = re.compile(r"\b(model|program)[/_]")
_OF_CAPTURE = ("check", "data", "source", "structure", "loss")


@dataclass
class Training:
    """What came of some steps."""

    trains: bool = False
    """Whether there is something to be trained: parameters of a module, or tensors of its own."""
    found: list[Found] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    """Findings, what else is said of a step that was captured, and of parameters asked about."""
    raised: str = ""
    failures: list[Exception | None] = field(default_factory=list)
    """What ended the watching of each model."""
    numbers: list[Any] = field(default_factory=list)
    """Losses, gradients, parameters and the random state."""


class _DoneError(Exception):
    """The program has been run, so there is nothing to capture."""


def trained(
    capture: Callable[[], Any],
    *,
    steps: int = STEPS,
    is_watched: bool = True,
    about: Sequence[str] = (),
) -> Training:
    """Some steps of what a function captures."""
    made = Training()

    def run(program: Callable[..., Any], *args: Any, **options: Any) -> Any:
        optimizer = options.pop("optimizer", None)
        for name in _OF_CAPTURE:
            options.pop(name, None)
        tensors = loose(program)
        with contextlib.ExitStack() as stack:
            everything: list[Any] = []
            if is_watched and tensors:
                everything = [stack.enter_context(gradwire.watch(tensors, optimizer))]
            elif is_watched:
                everything = stack.enter_context(watched_everything()).watches
            own = {id(x): x for x in tensors.values()}
            _train(made, lambda: program(*args, **options), optimizer, own, steps)
        made.said += _said(everything, about)
        made.found = [found for watch in everything for found in watch.found]
        made.failures = [watch.failure for watch in everything]
        raise _DoneError

    with mock.patch.object(gradwire, "capture", run), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(_DoneError), contextlib.redirect_stderr(io.StringIO()):
            torch.manual_seed(0)
            capture()
    return made


def _train(
    made: Training,
    step: Callable[[], Any],
    optimizer: Any,
    parameters: dict[int, Any],
    steps: int,
) -> None:
    stepped: list[Any] = []

    def called(module: Any, _: Any) -> None:
        parameters.update((id(p), p) for p in module.parameters())

    handles = [
        register_optimizer_step_post_hook(lambda optimizer, *_: stepped.append(optimizer)),
        register_module_forward_pre_hook(called),
    ]
    for _ in range(steps):
        before = len(stepped)
        try:
            loss = step()
            is_own = any(p.grad is not None for p in parameters.values())  # its calls of backward
            if isinstance(loss, torch.Tensor) and loss.dim() == 0 and not is_own:
                loss.backward()
                made.numbers.append(loss.detach().clone())
        except Exception as error:  # as some programs do, which is what is asked about
            made.raised = f"{type(error).__name__}: {error}"
            break
        made.numbers += [p.grad.clone() for p in parameters.values() if p.grad is not None]
        if len(stepped) == before and not is_own:
            _update(optimizer, parameters.values())
    for handle in handles:
        handle.remove()
    made.trains = bool(parameters)
    made.numbers += [p.detach().clone() for p in parameters.values()]
    made.numbers.append(torch.get_rng_state())


def _update(optimizer: Any, parameters: Any) -> None:
    """A step of the program's optimiser, or of plain gradient descent."""
    if optimizer is not None:
        optimizer.step()
        optimizer.zero_grad()
        return
    with torch.no_grad():
        for p in parameters:
            if p.grad is not None:
                p -= 1e-3 * p.grad
                p.grad = None


def _said(watches: Sequence[Any], about: Sequence[str]) -> Iterator[str]:
    for watch in watches:
        yield from map(str, watch.found)
        for name in about:
            if watch.diagnosis is not None and watch.diagnosis.knows(name):
                yield watch.diagnosis.why(name)
        if watch.diagnosis is not None:
            yield from watch.diagnosis.remarks
        if well := watch.report().well:
            yield well


def score_of(case: Case) -> tuple[Score | None, str, list[str]]:
    """How well a program is answered, what is missing or false, and all that was said; no score
    of one that trains nothing, so that there is nothing to watch.
    """
    made = trained(case.capture, about=case.about)
    if not made.trains:
        return None, "", []
    # Pages of a captured function go by the names of its variables, those of a model by its own,
    # which is a variable of ``trained``.
    meant = replace(case, names=tuple(_OWN.sub("", name) for name in case.names))
    said = [_OWN.sub("", each).replace("Nothing was found", "Nothing wrong") for each in made.said]
    return *meant.score(said), said
