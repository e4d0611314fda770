"""What modules keep where ``parameters()`` does not find it: in lists, dicts and plain objects."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import torch

_OWN = frozenset(vars(torch.nn.Module()))
"""Attributes that every module has."""
_DEEPEST, _LONGEST = 4, 10_000
"""How far attributes are looked into, and how many elements of one are."""
_NOTHING = (str, bytes, int, float, type, torch.nn.Module, torch.Tensor)


class Aside(NamedTuple):
    """A module or a trained leaf that no module registers."""

    kept: Any
    """Held on to, so that nothing else takes its identity."""
    name: str = ""
    """What it would be called: ``layers.0``; empty where the run has made it."""
    where: str = ""
    """The attribute that leads to it: ``layers``."""


def kept_aside(path: str, module: Any) -> Iterator[Aside]:
    """What a module at a path has in attributes without registering it."""
    for name, value in vars(module).items():
        if name not in _OWN:
            where = f"{path}.{name}" if path else name
            for inner, kept in _within(where, value, _DEEPEST):
                yield Aside(kept, inner, where)


def _within(path: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if isinstance(value, torch.nn.Module):
        yield path, value
        for inner, parameter in value.named_parameters():
            yield f"{path}.{inner}", parameter
    elif isinstance(value, torch.Tensor) and value.is_leaf and value.requires_grad:
        yield path, value
    elif depth:
        for key, inner in islice(_elements(value), _LONGEST):
            yield from _within(f"{path}.{key}", inner, depth - 1)


def _elements(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, _NOTHING) or type(value).__module__.partition(".")[0] == "torch":
        return
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list | tuple | set | frozenset | deque):
        yield from enumerate(value)
    else:
        yield from getattr(value, "__dict__", {}).items()
