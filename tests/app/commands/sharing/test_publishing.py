"""File > Publish Page, by its menu entry."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtWidgets import QFileDialog

from gradwire.runtime.build import build, loss, stop_gradient, variable
from gradwire.runtime.publish.living.publishing import publish


def diagram(dtype="float64"):
    w = variable("w", np.asarray(3.0, dtype), dtype=dtype)
    return build(loss(stop_gradient(w, name="stop") * w), title="Seed")


@pytest.fixture
def publishing(window, monkeypatch, tmp_path, qtbot):
    """Publishes a diagram to a file of this name; returns its path and what the editor says."""

    def run(name, shown):
        window.document._begin(shown, None)
        qtbot.waitUntil(lambda: not window.evaluator.busy)
        path, said = tmp_path / name, []
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(path), ""))
        window.document.problem.connect(said.append)
        window.actions_by_name["publish"].trigger()
        window.document.problem.disconnect(said.append)
        return path, said

    return run


def test_the_page_is_written(publishing):
    path, said = publishing("seed.html", diagram())
    assert path.read_text(encoding="utf-8") == publish(diagram()) and said == []


def test_a_name_without_an_ending_gets_one(publishing, tmp_path):
    publishing("seed", diagram())
    assert (tmp_path / "seed.html").exists()


def test_a_picture_is_announced_with_the_reason(publishing):
    path, (said,) = publishing("half.html", diagram("float16"))
    assert "half.html is a picture" in said and "float16" in said
    assert "This page is a picture" in path.read_text(encoding="utf-8")


@pytest.mark.night
def test_what_cannot_be_written_is_said(publishing):
    path, (said,) = publishing("missing/seed.html", diagram())
    assert "was not written" in said and not path.exists()


def test_nothing_happens_without_a_file(window, monkeypatch):
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: ("", ""))
    said = []
    window.document.problem.connect(said.append)
    window.actions_by_name["publish"].trigger()
    window.document.problem.disconnect(said.append)
    assert said == []
