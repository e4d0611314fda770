"""``gradwire study DIAGRAM --scheduler ADDRESS``: the same report, trained by workers of Dask."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("distributed")

from distributed import LocalCluster

import gradwire as gw


@pytest.mark.night
def test_a_study_is_trained_on_a_cluster_and_goes_on_here(gradwire, tmp_path):
    w = gw.variable("w", shape=(4,), initialiser="normal")
    path, out = tmp_path / "d.gradwire.json", tmp_path / "s"
    gw.save(gw.build(gw.loss(gw.mean(gw.square(w)), name="loss")), path)
    vary = ("--vary", "lr=0.1,0.5", "--vary", "seed=0..1", "--steps", "5", "--json")
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as cluster:
        address = cluster.scheduler_address
        done = gradwire("study", path, *vary, "--scheduler", address, "--out", out)
    assert done.code == 0, done.err
    kept = (out / "trainings.jsonl").read_text().splitlines(keepends=True)
    assert len(kept) == 4
    (out / "trainings.jsonl").write_text("".join(kept[:2]))
    again = gradwire("study", path, "--resume", out, "--workers", "1", "--json")

    def measured(text):
        (study,) = json.loads(text)["studies"]
        return [(each["settings"], each["measured"]) for each in study["trainings"]]

    assert again.code == 0 and measured(again.out) == measured(done.out)


def test_a_scheduler_that_does_not_answer_is_said(gradwire, tmp_path):
    path = tmp_path / "d.gradwire.json"
    gw.save(gw.build(gw.loss(gw.square(gw.variable("w", 1.0)), name="loss")), path)
    done = gradwire("study", path, "--vary", "seed=0..1", "--scheduler", "nowhere")
    assert done.code == 3 and "No scheduler of Dask answers at" in done.err
