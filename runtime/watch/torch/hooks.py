"""Hooks of modules that stay out of copies of a model, and of what is compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from typing import ClassVar, TypeAlias

import torch

Args: TypeAlias = Sequence[object]
Kwargs: TypeAlias = Mapping[str, object]


class Hook:
    """Calls a function, except where torch.compile traces the module: what is compiled is the same
    as without it. In a copy of the module, and where it is pickled, it does nothing.
    """

    def __init__(self, function: Callable[..., None]) -> None:
        self._function = function

    def __call__(self, *args: object) -> None:
        """Call the function with what a hook is given."""
        if not torch.compiler.is_compiling():
            self._function(*args)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, str]]:
        # Of the standard library, so that a saved model can be loaded where Gradwire isn't.
        return getattr, (nullcontext(), "__exit__")


class _Stance:
    """Compiled functions run uncompiled for as many as want it, and may end in any order."""

    users = 0
    real: ClassVar[list[Callable[..., object]]] = []
    """``torch.compile``, while it is replaced."""
    on: ClassVar[list[AbstractContextManager[object]]] = []
    """The stance, once PyTorch's compiler is loaded."""

    def take(self) -> None:
        if not self.on and "torch._dynamo" in sys.modules:
            self.on.append(torch.compiler.set_stance("force_eager"))


_stance = _Stance()


@contextmanager
def uncompiled() -> Iterator[None]:
    """Let compiled functions run uncompiled meanwhile, also those that are compiled in it."""
    _stance.users += 1
    if _stance.users == 1:
        real = torch.compile
        _stance.real.append(real)

        @wraps(real)
        def compiling(*args: object, **kwargs: object) -> object:
            result = real(*args, **kwargs)  # loads the compiler
            if _stance.users:
                _stance.take()
            return result

        torch.compile = compiling
        _stance.take()
    try:
        yield
    finally:
        _stance.users -= 1
        if not _stance.users:
            torch.compile = _stance.real.pop()
            while _stance.on:
                _stance.on.pop().__exit__(None, None, None)
