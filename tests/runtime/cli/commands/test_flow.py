"""``gradwire flow``: states and sentences."""

from __future__ import annotations

import pytest

from gradwire.runtime.diagram import save
from tests.runtime.publish.living.hard import specimens

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
        "report", "version", "file", "title", "losses", "wires", "variables", "badges",
        "problems", "left_out",
    ]  # fmt: skip
    assert report["left_out"] is None
    assert report["wires"]["mul.b"] == {
        "source": "b.out",
        "verdicts": {
            "loss.out": {
                "state": "STOPPED",
                "why": "stop stops every route to loss.",
                "cutters": [{"block": "stop", "port": "x", "kind": "stop", "why": ""}],
                "repair": [{"block": "stop", "port": "x", "kind": "stop", "leaf": None}],
                "witness": ["loss", "add", "stop"],
                "lengths": {"cutters": 1, "repair": 1, "witness": 4},
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
        "double.a": "rms 2", "add.b": "rms 1", "total.x": "rms 0.5", "sum": "rms 3.5",
    }  # fmt: skip
    assert done.table("Losses against variables: rms, cosine")[1] == ["v", "3, 1",
                                                                      "0.5, 1"]  # fmt: skip
    report = gradwire("flow", path, "--ledger", "--json").json
    assert report["ledger"]["v.out"]["sum"] == [3.5, 3.5]
    assert report["matrix"]["L2.out"]["v"] == pytest.approx({"rms": 0.5, "cosine": 1.0})


def test_a_run_adds_numbers_fixes_and_what_cancels(gradwire, diagram):
    blocks = {
        "v": {"type": "Variable", "value": -3.0}, "w": {"type": "Variable", "value": 2.0},
        "off": {"type": "Relu"}, "sg": {"type": "StopGradient"},
        "one": {"type": "Mul", "b": 2}, "two": {"type": "Mul", "b": 2}, "none": {"type": "Sub"},
        "all": {"type": "AddN"}, "loss": {"type": "Loss"},
    }  # fmt: skip
    wires = {
        "off.x": "v.out", "sg.x": "w.out", "one.a": "w.out", "two.a": "w.out",
        "none.a": "one.out", "none.b": "two.out", "all.terms.0": "off.out",
        "all.terms.1": "sg.out", "all.terms.2": "none.out", "loss.x": "all.out",
    }  # fmt: skip
    path = diagram(blocks, wires)
    plain = {row[1]: row[2:] for row in gradwire("flow", path).table("Wires, for loss.out")}
    assert plain["off.x"][0] == "CARRIES"
    done = gradwire("flow", path, "--run")
    states = {row[1]: row[2:] for row in done.table("Wires, for loss.out")}
    assert states["off.x"] == ["ZERO", "Connected, but off is off (−3)."]
    badges = [row[:2] for row in done.table("Badges")]
    assert ["CANCELS", "w.out"] in badges and ["surrogate", "loss"] not in badges
    stopped = gradwire("flow", path, "--run", "--wire", "sg.x").table("Wires, for loss.out")[1]
    assert stopped[2:] == ["STOPPED", "sg stops every route to loss. Without sg: 1."]
    report = gradwire("flow", path, "--run", "--json").json
    assert report["variables"]["v"]["verdicts"]["loss.out"]["state"] == "ZERO"


def test_badges_without_a_run(gradwire, diagram):
    blocks = {
        "v": {"type": "Variable", "value": 1.0}, "w": {"type": "Variable", "value": 2.0},
        "pack": {"type": "Pack", "keys": ["v", "w"]},
        "stop": {"type": "StopGradient", "only": ["v"]},
        "open": {"type": "StopGradient", "open": True},
        "parts": {"type": "Unpack", "paths": ["v", "w"]}, "add": {"type": "Add"},
        "c": {"type": "Constant", "value": 1.0}, "idle": {"type": "StopGradient"},
        "all": {"type": "Add"}, "loss": {"type": "Loss"},
    }  # fmt: skip
    wires = {
        "pack.items.0": "v.out", "pack.items.1": "w.out", "stop.x": "pack.out",
        "parts.x": "stop.out", "add.a": "parts.v", "add.b": "parts.w", "open.x": "add.out",
        "idle.x": "c.out", "all.a": "open.out", "all.b": "idle.out", "loss.x": "all.out",
    }  # fmt: skip
    path = diagram(blocks, wires)
    path.with_name(path.name.replace(".gradwire.json", ".contracts")).write_text(
        "updates(sgd -> v)", encoding="utf-8"
    )
    told = {tuple(row[:2]): row[2] for row in gradwire("flow", path).table("Badges")[1:]}
    assert told["leaves", "stop.x"] == "1 of 2 leaves carries."
    assert told["open", "open"] == "open lets all gradient through."
    assert told["cuts nothing", "idle"].startswith("This stop cuts nothing: no trained variable")
    assert told["UNOWNED", "w"] == "UNOWNED: w is trained, and no optimiser updates it."
    assert ("UNOWNED", "v") not in told
    found = gradwire("flow", path, "--json").json["badges"]
    assert {(b["badge"], b["where"]) for b in found} == set(told)


def test_thresholds_of_numeric_states(gradwire, diagram):
    blocks = {"v": {"type": "Variable", "value": [1.0, 2.0]}, "sum": {"type": "Sum"},
              "loss": {"type": "Loss"}}  # fmt: skip
    path = diagram(blocks, {"sum.x": "v.out", "loss.x": "sum.out"})

    def state(*more):
        report = gradwire("flow", path, "--run", "--json", *more).json
        return report["wires"]["sum.x"]["verdicts"]["loss.out"]["state"]

    assert state() == "CARRIES"
    assert state("--threshold", "exploding=0.5") == "EXPLODING"
    assert state("--threshold", "vanishing=2", "--threshold", "exploding=9") == "VANISHING"
    assert state("--threshold", "faint=2", "--threshold", "flood=9") == "VANISHING"  # older names
    assert gradwire("doctor", path).out.endswith("gets a gradient.\n")
    assert "too large" in gradwire("doctor", path, "--threshold", "exploding=0.5").out
    assert "EXPLODING" in gradwire("run", path, "--threshold", "exploding=0.5").out
    for wrong in ("explodin=1", "exploding=x", "exploding"):
        assert gradwire("flow", path, "--run", "--threshold", wrong).code == 2


def test_long_lists_are_cut_for_all_wires_and_whole_for_one(gradwire, diagram):
    names = [f"s{i}" for i in range(20)]
    blocks = {"v": VARIABLE, **{name: {"type": "StopGradient"} for name in names},
              "loss": {"type": "Loss"}}  # fmt: skip
    wires = {"s0.x": "v.out", "loss.x": "s19.out"}
    wires |= {f"s{i}.x": f"s{i - 1}.out" for i in range(1, 20)}
    path = diagram(blocks, wires)
    of_all = gradwire("flow", path, "--json").json["wires"]["s0.x"]["verdicts"]["loss.out"]
    assert [c["block"] for c in of_all["repair"]] == names[:-4:-1]
    assert of_all["witness"] == ["loss", *names[:-3:-1]]
    assert of_all["lengths"] == {"cutters": 20, "repair": 20, "witness": 21}
    report = gradwire("flow", path, "--wire", "s0.x", "--json").json
    whole = report["wires"]["s0.x"]["verdicts"]["loss.out"]
    assert [c["block"] for c in whole["repair"]] == names[::-1]
    assert whole["witness"] == ["loss", *names[::-1]]


def test_json_of_a_long_chain_has_a_short_line_for_each_wire(gradwire, diagram):
    names = [f"s{i}" for i in range(400)]
    blocks = {"v": VARIABLE, **{name: {"type": "StopGradient"} for name in names},
              "loss": {"type": "Loss"}}  # fmt: skip
    wires = {"s0.x": "v.out", "loss.x": "s399.out"}
    wires |= {f"s{i}.x": f"s{i - 1}.out" for i in range(1, 400)}
    done = gradwire("flow", diagram(blocks, wires), "--json")
    told = [line for line in done.out.splitlines() if line.startswith('    "s')]
    assert len(told) == 400 and max(map(len, told)) < 1000
    (first,) = done.json["wires"]["s0.x"]["verdicts"].values()
    assert first["lengths"] == {"cutters": None, "repair": 400, "witness": 401}


def test_a_stop_that_another_loss_reads_is_told_so(gradwire, diagram):
    blocks = {"v": VARIABLE, "sg": {"type": "StopGradient"}, "L1": {"type": "Loss"},
              "L2": {"type": "Loss"}}  # fmt: skip
    path = diagram(blocks, {"L1.x": "v.out", "sg.x": "v.out", "L2.x": "sg.out"})
    rows = gradwire("flow", path, "--loss", "L1").table("Badges")
    assert ["cuts nothing", "sg", "This stop cuts nothing: L1 does not depend on its output."
            ] in rows  # fmt: skip
    assert "cuts nothing" not in gradwire("flow", path).out


def test_variables_in_the_words_of_other_systems(gradwire, seed):
    rows = gradwire("flow", seed, "--dialects").table("In other systems")
    assert rows[0][:5] == ["variable", "PyTorch", "JAX", "TensorFlow", "MXNet"]
    found = {row[0]: row[1:] for row in rows[1:]}
    assert found["a"][:4] == ["rms 1"] * 4
    assert found["b"][:4] == ["None", "zeros", "None", "zeros"]
    assert found["b"][4] == (
        "PyTorch, TensorFlow: stays unchanged; JAX, MXNet: shrinks: weight decay moves it without "
        "a gradient"
    )
    told = gradwire("flow", seed, "--dialects", "--json").json["dialects"]["b"]["JAX"]
    assert (told["says"], told["by"]) == ("zeros", "jax.grad")
    assert told["optimisers"]["AdamW"]["decayed"].startswith("shrinks")
    assert "dialects" not in gradwire("flow", seed, "--json").json


def test_of_very_many_verdicts_those_without_a_route_are_left_out(gradwire, diagram, monkeypatch):
    from gradwire.runtime.publish import flow_report

    blocks = {f"w{i}": VARIABLE | {"value": 1.0} for i in range(3)}
    blocks |= {f"l{i}": {"type": "Loss"} for i in range(3)}
    path = diagram(blocks, {f"l{i}.x": f"w{i}.out" for i in range(3)})
    assert "Too much" not in gradwire("flow", path).out

    monkeypatch.setattr(flow_report, "MOST", 5)
    done = gradwire("flow", path)
    assert "what no route connects to a loss is left out, and 1 loss." in done.out
    rows = done.table("Wires, for l1.out")
    assert [row[1] for row in rows[1:]] == ["l1.x"]
    assert "Wires, for l2.out" not in done.out
    assert len(gradwire("flow", path, "--loss", "l2").table("Wires, for l2.out")) == 4

    report = gradwire("flow", path, "--json").json
    assert report["left_out"] == {"losses": ["l2.out"]}
    assert list(report["wires"]["l0.x"]["verdicts"]) == ["l0.out"]
    assert report["variables"]["w2"] == {"verdicts": {}}


@pytest.mark.parametrize("only", [[], ["--wire", "sequence.parts.0"]])
def test_a_decay_along_a_sequence_is_measured(gradwire, tmp_path, only):
    file = tmp_path / "m.gradwire.json"
    save(specimens()["decays"], file)
    report = gradwire("flow", file, "--run", "--json", *only).json
    about = report["wires"]["sequence.parts.0"] if only else report["variables"]["x"]
    (verdict,) = about["verdicts"].values()
    assert verdict["why"].startswith("The gradient decays along the sequence: that of step 1 is ")
    assert "Use an LSTM or a GRU" in verdict["why"]
