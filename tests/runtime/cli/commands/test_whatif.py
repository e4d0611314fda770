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
        ["a", "rms 1", "rms 1", "same"],
        ["b", "None", "rms 3", "new"],
    ]
    wires = {row[0]: row[1:] for row in done.table("Wires, for loss.out")[1:]}
    assert wires["stop.x"] == ["STOPPED", "CARRIES"]
    assert seed.read_bytes() == before


@pytest.mark.parametrize("wire", ["a.out→add.b", "a.out->add.b", "a→add.b", "add.b"])
def test_cutting_a_wire_in_any_spelling(gradwire, seed, wire):
    done = gradwire("whatif", seed, "--cut", wire, "--json")
    report = done.json
    assert (report["report"], report["version"]) == ("whatif", 2)
    assert report["change"] == "Cut a.out→add.b"
    assert report["variables"]["loss.out"]["a"]["after"] is None
    assert report["variables"]["loss.out"]["a"]["before"]["value"] == [[1.0, 1.0]]
    assert report["wires"]["loss.out"]["add.b"] == {"before": "CARRIES", "after": "STOPPED"}


def test_several_changes_and_a_value(gradwire, seed):
    done = gradwire("whatif", seed, "--open", "stop", "--freeze", "a", "--set", "b=[[5, 5]]")
    rows = {row[0]: row[1:] for row in done.table("Variables, for loss.out")[1:]}
    assert rows == {"a": ["rms 1", "None", "gone"], "b": ["None", "rms 3", "new"]}


def test_nothing_and_what_is_not_there(gradwire, seed):
    assert gradwire("whatif", seed).code == 2
    done = gradwire("whatif", seed, "--open", "add")
    assert done.code == 2 and "only a StopGradient can be opened" in done.err
    done = gradwire("whatif", seed, "--cut", "b.out→add.b")
    assert done.code == 2 and "one from a.out" in done.err


def test_one_leaf_of_a_tree_is_opened_and_an_open_stop_closed(gradwire, diagram):
    blocks = {
        "v": {"type": "Variable", "value": 1.0}, "w": {"type": "Variable", "value": 2.0},
        "pack": {"type": "Pack", "keys": ["v", "w"]}, "stop": {"type": "StopGradient"},
        "parts": {"type": "Unpack", "paths": ["v", "w"]}, "mul": {"type": "Mul"},
        "shut": {"type": "StopGradient", "open": True}, "loss": {"type": "Loss"},
    }  # fmt: skip
    wires = {
        "pack.items.0": "v.out", "pack.items.1": "w.out", "stop.x": "pack.out",
        "parts.x": "stop.out", "mul.a": "parts.v", "mul.b": "parts.w", "shut.x": "mul.out",
        "loss.x": "shut.out",
    }  # fmt: skip
    path = diagram(blocks, wires)
    report = gradwire("whatif", path, "--open", "stop:v", "--json").json
    assert report["change"] == "Open stop on v"
    after = {n: v["after"] for n, v in report["variables"]["loss.out"].items()}
    assert after["v"]["value"] == 2.0 and after["w"] is None
    both = gradwire("whatif", path, "--open", "stop:v", "--close", "shut", "--json").json
    assert both["change"] == "Open stop on v, Close shut"
    assert both["variables"]["loss.out"]["v"]["after"] is None
    (finding, _) = gradwire("doctor", path, "--json").json["findings"]
    assert finding["fix"]["open"] == ["stop:v"]
