"""Writes out all windows of small images as columns, row by row of vectors."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from runtime.engine.plan.native import machine
from runtime.engine.plan.native.assembly import Assembly
from runtime.engine.plan.native.loops import Kernel

if TYPE_CHECKING:
    from runtime.engine.plan.native.windows.pooling import Window

COLUMNS = ("image", "image_step", "channel_step", "image_row", "out", "out_channel", "out_tap",
           "images", "rows", "columns")  # fmt: skip
"""The frame of ``columns``: addresses, bytes and counts, all int64."""


@lru_cache(maxsize=64)
def columns(how: Window) -> Kernel:
    """``out[channel, tap, image, row] = `` what is under a tap of the window in a row of positions.

    ``call(frame, 0, start, stop)`` writes the channels from start to stop. A row has no more
    elements than a vector, which go on from row to row of the result. Images have their padding,
    and windows move by one column.
    """
    w = Assembly("columns", how.dtype, how.lanes, COLUMNS)
    (mask,) = w.lanes_before("%columns", 1)
    with (
        w.loop("channel", "%start", "%stop") as channel,
        w.loop("n", 0, "%images") as image,
        w.loop("row", 0, "%rows") as row,
    ):
        source = w.add("%image", w.multiply(channel, "%channel_step"))
        source = w.add(source, w.multiply(image, "%image_step"))
        source = w.add(source, w.multiply(w.multiply(row, how.stride[0]), "%image_row"))
        number = w.add(w.multiply(image, "%rows"), row)
        target = w.add("%out", w.multiply(channel, "%out_channel"))
        target = w.add(target, w.multiply(w.multiply(number, "%columns"), w.bytes))
        for tap, (i, j) in enumerate(how.taps):
            away = w.multiply("%image_row", i * how.dilation[0])
            found = w.load_where(mask, w.add(w.add(source, away), j * how.dilation[1] * w.bytes))
            w.store_where(mask, found, w.add(target, w.multiply("%out_tap", tap)))
    return Kernel(*machine.function(w.text(), "columns", is_vector=True))
