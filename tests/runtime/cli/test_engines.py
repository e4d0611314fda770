"""The choice of an engine on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gradwire as gw
from gradwire.runtime.cli import engines
from gradwire.runtime.diagram.optimisers import SGDMethod
from gradwire.runtime.diagram.training import OptimiserRule, Training
from gradwire.runtime.engine.compilation import Compilation
from gradwire.runtime.engine.session import engines as opening

QUICK = ("--seconds", "0.01")
JAX = ("--engine", "jax", "--device", "cpu")


@pytest.fixture
def regression(tmp_path: Path) -> Path:
    """A regression with a recipe of 40 rounds."""
    x = gw.random_uniform(shape=[8, 2], name="x")
    w = gw.variable("w", [[0.5, -0.25]])
    loss = gw.loss(gw.mean(gw.square(gw.linear(x, w) - gw.sum(x, axis=1, keepdims=True))), name="L")
    recipe = Training(optimisers=(OptimiserRule(name="opt", method=SGDMethod(lr=0.1)),), steps=40)
    path = tmp_path / "regression.gradwire.json"
    gw.save(gw.build(loss, training=recipe.to_record()), path)
    return path


def differs(found: Any, expected: Any, *ignored: str) -> dict[str, Any]:
    return {
        key: (found[key], value)
        for key, value in expected.items()
        if key not in ignored and found[key] != value
    }


@pytest.mark.night
def test_run_gives_the_same_report_on_both(gradwire, seed):
    pytest.importorskip("jax")
    one, other = (gradwire("run", seed, "--json", *how).json for how in ((), JAX))
    assert (one["engine"], other["engine"], other["device"]) == ("numpy", "jax", "cpu")
    assert differs(other, one, "engine", "device") == {}
    assert "Computed by jax on cpu." in gradwire("run", seed, *JAX).out
    assert "Computed" not in gradwire("run", seed).out


def test_bench_says_what_compiling_took(gradwire, seed):
    pytest.importorskip("jax")
    report = gradwire("bench", seed, "--json", *QUICK, *JAX).json
    assert report["engine"] == "jax" and report["compiling"] > report["planning"]
    (cost,) = report["costs"]
    assert {"mul", "add"} <= set(cost["blocks"])
    done = gradwire("bench", seed, *QUICK, *JAX)
    assert done.err == "" and "to compile." in done.out and "one piece of work" in done.out
    assert "compile" not in gradwire("bench", seed, *QUICK).out


@pytest.mark.night
def test_training_goes_on_with_another_engine(gradwire, regression, tmp_path):
    pytest.importorskip("jax")
    options = ("--steps", "30", "--together", "7", "--json")
    done = gradwire("train", regression, "--out", tmp_path / "out", *options, *JAX)
    assert (done.code, done.err) == (0, "")
    assert (done.json["engine"], done.json["device"], done.json["rounds"]) == ("jax", "cpu", 30)
    again = gradwire("train", regression, "--resume", tmp_path / "out", "--json").json
    assert (again["engine"], again["rounds"]) == ("numpy", 40)
    plain = gradwire("train", regression, "--out", tmp_path / "plain", "--json").json
    assert again["losses"]["L.out"] == pytest.approx(plain["losses"]["L.out"], rel=1e-5)


@pytest.mark.night
def test_trainings_of_a_study_use_the_engine(gradwire, regression, monkeypatch):
    pytest.importorskip("jax")
    made: list[str] = []
    choice = opening.EngineChoice.open
    monkeypatch.setattr(
        opening.EngineChoice, "open", lambda self: made.append(self.name) or choice(self)
    )
    how = ("--vary", "lr=0.1,0.2", "--steps", "3", "--workers", "1", "--json")
    found, expected = (gradwire("study", regression, *how, *more) for more in (JAX, ()))
    assert found.code == expected.code == 0, found.err
    assert made.count("jax") >= 3 and made.count("numpy") >= 3
    for one, other in zip(
        *(done.json["studies"][0]["trainings"] for done in (found, expected)), strict=True
    ):
        assert one["measured"]["L.out"] == pytest.approx(other["measured"]["L.out"], rel=1e-5)


@pytest.mark.parametrize("command", ["run", "bench", "train", "study"])
def test_an_engine_that_can_not_be_opened_is_an_error(
    gradwire, regression, tmp_path, monkeypatch, command
):
    monkeypatch.setattr("gradwire.runtime.extras.find_spec", lambda name: None)
    more = {"train": ("--out", tmp_path / "out"), "study": ("--vary", "lr=0.1")}.get(command, ())
    done = gradwire(command, regression, *more, "--engine", "jax")
    assert done.code == 3 and done.out == ""
    assert 'pip install "gradwire[jax]"' in done.err
    assert not (tmp_path / "out").exists()
    device = gradwire(command, regression, *more, "--device", "gpu")
    assert device.code == 3 and "The NumPy engine takes no device" in device.err


def test_how_to_go_on_names_the_engine():
    assert engines.options_of(opening.EngineChoice()) == []
    found = engines.options_of(opening.EngineChoice("jax", "gpu:1", 2))
    assert found == ["--engine", "jax", "--device", "gpu:1", "--threads", "2"]


def test_a_terminal_is_told_what_is_compiled(capsys, monkeypatch):
    told = (Compilation(1234), Compilation(1234, 1.26))
    for compilation in told:
        engines._tell(compilation)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    for compilation in told:
        engines._tell(compilation)
    assert capsys.readouterr().err.splitlines() == [
        "gradwire: Compiling 1,234 operations for JAX …",
        "gradwire: Compiled in 1.26 s.",
    ]
