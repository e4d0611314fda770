"""What processes that compute are started with, and why they ended."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

_BLAS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def processors() -> int:
    """The number of processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def blas_threads(count: int) -> dict[str, str]:
    """The variables of the environment that let matrix products use so many threads; none if the
    user chose how many.
    """
    if any(name in os.environ for name in _BLAS):
        return {}
    return dict.fromkeys(_BLAS, str(count))


def why_ended(code: int | None) -> str:
    """Why a process has ended, by its exit code, which is -n for a signal n."""
    if code is None or code >= 0:
        return f"its process ended with exit code {code}"
    with suppress(ValueError):
        name = signal.Signals(-code).name
        why = ", as the system does when memory runs out" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{why}"
    return f"its process was ended by signal {-code}"
