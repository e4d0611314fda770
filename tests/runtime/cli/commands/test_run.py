"""``gradwire run``: numbers, texts, exit codes."""

from __future__ import annotations

import pytest

VARIABLE = {"type": "Variable", "value": [3.0, 4.0], "dtype": "float64"}


def test_the_seed_in_a_pipe(gradwire, seed):
    done = gradwire("run", seed)
    assert done.code == 0 and done.err == ""
    assert done.out.startswith(f"Seed\n{seed}\n\nloss.out = [[1, 5]]\n")
    assert done.table("Variables")[1:] == [
        ["a", "(1, 2)", "float32", "[[1, 2]]", "[[1, 1]]", done.table("Variables")[1][5]],
        ["b", "(1, 2)", "float32", "[[0, 1]]", "None", "stop stops every route to loss."],
    ]
    assert ["mul.out", "(1, 2)", "float32", "[[0, 3]]"] in done.table("Values")
    wires = {row[1]: row for row in done.table("Wires")[1:]}
    assert wires["add.b"] == ["a.out", "add.b", "CARRIES", "rms 1", "[[1, 1]]"]
    assert wires["stop.x"] == ["mul.out", "stop.x", "STOPPED", "-", "None"]
    assert len(wires) == 5
    assert done.table("Discarded at a stop")[1:] == [["stop.out", "[[1, 1]]"]]


def test_the_seed_as_json(gradwire, seed):
    report = gradwire("run", seed, "--json").json
    assert list(report) == [
        "report", "version", "file", "title", "engine", "device", "losses", "values", "passive",
        "gradients", "wires", "thrown_away", "not_finite", "views", "problems",
    ]  # fmt: skip
    assert (report["report"], report["version"]) == ("run", 2)
    assert report["losses"] == ["loss.out"]
    assert report["values"]["loss.out"] == {
        "dtype": "float32", "shape": [1, 2], "value": [[1.0, 5.0]]
    }  # fmt: skip
    assert report["gradients"]["a"]["value"] == [[1.0, 1.0]]
    assert report["gradients"]["b"] is None
    assert report["wires"]["stop.x"] == {
        "source": "mul.out",
        "state": "STOPPED",
        "rms": None,
        "gradient": None,
        "why": "stop stops every route to loss.",
    }
    assert report["wires"]["add.b"]["rms"] == 1.0
    assert report["thrown_away"]["stop.out"]["value"] == [[1.0, 1.0]]
    assert report["problems"] == []


def test_a_loss_that_is_nan_is_named_and_makes_the_exit_code_1(gradwire, diagram):
    blocks = {"x": {**VARIABLE, "value": [-1.0, 4.0]}, "log": {"type": "Log"},
              "sum": {"type": "Sum"}, "loss": {"type": "Loss"}}  # fmt: skip
    path = diagram(blocks, {"log.x": "x.out", "sum.x": "log.out", "loss.x": "sum.out"})
    done = gradwire("run", path)
    assert done.code == 1 and "log is NaN: log of −1 (element 0 of x)." in done.out
    (found,) = gradwire("run", path, "--json").json["not_finite"]
    assert (found["block"], found["what"], found["losses"]) == ("log", "NaN", ["loss.out"])
    doctor = gradwire("doctor", path)
    assert doctor.code == 1 and "value not finite" in doctor.out


def test_set_replaces_values_and_other_shapes_follow(gradwire, diagram):
    blocks = {
        "v": VARIABLE,
        "c": {"type": "Constant", "value": 2.0},
        "x": {"type": "Input", "shape": [None], "dtype": "float64"},
        "mul": {"type": "Mul"},
        "scaled": {"type": "Mul"},
        "sum": {"type": "Sum"},
    }
    wires = {
        "mul.a": "v.out", "mul.b": "c.out", "scaled.a": "mul.out", "scaled.b": "x.out",
        "sum.x": "scaled.out",
    }  # fmt: skip
    path = diagram(blocks, wires)
    settings = ["--set", "x=[.5, 1e-3]", "--set", "c=10", "--set", "v=[1, -1]"]
    report = gradwire("run", path, *settings, "--json").json
    assert report["values"]["sum.out"]["value"] == pytest.approx(4.99)
    assert report["gradients"]["v"]["value"] == [5.0, 0.01]


def test_an_input_without_a_value_says_how_to_give_one(gradwire, diagram):
    path = diagram(
        {"x": {"type": "Input", "shape": [2]}, "sum": {"type": "Sum"}}, {"sum.x": "x.out"}
    )
    done = gradwire("run", path)
    assert done.code == 2 and done.out == ""
    assert "x: " in done.err and "--set x=" in done.err


@pytest.mark.parametrize(
    ("setting", "pieces"),
    [
        ("a", ["NAME=VALUE"]),
        ("a=[[1, 2]", ["--set a", "expected"]),
        ("a=[1, 2, 3]", ["a: ", "[1, 2]", "[3]"]),
        ("aa=1", ["'aa'", "Did you mean a"]),
        ("a=1e300", ["a: ", "float32"]),
    ],
)
def test_a_setting_that_can_not_be_meant(gradwire, seed, setting, pieces):
    done = gradwire("run", seed, "--set", setting)
    assert done.code == 2 and done.out == ""
    for piece in pieces:
        assert piece in done.err


def test_losses_by_block_and_by_port_add_up(gradwire, diagram):
    blocks = {"v": VARIABLE, "mean": {"type": "Mean"}, "sum": {"type": "Sum"}}
    path = diagram(blocks, {"mean.x": "v.out", "sum.x": "v.out"})
    report = gradwire("run", path, "--json").json
    assert report["losses"] == ["mean.out", "sum.out"]
    assert report["gradients"]["v"]["value"] == [1.5, 1.5]
    report = gradwire("run", path, "--loss", "mean", "--json").json
    assert report["losses"] == ["mean.out"]
    assert report["gradients"]["v"]["value"] == [0.5, 0.5]
    assert report["wires"]["sum.x"]["state"] == "OFF ROUTE"
    report = gradwire("run", path, "--loss", "mean.out", "--loss", "sum", "--json").json
    assert report["gradients"]["v"]["value"] == [1.5, 1.5]


def test_a_loss_that_is_not_there(gradwire, seed):
    done = gradwire("run", seed, "--loss", "lost")
    assert done.code == 2
    assert "--loss lost" in done.err and "loss.out" in done.err


def test_a_head_that_is_no_loss_and_no_scalar_fails(gradwire, seed):
    done = gradwire("run", seed, "--loss", "add")
    assert done.code == 3 and done.out == ""
    assert "add" in done.err


def test_without_a_loss_there_are_values_only(gradwire, diagram):
    path = diagram({"v": VARIABLE, "relu": {"type": "Relu"}}, {"relu.x": "v.out"})
    done = gradwire("run", path)
    assert done.code == 0 and "No loss" in done.out and "Wires" not in done.out
    assert done.table("Variables") == [
        ["variable", "shape", "dtype", "value"],
        ["v", "(2,)", "float64", "[3, 4]"],
    ]
    report = gradwire("run", path, "--json").json
    assert report["gradients"] == {"v": None} and report["wires"] == {}


def test_non_finite_numbers_are_strings_in_json(gradwire, diagram):
    blocks = {
        "v": VARIABLE | {"value": [-1.0, 0.0]},
        "log": {"type": "Log"},
        "sum": {"type": "Sum"},
    }
    path = diagram(blocks, {"log.x": "v.out", "sum.x": "log.out"})
    report = gradwire("run", path, "--json").json
    assert report["values"]["log.out"]["value"] == ["nan", "-inf"]
    assert report["gradients"]["v"]["value"] == [-1.0, "inf"]
    assert report["wires"]["log.x"]["rms"] == "inf"


def test_a_diagram_with_problems_is_not_run(gradwire, diagram):
    path = diagram({"mul": {"type": "Mul"}, "sum": {"type": "Sum"}}, {"sum.x": "mul.out"})
    done = gradwire("run", path)
    assert done.code == 1 and done.out == ""
    assert f"{path}: error: mul.a: " in done.err and f"{path}: error: mul.b: " in done.err
    report = gradwire("run", path, "--json").json
    assert [p["port"] for p in report["problems"]] == ["a", "b"]
    assert report["values"] == {} and report["losses"] == []


def test_a_file_that_is_not_there(gradwire, tmp_path):
    done = gradwire("run", tmp_path / "none.gradwire.json")
    assert done.code == 2 and done.out == "" and "none.gradwire.json" in done.err


def test_a_broken_file_has_line_and_column(gradwire, tmp_path):
    path = tmp_path / "broken.gradwire.json"
    path.write_text('{"gradwire": 1,\n  nope}', encoding="utf-8")
    done = gradwire("run", path)
    assert done.code == 2 and f"{path}:2:3: error: " in done.err


def test_usage(gradwire):
    assert gradwire("run").code == 2
    assert gradwire("run", "a", "b").code == 2
    assert "--set" in gradwire("run", "--help").out


def test_a_training_state_of_one_run_does_not_leak_into_the_next(gradwire, seed):
    assert gradwire("run", seed, "--set", "a=[[9, 9]]").out != gradwire("run", seed).out
    assert gradwire("run", seed).out == gradwire("run", seed).out


def test_running_out_of_memory_is_a_failed_run(gradwire, monkeypatch, seed):
    def fail(*arguments: object) -> None:
        raise MemoryError("Unable to allocate 36 TiB")

    monkeypatch.setattr("gradwire.runtime.cli.commands.run.open_session", fail)
    done = gradwire("run", seed)
    assert done.code == 3 and "There is not enough memory." in done.err
    assert "36 TiB" in done.err and "itself failed" not in done.err


def test_titles_have_no_power_over_a_terminal(gradwire, diagram):
    path = diagram({"v": {"type": "Variable", "value": 1}}, {}, title="a\x1b[2J\nb\u202e\x9b")
    done = gradwire("run", path)
    assert done.out.startswith("a␛[2J␊b\ufffd\ufffd\n")
    written = gradwire("run", path, "--json")
    assert written.json["title"] == "a\x1b[2J\nb\u202e\x9b"
    assert not {"\x1b", "\u202e", "\x9b"} & set(written.out)
