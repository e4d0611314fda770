"""Sizes of blocks and distances between what lies on a page, in px at 100 %."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradwire.blocks.library.views import ViewBlock
from gradwire.runtime.diagram.model import Size

if TYPE_CHECKING:
    from gradwire.blocks.block import Block
    from gradwire.runtime.diagram.model import Style

WIDTH = 160.0
"""Width of every block but views."""
VIEW_SIZE = Size(240.0, 200.0)
"""Size of a view that was not given another."""
HEADER = 28.0
"""Height of the header with symbol and name, above the first port."""
ROW = 18.0
"""Height of a line of ports or of numbers."""
FOOT = 6.0
"""Space below the last line."""
VALUE_LINES = 2
"""Lines that a block is expected to show: its value and its gradient."""
COLUMN_GAP = 80.0
"""Least distance between columns."""
FRAME_PAD = 24.0
"""From the border of a frame to what is inside."""
TITLE_LINE = 18.0
"""Height of a line of a frame's title."""
TITLE_LETTER = 7.5
"""About the width of a letter of a frame's title."""
TITLE_PAD = 10.0
"""From the border of a frame to its title on the left and on the right."""
TITLE_WIDTH = 320.0
"""The most that a frame is widened for its title."""
ROW_GAP = 36.0
"""Least distance between the blocks of a column."""
PART_GAP = 72.0
"""Distance between parts that no wire joins, and between rows that no wire runs between."""
PITCH = 14.0
"""From one track of a channel to the next: room for a wire and its lane."""
LANE_PITCH = 9.0
"""From one lane of a wire to the next."""
MARGIN = 30.0
"""From a block to the nearest track beside it."""
_PORT_EDGE = 2.0
"""Least distance of the ports of a collapsed block from its upper and lower edge."""


def block_height(lines: int) -> float:
    """Height of a block; ``lines`` is the larger of its numbers of port rows and number rows."""
    return HEADER + ROW * lines + FOOT


def view_size(block: Block, style: Style, rows: int) -> Size | None:
    """The size of a view with so many ports; None for other blocks, and for a collapsed one."""
    if style.collapsed or not isinstance(block, ViewBlock):
        return None
    width, height = style.size or VIEW_SIZE
    return Size(width, max(height, block_height(rows)))


def port_offset(row: int) -> float:
    """From the top of a block down to the centre of its port number ``row``."""
    return HEADER + ROW * (row + 0.5)


def collapsed_offset(row: int, count: int) -> float:
    """As :func:`port_offset` for one of ``count`` ports on a side of a collapsed block.

    Such a block is as high as its header, over which its ports are spread evenly.
    """
    return _PORT_EDGE + (HEADER - 2.0 * _PORT_EDGE) * (row + 0.5) / count
