"""``gradwire whatif``: before and after, in text and JSON."""

from __future__ import annotations

import pytest


def test_opening_a_stop_shows_what_it_lets_through(gradwire, seed):
    before = seed.read_bytes()
    done = gradwire("whatif", seed, "--open", "stop")
    assert done.code == 0 and done.err == ""
    assert done.out.startswith("Open stop?\n")
    rows = done.table("Variables, for loss.out")
    assert rows == [
        ["variable", "before", "after", "change"],
        ["a", "rms 1.00", "rms 1.00", "same"],
        ["b", "None", "rms 3.00", "new"],
    ]
    wires = {row[0]: row[1:] for row in done.table("Wires, for loss.out")[1:]}
    assert wires["stop.x"] == ["STOPPED", "CARRIES"]
    assert seed.read_bytes() == before


@pytest.mark.parametrize("wire", ["a.out→add.b", "a.out->add.b", "a→add.b", "add.b"])
def test_cutting_a_wire_in_any_spelling(gradwire, seed, wire):
    done = gradwire("whatif", seed, "--cut", wire, "--json")
    report = done.json
    assert (report["report"], report["version"]) == ("whatif", 1)
    assert report["change"] == "Cut a.out→add.b"
    assert report["variables"]["loss.out"]["a"]["after"] is None
    assert report["variables"]["loss.out"]["a"]["before"]["value"] == [[1.0, 1.0]]
    assert report["wires"]["loss.out"]["add.b"] == {"before": "CARRIES", "after": "STOPPED"}


def test_several_changes_and_a_value(gradwire, seed):
    done = gradwire("whatif", seed, "--open", "stop", "--freeze", "a", "--set", "b=[[5, 5]]")
    rows = {row[0]: row[1:] for row in done.table("Variables, for loss.out")[1:]}
    assert rows == {"a": ["rms 1.00", "None", "gone"], "b": ["None", "rms 3.00", "new"]}


def test_nothing_and_what_is_not_there(gradwire, seed):
    assert gradwire("whatif", seed).code == 2
    done = gradwire("whatif", seed, "--open", "add")
    assert done.code == 2 and "only a StopGradient can be opened" in done.err
    done = gradwire("whatif", seed, "--cut", "b.out→add.b")
    assert done.code == 2 and "one from a.out" in done.err
