"""Ctrl-C ends a command inside a kernel."""

import os
import signal
import subprocess
import sys

import pytest

KERNEL = """
from gradwire.runtime.cli.interrupt import exit_on_interrupt
import numpy as np
exit_on_interrupt()
a = np.ones((12_000, 12_000), np.float32)
print("ready", flush=True)
a @ a
"""


@pytest.mark.night
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_ends_a_command_inside_a_kernel():
    kernel = subprocess.Popen(
        [sys.executable, "-c", KERNEL],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    with kernel:
        assert kernel.stdout.readline() == "ready\n"
        kernel.send_signal(signal.SIGINT)
        _, err = kernel.communicate(timeout=60)
    assert (kernel.returncode, err) == (130, "gradwire: cancelled\n")
