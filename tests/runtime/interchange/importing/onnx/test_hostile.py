"""Files that want to do harm are refused with a reason, and fast."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("onnx")

from gradwire.blocks.errors import FileError, GradwireError
from gradwire.runtime.interchange.importing.onnx import reading
from gradwire.runtime.interchange.importing.onnx.importing import import_onnx
from gradwire.runtime.interchange.importing.onnx.recognition import is_onnx
from tests.runtime.interchange.importing.onnx.models import model_of, numbers
from tests.runtime.interchange.importing.tensorflow.test_hostile import field

if TYPE_CHECKING:
    from onnx import ModelProto

NONSENSE = "can't be imported|don't fit|[Ss]hape|axis|axes|wrong|Expected"
PLAIN = "g (float[3] x) => (float[3] y) { y = Relu (x) }"


def refused(tmp_path: Path, model: ModelProto | bytes, match: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
    with pytest.raises(GradwireError, match=match):
        import_onnx(path)


def test_messages_inside_one_another(tmp_path):
    graph = b""
    for _ in range(200):
        graph = field(1, field(5, field(6, graph)))
    refused(tmp_path, b"\x08\x0a" + field(7, graph), "inside one another")


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (field(7, field(1, b"") * 1000), "nodes"),
        (field(7, field(5, field(6, b"") * 1000)), "messages"),
        (field(7, field(1, field(1, b"") * 1000)), "messages"),
        (field(7, field(5, b"\x08\x01" * 1000)), "numbers"),
    ],
    ids=["nodes", "texts", "names", "numbers"],
)
def test_many_small_messages(tmp_path, monkeypatch, message: bytes, name: str):
    monkeypatch.setitem(reading.MOST, name, 500)
    refused(tmp_path, b"\x08\x0a" + message, "too large: it has more than 500")


def test_truncated_files(tmp_path):
    model = model_of(PLAIN)
    del model.opset_import[1:]
    data = model.SerializeToString()
    for length in range(1, len(data)):
        refused(tmp_path, data[:length], "damaged|no graph|gives|version")


def test_files_that_are_none(tmp_path):
    refused(tmp_path, b"", "no graph")
    refused(tmp_path, b"\x80" * 100, "damaged")
    refused(tmp_path, b"PK\x03\x04" + bytes(100), "damaged|no graph")
    with pytest.raises(FileError, match="Can't read"):
        import_onnx(tmp_path / "missing.onnx")


@pytest.mark.parametrize("dims", [(4,), (2,), (3, 3), (2**40,), (2**62, 2**62), (-3,), (1,) * 70])
def test_shapes_that_the_data_do_not_fit(tmp_path, dims: tuple[int, ...]):
    model = model_of(PLAIN.replace("x)", "x, w)").replace("Relu", "Add"))
    raw = model.graph.initializer.add(name="w", data_type=1, raw_data=numbers(3).tobytes())
    raw.dims.extend(dims)
    refused(tmp_path, model, "shape")


def test_typed_data_that_do_not_fit(tmp_path):
    model = model_of("g (float[3] x) => (float[3] y) { y = Add (x, w) }")
    model.graph.initializer.add(name="w", data_type=1, dims=(2**40,), float_data=[1, 2, 3])
    refused(tmp_path, model, "shape")


@pytest.mark.parametrize(
    "graph",
    [
        "s = Constant <value = int64[1] {1099511627776}> () y = ConstantOfShape (s)",
        "s = Constant <value = int64[1] {1099511627776}> () y = Expand (x, s)",
        "s = Constant <value = int64[1] {1099511627776}> () y = Tile (x, s)",
        "s = Constant <value = int64[2] {0, 1099511627776}> () y = Pad (x, s)",
        "s = Constant <value = int64[4] {65536, 65536, 65536, 65536}> () y = Expand (x, s)",
        "a = Constant <value = int64 {0}> () b = Constant <value = int64 {4611686018427387904}> ()"
        " c = Constant <value = int64 {1}> () y = Range (a, b, c)",
        "a = Constant <value = int64 {0}> () b = Constant <value = int64 {9}> ()"
        " c = Constant <value = int64 {0}> () y = Range (a, b, c)",
        "s = Constant <value = float[1] {1e12}> () y = Resize (x, , s)",
        "n = Constant <value = int64 {1099511627776}> () y = HannWindow (n)",
        "d = Constant <value = int64 {1099511627776}> () y = DFT (x, d)",
    ],
)
def test_small_models_that_make_large_arrays(tmp_path, graph: str):
    refused(tmp_path, model_of(f"g (float[3] x) => (float[N] y) {{ {graph} }}"), "too large")


def test_many_large_constants(tmp_path, monkeypatch):
    monkeypatch.setattr("gradwire.runtime.interchange.importing.staged.MAX_HELD", 100_000)
    ones = "s = Constant <value = int64[1] {40000}> () a = ConstantOfShape (s)"
    graph = f"{ones} b = Exp (a) c = Exp (b) y = Exp (c)"
    refused(tmp_path, model_of(f"g (float[3] x) => (float[N] y) {{ {graph} }}"), "too large")


def test_one_file_of_numbers_named_again_and_again(tmp_path, monkeypatch):
    monkeypatch.setattr("gradwire.runtime.interchange.importing.onnx.graphs.MAX_STORED", 1000)
    (tmp_path / "weights.bin").write_bytes(bytes(12))
    model = outside("weights.bin")
    for i in range(200):
        tensor = model.graph.initializer.add()
        tensor.CopyFrom(model.graph.initializer[0])
        tensor.name = f"w{i}"
        model.graph.node.add(op_type="Relu", input=[f"w{i}"], output=[f"r{i}"])
    refused(tmp_path, model, "numbers take more than")


@pytest.mark.parametrize(
    "graph",
    [
        "s = Constant <value = int64[1] {20000}> () a = ConstantOfShape (s)"
        " q = SplitToSequence (a) y = ConcatFromSequence <axis: int = 0> (q)",
        "i = Cast <to: int = 7> (x) d = Constant <value = int64[1] {1099511627776}> ()"
        " v = Constant <value = float[2] {0.0, 1.0}> () y = OneHot (i, d, v)",
        "s = Constant <value = int64[3] {1, 1, 3}> () a = Reshape (x, s) y = MaxPool"
        " <kernel_shape: ints = [1073741824], pads: ints = [1073741824, 1073741824]> (a)",
        "s = Constant <value = int64[3] {1, 1, 3}> () a = Reshape (x, s)"
        " k = Constant <value = float[1,1,1] {1.0}> ()"
        " y = Conv <pads: ints = [4611686018427387904, 0]> (a, k)",
        "y = LRN <size: int = 1099511627776> (x)",
        "y = RandomNormal <shape: ints = [1099511627776]> ()",
    ],
)
def test_numbers_that_are_too_large(tmp_path, graph: str):
    reasons = f"{NONSENSE}|large|many|at most|[Ll]imit"
    refused(tmp_path, model_of(f"g (float[3] x) => (float[N] y) {{ {graph} }}"), reasons)


def test_loops_inside_one_another(tmp_path, monkeypatch):
    monkeypatch.setattr("gradwire.runtime.interchange.importing.onnx.graphs.MAX_INSTANCES", 3000)
    inner = "v = Identity (a)"
    for level in range(7):
        inner = f"""v = Loop (n, , a) <body = b{level} (int64 i{level}, bool go{level}, float[3] a)
            => (bool t{level}, float[3] v) {{ t{level} = Identity (go{level}) {inner} }}>"""
    text = f"""g (float[3] x) => (float[3] v) {{
        n = Constant <value = int64 {{4}}> () a = Identity (x) {inner} }}"""
    refused(tmp_path, model_of(text), "more than 3000 nodes")


@pytest.mark.parametrize("condition", ["", "t"])
def test_loops_without_an_end(tmp_path, condition: str):
    text = """g (float[3] x) => (float[3] y) {
        n = Constant <value = int64 {4611686018427387904}> ()
        t = Constant <value = bool {1}> ()
        y = Loop (n, CONDITION, x) <body = step (int64 i, bool go, float[3] a)
            => (bool on, float[3] b) { on = Identity (go) b = Tanh (a) }>
    }""".replace("CONDITION", condition)
    refused(tmp_path, model_of(text), "loop of 4611686018427387904 steps")


def test_cycles_and_names_that_nothing_gives(tmp_path):
    cycle = "g (float[3] x) => (float[3] y) { a = Add (x, b) b = Relu (a) y = Relu (b) }"
    refused(tmp_path, model_of(cycle), "'b', which no node before it gives")
    refused(tmp_path, model_of("g (float[3] x) => (float[3] z) { y = Relu (x) }"), "no node")


def test_names_that_stand_for_two_things(tmp_path):
    refused(tmp_path, model_of(PLAIN.replace("y = Relu (x)", "y = Relu (x) y = Abs (x)")), "'y'")
    refused(tmp_path, model_of(PLAIN.replace("y = Relu (x)", "x = Relu (x) y = Abs (x)")), "'x'")
    model = model_of(PLAIN, w=numbers(3))
    model.graph.initializer.append(model.graph.initializer[0])
    refused(tmp_path, model, "the same name")


def test_functions_that_call_themselves(tmp_path):
    text = """g (float[3] x) => (float[3] y) { y = own.f (x) }
    <domain: "own", opset_import: ["" : 21, "own" : 1]>
    f (x) => (y) { y = own.f (x) }"""
    refused(tmp_path, model_of(text), "calls itself")


def test_functions_far_inside_one_another(tmp_path):
    functions = [
        f'<domain: "own", opset_import: ["" : 21, "own" : 1]>'
        f" f{i} (x) => (y) {{ y = own.f{i + 1} (x) }}"
        for i in range(500)
    ]
    functions.append('<domain: "own", opset_import: ["" : 21]> f500 (x) => (y) { y = Relu (x) }')
    text = "g (float[3] x) => (float[3] y) { y = own.f0 (x) }" + "\n".join(functions)
    refused(tmp_path, model_of(text), "functions are inside one another")


def test_functions_that_grow_without_bound(tmp_path, monkeypatch):
    monkeypatch.setattr("gradwire.runtime.interchange.importing.onnx.graphs.MAX_INSTANCES", 2000)
    functions = [
        f'<domain: "own", opset_import: ["" : 21, "own" : 1]>'
        f" f{i} (x) => (y) {{ a = own.f{i + 1} (x) y = own.f{i + 1} (a) }}"
        for i in range(30)
    ]
    functions.append('<domain: "own", opset_import: ["" : 21]> f30 (x) => (y) { y = Relu (x) }')
    text = "g (float[3] x) => (float[3] y) { y = own.f0 (x) }" + "\n".join(functions)
    refused(tmp_path, model_of(text), "more than 2000 nodes")


def outside(location: str) -> ModelProto:
    model = model_of("g (float[3] x) => (float[3] y) { y = Add (x, w) }")
    tensor = model.graph.initializer.add(name="w", data_type=1, dims=(3,), data_location=1)
    tensor.external_data.add(key="location", value=location)
    return model


@pytest.mark.parametrize(
    "location", ["../secret.bin", "/etc/passwd", "sub/../../secret.bin", "", ".", "a\0b", "missing"]
)
def test_paths_out_of_the_folder(tmp_path, location: str):
    (tmp_path / "secret.bin").write_bytes(bytes(12))
    folder = tmp_path / "model"
    folder.mkdir()
    refused(folder, outside(location), "no file of the model's folder")


def test_links_out_of_the_folder(tmp_path):
    (tmp_path / "secret.bin").write_bytes(bytes(12))
    folder = tmp_path / "model"
    folder.mkdir()
    try:
        os.symlink(tmp_path / "secret.bin", folder / "weights.bin")
    except OSError:
        pytest.skip("no links here")
    refused(folder, outside("weights.bin"), "no file of the model's folder")


@pytest.mark.parametrize(
    ("key", "value"),
    [("offset", "4"), ("offset", "-4"), ("length", "8"), ("length", "9" * 30), ("offset", "1e3")],
)
def test_places_outside_of_the_file(tmp_path, key: str, value: str):
    (tmp_path / "weights.bin").write_bytes(bytes(12))
    model = outside("weights.bin")
    model.graph.initializer[0].external_data.add(key=key, value=value)
    refused(tmp_path, model, "tensor 'w'")


def test_names_that_are_no_text(tmp_path):
    data = model_of(PLAIN).SerializeToString().replace(b"\x01x", b"\x01\xff")
    refused(tmp_path, data, "no text")


@pytest.mark.parametrize("name", ["../../x", "a/" * 5000 + "b", "<b>x</b>", "\u202e", "x" * 9000])
def test_strange_names_make_valid_diagrams(tmp_path, name: str):
    from gradwire.runtime.diagram import check

    model = model_of("g (float[3] x) => (float[3] y) { y = Add (x, w) }", w=np.ones(3, np.float32))
    model.graph.node[0].name = name
    model.graph.node[0].input[1] = model.graph.initializer[0].name = name
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    assert not check(import_onnx(path).diagram)


@pytest.mark.parametrize(
    "node",
    [
        "y = Conv <strides: ints = [0, 0]> (x, x)",
        "y = Transpose <perm: ints = [5, 7]> (x)",
        "y = Softmax <axis: int = 99> (x)",
        "y = Gather (x)",
        "y = Concat <axis: int = -40> (x, x)",
        "y = Reshape <axis: int = 0> (x, x)",
        "y = Split <axis: int = 9> (x)",
        "y = Loop (x, x)",
        "y = If (x)",
        'y = Einsum <equation: string = "ij,,->...."> (x)',
        "y = LSTM (x, x, x)",
        "y = MaxPool (x)",
        "y = OneHot (x, x, x)",
        "y = Cast <to: int = 999> (x)",
        "y = DepthToSpace <blocksize: int = 0> (x)",
        "y = Constant ()",
    ],
)
def test_nodes_that_make_no_sense(tmp_path, node: str):
    refused(tmp_path, model_of(f"g (float[3] x) => (float[3] y) {{ {node} }}"), NONSENSE)


def test_names_that_the_standard_can_not_have(tmp_path):
    text = """g (float[1,2,3,4] q, float[1,2,3,4] k, float[1,2,3,4] v) => (float[1,2,3,4] y) {
        y = own.FlexAttention <score_mod = mod (float[1,2,3,3] s) => (float[1,2,3,3] t) {
            t = Relu (s) }> (q, k, v) }"""
    model = model_of(text)
    model.opset_import[0].version, model.opset_import[1].domain = 26, "ai.onnx.preview"
    (node,) = model.graph.node
    node.domain = "ai.onnx.preview"
    node.attribute[0].g.initializer.add(name="a\4b", data_type=1, float_data=[1.0])
    refused(tmp_path, model, "names or attributes are wrong")


def test_models_are_recognised_by_what_they_begin_with():
    data = model_of(PLAIN).SerializeToString()
    assert is_onnx(data, Path("model.bin"))
    assert is_onnx(data[:30], Path("model.onnx"))
    assert not is_onnx(data[:2], Path("model.onnx"))
    saved_model = b"\x08\x01" + field(2, field(1, field(2, bytes(range(200)))))
    for other in (b"", saved_model, b"\x0a\x03abc", b"PK\x03\x04", b"{}", bytes(100)):
        assert not is_onnx(other, Path("model.onnx"))
