"""Every diagram that comes with Gradwire is clean and runs."""

from __future__ import annotations

import pytest

from gradwire.runtime.diagram import load
from gradwire.runtime.flow import PASSING
from tests.examples import gallery

EXAMPLES = [*map(gallery.path, gallery.NAMES)]


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_clean_and_runs(gradwire, path):
    count = len(load(path).contracts)
    unchecked = f"; {count} contracts were not checked (--contracts)" if count else ""
    assert gradwire("check", path).out == f"{path}: clean{unchecked}\n"
    report = gradwire("run", path, "--json").json
    assert report["title"] and report["losses"]
    assert any(gradient is not None for gradient in report["gradients"].values())
    states = {target: wire["state"] for target, wire in report["wires"].items()}
    trees = {target.partition(":")[0] for target in states if ":" in target}
    for target, wire in report["wires"].items():
        if target in trees:  # what a tree brings back is told leaf by leaf
            assert wire["gradient"] is None
            continue
        assert (wire["gradient"] is not None) == (states[target] in PASSING)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_explains_itself(gradwire, path):
    done = gradwire("flow", path)
    assert done.code == 0 and done.err == ""
    for loss in gradwire("flow", path, "--json").json["losses"]:
        assert all(row[-1] for row in done.table(f"Wires, for {loss}"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 12
