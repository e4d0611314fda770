"""``gradwire import``: what is written, said and refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gradwire.runtime.diagram import load

SEED = Path(__file__).parents[4] / "assets/models/mxnet_seed.json"


@pytest.mark.night
def test_a_model_is_written_as_a_diagram(gradwire, tmp_path):
    target = tmp_path / "seed.gradwire.json"
    done = gradwire("import", SEED, "-o", target)
    assert done.code == 0 and not done.err
    assert "6 blocks on 1 page, 2 parameters; loss: loss" in done.out
    assert "BlockGrad stops the gradient." in done.out
    assert set(load(target).main.blocks) >= {"a", "b", "stop_gradient0", "loss"}


@pytest.mark.night
def test_without_a_target_it_is_named_like_the_model_and_replaces_nothing(
    gradwire, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert gradwire("import", SEED).code == 0
    written = tmp_path / "mxnet_seed.gradwire.json"
    before = written.read_bytes()
    done = gradwire("import", SEED, "--loss", "loss")
    assert done.code == 2 and "is there already" in done.err
    assert written.read_bytes() == before


@pytest.mark.night
def test_json_has_names_and_remarks(gradwire, tmp_path):
    report = json.loads(gradwire("import", SEED, "-o", tmp_path / "s.gradwire.json", "--json").out)
    assert report["report"] == "import" and report["parameters"] == {"a": "a", "b": "b"}
    assert report["remarks"][0]["block"] == "stop_gradient0"


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--shape", "x"], "this is no shape"),
        (["--shape", "x=-1"], "this is no shape"),
        (["--loss", "nowhere"], "no output 'nowhere'"),
        (["-o", "model.json"], "another ending"),
    ],
)
def test_what_makes_no_sense_is_refused(gradwire, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    done = gradwire("import", SEED, *arguments)
    assert done.code == 2 and message in done.err
    assert not list(tmp_path.iterdir())


def test_what_is_no_model_is_refused(gradwire, tmp_path):
    path = tmp_path / "notes.onnx"
    path.write_text("no model")
    done = gradwire("import", path, "-o", tmp_path / "x.gradwire.json")
    assert done.code == 2 and "no model that can be imported" in done.err
