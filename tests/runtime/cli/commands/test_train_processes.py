"""Several processes that train together: one curve, and a whole checkpoint if one is lost."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradwire as gw
from gradwire.runtime.training.trainer import Trainer
from tests.runtime.engine.jax.perceptron import perceptron

pytest.importorskip("jax")

NEAR = 1e-6
"""By how much losses of other numbers of processes may differ, relatively."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    gw.save(perceptron(), tmp_path / "p.gradwire.json")
    return tmp_path / "p.gradwire.json"


def started(count: int, *arguments: Any) -> list[subprocess.Popen[str]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        coordinator = f"127.0.0.1:{free.getsockname()[1]}"
    command = [
        sys.executable, "-m", "gradwire", "train", *map(str, arguments), "--engine", "jax",
        "--device", "cpu", "--processes", str(count), "--coordinator", coordinator,
    ]  # fmt: skip
    return [
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "SLURM_PROCID": str(number)},
        )
        for number in range(count)
    ]


def ended(processes: list[subprocess.Popen[str]]) -> list[tuple[int, str, str]]:
    found = []
    for process in processes:
        out, err = process.communicate(timeout=240)
        found.append((process.returncode, out, err))
    return found


def losses(folder: Path) -> list[float]:
    lines = (folder / "history.jsonl").read_text().splitlines()
    return [json.loads(line)["loss.out"] for line in lines]


@pytest.mark.night
def test_a_lost_process_ends_all_and_others_go_on_with_the_same_curve(
    file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    both = started(2, file, "--out", out, "--steps", "1000000", "--every", "10")
    for _ in range(4000):
        if list(out.glob("checkpoints/checkpoint-0*.json")):
            break
        assert [p.poll() for p in both] == [None, None], ended(both)
        time.sleep(0.05)
    else:
        pytest.fail("there is no checkpoint yet")
    both[1].send_signal(signal.SIGKILL)
    (code, _, err), (killed, text, _) = ended(both)
    assert killed == -signal.SIGKILL and text == ""
    assert code == 3 and "One of the 2 processes is gone" in err and "--resume" in err
    made = max(int(path.stem.split("-")[1]) for path in out.glob("checkpoints/*.json"))
    assert made % 10 == 0
    until = made + 6
    (single,) = ended(started(1, file, "--resume", out, "--steps", until)[:1])
    assert single[0] == 2 and "one process" in single[2]  # a coordinator for one process
    alone = [
        sys.executable, "-m", "gradwire", "train", str(file), "--resume", str(out),
        "--steps", str(until), "--engine", "jax", "--device", "cpu",
    ]  # fmt: skip
    done = subprocess.run(alone, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    plain = Trainer(gw.Session(perceptron(), fast=False), validate=0)
    wanted = [record.losses["loss.out"] for record in plain.run(until)]
    np.testing.assert_allclose(losses(out), wanted, rtol=NEAR)


@pytest.mark.night
def test_two_processes_train_to_the_end_and_one_of_them_writes(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    leading, following = ended(started(2, file, "--out", out, "--steps", "8", "--json"))
    assert (leading[0], following[0]) == (0, 0), leading[2] + following[2]
    assert json.loads(leading[1])["rounds"] == 8 and following[1] == ""
    plain = Trainer(gw.Session(perceptron(), fast=False), validate=0)
    wanted = [record.losses["loss.out"] for record in plain.run(8)]
    np.testing.assert_allclose(losses(out), wanted, rtol=NEAR)
    trained = gw.Session(gw.load(out / "trained.gradwire.json"))
    for name, array in plain.session.values.items():
        np.testing.assert_allclose(trained.values[name], array, rtol=NEAR, atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--processes", "2"), "Only the engine jax"),
        (("--process", "0"), "one process"),
        (("--processes", "2", "--engine", "jax", "--process", "5"), "from 0 to 1"),
        (("--processes", "2", "--engine", "jax"), "which of the processes"),
    ],
    ids=["numpy", "one", "number", "unknown"],
)
def test_processes_that_can_not_be_are_refused(
    gradwire: Any, file: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = gradwire("train", file, "--out", tmp_path / "out", *arguments)
    assert done.code in (2, 3) and message in done.err
