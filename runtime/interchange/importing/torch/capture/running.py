"""Whether a program that runs is recorded now, and what becomes of it if recording fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from gradwire.runtime.interchange.importing.torch.types import Tensor

_T = TypeVar("_T")


def _nothing(_: object) -> None:
    pass


class Running:
    """A program that runs and is recorded while ``active``.

    A ``live`` one goes on whatever happens here: what fails ends the recording alone.
    """

    def __init__(self) -> None:
        super().__init__()
        self.active = False
        self.live = False
        self.given_up: Exception | None = None
        """Why a live program is recorded no more."""
        self.is_frozen = False
        """Whether a live program is recorded no more."""
        self.before_call: Callable[[bool], None] = _nothing
        """Called before each operator of a live program, and with True before each call of
        ``backward``.
        """
        self.after_write: Callable[[Sequence[Tensor]], None] = _nothing
        """Called with the tensors to which an operator of a live program has written."""

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let torch run without being recorded."""
        before, self.active = self.active, False
        try:
            yield
        finally:
            self.active = before and not self.is_frozen

    def freeze(self) -> None:
        """Let all further calls pass unrecorded."""
        self.is_frozen, self.active = True, False

    def give_up(self, why: Exception) -> None:
        """Record no more of a live program."""
        self.given_up = why
        self.freeze()

    def guarded(self, work: Callable[[], _T]) -> _T | None:
        """What some work of ours returns; None where it raises in a live program."""
        if not self.live:
            return work()
        try:
            return work()
        except Exception as error:  # whatever fails here must not stop a live program
            self.give_up(error)
            return None
