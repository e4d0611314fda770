"""Several processes that compute as one, on one machine or many, by ``jax.distributed``."""

from __future__ import annotations

import os
from contextlib import suppress

import jax

from gradwire.blocks.errors import RunError

_NUMBERS = (
    "JAX_PROCESS_ID", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "RANK",
)  # fmt: skip
"""Variables in which launchers tell a process its number: JAX, Slurm, Open MPI, MPICH, torchrun."""
_STARTING, _BEATING, _LEAVING = 120, 30, 10
"""Seconds to wait for all processes at the start, for a sign of life, and at the end."""


def join(count: int, coordinator: str | None = None, number: int | None = None) -> None:
    """Make this process one of ``count`` that compute together, from here on.

    ``coordinator`` is HOST:PORT, at which the process with the number 0 waits for the others; None
    where JAX can find it out, as under Slurm. ``number`` is that of this process; None for what the
    launcher says in the environment. Raises RunError where they don't come together.
    """
    number = _number(count) if number is None else number
    if not 0 <= number < count:
        raise RunError(
            "The number of this process can't be right.",
            expected=f"a number from 0 to {count - 1}, as there are {count} processes",
            got=str(number),
        )
    with suppress(AttributeError):  # of versions that choose by themselves
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
    try:
        jax.distributed.initialize(
            coordinator,
            count,
            number,
            initialization_timeout=_STARTING,
            heartbeat_timeout_seconds=_BEATING,
            shutdown_timeout_seconds=_LEAVING,
        )
    except (RuntimeError, ValueError) as error:
        raise RunError(
            f"Process {number} of {count} found no connection to the others: {_short(error)}",
            expected=f"all {count} processes, each with its own number and the same coordinator",
            got=f"coordinator {coordinator}" if coordinator else None,
            next_step="Name the machine and a free port of process 0: --coordinator HOST:PORT.",
        ) from error


def leads() -> bool:
    """Whether this is the process that writes files and says what happens."""
    return bool(jax.process_index() == 0)


def _number(count: int) -> int:
    for name in _NUMBERS:
        text = os.environ.get(name, "")
        if text.isascii() and text.isdecimal() and len(text) <= len(str(count)):
            return int(text)
    raise RunError(
        "Nothing says which of the processes this is.",
        expected=f"its number from 0 to {count - 1}, or a launcher that sets one of "
        + ", ".join(_NUMBERS),
        next_step="Add --process, with a number of its own for each.",
    )


def _short(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200].rstrip(".") + "." if lines else type(error).__name__
