"""Where the program turned gradient off, if it is off now."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar, TypeVar

import torch
from torch.autograd import grad_mode
from torch.autograd.grad_mode import inference_mode, no_grad, set_grad_enabled
from torch.utils import checkpoint

from gradwire.runtime.interchange.importing.torch.capture.frames import called_in, user_line
from gradwire.runtime.watch.step import NoGradRegion, SourceLine

R = TypeVar("R")


class _Last(threading.local):
    """What turned gradient off last in a thread."""

    by: object = None
    region: NoGradRegion | None = None

    def note(self, by: object, was_on: bool) -> None:
        if was_on and not torch.is_grad_enabled():
            self.by, self.region = by, NoGradRegion(type(by).__name__, SourceLine(*user_line()))

    def forget(self) -> None:
        self.by = self.region = None


class _Patches:
    """What notes it, for as many as want to know."""

    users = 0
    real: ClassVar[list[tuple[type, str, Callable[..., object]]]] = []

    def put(self, cls: type, name: str, method: Callable[..., object]) -> None:
        self.real.append((cls, name, vars(cls)[name]))
        setattr(cls, name, method)

    def take_back(self) -> None:
        while self.real:
            setattr(*self.real.pop())


_last, _patches = _Last(), _Patches()


def turned_off() -> NoGradRegion | None:
    """What has turned gradient off; None where it is on, or that was not noted."""
    if torch.is_grad_enabled():
        return None
    if _last.region is None and called_in(("forward",), checkpoint.__file__):
        return NoGradRegion("checkpoint", SourceLine(*user_line()))
    return _last.region


def is_in_compiled() -> bool:
    """Whether a compiled function is running: it sets modes of PyTorch back to what they were when
    it began.
    """
    compiler = sys.modules.get("torch._dynamo.eval_frame")
    return compiler is not None and bool(called_in(("compile_wrapper",), compiler.__file__ or ""))


@contextmanager
def noted() -> Iterator[None]:
    """Note meanwhile what turns gradient off. Several may be on at once."""
    global _last
    _patches.users += 1
    if _patches.users == 1:
        _last = _Last()
        for cls in (no_grad, inference_mode):
            _patches.put(cls, "__enter__", _entering(cls.__enter__))
        for cls in (no_grad, inference_mode, set_grad_enabled):
            _patches.put(cls, "__exit__", _leaving(cls.__exit__))
        _patches.put(set_grad_enabled, "__init__", _setting(set_grad_enabled.__init__))
    try:
        yield
    finally:
        _patches.users -= 1
        if not _patches.users:
            _patches.take_back()


def _entering(real: Callable[[object], R]) -> Callable[[object], R]:
    def enter(self: object) -> R:
        was_on = torch.is_grad_enabled()
        result = real(self)
        _last.note(self, was_on)
        return result

    return enter


def _leaving(real: Callable[..., R]) -> Callable[..., R]:
    def leave(self: object, *error: object) -> R:
        result = real(self, *error)
        if _last.by is self:
            _last.forget()
        return result

    return leave


def _setting(real: Callable[[object, bool], None]) -> Callable[[object, bool], None]:
    def init(self: object, mode: bool) -> None:
        was_on = torch.is_grad_enabled()
        real(self, mode)
        if sys._getframe(1).f_code.co_filename == grad_mode.__file__:
            return  # of another that enters or leaves
        if mode:
            _last.forget()
        else:
            _last.note(self, was_on)

    return init
