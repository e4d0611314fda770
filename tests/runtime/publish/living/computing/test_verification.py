"""What is shipped is compared with the runtime, and refused where it differs."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gradwire.blocks.errors import RunError
from gradwire.runtime.diagram import load
from gradwire.runtime.publish.living.computing.verification import verify
from gradwire.runtime.publish.living.data import Living, living_data

EXAMPLES = Path(__file__).parents[5] / "assets" / "diagrams"


def living(name: str) -> Living:
    return living_data(load(EXAMPLES / f"{name}.gradwire.json"))


def damaged(name: str, change: Any) -> Living:
    """The data of an example after a change of its first tape."""
    found = living(name)
    tape = found.tapes[0]
    data = copy.deepcopy(tape.data)
    change(data)
    return replace(found, tapes=(replace(tape, data=data), *found.tapes[1:]))


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", ["fan_out", "gan", "vq_vae", "freeze_encoder"])
def test_an_example_agrees_in_every_combination(name: str) -> None:
    verify(living(name))


@pytest.mark.night
def test_a_missing_arrival_is_refused() -> None:
    with pytest.raises(RunError, match="differ from the runtime at"):
        verify(damaged("fan_out", lambda data: data["arrive"].pop()))


def test_a_gate_that_always_passes_is_refused() -> None:
    def open_gates(data: dict[str, Any]) -> None:
        for _, conditions in data["arrive"]:
            conditions[:] = [(reader, -1) for reader, _ in conditions]

    found = damaged("mxnet_seed", lambda data: None)
    data = copy.deepcopy(found.tapes[0].data)
    data["arrive"] = [[v, list(conditions)] for v, conditions in data["arrive"]]
    open_gates(data)
    with pytest.raises(RunError, match="differ"):
        verify(replace(found, tapes=(replace(found.tapes[0], data=data),)))


def test_a_wrong_edge_is_refused() -> None:
    def close(data: dict[str, Any]) -> None:
        value, source, _, _ = data["edges"][0]
        data["edges"][0] = [value, source, 2, -1]

    with pytest.raises(RunError, match="differ"):
        verify(damaged("fan_out", close))


def test_a_wrong_place_is_refused() -> None:
    def swap(data: dict[str, Any]) -> None:
        gradients = data["gradients"]
        first, second = list(gradients)[:2]
        gradients[first], gradients[second] = gradients[second], gradients[first]

    with pytest.raises(RunError, match="differ"):
        verify(damaged("mxnet_seed", swap))
