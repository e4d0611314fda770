"""The losses on rows that are never trained on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gradwire.runtime.data.rows import Phase
    from gradwire.runtime.diagram.paths import PortPath
    from gradwire.runtime.engine import Session
    from gradwire.runtime.engine.session.execution import Prepared


@contextmanager
def in_phase(session: Session, phase: Phase) -> Iterator[None]:
    """Within, the session's data sets give the rows of a phase; then those that they gave before,
    of the same step.
    """
    before, step = session.phase, session.step_number
    session.phase = phase
    try:
        yield
    finally:
        session.phase, session.step_number = before, step


class Validation:
    """Computes losses on the validation rows of a session's data sets: their mean over batches."""

    def __init__(self, session: Session, losses: Sequence[PortPath]) -> None:
        self._session = session
        self._losses = tuple(losses)
        self._call: Prepared | None = None

    @classmethod
    def of(cls, session: Session, losses: Sequence[PortPath]) -> Validation | None:
        """The validation of a session; None without rows for it."""
        return cls(session, losses) if "validation" in session.phases and losses else None

    def losses(self) -> dict[str, float]:
        """Each loss, as the sum of its elements, averaged over all batches of validation rows.

        The session's phase and step number are what they were before. Randomness counts by the
        number of the batch, so that two validations differ by the variables alone.
        """
        session = self._session
        rows = []
        with in_phase(session, "validation"):
            if self._call is None:
                self._call = session.prepare(values=self._losses, losses=self._losses, wrt=())
            for number in range(validation_batches(session)):
                session.step_number = number
                values = self._call()
                rows.append([float(np.sum(x, dtype=np.float64)) for x in values if x is not None])
        means = np.mean(rows, axis=0).tolist()
        return {str(port): mean for port, mean in zip(self._losses, means, strict=True)}


def validation_batches(session: Session) -> int:
    """Batches after which each data set has given all its validation rows, in that phase."""
    streams = session.rolled.streams().values()
    return max(math.ceil(stream.rows.batches("validation")) for stream in streams)
