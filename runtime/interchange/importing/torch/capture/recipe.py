"""The optimiser of a PyTorch program as a recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gradwire.runtime.diagram.training import (
    METHODS,
    AnyMethod,
    AnySchedule,
    ConstantSchedule,
    CosineSchedule,
    ExponentialSchedule,
    Group,
    OptimiserRule,
    StepSchedule,
    Training,
)
from gradwire.runtime.interchange.importing.imported import UnsupportedError

_SWITCHES = frozenset({"foreach", "capturable", "differentiable", "fused", "params"})
"""Options of how PyTorch computes, which change nothing else."""


def recipe(optimizer: Any, parameters: Mapping[str, Any], paths: Mapping[str, str]) -> Training:
    """The recipe of an optimiser: its method, its variables, and its groups' own rates.

    It may be given by a scheduler that steps with each update. Parameters that it doesn't own are
    left out. Raises UnsupportedError for a method or schedule that no recipe has, or an option that
    differs by group other than lr and weight_decay.
    """
    schedule: AnySchedule = ConstantSchedule()
    if not hasattr(optimizer, "param_groups"):
        schedule, optimizer = _schedule(optimizer), optimizer.optimizer
    names = {id(p): paths[name] for name, p in parameters.items() if paths.get(name)}
    groups = [
        (group, tuple(names[id(p)] for p in group["params"] if id(p) in names))
        for group in optimizer.param_groups
    ]
    first, owned = groups[0]
    method = _method(type(optimizer).__name__, first)
    others = [
        _group(method, first, group, variables) for group, variables in groups[1:] if variables
    ]
    everything = owned + tuple(v for _, variables in groups[1:] for v in variables)
    rule = OptimiserRule(
        name="optimiser",
        method=method,
        variables=everything,
        groups=tuple(others),
        schedule=schedule,
    )
    return Training(optimisers=(rule,))


def _schedule(scheduler: Any) -> AnySchedule:
    name = type(scheduler).__name__
    if name == "StepLR":
        return StepSchedule(step_size=scheduler.step_size, gamma=scheduler.gamma)
    if name == "ExponentialLR":
        return ExponentialSchedule(gamma=scheduler.gamma)
    if name == "CosineAnnealingLR":
        return CosineSchedule(t_max=scheduler.T_max, eta_min=scheduler.eta_min)
    known = "StepLR, ExponentialLR and CosineAnnealingLR"
    raise UnsupportedError(f"the schedule {name}", f"recipes have {known}")


def _method(name: str, options: Mapping[str, Any]) -> AnyMethod:
    kind = name.lower()
    known: dict[str, Callable[..., AnyMethod]] = {
        cls.model_fields["kind"].default: cls for cls in METHODS
    }
    if kind not in known:
        raise UnsupportedError(f"the optimiser {name}", f"recipes have {', '.join(known)}")
    cls = known[kind]
    # Each is a model; ``known`` has them as callables, since their parameters differ.
    fields: Mapping[str, Any] = cls.model_fields  # type: ignore[attr-defined]
    given = {key: _plain(value) for key, value in options.items() if key in fields}
    given["lr"] = _rate(options)
    return cls(**given)


def _rate(options: Mapping[str, Any]) -> Any:
    """The rate that a schedule begins with."""
    return _plain(options.get("initial_lr", options["lr"]))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return tuple(_plain(x) for x in value)
    return value.item() if hasattr(value, "item") else value


def _group(
    method: AnyMethod,
    first: Mapping[str, Any],
    group: Mapping[str, Any],
    variables: tuple[str, ...],
) -> Group:
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
