"""Passes: each replaces some tasks of a plan by faster ones that compute the same."""

from __future__ import annotations

import os

from blocks.errors import RunError
from runtime import extras
from runtime.engine.plan import native
from runtime.engine.plan.passes.late import DEFAULT, FAST, Pass

__all__ = ["DEFAULT", "FAST", "Pass", "select_passes"]


def select_passes(fast: bool | None = None) -> tuple[Pass, ...]:
    """The passes of a session: with machine code if a compiler is installed and ``fast`` allows it.

    None means True, or False if the environment has GRADWIRE_FAST=0. Raises RunError if ``fast``
    is True and no compiler is installed.
    """
    if fast and not native.installed():
        raise RunError(
            "Machine code was requested, but no compiler is installed.",
            next_step=f"Install llvmlite: {extras.command('llvmlite')}.",
        )
    if fast is None:
        fast = os.environ.get("GRADWIRE_FAST", "1") != "0"
    return FAST if fast and extras.installed("llvmlite") else DEFAULT
