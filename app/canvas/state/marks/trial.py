"""A trial as it is shown on one page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from gradwire.blocks.classes.dataclass import dataclass


@dataclass(frozen=True)
class TrialMarks:
    """What a trial changes on one page; blocks and wires by their names there."""

    cuts: tuple[str, ...] = ()
    """Keys of wires that are cut."""
    opened: tuple[str, ...] = ()
    """StopGradients that let gradient pass."""
    changes: Mapping[str, str] = field(default_factory=dict)
    """How the gradient changes, by block: ``6.00 → 3.00 (−50 %)``."""
    current: str = ""
    """The block at which the timeline is."""
