"""Files that lie: each is refused with an error that says why, and nothing large is allocated."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradwire.blocks.errors import FileError, GradwireError
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.tensorflow import graph as graphs
from gradwire.runtime.interchange.importing.tensorflow import messages
from gradwire.runtime.interchange.importing.tensorflow.checkpoint import (
    TensorFlowCheckpoint,
    read_table,
)
from gradwire.runtime.interchange.importing.tensorflow.importer import (
    import_graph_def,
    import_saved_model,
)
from tests.runtime.interchange.importing.tensorflow.fixtures import DATA

pytest.importorskip("onnx", reason="protobuf comes with it")
FOLDER = DATA / "q_learning"


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(number: int, data: bytes | str) -> bytes:
    raw = data.encode() if isinstance(data, str) else data
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def whole(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value & (2**64 - 1))


def shape(*lengths: int) -> bytes:
    return b"".join(field(2, whole(1, length)) for length in lengths)


def attribute(key: str, value: bytes) -> bytes:
    return field(5, field(1, key) + field(2, value))


def node(name: str, operator: str, inputs: Sequence[str] = (), attributes: bytes = b"") -> bytes:
    named = field(1, name) + field(2, operator)
    return field(1, named + b"".join(field(3, x) for x in inputs) + attributes)


def constant(name: str, lengths: Sequence[int], content: bytes = b"", dtype: int = 1) -> bytes:
    tensor = whole(1, dtype) + field(2, shape(*lengths)) + (field(4, content) if content else b"")
    return node(name, "Const", (), attribute("value", field(8, tensor)))


def numbers(name: str, *values: int) -> bytes:
    return constant(name, (len(values),), np.asarray(values, "<i4").tobytes(), 3)


def number(name: str, value: float) -> bytes:
    return constant(name, (), struct.pack("<f", value))


def function(name: str, body: bytes) -> bytes:
    """A library with a function of one node ``c``, which it returns."""
    signature = field(1, field(1, name) + field(3, field(1, "y")))
    nodes = b"\x1a" + body[1:]  # nodes are field 3 there
    returned = field(4, field(1, "y") + field(2, "c:output:0"))
    return field(2, field(1, signature + nodes + returned))


def calling(name: str, other: str) -> bytes:
    called = attribute("f", field(10, field(1, other)))
    return function(name, node("c", "PartitionedCall", (), called))


def refused(data: bytes, folder: Path, kind: type[GradwireError], match: str | None = None) -> None:
    path = folder / "graph.pb"
    path.write_bytes(data)
    with pytest.raises(kind, match=match):
        import_graph_def(path)


CALL = node("c", "PartitionedCall", (), attribute("f", field(10, field(1, "f"))))


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"", "gives nothing"),
        (b"\x0a\xff\xff\xff\xff\x0f", "ends within a field"),
        (b"\x0b", "a type that no such file has"),
        (b"\xff" * 20, "ends within a number"),
        (field(1, field(1, b"\xff\xfe")), "no text"),
        (node("a", "Const") + node("a", "Const"), "Two nodes"),
        (node("a", "Identity", ["b"]), "no node 'b'"),
        (node("a", "Identity", ["b"]) + node("b", "Identity", ["a"]) + node("c", "Relu", ["a"]),
         "depends on itself"),
        (node("a", "Identity", ["b:x"]), "names no output"),
        (node("a", "Identity", ["b:99999999999999999999"]), "names no output"),
        (number("x", 1.0) + node("a", "Relu", ["x:7"]), "Output 7"),
        (constant("x", (2**40,)), "no size that can be held"),
        (constant("x", (2**31, 2**31)), "no size that can be held"),
        (constant("x", (-5,)), "no valid shape"),
        (constant("x", (1,) * 70), "no valid shape"),
        (constant("x", (3,), b"\0" * 8), "don't fit its shape"),
        (number("x", 1.0) + node("a", "Frobnicate", ["x"]), "Frobnicate of the node 'a'"),
        (CALL, "no function 'f'"),
        (CALL + calling("f", "f"), "call one another"),
        (numbers("s", 2**30, 2**5) + number("v", 1.0) + node("a", "Fill", ["s", "v"]), "makes an"),
        (numbers("s", 2**30, 2**5) + number("v", 1.0) + node("a", "BroadcastTo", ["v", "s"]),
         "too large"),
        (numbers("s", -1, -1) + number("v", 1.0) + node("a", "Fill", ["s", "v"]), "no shape"),
        (number("v", 1.0) + node("a", "AddV2", ["v"]), "too few inputs"),
        (number("v", 1.0) + numbers("i", 5) + node("a", "Sum", ["v", "i"]), "not those of rank 0"),
        (node("v", "VarHandleOp") + node("a", "ReadVariableOp", ["v"]), "has no value"),
        (node("v", "PyFunc"), "PyFunc"),
    ],
)  # fmt: skip
def test_a_graph_that_lies(data: bytes, match: str, tmp_path: Path):
    consts = data.startswith(b"\x0a") and b"Const" in data and b"Frob" not in data
    tail = node("last", "Relu", ["x"]) if consts and b"\x01x\x12" in data else b""
    refused(data + tail, tmp_path, GradwireError, match)


def test_functions_that_call_others_twice_end_at_the_limit(tmp_path: Path, monkeypatch: Any):
    limit = "gradwire.runtime.interchange.importing.tensorflow.evaluation.MAX_NODES"
    monkeypatch.setattr(limit, 500)
    doubling = b"".join(_doubling(f"f{level}", f"f{level + 1}") for level in range(40))
    call = node("c", "PartitionedCall", (), attribute("f", field(10, field(1, "f0"))))
    last = function("f40", number("c", 1.0))
    refused(call + doubling + last, tmp_path, FileError, "more than 500 nodes")


def _doubling(name: str, other: str) -> bytes:
    """A function that calls another one twice."""
    called = attribute("f", field(10, field(1, other)))
    nodes = b"".join(
        field(3, field(1, f"c{i}") + field(2, "PartitionedCall") + called) for i in range(2)
    )
    both = field(3, field(1, "c") + field(2, "AddV2") + field(3, "c0:o:0") + field(3, "c1:o:0"))
    signature = field(1, field(1, name) + field(3, field(1, "y")))
    returned = field(4, field(1, "y") + field(2, "c:z:0"))
    return field(2, field(1, signature + nodes + both + returned))


def named(number: int, key: str, name: str) -> bytes:
    return attribute(key, field(number, field(1, name)))


def loop(condition: str) -> bytes:
    """A loop over a counter and a value, whose condition is one of two functions."""
    calls = named(10, "cond", condition) + named(10, "body", "body")
    graph = constant("i", (), b"\0\0\0\0", 3) + number("x", 1.0)
    graph += node("w", "While", ["i", "x"], calls)
    arguments = field(2, field(1, "i")) + field(2, field(1, "x"))
    one = constant("one", (), b"\1\0\0\0", 3)
    body = one + node("after", "AddV2", ["i", "one:output:0"])
    limit = constant("limit", (), (2**31 - 1).to_bytes(4, "little"), 3)
    far = limit + node("less", "Less", ["i", "limit:output:0"])
    always = constant("yes", (), b"\1", 10)
    functions = (
        signed("body", arguments, body, "after:z:0", "x"),
        signed("far", arguments, far, "less:z:0"),
        signed("always", arguments, always, "yes:output:0"),
    )
    return graph + b"".join(field(2, field(1, text)) for text in functions)


def signed(name: str, arguments: bytes, nodes: bytes, *returned: str) -> bytes:
    """A function with these arguments, and nodes as a graph has them."""
    outputs = b"".join(field(3, field(1, f"y{i}")) for i in range(len(returned)))
    body, at = b"", 0
    while at < len(nodes):  # each is shorter than 128 bytes
        body += field(3, nodes[at + 2 : at + 2 + nodes[at + 1]])
        at += 2 + nodes[at + 1]
    ends = b"".join(field(4, field(1, f"y{i}") + field(2, r)) for i, r in enumerate(returned))
    return field(1, field(1, name) + arguments + outputs) + body + ends


@pytest.mark.parametrize("condition", ["far", "always"])
def test_a_loop_of_too_many_steps(condition: str, tmp_path: Path, monkeypatch: Any):
    limit = "gradwire.runtime.interchange.importing.tensorflow.operators.control.MAX_STEPS"
    monkeypatch.setattr(limit, 50)
    refused(loop(condition), tmp_path, UnsupportedError, "more than 50 steps")


def test_a_file_of_tiny_messages_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: Any):
    monkeypatch.setitem(messages.MOST, "fields", 1000)
    refused(b"\x0a\x00" * 2000, tmp_path, FileError, "more than 1,000 fields")


def test_too_many_nodes(tmp_path: Path, monkeypatch: Any):
    monkeypatch.setattr(graphs, "MAX_NODES", 10)
    many = b"".join(node(f"n{i}", "NoOp") for i in range(20))
    refused(many, tmp_path, FileError, "too many nodes")


def test_messages_nested_too_deep(tmp_path: Path):
    deep = b""
    for _ in range(200):
        deep = field(9, field(1, deep))
    refused(node("a", "Const", (), attribute("x", field(1, deep))), tmp_path, FileError)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FOLDER, tmp_path / "model"))


def test_a_checkpoint_that_ends_early(copied: Path):
    data = copied / "variables" / "variables.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:100])
    with pytest.raises(FileError, match="ends before the tensor"):
        import_saved_model(copied)


LINKED = (
    "saved_model.pb", "variables", "variables/variables.index",
    "variables/variables.data-00000-of-00001",
)  # fmt: skip


@pytest.mark.parametrize("name", LINKED)
def test_a_link_out_of_the_folder_is_not_followed(copied: Path, name: str):
    """It would put numbers of any file into a Variable."""
    away = copied.parent / "away"
    (copied / name).rename(away)
    try:
        (copied / name).symlink_to(away)
    except OSError:
        pytest.skip("no links here")
    with pytest.raises(FileError, match="leads out of the folder"):
        import_saved_model(copied)


def test_a_link_within_the_folder_is_followed(copied: Path):
    (copied / "variables").rename(copied / "weights")
    try:
        (copied / "variables").symlink_to("weights")
    except OSError:
        pytest.skip("no links here")
    assert import_saved_model(copied).diagram.pages == import_saved_model(FOLDER).diagram.pages


def test_a_missing_checkpoint(copied: Path):
    shutil.rmtree(copied / "variables")
    with pytest.raises(FileError, match="no checkpoint lies beside it"):
        import_saved_model(copied)


@pytest.mark.night
def test_every_byte_of_an_index_may_be_wrong(copied: Path):
    """Whatever byte is changed, reading ends in an error of ours, or in other numbers."""
    index = copied / "variables" / "variables.index"
    good = index.read_bytes()
    for place in range(len(good)):
        for flip in (0x01, 0x80, 0xFF):
            data = bytearray(good)
            data[place] ^= flip
            index.write_bytes(bytes(data))
            try:
                checkpoint = TensorFlowCheckpoint(index.with_suffix(""), index.parent)
                assert checkpoint.array("w1/.ATTRIBUTES/VARIABLE_VALUE").dtype.itemsize
            except GradwireError as error:
                assert str(error)


@pytest.mark.parametrize("data", [b"", b"x" * 47, b"\0" * 48, b"\xff" * 60])
def test_a_table_that_is_none(data: bytes):
    with pytest.raises(FileError):
        read_table(data, "index")


def test_a_saved_model_without_graphs_or_signature(tmp_path: Path):
    path = tmp_path / "saved_model.pb"
    path.write_bytes(whole(1, 1))
    with pytest.raises(FileError, match="no graph"):
        import_saved_model(tmp_path)
    path.write_bytes(whole(1, 1) + field(2, field(2, node("a", "NoOp"))))
    with pytest.raises(FileError, match="no signature"):
        import_saved_model(path)


def test_strings_and_variants_have_no_values(tmp_path: Path):
    text = constant("x", (), dtype=7) + node("last", "Relu", ["x"])
    refused(text, tmp_path, UnsupportedError, "no tensor of numbers")
    refused(constant("x", (), dtype=8) + node("last", "Relu", ["x"]), tmp_path, UnsupportedError)
