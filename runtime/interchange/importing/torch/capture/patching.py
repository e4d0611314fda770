"""Methods of torch's classes that are replaced for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any


@contextmanager
def replaced(cls: type, name: str, make: Callable[[Any], Any]) -> Iterator[None]:
    """Let a class have, meanwhile, what ``make`` makes of its own attribute of this name."""
    real = vars(cls)[name]
    setattr(cls, name, make(real))
    try:
        yield
    finally:
        setattr(cls, name, real)


def announced(cls: type, name: str, tell: Callable[..., object]) -> Any:
    """A context in which calls of a method of a class are told of before, with what it gets."""

    def make(real: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(real)
        def method(*args: Any, **kwargs: Any) -> Any:
            tell(*args)
            return real(*args, **kwargs)

        return method

    return replaced(cls, name, make)
