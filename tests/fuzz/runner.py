"""Runs fuzz programs: numbered cases, each from a seed of its own, until processor time is up.

A case is a function of a random generator that is seeded with the run's seed, the program's name
and the number of the case, so that any of them can be run again alone. It returns a word for what
happened, which is counted, and raises where a promise is broken.
"""

from __future__ import annotations

import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

SECONDS = 60.0
"""Processor time that one case may take; promises are about small diagrams and files."""
PATIENCE = 600.0
"""Seconds by the clock that one case may take: a wait without an end takes no processor time."""
MOST_FAILURES = 20
"""Failures after which a program stops: more of them seldom say more."""


class TooSlowError(BaseException):
    """A case ran out of time. Not an Exception: what is being tested must not catch it."""


@dataclass(frozen=True)
class Program:
    """What is tried over and over: ``case`` takes a generator and returns what happened."""

    name: str
    promise: str
    case: Callable[[Random], str]


@dataclass(frozen=True)
class Failure:
    """A case that broke a promise."""

    number: int
    error: BaseException

    @property
    def summary(self) -> str:
        """The type and text of the error, shortened."""
        return f"{type(self.error).__name__}: {self.error}"[:600]

    @property
    def trace(self) -> str:
        """The traceback."""
        return "".join(traceback.format_exception(self.error))


@dataclass
class Report:
    """What one program found."""

    program: Program
    seed: int
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def cases(self) -> int:
        """How many cases were run."""
        return self.outcomes.total() + len(self.failures)

    def __str__(self) -> str:
        words = ", ".join(f"{number:,} {word}" for word, number in sorted(self.outcomes.items()))
        lines = [
            f"{self.program.name}: {self.cases:,} cases in {self.seconds:.0f} s of processor time"
            f" ({words}), {len(self.failures)} failures"
        ]
        for failure in self.failures:
            again = f"python -m tests.fuzz {self.program.name} --seed {self.seed}"
            lines += [f"  case {failure.number}: {failure.summary}",
                      f"    {again} --case {failure.number}"]  # fmt: skip
        return "\n".join(lines)


def generator(program: Program, seed: int, number: int) -> Random:
    """The generator of one case."""
    return Random(f"{seed}/{program.name}/{number}")


def fuzz(
    program: Program, seed: int, *, seconds: float | None = None, numbers: Iterable[int] = ()
) -> Report:
    """Run the cases ``numbers``, or for ``seconds`` of processor time as many as come from 0 on."""
    report, start = Report(program, seed), time.process_time()
    for number in numbers or count():
        try:
            with _limited(), warnings.catch_warnings():
                warnings.simplefilter("error")
                report.outcomes[program.case(generator(program, seed, number))] += 1
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever a broken promise looks like
            report.failures.append(Failure(number, error))
        report.seconds = time.process_time() - start
        if len(report.failures) >= MOST_FAILURES:
            break
        if seconds is not None and report.seconds >= seconds:
            break
    return report


@contextmanager
def _limited() -> Iterator[None]:
    """Raise TooSlowError in here when a case has had its time, where the system can count it."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        waited = number == signal.SIGALRM
        raise TooSlowError(
            f"more than {PATIENCE:g} s" if waited else f"more than {SECONDS:g} s of processor time"
        )

    limits = [(signal.ITIMER_PROF, signal.SIGPROF, SECONDS),
              (signal.ITIMER_REAL, signal.SIGALRM, PATIENCE)]  # fmt: skip
    before = [signal.signal(number, stop) for _, number, _ in limits]
    for timer, _, seconds in limits:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (timer, number, _), handler in zip(limits, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)
