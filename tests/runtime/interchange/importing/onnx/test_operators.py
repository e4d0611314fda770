"""The operators of the standard against the reference that onnx ships."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx")

from tests.interchange import onnx as suite


def tally(cases) -> suite.Tally:
    found = suite.Tally()
    for case in cases:
        found.add(case)
    return found


@pytest.mark.night
@pytest.mark.filterwarnings("ignore")  # the package computes its references with warnings
def test_node_cases_pass_or_are_refused_and_none_is_wrong():
    found = tally(suite.node_cases())
    assert not found.wrong
    assert found.passed > 0.8 * found.total
    if found.total == 1404:  # the cases of onnx 1.23
        assert found.passed >= 1195 and found.specialised < 290


@pytest.mark.parametrize(("kind", "count"), [("pytorch-converted", 82), ("pytorch-operator", 35)])
def test_models_of_the_first_exporter_pass(kind: str, count: int):
    found = tally(suite.model_cases(kind))
    assert (found.passed, found.wrong, found.refused.total()) == (count, [], 0)


@pytest.mark.night
@pytest.mark.parametrize("name", ["light_densenet121", "light_shufflenet"])
def test_a_network_of_a_known_name_gives_its_outputs(name: str):
    # Not light_squeezenet: its softmax is of large numbers that are equal but for the last digits,
    # which another library of matrix products rounds in another way.
    (case,) = [case for case in suite.light_cases() if case.name == name]
    found = tally([case])
    assert (found.passed, found.wrong) == (1, [])
