"""Calls of a session from several threads wait for each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from gradwire.blocks.arguments import explained

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class Locked(Protocol):
    """What has a lock."""

    @property
    def _lock(self) -> AbstractContextManager[object]: ...


P = ParamSpec("P")
R = TypeVar("R")
L = TypeVar("L", bound=Locked)


def locked(method: Callable[Concatenate[L, P], R]) -> Callable[Concatenate[L, P], R]:
    """Serialise calls, because plans reuse their buffers; wrong arguments are explained."""

    @wraps(method)
    def call(session: L, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with session._lock:
            return method(session, *args, **kwargs)

    return explained(call)
