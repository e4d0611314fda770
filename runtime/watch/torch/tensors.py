"""Trained tensors that belong to no module that is called, and what finds them."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from gradwire.runtime.interchange.importing.torch.capture.frames import (
    user_name,
    user_variables,
)
from gradwire.runtime.interchange.importing.torch.capture.unregistered import trained_within
from gradwire.runtime.watch.torch.measures import Updates

_FEW = 5
"""Calls of ``backward`` whose leaves are looked for: each takes a walk through autograd's graph."""


class Tensors(torch.nn.Module):  # type: ignore[misc]  # mypy doesn't read torch
    """Trained tensors by name, in place of a module that has them; it is never called."""

    def __init__(self, named: Mapping[str, torch.Tensor]) -> None:
        super().__init__()
        self._named = dict(named)

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, torch.Tensor]]:
        """The tensors."""
        for name, tensor in self._named.items():
            yield f"{prefix}.{name}" if prefix else name, tensor

    def __getattr__(self, name: str) -> Any:
        named = self.__dict__.get("_named", {})
        return named[name] if name in named else super().__getattr__(name)


def named(tensors: Sequence[torch.Tensor]) -> dict[str, torch.Tensor]:
    """Trained tensors by what the user's code that is calling now calls them, and by their number
    where it has no name for them.
    """
    names = [user_name(x) for x in tensors]
    if not all(names):
        inner = {
            id(x): name
            for variable, value in user_variables()
            for name, x in trained_within(variable, value)
        }
        names = [name or inner.get(id(x), "") for name, x in zip(names, tensors, strict=True)]
    found: dict[str, torch.Tensor] = {}
    for number, (name, x) in enumerate(zip(names, tensors, strict=True), 1):
        found[name if name and name not in found else f"parameter{number}"] = x
    return found


def leaves_of(results: Sequence[torch.Tensor]) -> tuple[list[torch.Tensor], bool]:
    """The leaves behind results in autograd's graph, and whether that is all of them."""
    found: list[torch.Tensor] = []
    is_whole = True
    pending, seen = [x.grad_fn for x in results], set()
    while pending:
        node = pending.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found.append(node.variable)
        elif not node.next_functions:
            is_whole = False
        pending.extend(following for following, _ in node.next_functions)
    return found, is_whole


class ByHand:
    """Finds leaves that the program itself updates between two calls of ``backward``."""

    def __init__(self) -> None:
        self._calls = 0
        self._seen: dict[int, tuple[weakref.ref[torch.Tensor], Updates]] = {}

    def found(self, results: Sequence[torch.Tensor], known: set[int]) -> list[torch.Tensor]:
        """Those behind results, and not known yet, that have moved since an earlier call."""
        self._calls += 1
        if self._calls > _FEW:
            self._seen.clear()
            return []
        moved = []
        for leaf in leaves_of(results)[0]:
            if id(leaf) in known:
                continue
            reference, sample = self._seen.get(id(leaf), (None, None))
            if sample is None or reference is None or reference() is not leaf:
                sample = Updates({"": leaf})
                sample.take()
                self._seen[id(leaf)] = weakref.ref(leaf), sample
            elif sample.is_moved:
                moved.append(leaf)
        return moved
