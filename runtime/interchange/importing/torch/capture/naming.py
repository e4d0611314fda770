"""The modules, parameters and inputs of a program, and what they are called."""

from __future__ import annotations

import dis
import inspect
import linecache
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from gradwire.runtime.flow.words.sentences import names
from gradwire.runtime.interchange.importing.torch.inspection import is_leaf
from gradwire.runtime.interchange.importing.torch.places import NOWHERE, ProgramLine, place_of

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.torch.types import (
        Args,
        Kwargs,
        Module,
        Program,
        Tensor,
    )

_MAKING = ("__init__", "_init", "init_", "reset_")
"""How the names of methods begin that give a module its parameters."""


def uses_torch(program: Program, args: Args, kwargs: Kwargs) -> bool:
    """Whether a program has modules or tensors of PyTorch in its hands."""
    if roots(program, args, kwargs) or loose(program):
        return True
    given = leaves("", [x for _, x in named_arguments(program, args, kwargs)])
    if any(isinstance(x, torch.Tensor) for _, x in given):
        return True
    around = getattr(getattr(program, "__func__", program), "__globals__", {}).values()
    used = {x.__name__.partition(".")[0] for x in around if inspect.ismodule(x)}
    return "torch" in used and "jax" not in used


def roots(program: Program, args: Args, kwargs: Kwargs) -> dict[str, Module]:
    """The modules that a program has in its hands, by name; the model itself has none.

    They are the program, the object that it is a method of, what it encloses, and its arguments.
    """
    owner = getattr(program, "__self__", None)
    for model in (program, owner):
        if isinstance(model, torch.nn.Module):
            return {"": model}
    found = held(program, args, kwargs)
    return {name: x for name, x in found.items() if isinstance(x, torch.nn.Module)}


def held(program: Program, args: Args, kwargs: Kwargs) -> dict[str, object]:
    """What a program has in its hands, by name: that of the object that it is a method of, what it
    encloses, and its arguments.
    """
    owner = getattr(program, "__self__", None)
    found = {**getattr(owner, "__dict__", {}), **_enclosed(program)}
    return found | dict(named_arguments(program, args, kwargs))


def loose(program: Program) -> dict[str, Tensor]:
    """Trained tensors outside of modules that a function encloses, by name."""
    return {
        name: x
        for name, x in _enclosed(program).items()
        if isinstance(x, torch.Tensor) and x.requires_grad and is_leaf(x)
    }


def told_frozen(parameters: Mapping[str, Tensor]) -> str:
    """Which parameters are frozen, their share, and which are trained; empty for all or none."""
    floats = {name: p for name, p in parameters.items() if p.is_floating_point()}
    frozen = [name for name, p in floats.items() if not p.requires_grad]
    trained = [name for name, p in floats.items() if p.requires_grad]
    if not (frozen and trained):
        return ""
    count = {name: p.numel() for name, p in floats.items()}
    share = 100 * sum(count[name] for name in frozen) / max(1, sum(count.values()))
    return (
        f"Frozen: {len(frozen)} of {len(floats)} parameters, {share:.4g} % of their numbers: "
        f"{names(_modules(frozen, trained))}. Trained: {names(_modules(trained, frozen))}."
    )


def _modules(chosen: Sequence[str], others: Sequence[str]) -> list[str]:
    """The largest modules that have parameters of the chosen ones alone, or these themselves."""
    mixed = {prefix for name in others for prefix in _prefixes(name)}
    alone = (next(p for p in _prefixes(name) if p not in mixed) for name in chosen)
    return list(dict.fromkeys(alone))


def _prefixes(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts) + 1)]


def _enclosed(program: Program) -> dict[str, object]:
    """What a function reads from around it, by name."""
    function = getattr(program, "__func__", program)
    if not inspect.isfunction(function):
        return {}
    found = inspect.getclosurevars(function)
    return {**found.globals, **found.nonlocals}


def named_arguments(program: Program, args: Args, kwargs: Kwargs) -> Iterator[tuple[str, Any]]:
    """Arguments by the names of the parameters that take them."""
    called = program.forward if isinstance(program, torch.nn.Module) else program
    try:
        taken = inspect.signature(called).bind(*args, **kwargs)
        taken.apply_defaults()
        bound = taken.arguments
    except (TypeError, ValueError):
        bound = {f"x{i}": x for i, x in enumerate(args)} | dict(kwargs)
    yield from bound.items()


def leaves(name: str, value: object) -> Iterator[tuple[str, Any]]:
    """The values inside of nested containers, named by their places."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(f"{name}.{key}" if name else str(key), inner)
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        for key, inner in zip(value._fields, value, strict=True):
            yield from leaves(f"{name}.{key}" if name else key, inner)
    elif isinstance(value, list | tuple):
        for i, inner in enumerate(value):
            yield from leaves(f"{name}.{i}" if name else f"output{i}", inner)
    elif hasattr(value, "__dataclass_fields__"):
        yield from leaves(name, {key: getattr(value, key) for key in value.__dataclass_fields__})
    else:
        yield name, value


def read_elsewhere(module: Module, attribute: str) -> ProgramLine:
    """Where the class of a module reads an attribute, other than to make it; nowhere if not."""
    for kind in type(module).__mro__:
        if kind is torch.nn.Module:
            break
        for name, function in vars(kind).items():
            if inspect.isfunction(function) and not name.startswith(_MAKING):
                for step in dis.get_instructions(function):
                    line = step.positions.lineno if step.positions else None
                    if step.opname == "LOAD_ATTR" and step.argval == attribute and line:
                        file = function.__code__.co_filename
                        return place_of(file, line, linecache.getline(file, line))
    return NOWHERE
