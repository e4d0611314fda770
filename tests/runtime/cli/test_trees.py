"""Trees on the command line: told leaf by leaf, in text and in JSON."""

from __future__ import annotations

import pytest


@pytest.fixture
def frozen(diagram):
    """loss = Σ enc² + Σ dec² with the encoder stopped, and a leaf that is no array."""
    return diagram(
        {
            "w": {"type": "Variable", "value": [1, 2]},
            "v": {"type": "Variable", "value": 3},
            "pack": {"type": "Pack", "keys": ["enc/w", "dec"], "extras": {"note": "a text"}},
            "stop": {"type": "StopGradient", "only": ["enc"]},
            "sq": {"type": "Square"},
            "un": {"type": "Unpack", "paths": ["enc/w", "dec"]},
            "sum": {"type": "Sum"},
            "add": {"type": "Add"},
            "loss": {"type": "Loss"},
        },
        {
            "pack.items.0": "w.out",
            "pack.items.1": "v.out",
            "stop.x": "pack.out",
            "sq.x": "stop.out",
            "un.x": "sq.out",
            "sum.x": "un.enc/w",
            "add.a": "sum.out",
            "add.b": "un.dec",
            "loss.x": "add.out",
        },
    )


def test_run_prints_trees_leaf_by_leaf(gradwire, frozen):
    done = gradwire("run", frozen)
    assert (done.code, done.err) == (0, "")
    values = done.table("Values")
    assert ["sq.out:enc/w", "(2,)", "float32", "[1, 4]"] in values
    assert ["stop.out:note", "", "", '"a text"'] in values
    wires = {row[1]: row for row in done.table("Wires")[1:]}
    assert wires["sq.x"][:4] == ["stop.out", "sq.x", "CARRIES", "rms 6"]
    assert wires["sq.x:dec"] == ["stop.out:dec", "sq.x:dec", "CARRIES", "6", "6"]
    assert wires["stop.x:enc/w"] == [
        "pack.out:enc/w", "stop.x:enc/w", "STOPPED", "-", "None"
    ]  # fmt: skip
    assert done.table("Discarded at a stop")[1:] == [["stop.out:enc/w", "[2, 4]"]]


def test_run_as_json_has_leaves_and_what_is_no_array(gradwire, frozen):
    report = gradwire("run", frozen, "--json").json
    assert report["values"]["stop.out:enc/w"]["value"] == [1.0, 2.0]
    assert "stop.out" not in report["values"]
    assert report["passive"] == {f"{b}.out:note": "a text" for b in ("pack", "stop", "sq")}
    assert report["gradients"]["w"] is None
    assert report["wires"]["stop.x"]["why"].startswith("1 of 2 leaves carries.")


def test_flow_answers_for_the_wire_and_for_its_leaves(gradwire, frozen):
    done = gradwire("flow", frozen, "--wire", "stop.x")
    assert done.code == 0
    rows = done.table("Wires, for loss.out")[1:]
    assert [row[1:3] for row in rows] == [
        ["stop.x", "CARRIES"],
        ["stop.x:enc/w", "STOPPED"],
        ["stop.x:dec", "CARRIES"],
    ]
    assert rows[0][3].startswith("1 of 2 leaves carries. enc/w: stop stops every route to loss.")
    (row,) = gradwire("flow", frozen, "--wire", "stop.x:dec").table("Wires, for loss.out")[1:]
    assert row[1:3] == ["stop.x:dec", "CARRIES"]


def test_a_leaf_can_be_named_as_the_loss(gradwire, frozen):
    report = gradwire("run", frozen, "--loss", "sq.out:dec", "--json").json
    assert report["losses"] == ["sq.out:dec"]
    assert report["gradients"]["v"]["value"] == 6.0
    assert gradwire("run", frozen, "--loss", "un.dec", "--json").json["losses"] == ["un.dec"]


def test_check_says_where_a_tree_is_refused(gradwire, diagram):
    file = diagram(
        {
            "w": {"type": "Variable", "value": [1, 2]},
            "pack": {"type": "Pack", "keys": ["a"]},
            "sum": {"type": "Sum"},
        },
        {"pack.items.0": "w.out", "sum.x": "pack.out"},
    )
    done = gradwire("check", file)
    assert done.code == 1
    assert "sum.x: Sum takes an array here, and this is a tree." in done.out
    assert "a mapping of 1 array" in done.out
    assert "Put a Pick or an Unpack before it." in done.out


def test_a_pattern_that_selects_nothing_is_a_warning(gradwire, diagram):
    file = diagram(
        {
            "w": {"type": "Variable", "value": 1},
            "pack": {"type": "Pack", "keys": ["encoder"]},
            "stop": {"type": "StopGradient", "only": ["enc"]},
        },
        {"pack.items.0": "w.out", "stop.x": "pack.out"},
    )
    done = gradwire("check", file)
    assert done.code == 0
    assert "The pattern 'enc' matches no leaf of encoder." in done.out


def test_the_blocks_are_documented(gradwire):
    assert "sequences" in gradwire("blocks", "StopGradient").out
    listed = gradwire("blocks").out
    assert all(f"\n{name} " in listed for name in ("Pack", "Unpack", "Pick", "Merge"))
