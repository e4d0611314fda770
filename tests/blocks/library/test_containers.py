"""Pack, Unpack, Pick and Merge, and StopGradient over trees: what comes out, and the gradients."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gradwire.blocks.errors import NotRunnableError, ParameterError
from gradwire.blocks.library.containers import Merge, Pack, Pick, Unpack
from gradwire.blocks.library.gradient import StopGradient
from gradwire.runtime.build import Expression, block, build, constant, loss, variable
from gradwire.runtime.engine import Session

if TYPE_CHECKING:
    from gradwire.blocks import Block

ENCODER = {"enc": {"w": [1.0, -2.0], "b": 0.5}, "encoder2": {"w": 7.0}}


def leaf(value: Any, name: str | None = None) -> Expression:
    return variable(name or "v", value, dtype="float64")


def pack(data: Mapping[str, Any], prefix: str = "") -> Expression:
    """A Pack of variables named by their paths: ``enc_w``."""
    items = [
        pack(item, f"{prefix}{key}_") if isinstance(item, dict) else leaf(item, f"{prefix}{key}")
        for key, item in data.items()
    ]
    return block("Pack", *items, keys=list(data))


def result(expression: Expression) -> Any:
    """The value of an expression with its arrays as lists."""
    session, port = traced(expression)
    run = session.run()
    tree = session.program.trees.get(port)
    if tree is None:
        return run.values[port].tolist()
    return tree.plain(lambda leaf: run.values[leaf].tolist())


def traced(expression: Expression) -> tuple[Session, str]:
    """A session of the expression, and its port."""
    node = expression.node
    node.name = node.name or f"it{node.serial}"
    return Session(build(expression)), f"{node.name}.{expression.port}"


def problem(expression: Expression) -> str:
    """The message of a diagram that can't run."""
    with pytest.raises(NotRunnableError) as caught:
        Session(build(expression)).run()
    return str(caught.value)


def test_items_become_a_mapping_or_without_keys_a_sequence() -> None:
    a, b = leaf([1.0, 2.0], "a"), leaf(3.0, "b")
    assert result(block("Pack", a, b, keys="x, deep/er/y")) == {
        "x": [1.0, 2.0],
        "deep": {"er": {"y": 3.0}},
    }
    assert result(block("Pack", a, b)) == [[1.0, 2.0], 3.0]
    assert result(block("Pack")) == []
    assert result(block("Pack", keys=[])) == {}
    assert result(block("Pack", block("Pack", a), b, keys=["s", "b"])) == {
        "s": [[1.0, 2.0]],
        "b": 3.0,
    }


def test_extras_are_leaves_that_are_no_arrays() -> None:
    extras = {"name": "x", "n": None, "deep/list": [1, True, {"a": "b"}]}
    made = result(block("Pack", leaf(1.0, "a"), keys="deep/a", extras=extras))
    assert made == {"deep": {"a": 1.0, "list": [1, True, {"a": "b"}]}, "name": "x", "n": None}
    assert result(block("Pack", extras='{"n": null}')) == {"n": None}


def test_any_key_goes() -> None:
    keys = ["%", "a%2Fb", "%2A", "0", "α β"]
    made = block("Pack", *(leaf(float(i), f"v{i}") for i in range(5)), keys=keys)
    assert list(result(made)) == ["", "a/b", "*", "0", "α β"]
    assert result(block("Pick", made, path="a%2Fb")) == 1.0
    assert result(block("Unpack", made, paths=["%2A", "%"])["%"]) == 0.0


def test_parts_are_outputs_named_by_their_paths() -> None:
    made = block("Unpack", pack(ENCODER), paths="enc/w, enc, encoder2/w")
    assert [result(part) for part in made] == [[1.0, -2.0], {"w": [1.0, -2.0], "b": 0.5}, 7.0]
    assert Unpack(paths=("enc/w", "b.c")).output_names() == ("enc/w", "b.c")
    assert result(block("Unpack", block("Pack", leaf(2.0), keys="b.c"), paths="b.c")) == 2.0


def test_a_part_by_its_path() -> None:
    assert result(block("Pick", pack(ENCODER), path="enc/b")) == 0.5
    assert result(block("Pick", pack(ENCODER), path="enc")) == ENCODER["enc"]
    assert result(block("Pick", pack(ENCODER))) == ENCODER
    assert result(block("Pick", block("Pack", leaf(1.0), extras={"s": "x"}, keys="a"), path="s")) \
        == "x"  # fmt: skip
    assert result(block("Pick", block("Pack", leaf(1.0, "a"), leaf(2.0, "b")), path="1")) == 2.0


def test_mappings_merge_at_every_depth() -> None:
    more = block("Pack", leaf(9.0, "c"), leaf(8.0, "d"), keys="enc/c, d")
    assert result(block("Merge", pack(ENCODER), more)) == {
        "enc": {"w": [1.0, -2.0], "b": 0.5, "c": 9.0},
        "encoder2": {"w": 7.0},
        "d": 8.0,
    }


def test_a_clash_is_an_error_or_decided() -> None:
    other = block("Pack", leaf(9.0, "w"), leaf(8.0, "d"), keys="encoder2, enc/w/deep")
    assert "Both trees have encoder2, enc/w" in problem(block("Merge", pack(ENCODER), other))
    assert result(block("Merge", pack(ENCODER), other, clash="first")) == ENCODER
    assert result(block("Merge", pack(ENCODER), other, clash="second")) == {
        "enc": {"w": {"deep": 8.0}, "b": 0.5},
        "encoder2": 9.0,
    }


def test_equal_passive_leaves_and_empty_mappings_do_not_clash() -> None:
    a, b = (block("Pack", extras={"n": "x", "m": {}}), block("Pack", extras={"n": "x", "m": {}}))
    assert result(block("Merge", a, b)) == {"n": "x", "m": {}}
    different = block("Pack", extras={"n": "y"})
    assert "Both trees have n" in problem(block("Merge", a, different))


@pytest.mark.parametrize(
    ("made", "parts"),
    [
        (
            lambda: block("Unpack", leaf(1.0), paths="a", name="u"),
            ["u.x", "must be a tree"],
        ),
        (
            lambda: block("Pick", pack(ENCODER), path="enc/c", name="p"),
            ["p:", "at 'enc/c'"],
        ),
        (lambda: block("Pack", leaf(1.0), name="p", keys="a, b"), ["p:", "2: a, b", "1 items"]),
        (lambda: block("Pack", leaf(1.0), extras={"a": 1}), ["Every item needs a key"]),
        (lambda: block("Merge", pack(ENCODER), leaf(1.0), name="m"), ["m.b", "must be a tree"]),
        (
            lambda: block("Merge", pack(ENCODER), block("Pack", leaf(1.0)), name="m"),
            ["m.b", "Only mappings can be merged"],
        ),
        (
            lambda: block("StopGradient", leaf(1.0), only="a", name="s"),
            ["s.x", "has no leaves to select"],
        ),
        (
            lambda: block("Sum", pack(ENCODER), name="sum"),
            ["sum.x", "a mapping of 3"],
        ),
        (
            lambda: block("MatMul", constant("c", [[1.0]]), pack(ENCODER), name="mm"),
            ["mm.b", "takes an array here, and this is a tree"],
        ),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(made: Any, parts: list[str]) -> None:
    message = problem(made())
    assert all(part in message for part in parts), message


@pytest.mark.parametrize(
    ("cls", "record", "message"),
    [
        (Pack, {"keys": ["a", "a"]}, "'a' is given twice"),
        (Pack, {"keys": ["a"], "extras": {"a": 1}}, "'a' is given twice"),
        (Pack, {"keys": ["a", "a/b"]}, "'a' is a leaf and can't contain 'a/b'"),
        (Pack, {"keys": [""]}, "a key is empty"),
        (Pack, {"extras": {"a": float("nan")}}, "not finite"),
        (Pack, {"extras": "{"}, "extras"),
        (Pack, {"extras": "[" * 100_000}, "nested too deeply"),
        (Pack, {"extras": [1]}, "extras"),
        (Unpack, {"paths": ["a", "a"]}, "given twice"),
        (Unpack, {"paths": ["a", ""]}, "a path is empty"),
        (Unpack, {"paths": ["a:b"]}, "write %3A"),
        (Unpack, {"paths": ["a\0"]}, r"control character '\\x00'"),
        (Unpack, {"paths": ["\ud800"]}, r"control character '\\ud800'"),
        (Merge, {"clash": "third"}, "clash"),
        (StopGradient, {"only": [None]}, "only"),
    ],
)
def test_parameters_that_can_not_be_are_refused(
    cls: type[Block], record: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        cls.from_record(record)


@pytest.mark.parametrize(
    "made",
    [
        Pack(keys=("a", "b/c"), extras={"n": None, "l": [1, {"x": "y"}]}),
        Pack(keys=()),
        Pack(keys=None),
        Unpack(paths=("a", "b/c")),
        Pick(path="b"),
        Merge(clash="first"),
        StopGradient(only=("a", "b/*"), invert=True, prune=True, sequences="stacked"),
        StopGradient(only=()),
    ],
    ids=repr,
)
def test_records_round_trip(made: Block) -> None:
    record = json.loads(json.dumps(made.to_record()))
    again = type(made).from_record(record)
    assert again == made
    assert again.to_record() == record


def test_gradient_goes_back_leaf_by_leaf() -> None:
    """loss = 2·Σ enc/w + 3·encoder2/w, and enc/b is read by nothing."""
    parts = block("Unpack", pack(ENCODER), paths="enc/w, encoder2/w")
    w, other = parts
    session = Session(build(loss(2.0 * block("Sum", w) + 3.0 * other), parts))
    gradients = session.backward().gradients
    np.testing.assert_array_equal(gradients["enc_w"], [2.0, 2.0])
    assert gradients["encoder2_w"] == 3.0
    assert gradients["enc_b"] is None


# ---- StopGradient over trees ------------------------------------------------------------------


def stopped(expression: Expression) -> list[str]:
    """The paths of the leaves that come out of a stop stopped."""
    session, port = traced(expression)
    tree = session.program.trees[port]
    return [
        port.partition(":")[2]
        for port in tree.arrays.values()
        if session.program.ports[port].primitive.stops
    ]


@pytest.mark.parametrize(
    ("parameters", "paths"),
    [
        ({}, "enc/w enc/b encoder2/w"),
        ({"only": ["enc"]}, "enc/w enc/b"),
        ({"only": "enc"}, "enc/w enc/b"),
        ({"only": "enc/*"}, "enc/w enc/b"),
        ({"only": "*/w"}, "enc/w encoder2/w"),
        ({"only": "enc*/w, enc/b"}, "enc/w enc/b encoder2/w"),
        ({"only": []}, ""),
        ({"only": [], "invert": True}, "enc/w enc/b encoder2/w"),
        ({"only": "enc/w", "invert": True}, "enc/b encoder2/w"),
        ({"invert": True}, ""),
    ],
)
def test_leaves_are_chosen_by_whole_parts(parameters: dict[str, Any], paths: str) -> None:
    stop = block("StopGradient", pack(ENCODER), **parameters)
    assert stopped(stop) == paths.split()
    assert result(stop) == ENCODER


def test_pruning_leaves_only_what_is_stopped() -> None:
    assert result(block("StopGradient", pack(ENCODER), only="enc/b", prune=True)) == {
        "enc": {"b": 0.5}
    }
    kept = block("StopGradient", pack(ENCODER), only="enc/b", prune=True, invert=True)
    assert result(kept) == {"enc": {"w": [1.0, -2.0]}, "encoder2": {"w": 7.0}}
    assert stopped(kept) == ["enc/w", "encoder2/w"]


@pytest.mark.parametrize(
    ("parameters", "paths"),
    [
        ({"open": True}, ""),
        ({"spare": "enc/w"}, "enc/b encoder2/w"),
        ({"spare": "enc"}, "encoder2/w"),
        ({"only": "enc", "spare": "*/w"}, "enc/b"),
        ({"only": "enc", "invert": True, "spare": "encoder2/w"}, ""),
    ],
)
def test_what_is_open_or_spared_passes_with_its_gradient(parameters: Any, paths: str) -> None:
    stop = block("StopGradient", pack(ENCODER), **parameters)
    assert stopped(stop) == paths.split()
    assert result(stop) == ENCODER


def test_sparing_changes_no_value() -> None:
    for parameters in ({"only": "enc", "prune": True}, {"sequences": "stacked"}):
        made = block("Pack", pack(ENCODER), sequence([1.0], [2.0]), keys="t, l")
        parameters = {**parameters, "only": "t/enc, l"}
        whole = result(block("StopGradient", made, **parameters))
        for spared in ({"open": True}, {"spare": "t/enc/w"}, {"spare": "l"}):
            assert result(block("StopGradient", made, **parameters, **spared)) == whole


def test_a_pattern_that_spares_nothing_is_remarked() -> None:
    session = Session(build(block("StopGradient", pack(ENCODER), spare="encode", name="s")))
    (told,) = session.diagnostics
    assert told.code == "idle-pattern" and "'encode' matches no leaf" in told.what


def test_a_pattern_that_selects_nothing_is_remarked() -> None:
    session = Session(build(block("StopGradient", pack(ENCODER), only="encode, enc", name="s")))
    (told,) = session.diagnostics
    assert (told.severity, told.code, told.location.block) == ("warning", "idle-pattern", "s")
    assert "'encode' matches no leaf of enc/w, enc/b, encoder2/w" in told.what


def test_more_patterns_than_can_be_compared_are_refused() -> None:
    hostile = [f"{'**/?/' * 80}{i}" for i in range(100)]
    deep = block("Pack", leaf([1.0]), leaf([2.0], "w"), keys=["/".join("a" * 400), "b"])
    session = Session(build(block("StopGradient", deep, only=hostile, name="s")))
    (told,) = session.diagnostics
    assert (told.severity, told.location.block) == ("error", "s")
    assert "too many patterns for so large a tree" in str(told.what)


def sequence(*values: Any) -> Expression:
    return block("Pack", *(leaf(value, f"s{i}") for i, value in enumerate(values)))


def test_sequences_are_containers_or_stacked() -> None:
    made = block("Pack", sequence([1.0], [2.0]), keys="l")
    assert stopped(block("StopGradient", made, only="l/1")) == ["l/1"]
    stop = block("StopGradient", made, sequences="stacked")
    assert result(stop) == {"l": [[1.0], [2.0]]}
    assert stopped(stop) == ["l"]
    other = block("StopGradient", made, only="m", sequences="stacked")
    assert stopped(other) == []
    session, port = traced(other)
    assert session.program.leaf_ports(port) == (f"{port}:l/0", f"{port}:l/1")
    assert result(block("StopGradient", sequence(1.0, 2.0), sequences="stacked")) == [1.0, 2.0]


def test_sequences_that_do_not_stack_are_refused_by_shape() -> None:
    made = block("StopGradient", sequence([1.0], [1.0, 2.0]), sequences="stacked", name="s")
    message = problem(made)
    assert message.startswith("s:")
    assert "shape" in message


def test_what_is_no_array_passes_every_stop() -> None:
    made = block("Pack", leaf(1.0), keys="a", extras={"n": None, "s": "x", "l": [1, None]})
    for parameters in ({}, {"only": "a"}, {"only": "s"}, {"sequences": "stacked"}):
        value = result(block("StopGradient", made, **parameters))
        assert value == {"a": 1.0, "n": None, "s": "x", "l": [1, None]}
    assert result(block("StopGradient", made, only="s, l/0", prune=True)) == {"s": "x", "l": [1]}
