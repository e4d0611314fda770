"""Pausing the cycle collector while many small objects are built, none of which is garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 50_000
"""How many objects have to be new for a pause to call them old when it ends."""


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause cyclic garbage collection, for a block or as a decorator.

    Of a large diagram it takes a third of the time and more, since it looks at everything that was
    built again and again. Pauses may be nested, and a collector that is off stays off. Of many
    new objects none is looked at when the pause ends, only at the next full collection.
    """
    was = gc.isenabled()
    gc.disable()
    before = gc.get_count()[0]  # already many where nothing was collected for long
    try:
        yield
    finally:
        if was:
            # To count what is frozen takes milliseconds.
            if gc.get_count()[0] - before > MANY and not gc.get_freeze_count():
                _age()
            gc.enable()


def _age() -> None:
    """Make all objects old, as two collections would that find nothing."""
    gc.freeze()
    gc.unfreeze()
