"""Reasons in a training that runs anyway: what is wrong with its gradients, since when, and why."""

from typing import TYPE_CHECKING

from gradwire.blocks import imported_on_use

if TYPE_CHECKING:
    from gradwire.runtime.watch.entry import watch, why
    from gradwire.runtime.watch.reasons import Found, NotFiniteError, Trouble
    from gradwire.runtime.watch.report import Report, Row

__all__ = ["Found", "NotFiniteError", "Report", "Row", "Trouble", "watch", "why"]

__getattr__ = imported_on_use(
    __name__,
    {
        "entry": "watch why",
        "reasons": "Found NotFiniteError Trouble",
        "report": "Report Row",
    },
)
