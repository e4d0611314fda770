"""Passes: each replaces some tasks of a plan by faster ones that compute the same."""

from typing import TYPE_CHECKING

from gradwire.blocks import imported_on_use

if TYPE_CHECKING:
    from gradwire.runtime.engine.plan.passes.late import DEFAULT, FAST, Pass, select_passes

__all__ = ["DEFAULT", "FAST", "Pass", "select_passes"]

__getattr__ = imported_on_use(__name__, {"late": "DEFAULT FAST Pass select_passes"})
