"""The optimiser of a PyTorch program as a recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from gradwire.runtime.diagram.document_types import MAX_ENTRIES
from gradwire.runtime.diagram.optimisers import METHODS, Method
from gradwire.runtime.diagram.training import (
    AnySchedule,
    ConstantSchedule,
    CosineSchedule,
    ExponentialSchedule,
    Group,
    OptimiserRule,
    StepSchedule,
    Training,
)
from gradwire.runtime.flow.tools.patterns import matches
from gradwire.runtime.flow.words.sentences import names
from gradwire.runtime.interchange.importing.imported import UnsupportedError

if TYPE_CHECKING:
    from torch.optim.lr_scheduler import LRScheduler

    from gradwire.runtime.interchange.importing.torch.types import Kwargs, Optimizer, Tensor

_SWITCHES = frozenset({"foreach", "capturable", "differentiable", "fused", "params"})
"""Options of how PyTorch computes, which change nothing else."""


def recipe(
    optimizer: Optimizer, parameters: Mapping[str, Tensor], paths: Mapping[str, str]
) -> Training:
    """The recipe of an optimiser: its method, its variables, and its groups' own rates.

    It may be given by a scheduler that steps with each update. Parameters that it doesn't own are
    left out. Raises UnsupportedError for a method or schedule that no recipe has, or an option that
    differs by group other than lr and weight_decay.
    """
    schedule: AnySchedule = ConstantSchedule()
    if not hasattr(optimizer, "param_groups"):
        schedule, optimizer = _schedule(optimizer), optimizer.optimizer
    known = {id(p): paths[name] for name, p in parameters.items() if paths.get(name)}
    groups = [
        (group, tuple(known[id(p)] for p in group["params"] if id(p) in known))
        for group in optimizer.param_groups
    ]
    first, owned = groups[0]
    method = _method(type(optimizer).__name__, first)
    trained = {known[id(p)] for p in parameters.values() if p.requires_grad and id(p) in known}
    others = [
        _group(method, first, group, _patterns(variables, trained))
        for group, variables in groups[1:]
        if variables
    ]
    everything = owned + tuple(v for _, variables in groups[1:] for v in variables)
    rule = OptimiserRule(
        name="optimiser",
        method=method,
        variables=_patterns(everything, trained),
        groups=tuple(others),
        schedule=schedule,
    )
    return Training(optimisers=(rule,))


def _patterns(owned: Sequence[str], trained: Set[str]) -> tuple[str, ...]:
    """Variables, or few patterns that name no other trained ones: with any number in place of a
    number, ``model/*/bias``, or for all of a module, ``model/layers/*``. Raises UnsupportedError
    where those are many too.
    """
    if len(owned) <= MAX_ENTRIES:
        return tuple(owned)
    others = trained - set(owned)
    found: dict[str, None] = {}
    for name in owned:
        if not any(matches(pattern, name) for pattern in found):
            tried = (p for p in _wider(name) if not any(matches(p, other) for other in others))
            found[next(tried, name)] = None
    if len(found) > MAX_ENTRIES and not others:
        return ("*",)
    if len(found) > MAX_ENTRIES:
        text = f"it has {len(owned)} parameters, and they are no whole modules"
        raise UnsupportedError("an optimiser's parameters", text)
    return tuple(found)


def _wider(name: str) -> Iterator[str]:
    """Patterns that name a variable and others, the widest first."""
    parts = name.split("/")
    for length in range(1, len(parts)):
        yield "/".join((*parts[:length], "*"))
    yield "/".join("*" if part.isdecimal() else part for part in parts)


_SCHEDULES: dict[str, Callable[[LRScheduler], AnySchedule]] = {
    "StepLR": lambda x: StepSchedule(step_size=x.step_size, gamma=x.gamma),
    "ExponentialLR": lambda x: ExponentialSchedule(gamma=x.gamma),
    "CosineAnnealingLR": lambda x: CosineSchedule(t_max=x.T_max, eta_min=x.eta_min),
}


def _schedule(scheduler: LRScheduler) -> AnySchedule:
    name = type(scheduler).__name__
    if name not in _SCHEDULES:
        raise UnsupportedError(f"the schedule {name}", f"recipes have {names([*_SCHEDULES])}")
    return _SCHEDULES[name](scheduler)


def _method(name: str, options: Kwargs) -> Method:
    known = {cls.title().lower(): cls for cls in METHODS}
    cls = known.get(name.lower())
    if cls is None:
        raise UnsupportedError(f"the optimiser {name}", f"recipes have {', '.join(known)}")
    given = {key: _plain(value) for key, value in options.items() if key in cls.model_fields}
    given["lr"] = _rate(options)
    return cls(**given)


def _rate(options: Kwargs) -> Any:
    """The rate that a schedule begins with."""
    return _plain(options.get("initial_lr", options["lr"]))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return tuple(_plain(x) for x in value)
    return value.item() if hasattr(value, "item") else value


def _group(method: Method, first: Kwargs, group: Kwargs, variables: tuple[str, ...]) -> Group:
    for key, value in group.items():
        if key not in {"lr", "weight_decay", "initial_lr", *_SWITCHES} and value != first.get(key):
            raise UnsupportedError(
                "an optimiser's group", f"{key} is its own; only lr and weight_decay may be"
            )
    lr, decay = _rate(group), _plain(group.get("weight_decay", 0.0))
    return Group(
        variables=variables,
        lr=None if lr == method.lr else lr,
        weight_decay=None if decay == method.weight_decay else decay,
    )
