"""What modules keep where ``parameters()`` does not find it: in lists, dicts and plain objects."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from functools import partial
from inspect import getclosurevars, isfunction
from itertools import islice
from types import ModuleType, NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from gradwire.blocks.classes.identity import by_identity
from gradwire.runtime.interchange.importing.torch.inspection import is_leaf

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.torch.types import Module

_OWN = frozenset(vars(torch.nn.Module()))
"""Attributes that every module has."""
_DEEPEST, _LONGEST, _LARGEST = 4, 10_000, 100_000
"""How deep attributes are looked into, and at how many things in one list and in all."""
_PLAIN = (str, bytes, int, float, type, ModuleType, NoneType)


@by_identity
class Aside(NamedTuple):
    """A module or a trained leaf that no module registers."""

    kept: object
    """Held on to, so that nothing else takes its identity."""
    name: str = ""
    """What it would be called: ``layers.0``; empty where the run has made it."""
    where: str = ""
    """The attribute that leads to it: ``layers``."""


def kept_aside(path: str, module: Module) -> Iterator[Aside]:
    """What a module at a path has in attributes without registering it."""
    for name, value in vars(module).items():
        if name not in _OWN:
            where = f"{path}.{name}" if path else name
            for inner, kept in trained_within(where, value):
                yield Aside(kept, inner, where)


def trained_within(path: str, value: object) -> Iterator[tuple[str, Any]]:
    """The modules, their parameters and the trained leaves in a value, by name."""
    for name, kept in reached(path, value):
        if isinstance(kept, torch.nn.Module):
            yield name, kept
            for inner, parameter in kept.named_parameters():
                yield f"{name}.{inner}", parameter
        elif isinstance(kept, torch.Tensor) and kept.requires_grad and is_leaf(kept):
            yield name, kept


def reached(path: str, value: object) -> Iterator[tuple[str, Any]]:
    """What is in nested lists, dicts, plain objects and closures, by name, but not in modules."""
    pending, seen = deque([(path, value, _DEEPEST)]), {id(value)}
    while pending:
        path, value, depth = pending.popleft()
        yield path, value
        for key, inner in islice(_elements(value), _LONGEST if depth else 0):
            if id(inner) not in seen and not isinstance(inner, _PLAIN) and len(seen) < _LARGEST:
                seen.add(id(inner))
                pending.append((f"{path}.{key}", inner, depth - 1))


def _elements(value: Any) -> Iterator[tuple[object, object]]:
    if isinstance(value, torch.nn.Module) or type(value).__module__.partition(".")[0] == "torch":
        return
    if isinstance(value, Mapping):
        yield from value.items()
    elif isfunction(value):
        yield from getclosurevars(value).nonlocals.items()
    elif isinstance(value, partial):
        yield from (("func", value.func), *enumerate(value.args), *value.keywords.items())
    elif isinstance(value, list | tuple | set | frozenset | deque):
        yield from enumerate(value)
    else:
        yield from getattr(value, "__dict__", {}).items()
