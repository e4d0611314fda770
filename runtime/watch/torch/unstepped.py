"""Calls of ``backward`` that no step of an optimiser follows."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence

import torch

from gradwire.runtime.interchange.importing.torch.capture.frames import user_line
from gradwire.runtime.watch.reasons import Found, Trouble
from gradwire.runtime.watch.step import SourceLine, shown
from gradwire.runtime.watch.torch.measures import Updates
from gradwire.runtime.watch.torch.owners import owned_by
from gradwire.runtime.watch.torch.scaling import is_skipped

_FEW = 5
"""Calls that are too few to say anything of."""
_MANY = 100
"""Calls that no accumulation of gradients is expected to have."""


class Unstepped:
    """Counts the calls, until the first step, and keeps a sample of the parameters meanwhile."""

    def __init__(self, trained: Mapping[str, torch.Tensor]) -> None:
        self._trained = trained
        self._sample: Updates | None = None
        self._calls = 0
        self._line = SourceLine()

    def backward(self) -> bool:
        """``backward`` is called; whether that is to be looked at now."""
        self._calls += 1
        if self._calls == 1:
            self._sample = Updates(self._trained)
            self._sample.take()
        elif self._calls == _FEW:
            self._line = SourceLine(*user_line())
        return self._calls == _MANY

    @property
    def is_moved(self) -> bool:
        """Whether the parameters have moved without a step, as far as is looked at."""
        is_first = 1 <= self._calls <= _FEW
        return is_first and self._sample is not None and self._sample.is_moved

    def found(self, optimizers: Sequence[torch.optim.Optimizer]) -> Found | None:
        """What is wrong, if an optimiser has the parameters and none of them has moved."""
        if self._calls < _FEW or self._sample is None or self._sample.is_moved:
            return None
        known = optimizers or [x for x in gc.get_objects() if _is_optimizer(x)]
        own = set(map(id, self._trained.values()))
        names = [type(x).__name__ for x in known if not own.isdisjoint(owned_by([x]))]
        if not names or not any(p.grad is not None for p in self._trained.values()):
            return None
        line = shown(self._line)
        if not is_skipped(self._trained.values()):
            why = (
                f"step() is not called on {names[0]}: no parameter has moved. Call it after "
                "backward()."
            )
        elif self._calls < _MANY:  # a scale that begins too large comes down by itself
            return None
        else:
            why = (
                f"no step() of {names[0]} was taken: a GradScaler skips it while gradients are not "
                "finite. Look for what makes them so."
            )
        at = f" ({line})" if line else ""
        text = f"backward(){at} was called {self._calls} times, and {why}"
        return Found(Trouble.NOT_UPDATED, (), text, 0, (line,) if line else ())


def _is_optimizer(x: object) -> bool:
    return issubclass(type(x), torch.optim.Optimizer)
