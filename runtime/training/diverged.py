"""The error with which a training stops at the first number that is not finite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from gradwire.blocks.errors import RunError
from gradwire.runtime.flow.words.sentences import names as listed

if TYPE_CHECKING:
    from gradwire.runtime.diagram import Diagram
    from gradwire.runtime.flow import Finding

Where: TypeAlias = Literal["loss", "gradient", "variable"]


class DivergedError(RunError):
    """A loss, a gradient or a variable is NaN or infinite, so the training stopped.

    The session has the values that the pass began with, unless the update itself went wrong
    (``where`` is "variable").
    """

    def __init__(self, where: Where, names: Sequence[str], optimiser: str) -> None:
        super().__init__(_what(where, names, optimiser))
        self.where = where
        """What was the first that is not finite."""
        self.names = tuple(names)
        """The losses, or the variables."""
        self.optimiser = optimiser
        self.iteration = 0
        """The iteration that was not finished, from 1 on."""
        self.step_number = 0
        """The session's step number in the pass."""
        self.findings: tuple[Finding, ...] = ()
        """What the doctor says of that pass: the worst first."""
        self.diagram: Diagram | None = None
        """The diagram with all numbers of that pass in it, on which ``gradwire doctor`` says the
        same; None if they could not be stored.
        """

    @property
    def round(self) -> int:
        """An old name of ``iteration``."""
        return self.iteration


def _what(where: Where, names: Sequence[str], optimiser: str) -> str:
    shown = listed(names)
    verb = "is" if len(names) == 1 else "are"
    if where == "loss":
        return f"{shown} {verb} not finite."
    if where == "gradient":
        return f"The gradient of {shown} that {optimiser} follows is not finite."
    return f"{shown} {verb} not finite after the update of {optimiser}."
