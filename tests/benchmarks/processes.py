"""Processes that a measurement gives itself: their threads, and what they print."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any


def environment(threads: int) -> dict[str, str]:
    """The variables by which libraries learn how many threads they may have."""
    wide = "true" if threads > 1 else "false"
    return os.environ | {
        "OPENBLAS_NUM_THREADS": str(threads),
        "OMP_NUM_THREADS": str(threads),
        "JAX_PLATFORMS": "cpu",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={wide} intra_op_parallelism_threads={threads}",
    }


def command(threads: int, module: str, *arguments: str, python: str = sys.executable) -> list[str]:
    """The command of a module, bound to one processor where it has one thread."""
    bound = ["taskset", "-c", "0"] if threads == 1 and hasattr(os, "sched_setaffinity") else []
    return [*bound, python, "-m", module, *arguments]


def child(threads: int, module: str, *arguments: str) -> Any:
    """What a module prints as JSON, run in a process of its own with so many threads."""
    done = subprocess.run(
        command(threads, module, *arguments),
        env=environment(threads), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stderr}")
    sys.stderr.write(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])
