"""What JAX keeps of the programs that it has compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax")

ROOT = Path(__file__).parents[4]
COMPILES = """
import warnings; warnings.simplefilter("error")
import numpy as np
from gradwire.runtime.engine.jax import compiling
compiling._LONG = 0.0
program = compiling.compiled(lambda x: 2 * x, [np.ones(3)], 1)
print(compiling.called(program, [np.ones(3)]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the cache is elsewhere on other systems")
@pytest.mark.parametrize("bounded", [True, False])
def test_programs_are_kept_where_their_number_can_be_bounded(tmp_path, bounded):
    """JAX needs filelock for that."""
    if bounded:
        pytest.importorskip("filelock")
    hide = "" if bounded else "import sys; sys.modules['filelock'] = None\n"
    environment = os.environ | {
        "XDG_CACHE_HOME": str(tmp_path), "JAX_ENABLE_COMPILATION_CACHE": "true",
        "PYTHONPATH": str(ROOT / "runtime" / "public"),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", hide + COMPILES], env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("[2. 2. 2.]\n", 0), done.stderr
    assert bool(list(tmp_path.rglob("jax/*"))) == bounded
