"""File > Export for, by its menu entries."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PySide6.QtWidgets import QFileDialog, QMessageBox

from gradwire.runtime.build import build, cast, loss, stop_gradient, variable
from gradwire.runtime.diagram import load, loads
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.export.source import exported_files
from tests.examples.gallery import path as example


def diagram():
    w = variable("w", np.asarray(3.0), dtype="float64")
    return build(loss(stop_gradient(w, name="stop") * w), title="Seed")


@pytest.fixture
def exporting(window, monkeypatch, tmp_path, qtbot):
    """Exports a diagram to a file of this name; returns its path and what the editor says."""

    def run(action, name, shown):
        window.document._begin(shown, None)
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        path, said = tmp_path / name, []
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(path), ""))
        window.document.problem.connect(said.append)
        window.actions_by_name[action].trigger()
        window.document.problem.disconnect(said.append)
        return path, said

    return run


@pytest.mark.night
@pytest.mark.parametrize("action", ["export_torch", "export_jax", "export_numpy"])
def test_source_is_that_of_the_command_line(exporting, action):
    path, said = exporting(action, "seed.py", diagram())
    system = action.removeprefix("export_")
    assert {path: path.read_bytes()} == exported_files(Session(diagram()), system, path)
    assert said == []


@pytest.mark.night
def test_a_model_has_the_losses_as_outputs(exporting):
    onnx = pytest.importorskip("onnx", reason="ONNX is not installed")
    path, said = exporting("export_onnx", "seed", diagram())
    model = onnx.load(path.with_name("seed.onnx"))
    assert [output.name for output in model.graph.output] == ["loss.out"] and said == []


def test_large_arrays_are_beside_and_replaced_only_if_wanted(exporting, monkeypatch, tmp_path):
    shown = load(example("training_spirals"))
    arrays = tmp_path / "spirals_arrays.safetensors"
    arrays.write_bytes(b"mine")
    answers = [QMessageBox.StandardButton.No, QMessageBox.StandardButton.Yes]
    monkeypatch.setattr(QMessageBox, "question", lambda *a, **k: answers.pop(0))
    path, _ = exporting("export_numpy", "spirals.py", shown)
    assert not path.exists() and arrays.read_bytes() == b"mine"
    path, _ = exporting("export_numpy", "spirals.py", shown)
    assert path.exists() and len(arrays.read_bytes()) > 1000


def test_the_block_that_cannot_be_written_is_said_and_selected(exporting, window):
    w = variable("w", np.asarray(3.0), dtype="float64")
    whole = cast(w, dtype="uint64", name="whole")
    shown = build(loss(cast(whole, dtype="float64") * w))
    path, (said,) = exporting("export_torch", "seed.py", shown)
    assert "uint64" in said and not path.exists()
    assert window.canvas.selection() == {"whole"}


def test_an_error_of_the_diagram_is_said_and_its_block_selected(exporting, window):
    record = json.loads(example("fan_out").read_text(encoding="utf-8"))
    text = json.dumps(record).replace('"Mul"', '"MatMul"')
    path, (said,) = exporting("export_jax", "broken.py", loads(text))
    assert "Nothing was written" in said and not path.exists()
    (name,) = window.canvas.selection()
    assert name in window.document.diagram.main.blocks


def test_what_cannot_be_written_is_said(exporting):
    path, (said,) = exporting("export_numpy", "missing/seed.py", diagram())
    assert "was not written" in said and not path.exists()


def test_nothing_happens_without_a_file(window, monkeypatch):
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: ("", ""))
    said = []
    window.document.problem.connect(said.append)
    window.actions_by_name["export_numpy"].trigger()
    window.document.problem.disconnect(said.append)
    assert said == []
