"""Tells whatever watches a training of each call of ``backward``."""

from __future__ import annotations

import atexit
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, Protocol

import torch
from torch import Tensor

from gradwire.runtime.watch.torch.recorder import settle


class Listener(Protocol):
    """What is told of each call of ``backward``."""

    def told(self, method: Callable[..., None], *args: object) -> None:
        """Call a method of this, which must raise nothing of its own."""

    def begins(self) -> None:
        """``backward`` is called of a tensor, and no mode of PyTorch handles that yet; raises
        nothing.
        """

    def backward_of(self, tensors: Sequence[Tensor]) -> None:
        """``backward`` is called of these."""

    def backward_ended(self, tensors: Sequence[Tensor]) -> None:
        """It has returned."""

    def backward_failed(self, tensors: Sequence[Tensor], error: RuntimeError) -> None:
        """It has raised."""

    def close(self) -> None:
        """The program ends."""


_watching: list[Listener] = []
_real: dict[str, Any] = {}
_is_paused = _is_inside = False


def watching() -> Sequence[Listener]:
    """What is told now."""
    return tuple(_watching)


def begin(listener: Listener) -> None:
    """Tell it from now on, until ``end``, or the program ends, which closes it."""
    _watching.append(listener)
    if len(_watching) == 1:
        _patch()


def end(listener: Listener) -> None:
    """Tell it of nothing any more."""
    _watching.remove(listener)
    if not _watching:
        torch.autograd.backward = _real.pop("backward")
        torch.Tensor.backward = _real.pop("method")
        if (own := _real.pop("filter")) in warnings.filters:
            warnings.filters.remove(own)  # type: ignore[attr-defined]  # a list, typed Sequence


@atexit.register
def _close() -> None:
    for each in watching():
        each.close()


@contextmanager
def paused() -> Iterator[None]:
    """Nothing is told of what a replay does."""
    global _is_paused
    before, _is_paused = _is_paused, True
    try:
        yield
    finally:
        _is_paused = before


def _patch() -> None:
    _real["backward"] = real = torch.autograd.backward

    def backward(tensors: Tensor | Sequence[Tensor], *args: object, **kwargs: object) -> object:
        given = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        listeners = () if _is_paused else watching()
        for each in listeners:
            each.told(each.backward_of, given)
        try:
            result = real(tensors, *args, **kwargs)
        except RuntimeError as error:
            for each in listeners:
                each.told(each.backward_failed, given, error)
            raise
        for each in listeners:
            each.told(each.backward_ended, given)
        return result

    _real["method"] = method = torch.Tensor.backward

    @wraps(method)
    def backward_from(self: Tensor, *args: object, **kwargs: object) -> object:
        global _is_inside
        if _is_paused or _is_inside:  # a mode calls it again
            return method(self, *args, **kwargs)
        for each in watching():
            each.begins()
        _is_inside = True
        try:
            return method(self, *args, **kwargs)
        finally:
            _is_inside = False
            settle()

    torch.autograd.backward = backward
    torch.Tensor.backward = backward_from
    # PyTorch would warn the program of hooks that are ours and leave compiled modules alone.
    message = r"Using `torch\.compile\(module\)` when there are global hooks"
    warnings.filterwarnings("ignore", message)
    _real["filter"] = warnings.filters[0]
