"""Tells whatever watches a training of each call of ``backward``."""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from gradwire.runtime.watch.torch.watching import Watch

_watching: list[Watch] = []
_real: dict[str, Any] = {}
_is_paused = False


def watching() -> Sequence[Watch]:
    """What watches now."""
    return tuple(_watching)


def begin(watch: Watch) -> None:
    """Tell it from now on, until ``end``, or the program ends, which closes it."""
    _watching.append(watch)
    if len(_watching) == 1:
        _patch()


def end(watch: Watch) -> None:
    """Tell it of nothing any more."""
    _watching.remove(watch)
    if not _watching:
        torch.autograd.backward = _real.pop("backward")


@atexit.register
def _close() -> None:
    for watch in watching():
        watch.close()


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

    def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        given = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        if not _is_paused:
            for each in watching():
                each.told(each.backward_of, given)
        try:
            return real(tensors, *args, **kwargs)
        except RuntimeError as error:
            if not _is_paused:
                for each in watching():
                    each.told(each.backward_failed, given, error)
            raise

    torch.autograd.backward = backward
