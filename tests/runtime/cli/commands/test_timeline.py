"""``gradwire timeline``: sentences and JSON of a training step."""

from __future__ import annotations

from tests.examples.gallery import path


def test_every_step_has_a_line(gradwire, seed):
    before = seed.read_bytes()
    done = gradwire("timeline", seed)
    assert done.code == 0 and done.err == ""
    lines = done.out.splitlines()
    assert lines[1].split() == ["step", "phase", "what", "happens"]
    assert any("stop stops every route to loss" in line for line in lines)
    assert lines[-1].endswith("its gradient is None, so SGD skips it.")
    assert seed.read_bytes() == before


def test_blocks_phases_and_values_are_chosen(gradwire, seed):
    chosen = ("--block", "stop", "--block", "a", "--phase", "forward", "--set", "a=[[7, 8]]")
    lines = gradwire("timeline", seed, *chosen).out.splitlines()
    assert [line.split(maxsplit=2)[2] for line in lines[2:]] == [
        "a is [[7, 8]].",
        "stop: x = [[0, 3]] gives [[0, 3]].",
    ]


def test_json_has_the_arrays_and_none_is_null(gradwire, seed):
    report = gradwire("timeline", seed, "--json").json
    assert (report["report"], report["version"]) == ("timeline", 2)
    assert report["losses"] == ["loss.out"]
    assert report["length"] == len(report["steps"])
    (stop,) = (s for s in report["steps"] if (s["block"], s["phase"]) == ("stop", "backward"))
    assert stop["arrivals"][0]["sum"] == [[1.0, 1.0]]
    (back,) = stop["returns"]
    assert (back["gradient"], back["known"], back["thrown_away"]) == (None, True, True)
    update = {s["block"]: s for s in report["steps"] if s["phase"] == "update"}
    assert update["b"]["gradient"] is None
    assert update["b"]["after"] == update["b"]["before"]


def test_an_unknown_block_or_phase_is_bad_usage(gradwire, seed):
    assert gradwire("timeline", seed, "--block", "stpo").code == 2
    assert "Did you mean stop?" in gradwire("timeline", seed, "--block", "stpo").err
    assert gradwire("timeline", seed, "--phase", "sideways").code == 2


def test_by_primitive_each_line_has_a_formula(gradwire):
    file = path("straight_through")
    lines = gradwire(
        "timeline", file, "--by", "primitive", "--block", "error_plain"
    ).out.splitlines()
    assert [line.split(maxsplit=2)[2] for line in lines[2:]] == [
        "error_plain: t₁ = prediction − target = 1 − 3 = −2.",
        "error_plain: out = t₁² = (−2)² = 4.",
        "error_plain, out = t₁²: g = 1 arrives. t₁ gets g × 2 × t₁ = 1 × 2 × (−2) = −4.",
        "error_plain, t₁ = prediction − target: g = −4 arrives. prediction gets g = −4.",
    ]
    report = gradwire(
        "timeline", file, "--by", "primitive", "--block", "error_plain", "--json"
    ).json
    assert report["by"] == "primitive"
    first, *_, last = report["steps"]
    assert (first["result"], first["formula"], first["value"]) == ("t₁", "prediction − target", -2)
    assert last["returns"] == [
        {"to": "prediction", "rule": "g", "gradient": -4.0, "known": True, "thrown_away": False,
         "reason": None}
    ]  # fmt: skip
    assert gradwire("timeline", file, "--by", "line").code == 2
