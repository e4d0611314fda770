"""``gradwire flow``: states and sentences."""

from __future__ import annotations

import pytest

VARIABLE = {"type": "Variable", "value": [3.0, 4.0]}


def test_every_wire_has_a_state_and_a_sentence(gradwire, seed):
    done = gradwire("flow", seed)
    assert done.code == 0 and done.err == ""
    rows = {row[1]: row for row in done.table("Wires, for loss.out")[1:]}
    assert rows["stop.x"] == ["mul.out", "stop.x", "STOPPED", "stop stops every route to loss."]
    assert rows["add.b"][2] == "CARRIES"
    assert [row[:2] for row in done.table("Variables, for loss.out")[1:]] == [
        ["a", "CARRIES"],
        ["b", "STOPPED"],
    ]


def test_json_names_the_cutters(gradwire, seed):
    report = gradwire("flow", seed, "--json").json
    assert list(report) == [
        "report", "version", "file", "title", "losses", "wires", "variables", "problems",
    ]  # fmt: skip
    assert report["wires"]["mul.b"] == {
        "source": "b.out",
        "verdicts": {
            "loss.out": {
                "state": "STOPPED",
                "why": "stop stops every route to loss.",
                "cutters": [{"block": "stop", "port": "x", "kind": "stop", "why": ""}],
                "repair": [{"block": "stop", "port": "x", "kind": "stop", "leaf": None}],
                "witness": ["loss", "add", "stop", "mul"],
                "leaves": None,
            }
        },
    }
    assert report["variables"]["b"]["verdicts"]["loss.out"]["state"] == "STOPPED"


def test_one_wire_by_target_and_all_wires_by_source(gradwire, seed):
    rows = gradwire("flow", seed, "--wire", "stop.x").table("Wires, for loss.out")[1:]
    assert [row[1] for row in rows] == ["stop.x"]
    assert "Variables" not in gradwire("flow", seed, "--wire", "stop.x").out
    report = gradwire("flow", seed, "--wire", "b.out", "--wire", "loss", "--json").json
    assert list(report["wires"]) == ["mul.b", "loss.x"]


def test_a_wire_that_is_not_there(gradwire, seed):
    done = gradwire("flow", seed, "--wire", "stop.y")
    assert done.code == 2 and "stop.x" in done.err
    done = gradwire("flow", seed, "--wire", "add")
    assert done.code == 2 and "add.a or add.b" in done.err


def test_every_loss_has_its_tables(gradwire, diagram):
    blocks = {
        "v": VARIABLE, "stop": {"type": "StopGradient"}, "cut": {"type": "Sum"},
        "sum": {"type": "Sum"},
    }  # fmt: skip
    path = diagram(blocks, {"stop.x": "v.out", "cut.x": "stop.out", "sum.x": "v.out"})
    done = gradwire("flow", path)
    assert done.table("Variables, for cut.out")[1][:2] == ["v", "STOPPED"]
    assert done.table("Variables, for sum.out")[1][:2] == ["v", "CARRIES"]
    assert len(done.table("Wires, for cut.out")) == len(done.table("Wires, for sum.out")) == 4
    assert "cut.out" not in gradwire("flow", path, "--loss", "sum", "--wire", "sum").out


def test_a_diagram_with_problems_says_what_it_knows_and_exits_with_1(gradwire, diagram):
    blocks = {"v": VARIABLE, "sum": {"type": "Sum"}, "mul": {"type": "Mul", "b": 2}}
    path = diagram(blocks, {"sum.x": "v.out"})
    done = gradwire("flow", path)
    assert done.code == 1 and "mul.a" in done.err
    assert done.table("Wires, for sum.out")[1][2] == "CARRIES"
    assert len(gradwire("flow", path, "--json").json["problems"]) == 1


def test_without_a_loss(gradwire, diagram):
    done = gradwire("flow", diagram({"v": VARIABLE}, {}))
    assert done.code == 0 and "No loss" in done.out


def test_the_ledger_adds_up(gradwire, diagram):
    blocks = {
        "v": VARIABLE, "double": {"type": "Mul", "b": 2}, "add": {"type": "Add"},
        "sum": {"type": "Sum"}, "L1": {"type": "Loss"}, "L2": {"type": "Loss"},
        "total": {"type": "Mean"},
    }  # fmt: skip
    wires = {
        "double.a": "v.out", "add.a": "double.out", "add.b": "v.out", "sum.x": "add.out",
        "L1.x": "sum.out", "total.x": "v.out", "L2.x": "total.out",
    }  # fmt: skip
    path = diagram(blocks, wires)
    done = gradwire("flow", path, "--ledger")
    rows = [row for row in done.table("Ledger") if row[0] == "v.out"]
    assert [row[1] for row in rows][-1] == "sum"
    assert {row[1]: row[2] for row in rows} == {
        "double.a": "rms 2.00", "add.b": "rms 1.00", "total.x": "rms 0.500", "sum": "rms 3.50",
    }  # fmt: skip
    assert done.table("Losses against variables: rms, cosine")[1] == ["v", "3.00, 1.00",
                                                                      "0.500, 1.00"]  # fmt: skip
    report = gradwire("flow", path, "--ledger", "--json").json
    assert report["ledger"]["v.out"]["sum"] == [3.5, 3.5]
    assert report["matrix"]["L2.out"]["v"] == pytest.approx({"rms": 0.5, "cosine": 1.0})
