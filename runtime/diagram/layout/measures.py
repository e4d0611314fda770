"""Sizes of blocks in scene units (px at 100 %), shared by layout and canvas."""

from __future__ import annotations

WIDTH = 160.0
"""Width of every block."""
HEADER = 28.0
"""Height of the header with symbol and name, above the first port."""
ROW = 18.0
"""Height of a line of ports or of numbers."""
FOOT = 6.0
"""Space below the last line."""


def block_height(lines: int) -> float:
    """Height of a block; ``lines`` is the larger of its numbers of port rows and number rows."""
    return HEADER + ROW * lines + FOOT
