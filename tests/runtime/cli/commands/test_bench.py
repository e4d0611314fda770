"""``gradwire bench``: the table, the JSON, what can't be measured."""

from __future__ import annotations

import pytest

from gradwire.runtime.publish.text import bytes_text, time_text

QUICK = ("--seconds", "0.01")


def test_the_table_names_the_blocks_that_work(gradwire, seed):
    done = gradwire("bench", seed, *QUICK)
    assert done.code == 0 and done.err == ""
    head, *rows = done.table("Blocks")
    assert head == ["forward", "backward", "share", "writes", "steps", "blocks"]
    assert {row[5] for row in rows} == {"mul", "add"}
    assert sum(float(row[2].removesuffix(" %")) for row in rows) == pytest.approx(100, abs=0.2)
    assert "One call takes" in done.out and "to trace" in done.out


def test_json_has_every_key(gradwire, seed):
    report = gradwire("bench", seed, "--json", *QUICK).json
    assert list(report) == [
        "report", "version", "file", "title", "engine", "device", "losses", "call", "tracing",
        "planning", "compiling", "runs", "steps", "bytes", "costs",
    ]  # fmt: skip
    assert (report["engine"], report["device"], report["compiling"]) == ("numpy", "cpu", 0.0)
    assert report["losses"] == ["loss.out"]
    assert {name for cost in report["costs"] for name in cost["blocks"]} == {"mul", "add"}


def test_a_diagram_with_problems_is_not_measured(gradwire, diagram):
    done = gradwire("bench", diagram({"add": {"type": "Add"}}, {}), *QUICK)
    assert done.code == 1 and done.out == "" and "add" in done.err


def test_an_input_needs_a_value(gradwire, diagram):
    path = diagram({"x": {"type": "Input", "shape": [2]}, "t": {"type": "Tanh"}}, {"t.x": "x.out"})
    done = gradwire("bench", path, *QUICK)
    assert done.code == 2 and "--set x=VALUE" in done.err
    assert gradwire("bench", path, "--set", "x=[1, 2]", *QUICK).code == 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0 ns"), (4.2e-8, "42 ns"), (1.25e-3, "1.25 ms"), (0.99999, "1000 ms"), (75, "75 s")],
)
def test_times(seconds, text):
    assert time_text(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 << 30, "5 GiB")]
)
def test_bytes(count, text):
    assert bytes_text(count) == text
