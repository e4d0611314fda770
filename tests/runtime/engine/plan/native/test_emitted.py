"""Code for processors that are not at hand is emitted, in their vectors and without calls."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("llvmlite")

WORKS = ("W3", "W5", "W6-narrow", "lstm", "vae", "kernel")


@pytest.mark.parametrize("processor", ["apple-m1", "neoverse-n1"])
def test_code_for_arm(processor: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.runtime.engine.plan.native.emitted", processor, *WORKS],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    functions = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(functions) > 20
    for function in functions:
        calls = [line for line in function["code"] if line.split()[0] in ("bl", "blr")]
        assert calls == [], function["name"]
    fused = [line for function in functions for line in function["code"] if "fmla" in line]
    assert sum(".4s" in line for line in fused) > 100
