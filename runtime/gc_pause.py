"""Pausing the cycle collector while many small objects are built, none of which is garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause cyclic garbage collection, for a block or as a decorator.

    Of a large diagram it takes a third of the time and more, since it looks at everything that was
    built again and again. Pauses may be nested, and a collector that is off stays off.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
