"""No file makes a command hang, fill the memory or fail inside: each flaw has its place."""

from __future__ import annotations

import json

import pytest

LOSS = {"s": {"type": "Sum"}, "l": {"type": "Loss"}}
A = {"a": {"type": "Variable", "value": 1.0}}
COMMANDS = ("check", "flow", "doctor", "run")


def behind(block):
    """A block between a variable and a loss, and the wires."""
    return {**A, "b": block, **LOSS}, {"b.x": "a.out", "s.x": "b.out", "l.x": "s.out"}


def packed(depth, keys):
    """Packs inside one another: keys^depth leaves."""
    blocks, wires, before = dict(A), {}, "a"
    for i in range(depth):
        blocks[f"p{i}"] = {"type": "Pack", "keys": keys}
        wires |= {f"p{i}.items.{j}": f"{before}.out" for j in range(len(keys))}
        before = f"p{i}"
    return blocks, wires


def doubled(depth):
    """Pages that use each other twice."""
    twice = {f"p{i}": ({n: {"type": "Page", "page": f"p{i + 1}"} for n in "uv"}, {})
             for i in range(depth)}  # fmt: skip
    return twice | {f"p{depth}": ({"c": {"type": "Constant", "value": 1}}, {})}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("block", "what"),
    [
        ({"type": "Broadcast", "shape": [10**9, 10**9]}, "has too many elements"),
        ({"type": "Broadcast", "shape": [1] * 65}, "too many axes"),
        ({"type": "Reshape", "shape": [1] * 65}, "too many axes"),
        ({"type": "Reshape", "shape": [10**18] * 100_000}, "too many axes"),
    ],
)
def test_shapes_beyond_the_limits(gradwire, diagram, command, block, what):
    done = gradwire(command, diagram(*behind(block)))
    text = done.out + done.err
    assert done.code == 3
    assert "error: b: " in text and what in text and "at most" in text
    assert text.count("error:") == 1


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "Variable", "value": 1.0, "dtype": "float8_e4m3fn"},
        {"type": "Variable", "value": 1.5, "dtype": "int64"},
        {"type": "Variable", "value": 1.0, "dtype": 7},
        {"type": "Input", "shape": [1], "dtype": "float99"},
        {"type": "Constant", "value": 1.0, "shape": [10**12]},
    ],
)
def test_parameters_that_no_block_can_have(gradwire, diagram, command, wrong):
    done = gradwire(command, diagram({"b": wrong, **LOSS}, {"s.x": "b.out", "l.x": "s.out"}))
    assert done.code == 2
    assert "error: b: " in done.out + done.err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_file_comes_before_one_that_is_too_large(gradwire, diagram, command):
    blocks, wires = behind({"type": "Broadcast", "shape": [10**9, 10**9]})
    assert gradwire(command, diagram({**blocks, "c": {"type": "Add"}}, wires)).code == 3
    wrong = {"type": "Clip", "min": "low"}
    assert gradwire(command, diagram({**blocks, "c": wrong}, wires)).code == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_pages_that_use_each_other_twice(gradwire, diagram, command):
    path = diagram({"u": {"type": "Page", "page": "p0"}}, {}, **doubled(40))
    done = gradwire(command, path)
    text = done.out + done.err
    assert done.code == 3
    assert "Too many blocks would run" in text
    assert text.count("error:") == 1


@pytest.mark.night
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("depth", "keys", "what"),
    [
        (18, ["k", "l", "m", "n"], "The tree has too many nodes"),
        (30, ["a" * 100], "A path in the tree is too long"),
    ],
)
def test_nested_packs(gradwire, diagram, command, depth, keys, what):
    done = gradwire(command, diagram(*packed(depth, keys)))
    text = done.out + done.err
    assert done.code == 3
    assert "error: p" in text and what in text
    assert text.count("error:") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_too_many_values_are_one_problem(gradwire, diagram, command, monkeypatch):
    monkeypatch.setattr("gradwire.runtime.engine.lowering.MAX_VALUES", 100)
    blocks = {**A, **{f"n{i}": {"type": "Sin"} for i in range(200)}}
    wires = {f"n{i + 1}.x": f"n{i}.out" for i in range(199)} | {"n0.x": "a.out"}
    done = gradwire(command, diagram(blocks, wires))
    text = done.out + done.err
    assert done.code == 3
    assert text.count("error:") == 1
    assert "The diagram computes too many values" in text


def test_a_chain_of_open_shapes_is_visited_where_something_changed(gradwire, diagram, monkeypatch):
    visited = []
    from gradwire.runtime.engine import infer

    original = infer._forward
    monkeypatch.setattr(infer, "_forward", lambda *a: visited.append(a[1]) or original(*a))
    count = 300
    blocks = {"v": {"type": "Variable", "shape": [3]}}
    wires, before = {}, "v"
    for i in range(count):
        blocks |= {f"o{i}": {"type": "Variable"}, f"n{i}": {"type": "Add"}}
        wires |= {f"n{i}.a": f"o{i}.out", f"n{i}.b": f"{before}.out"}
        before = f"n{i}"
    assert gradwire("check", diagram(blocks, wires)).code == 0
    assert len(visited) < 6 * len(blocks)


@pytest.mark.night
def test_a_chain_of_20_000_blocks_is_run(gradwire, diagram):
    blocks, wires, before = dict(A), {}, "a"
    for i in range(20_000):
        blocks[f"n{i}"], wires[f"n{i}.x"] = {"type": "Sin"}, f"{before}.out"
        before = f"n{i}"
    done = gradwire(
        "run", diagram({**blocks, "l": {"type": "Loss"}}, wires | {"l.x": f"{before}.out"})
    )
    assert (done.code, done.err) == (0, "")
    assert "l.out = 0.01224" in done.out  # √(3/20,000), as the iterated sine tends to it


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("part", ["title", "key", "type", "value", "name"])
@pytest.mark.parametrize("command", ["run", "flow", "doctor", "check", "quiz", "bench"])
def test_at_most_a_line_of_what_a_file_says_is_printed(gradwire, tmp_path, command, part):
    long = "x" * 200_000
    block = {"type": "Variable", "value": 1.0}
    record = {
        "gradwire": 1, "title": "t",
        "pages": {"main": {"blocks": {"w": block}, "losses": ["w.out"]}},
    }  # fmt: skip
    if part in ("type", "value"):
        block[part] = long
    elif part == "name":
        record["pages"]["main"]["blocks"] = {long: block}
    else:
        record["title" if part == "title" else long] = long
    path = tmp_path / "a.gradwire.json"
    path.write_text(json.dumps(record))
    more = ["--seconds", "0.01"] if command == "bench" else []
    done = gradwire(command, path, *more)
    assert done.out or done.err
    assert max(map(len, (done.out + done.err).splitlines())) < 1_000
