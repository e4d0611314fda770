"""What becomes of a model's names, inputs, parameters, functions and loops."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram import check
from gradwire.runtime.engine import Session
from gradwire.runtime.interchange.importing.imported import Imported, UnsupportedError
from gradwire.runtime.interchange.importing.onnx.importing import import_model, import_onnx
from gradwire.runtime.interchange.importing.onnx.places import module_of
from gradwire.runtime.interchange.importing.options import ImportOptions
from tests.runtime.interchange.importing.onnx.models import model_of, numbers, texts


def blocks(imported: Imported, page: str = "main") -> dict[str, str]:
    found = imported.diagram.pages[page].blocks
    return {name: block.type_name() for name, block in found.items()}


def two_layers() -> Imported:
    text = """g (float[N,3] x) => (float[N,2] y) {
        ["/net/net.0/Gemm"] a = Gemm <transB: int = 1> (x, "net.0.weight", "net.0.bias")
        ["/net/net.1/Relu"] b = Relu (a)
        ["/net/net.2/Gemm"] y = Gemm <transB: int = 1> (b, "net.2.weight", "net.2.bias")
    }"""
    model = model_of(
        text,
        net__0__weight=numbers(4, 3),
        net__0__bias=numbers(4),
        net__2__weight=numbers(2, 4),
        net__2__bias=numbers(2),
    )
    return import_model(model)


def test_modules_are_pages_and_parameters_keep_their_names():
    imported = two_layers()
    assert not check(imported.diagram)
    assert imported.parameters == {
        "net.0.weight": "net/0/weight",
        "net.0.bias": "net/0/bias",
        "net.2.weight": "net/2/weight",
        "net.2.bias": "net/2/bias",
    }
    assert {"0": "Linear", "1": "Relu", "2": "Linear"}.items() <= blocks(imported, "net").items()


def test_inputs_without_numbers_get_drawn_ones_and_say_so():
    imported = two_layers()
    assert texts(imported, "specialised") == ["x: the model leaves N open, here 2."]
    assert "x: its numbers are standard normal, of shape (2, 3)." in texts(imported, "note")
    assert Session(imported.diagram).run().values[imported.outputs["y"]].shape == (2, 2)


def test_shapes_may_be_given():
    model = model_of("g (float[N,3] x) => (float[N,3] y) { y = Relu (x) }")
    imported = import_model(model, ImportOptions(shapes={"x": (5, 3)}))
    assert Session(imported.diagram).run().values[imported.outputs["y"]].shape == (5, 3)


def test_no_diagram_holds_for_numbers_that_nobody_gave():
    model = model_of("g (float[3] x, int64[1] n) => (float[M] y) { y = Tile (x, n) }")
    with pytest.raises(UnsupportedError, match="known only in a run"):
        import_model(model)
    given = {"x": numbers(3), "n": np.array([2])}
    imported = import_model(model, examples=given)
    assert len(texts(imported, "specialised")) == 1
    np.testing.assert_array_equal(
        Session(imported.diagram).run().values[imported.outputs["y"]], np.tile(given["x"], 2)
    )


def test_shapes_are_constants_and_leave_no_blocks():
    text = """g (float[2,3,4] x) => (float[2,12] y) {
        s = Shape (x)
        zero = Constant <value_ints: ints = [0]> ()
        n = Gather (s, zero)
        rest = Constant <value_ints: ints = [-1]> ()
        to = Concat <axis: int = 0> (n, rest)
        y = Reshape (x, to)
    }"""
    imported = import_model(model_of(text))
    assert sorted(blocks(imported).values()) == ["Display", "Input", "Reshape"]


def test_statistics_are_frozen_and_masks_are_constants():
    text = """g (float[2,3,4] x) => (float[2,3,4] y) {
        n = BatchNormalization (x, scale, shift, mean, var)
        a = Add (n, mask)
        y = Mul (a, two)
    }"""
    mask = np.triu(np.full((3, 4), -np.inf, np.float32))
    stored = {"scale": numbers(3), "shift": numbers(3), "mean": numbers(3), "var": numbers(3) ** 2}
    model = model_of(text, mask=mask, two=np.float32(2), **stored)
    imported = import_model(model)
    trained = {
        name: imported.diagram.main.blocks[path].trainable
        for name, path in imported.parameters.items()
    }
    assert trained == {"scale": True, "shift": True, "mean": False, "var": False}


def test_a_tied_weight_is_one_variable():
    text = """g (int64[2] i) => (float[2,5] y) {
        e = Gather (tokens, i)
        t = Transpose <perm: ints = [1, 0]> (tokens)
        y = MatMul (e, t)
    }"""
    imported = import_model(model_of(text, tokens=numbers(5, 3)))
    assert list(imported.parameters) == ["tokens"]
    kinds = list(blocks(imported).values())
    assert kinds.count("Variable") == 1 and "Constant" not in kinds


def test_an_identity_that_stops_is_a_stop():
    model = model_of("g (float[3] x) => (float y) { s = Identity (x) y = ReduceSum (s) }")
    entry = model.graph.node[0].metadata_props.add()
    entry.key, entry.value = "gradwire.stop_gradient", "1"
    model.graph.node[1].attribute.add(name="keepdims", type=2, i=0)
    imported = import_model(model)
    assert "StopGradient" in blocks(imported).values()
    assert imported.outputs == {"y": "y.out"} and blocks(imported)["y"] == "Loss"


def test_calls_of_a_function_are_uses_of_one_page():
    text = """g (float[3] x) => (float[3] y) { a = own.twice <by: float = 2.0> (x)
        y = own.twice <by: float = 2.0> (a) }
    <domain: "own", opset_import: ["" : 21]>
    twice <by> (x) => (y) { f = Constant <value_float: float = @by> () p = Mul (x, f)
        y = Tanh (p) }"""
    imported = import_model(model_of(text))
    assert set(imported.diagram.pages) == {"main", "twice"}
    x = Session(imported.diagram).run(ports=["x.out", imported.outputs["y"]]).values
    np.testing.assert_allclose(x[imported.outputs["y"]], np.tanh(2 * np.tanh(2 * x["x.out"])))


def test_the_line_of_the_program_is_kept():
    model = model_of("g (float[3] x) => (float[3] y) { y = Relu (x) }")
    entry = model.graph.node[0].metadata_props.add()
    entry.key = "pkg.torch.onnx.stack_trace"
    entry.value = 'File "/home/me/net.py", line 7, in forward\n    return x.relu()'
    imported = import_model(model)
    (relu,) = [b for b in imported.diagram.main.blocks.values() if b.type_name() == "Relu"]
    assert relu.written == "net.py:7"


def test_a_module_that_is_called_again_is_used_again():
    text = """g (float[2,3] x) => (float[2,3] y) {
        ["/enc/fc/Gemm"] a = Gemm <transB: int = 1> (x, "enc.fc.weight", "enc.fc.bias")
        ["/enc/Tanh"] b = Tanh (a)
        ["/enc_1/fc/Gemm"] c = Gemm <transB: int = 1> (b, "enc.fc.weight", "enc.fc.bias")
        ["/enc_1/Tanh"] y = Tanh (c)
    }"""
    model = model_of(text, enc__fc__weight=numbers(3, 3), enc__fc__bias=numbers(3))
    imported = import_model(model)
    assert set(imported.diagram.pages) == {"main", "enc"}
    assert [kind for kind in blocks(imported).values() if kind == "Page"] == ["Page", "Page"]
    assert imported.parameters == {
        "enc.fc.weight": "enc/fc/weight", "enc.fc.bias": "enc/fc/bias"
    }  # fmt: skip


def test_a_weight_that_pytorch_turned_is_turned_back():
    weight = numbers(3, 2)
    text = """g (float[1,4,3] x) => (float[1,4,2] y) {
        ["/fc/MatMul"] a = MatMul (x, "onnx::MatMul_9")
        ["/fc/Add"] y = Add ("fc.bias", a)
    }"""
    model = model_of(text, fc__bias=numbers(2))
    tensor = model.graph.initializer.add(name="onnx::MatMul_9", data_type=1, dims=(3, 2))
    tensor.raw_data = weight.tobytes()
    x = numbers(1, 4, 3)
    imported = import_model(model, examples={"x": x})
    assert blocks(imported)["fc"] == "Linear"
    assert imported.parameters == {"onnx::MatMul_9": "fc/weight", "fc.bias": "fc/bias"}
    got = Session(imported.diagram).run().values[imported.outputs["y"]]
    np.testing.assert_allclose(got, x @ weight + numbers(2), rtol=1e-5)


BRANCHES = """g (float[3] x) => (float[N] y) {{
    zero = Constant <value = float {{0.0}}> ()
    total = ReduceSum <keepdims: int = 0> (x)
    positive = Greater (total, zero)
    y = If (positive) <
        then_branch = one () => (float[N] a) {{ a = {then} }},
        else_branch = other () => (float[3] b) {{ b = Neg (x) }}>
}}"""


def test_branches_of_one_shape_are_both_there():
    imported = import_model(model_of(BRANCHES.format(then="Exp (x)")))
    assert not texts(imported, "specialised") and "Where" in blocks(imported).values()
    session = Session(imported.diagram)
    for x in (np.float32([1, 2, 3]), np.float32([1, -5, 3])):
        wanted = np.exp(x) if x.sum() > 0 else -x
        got = session.run({"x": x}).values[imported.outputs["y"]]
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_branches_of_other_shapes_need_an_example():
    model = model_of(BRANCHES.format(then="Concat <axis: int = 0> (x, x)"))
    with pytest.raises(UnsupportedError, match="If can't be imported"):
        import_model(model)
    imported = import_model(model, examples={"x": np.float32([1, 2, 3])})
    assert len(texts(imported, "specialised")) == 1
    assert Session(imported.diagram).run().values[imported.outputs["y"]].shape == (6,)


@pytest.mark.parametrize(
    ("name", "scopes", "module"),
    [
        ("/encoder/layers.0/MatMul", "", ("encoder", "layers", "0")),
        ("/net/net.0/Gemm", "", ("net", "0")),
        ("MatMul_7", "", ()),
        (
            "node_linear",
            "['', 'encoder', 'encoder.layers.0', 'linear']",
            ("encoder", "layers", "0"),
        ),
        ("/" * 500 + "x", "", ()),
        ("a/" * 500 + "x", "", ("a",) * 40),
    ],
)
def test_the_module_of_a_node(name: str, scopes: str, module: tuple[str, ...]):
    node = model_of("g (float[3] x) => (float[3] y) { y = Relu (x) }").graph.node[0]
    node.name = name
    if scopes:
        node.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=scopes)
    assert module_of(node) == module


LOOP = """g (float[3] x) => (float[3] y, float[K,3] all) {{
    n = Constant <value_int: int = {steps}> ()
    t = Constant <value = bool {{1}}> ()
    y, all = Loop (n, t, x) <body = step (int64 i, bool go, float[3] a)
        => (bool on, float[3] b, float[3] c) {{
            on = Identity (go)
            f = Cast <to = 1> (i)
            s = Add (a, f)
            b = Tanh (s)
            c = Mul (b, x)
    }}>
}}"""


@pytest.mark.parametrize("steps", [2, 9])
def test_a_loop_is_a_scan_or_a_few_blocks(steps: int):
    x = numbers(3)
    imported = import_model(model_of(LOOP.format(steps=steps)), examples={"x": x})
    unrolled = bool(texts(imported, "unrolled"))
    assert unrolled == (steps == 2) and unrolled != ("Scan" in blocks(imported).values())
    values = Session(imported.diagram).run(ports=list(imported.outputs.values())).values
    state, seen = x, []
    for i in range(steps):
        state = np.tanh(state + np.float32(i))
        seen.append(state * x)
    np.testing.assert_allclose(values[imported.outputs["y"]], state, rtol=1e-5)
    np.testing.assert_allclose(values[imported.outputs["all"]], np.stack(seen), rtol=1e-5)


def test_an_operator_without_blocks_is_named():
    model = model_of("g (float[3] x) => (float[3] y) { y = own.Magic (x) }")
    with pytest.raises(UnsupportedError, match="Magic can't be imported: no blocks are known"):
        import_model(model)


def test_numbers_beside_the_model(tmp_path):
    from onnx import TensorProto

    weight = numbers(4, 3)
    (tmp_path / "weights.bin").write_bytes(b"\0" * 8 + weight.tobytes())
    model = model_of("g (float[2,4] x) => (float[2,3] y) { y = MatMul (x, w) }")
    tensor = model.graph.initializer.add(name="w", data_type=1, dims=(4, 3))
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "weights.bin"), ("offset", "8"), ("length", "48")):
        tensor.external_data.add(key=key, value=value)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    imported = import_onnx(path)
    np.testing.assert_array_equal(imported.diagram.main.blocks["w"].value.array, weight)


def test_a_chosen_loss_must_be_an_output():
    model = model_of("g (float[3] x) => (float[3] y) { y = Relu (x) }")
    with pytest.raises(FileError, match="no output 'z'"):
        import_model(model, ImportOptions(loss="z"))


def test_nodes_without_names_are_in_the_modules_of_their_outputs():
    model = model_of(
        """g (float[2,3] x) => (float[2,3] y) {
        "/encoder/act/Tanh_output_0" = Tanh (x)
        "/encoder/act/Sin_output_0" = Sin ("/encoder/act/Tanh_output_0")
        "/encoder/last/Cos_output_0" = Cos ("/encoder/act/Sin_output_0")
        y = Neg ("/encoder/last/Cos_output_0")
    }"""
    )
    imported = import_model(model)
    assert set(imported.diagram.pages) == {"main", "encoder", "encoder-act"}
    assert blocks(imported, "encoder").keys() >= {"act", "last"}


def test_a_quantised_convolution_adds_one_number_a_filter():
    """By hand: filters of one element; ``2 * x`` and ``3 * x``, of halves, and the biases."""
    text = """g (uint8[1,1,1,3] x) => (uint8[1,2,1,3] y) {
        y = QLinearConv (x, one, zero, w, halves, zeros, one, zero, bias) }"""
    model = model_of(
        text,
        one=np.array(1, "f4"),
        zero=np.array(0, "u1"),
        w=np.array([2, 3], "u1").reshape(2, 1, 1, 1),
        halves=np.array([0.5, 1.0], "f4"),
        zeros=np.array([0, 0], "u1"),
        bias=np.array([10, 100], "i4"),
    )
    imported = import_model(model, examples={"x": np.array([1, 2, 3], "u1").reshape(1, 1, 1, 3)})
    (y,) = [Session(imported.diagram).run().values[port] for port in imported.outputs.values()]
    np.testing.assert_array_equal(y, [[[[6, 7, 8]], [[103, 106, 109]]]])
