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
from gradwire.runtime.engine.jax import jax_engine
jax_engine._LONG = 0.0
program = jax_engine.compiled(lambda x: 2 * x, [np.ones(3)], 1)
print(jax_engine.called(program, [np.ones(3)]))
"""


linux = pytest.mark.skipif(sys.platform != "linux", reason="the cache is elsewhere there")


def compiled_in(home: Path, before: str = "") -> str:
    """Compile in another process; returns what that wrote to standard error."""
    environment = os.environ | {
        "XDG_CACHE_HOME": str(home), "JAX_ENABLE_COMPILATION_CACHE": "true",
        "PYTHONPATH": str(ROOT / "runtime" / "public"),
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", before + COMPILES], env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("[2. 2. 2.]\n", 0), done.stderr
    return done.stderr


@pytest.mark.night
@linux
@pytest.mark.parametrize("bounded", [True, False])
def test_programs_are_kept_where_their_number_can_be_bounded(tmp_path, bounded):
    """JAX needs filelock for that."""
    if bounded:
        pytest.importorskip("filelock")
    compiled_in(tmp_path, "" if bounded else "import sys; sys.modules['filelock'] = None\n")
    assert bool(list(tmp_path.rglob("jax/*"))) == bounded


@pytest.mark.night
@linux
@pytest.mark.parametrize("name", ["jax", "jax/program"])
def test_programs_that_others_may_have_written_are_not_run(tmp_path, name):
    """JAX itself would load whatever lies there."""
    pytest.importorskip("filelock")
    program = tmp_path / "gradwire" / "jax" / "program"
    program.parent.mkdir(parents=True)
    program.write_bytes(b"of somebody else")
    (tmp_path / "gradwire" / name).chmod(0o777)
    said = compiled_in(tmp_path)
    assert str(tmp_path / "gradwire" / name) in said and "ignored" in said
    assert [path.name for path in program.parent.iterdir()] == ["program"]
