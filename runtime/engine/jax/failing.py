"""What JAX raises while it compiles and runs, as errors of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import jax

from gradwire.blocks.errors import LimitError
from gradwire.runtime.engine.engine import LostProcessError


@contextmanager
def explained() -> Iterator[None]:
    """Within, raises LimitError without memory on a device, and LostProcessError where several
    processes compute together and one of them does not answer.
    """
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" in str(error):
            raise LimitError(
                "There is not enough memory on the device for this.",
                next_step="Make the batch smaller, ask for less, or use several devices.",
            ) from error
        if jax.process_count() > 1:
            raise LostProcessError(
                f"One of the {jax.process_count()} processes is gone, or can't be reached.",
                next_step="Start them again, with as many processes as you like: they go on from "
                "the last checkpoint.",
            ) from error
        raise
