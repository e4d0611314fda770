"""The manual's page of speed tells of all workloads and systems of the benchmark."""

from __future__ import annotations

import pytest

from tests.assets.examples import MANUAL
from tests.benchmarks.engine.__main__ import WORKS

TITLES = ("PyTorch", "compiled", "JAX", "TensorFlow", "XLA", "PyTensor", "autograd")


def rows() -> list[list[str]]:
    text = (MANUAL / "speed.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.night
def test_every_workload_has_its_ratios_memory_and_ready_time() -> None:
    for name, make in WORKS.items():
        about = f"{name}: {make().about}"
        assert [row[0] for row in rows()].count(about) == 1, about
        assert [row[0] for row in rows()].count(name) >= 2, name


def test_every_system_has_a_column() -> None:
    heads = [row for row in rows() if row[0] == "work" and "autograd" in row]
    assert len(heads) == 4
    for head in heads:
        assert tuple(head[-len(TITLES) :]) == TITLES
