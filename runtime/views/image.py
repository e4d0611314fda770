"""Images, one or several in rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gradwire.blocks.library.views import images_of
from gradwire.runtime.views.levels import levels_of, limits_of, remarks, span
from gradwire.runtime.views.pictures import ImagePicture, NoPicture, Picture

if TYPE_CHECKING:
    from gradwire.blocks.library.views import Image
    from gradwire.blocks.values import Array

MOST_IMAGES = 100
"""Images that are drawn; of more, these are the first."""
MOST_PIXELS = 512
"""Pixels along an edge of one image; of larger ones every second, third, … is drawn."""


def image(block: Image, x: Array | None) -> Picture:
    """The picture of an Image for the value of its input, None where it is not wired."""
    if x is None:
        return NoPicture(summary="wire an image (h, w)")
    shape, channels_first = images_of(x.shape, block.height)
    images = np.asarray(x).reshape(shape)
    images = np.moveaxis(images, 1, -1) if channels_first else images
    count, (height, width) = len(images), images.shape[1:3]
    if not images.size:
        return NoPicture(summary="no pixels")
    images = images[:MOST_IMAGES]
    stride = math.ceil(max(height, width) / MOST_PIXELS)
    images = images[:, ::stride, ::stride]
    is_coloured = images.ndim == 4
    whole = x.dtype.kind in "iu" and is_coloured
    usual = (0.0, 255.0 if whole else 1.0) if is_coloured else (None, None)
    low = usual[0] if block.low is None else block.low
    high = usual[1] if block.high is None else block.high
    low, high = limits_of(images, low, high)
    pixels, gaps = _sheet(levels_of(images, low, high), block.columns)
    notes = list(remarks(images, low, high))
    if count > MOST_IMAGES:
        notes.insert(0, f"{MOST_IMAGES} of {count:,} images")
    if stride > 1:
        notes.insert(0, f"one of {stride} pixels each way")
    several = f"{count:,} images" if count > 1 else "image"
    kind = "red, green, blue" if is_coloured else block.colours
    return ImagePicture(
        pixels=pixels,
        gaps=gaps,
        scale="grey" if is_coloured else block.colours,
        low=low,
        high=high,
        summary=f"{several} of {width} × {height}, {kind} {span(low, high)}",
        notes=tuple(notes),
    )


def _sheet(
    images: NDArray[np.uint8], columns: int
) -> tuple[NDArray[np.uint8], NDArray[np.bool_] | None]:
    """Images (n, h, w) or (n, h, w, 3) in rows, a pixel apart, and where no image is."""
    count, height, width = images.shape[:3]
    if count == 1:
        return images[0], None
    across = min(count, columns or math.ceil(math.sqrt(count * height / width)))
    down = math.ceil(count / across)
    size = (down * (height + 1) - 1, across * (width + 1) - 1)
    sheet = np.zeros((*size, *images.shape[3:]), np.uint8)
    gaps = np.ones(size, np.bool_)
    for i, each in enumerate(images):
        top, left = i // across * (height + 1), i % across * (width + 1)
        sheet[top : top + height, left : left + width] = each
        gaps[top : top + height, left : left + width] = False
    return sheet, gaps
