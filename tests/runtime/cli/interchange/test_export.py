"""``gradwire export``: source, the arrays beside it, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gradwire.runtime.diagram import load
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.export.source import export_source
from tests.examples.gallery import path


def test_the_source_of_a_small_diagram_is_printed(gradwire, seed):
    done = gradwire("export", seed, "--to", "numpy")
    assert (done.code, done.err) == (0, "")
    assert done.out == export_source(Session(load(seed)), "numpy").source


def test_source_with_arrays_runs_on_its_own(gradwire, tmp_path):
    out = tmp_path / "spirals.py"
    done = gradwire("export", path("training_spirals"), "--to", "numpy", "-o", out)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{tmp_path / 'spirals_arrays.safetensors'}\n{out}\n"
    code = "import spirals; print(*spirals.loss_and_gradients()[0])"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "loss.out\n"


def test_a_model_is_written_to_a_file_only(gradwire, seed, tmp_path):
    done = gradwire("export", seed, "--to", "onnx")
    assert done.code == 2 and "-o seed.onnx" in done.err
    done = gradwire("export", seed, "--to", "onnx", "-o", tmp_path / "seed.py")
    assert done.code == 2 and "expected  .onnx" in done.err
    onnx = pytest.importorskip("onnx", reason="ONNX is not installed")
    out = tmp_path / "seed.onnx"
    done = gradwire("export", seed, "--to", "onnx", "-o", out)
    assert (done.code, done.out, done.err) == (0, f"{out}\n", "")
    assert [output.name for output in onnx.load(out).graph.output] == ["loss.out"]


def test_large_arrays_need_a_file(gradwire):
    done = gradwire("export", path("training_spirals"), "--to", "numpy")
    assert done.code == 2 and "large arrays" in done.err and "-o training_spirals.py" in done.err


def test_another_system_and_another_ending_are_bad_usage(gradwire, seed, tmp_path):
    done = gradwire("export", seed, "--to", "fortran")
    assert done.code == 2 and "numpy" in done.err
    done = gradwire("export", seed, "--to", "numpy", "-o", tmp_path / "seed.txt")
    assert done.code == 2 and "expected  .py" in done.err


def test_a_diagram_with_errors_is_not_exported(gradwire, tmp_path):
    file = tmp_path / "broken.gradwire.json"
    text = path("fan_out").read_text(encoding="utf-8").replace('"Mul"', '"MatMul"')
    file.write_text(text, encoding="utf-8")
    out = tmp_path / "broken.py"
    done = gradwire("export", file, "--to", "numpy", "-o", out)
    assert done.code == 1 and "error" in done.err and not out.exists()
