"""Exported programs that are damaged, lie, or would do harm: refused with what is wrong."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

import gradwire as gw
from gradwire.runtime.interchange.importing.formats import format_of
from gradwire.runtime.interchange.importing.torch.exported.archive import MAX_FILE, MAX_JSON
from gradwire.runtime.interchange.importing.torch.exported.program import import_pt2
from tests.runtime.interchange.importing.torch.files import (
    WEIGHT,
    config,
    meta,
    node,
    program,
    tensor,
    write,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "net.pt2"


def graph(model):
    return model["graph_module"]["graph"]


def entry(weights):
    return weights["config"]["w"]


def test_a_sound_program_is_imported_without_torch(path):
    assert format_of(write(path)).title == "PyTorch"
    imported = import_pt2(path, examples={"x": np.ones((2, 3), np.float32)})
    run = gw.Session(imported.diagram).backward()
    assert run.values["total.out"] == 12 and run.gradients["w"].tolist() == [2, 2, 2]
    assert imported.diagram.main.blocks["mul1"].written == "model.py:7: y = x * self.w"


def test_inputs_without_examples_are_drawn_and_said_to_be(path):
    (remark,) = import_pt2(write(path)).remarks
    assert "x are drawn at random" in remark.text


def test_views_of_what_is_stored_are_read(path):
    weights = config()
    entry(weights)["tensor_meta"] |= {
        "strides": [{"as_int": 2}],
        "storage_offset": {"as_int": 1},
    }
    write(path, weights=weights, data=np.arange(6, dtype=np.float32).tobytes())
    blocks = import_pt2(path).diagram.main.blocks
    assert blocks["w"].value.array.tolist() == [1, 3, 5]


def refused(path: Path, match: str, error: type[gw.GradwireError] = gw.FileError) -> None:
    with pytest.raises(error, match=match):
        import_pt2(path)


def test_nothing_is_unpickled(path, tmp_path):
    class Bomb:
        def __reduce__(self):
            return (tmp_path / "exploded").touch, ()

    bomb = pickle.dumps(Bomb())
    write(path, **{"data/sample_inputs/model.pt": bomb})
    import_pt2(path)
    weights = config()
    entry(weights)["use_pickle"] = True
    refused(write(path, weights=weights, data=bomb), "pickled, and a pickle may run anything")
    old = write(path, weights=None, **{"data/weights/model.pt": bomb})  # as PyTorch 2.8 did
    refused(old, "as older versions of PyTorch save them")
    assert not (tmp_path / "exploded").exists()


def test_a_file_that_is_no_archive(path):
    path.write_bytes(b"PK\x03\x04 and nothing else")
    refused(path, "can't be opened")
    with pytest.raises(gw.FileError, match="no model that can be imported"):
        format_of(path)


def test_an_archive_of_something_else(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("words.txt", "nothing")
    refused(path, "no exported program")


@pytest.mark.parametrize("version", [7, 9, "8", None, [8], {"major": {}}])
def test_another_version_of_the_schema(path, version):
    model = program()
    model["schema_version"] = version if isinstance(version, dict) else {"major": version}
    refused(write(path, model), "another version of the schema")


def test_json_that_is_too_deep_too_large_or_none(path):
    refused(write(path, b"[" * 1000 + b"]" * 1000), "nested too deeply")
    refused(write(path, b" " * (MAX_JSON + 1)), "too large")
    refused(write(path, b'{"a": '), "no JSON")
    refused(write(path, b"[]"), "another version")
    write(path, program() | {"note": "[" * 1000})  # brackets in a text are no nesting
    assert import_pt2(path)


def test_a_bomb_is_not_unpacked(path):
    write(path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        for i in range(3):
            archive.writestr(f"net/extra/{i}", b"0")
    data = bytearray(path.read_bytes())
    at = data.find(b"net/extra/0", data.find(b"PK\x01\x02")) - 46  # its entry in the directory
    data[at + 24 : at + 28] = (MAX_FILE - 1).to_bytes(4, "little")
    path.write_bytes(bytes(data))
    refused(path, "unpacks to too much")


def test_a_member_that_lies_about_its_size(path):
    write(path)
    data = bytearray(path.read_bytes())
    at = data.find(b"net/data/weights/weight_0", data.find(b"PK\x01\x02")) - 46
    data[at + 24 : at + 28] = (1 << 20).to_bytes(4, "little")
    path.write_bytes(bytes(data))
    refused(path, "weight_0")


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"sizes": [{"as_int": 4}]}, "reaches beyond"),
        ({"sizes": [{"as_int": 2**40}]}, "no possible shape"),
        ({"sizes": [{"as_int": 2**30}], "strides": [{"as_int": 0}]}, "no possible shape"),
        ({"sizes": [{"as_int": -3}]}, "no whole number"),
        ({"sizes": [{"as_int": "3"}]}, "no whole number"),
        ({"sizes": [{"as_expr": {"hint": None}}]}, "no whole number"),
        ({"sizes": None}, "no whole number"),
        ({"strides": [{"as_int": 2}]}, "reaches beyond"),
        ({"strides": [{"as_int": -1}]}, "no whole number"),
        ({"strides": []}, "no possible shape"),
        ({"storage_offset": {"as_int": 1}}, "reaches beyond"),
        ({"storage_offset": {"as_int": -1}}, "no whole number"),
        ({"storage_offset": None}, "no whole number"),
        ({"dtype": 9}, "dtype"),
        ({"dtype": "float"}, "dtype"),
        ({"dtype": None}, "dtype"),
        ({"sizes": [{"as_int": 1}] * 65, "strides": [{"as_int": 1}] * 65}, "no possible shape"),
    ],
)
def test_a_weight_that_is_not_what_it_claims(path, change, match):
    weights = config()
    entry(weights)["tensor_meta"] |= change
    refused(write(path, weights=weights), match)


def test_few_numbers_are_not_repeated_without_end(path, monkeypatch):
    from gradwire.runtime.interchange.importing.torch.exported import archive

    model, weights = program(), config()
    graph(model)["inputs"] = [tensor(f"p{i}") for i in range(3)]
    model["graph_module"]["signature"]["input_specs"] = [
        {"parameter": {"arg": {"name": f"p{i}"}, "parameter_name": f"w{i}"}} for i in range(3)
    ]
    repeated = meta((1000,), trained=True) | {"strides": [{"as_int": 0}]}
    weights["config"] = {
        f"w{i}": {"path_name": "weight_0", "tensor_meta": repeated, "is_param": bool(i)}
        for i in range(3)
    }
    write(path, model, weights)
    monkeypatch.setattr(archive, "MAX_FILE", 10_000)  # two of them are within it
    refused(path, "no possible shape")


@pytest.mark.parametrize("place", ["../../etc/passwd", "/etc/passwd", "weight_9", 3, None])
def test_numbers_come_from_inside_of_the_archive(path, place):
    weights = config()
    entry(weights)["path_name"] = place
    refused(write(path, weights=weights), "has no|stored nowhere")


@pytest.mark.parametrize(
    "missing", ["graph_module", "graph_module.graph", "graph_module.signature",
                "graph_module.graph.nodes", "graph_module.graph.tensor_values"]
)  # fmt: skip
def test_a_part_that_is_missing(path, missing):
    model = program()
    *around, last = missing.split(".")
    record = model
    for key in around:
        record = record[key]
    del record[last]
    refused(write(path, model), "damaged")


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        (node("mul.Tensor", [tensor("x"), tensor("nothing")], "y"), "damaged: KeyError"),
        (node("mul.Tensor", [{"as_what": 3}], "y"), "as_what"),
        (node("mul.Tensor", [tensor("x")], "y"), "mul"),
        (node("mul.Tensor", [tensor("x"), {"as_string": "w"}], "y"), "mul"),
        (node("view.default", [tensor("x"), {"as_ints": [-5, 2**62]}], "y"), "view"),
        (node("expand.default", [tensor("x"), {"as_ints": [2**40, 2, 3]}], "y"), "expand"),
        (node("zeros.default", [{"as_ints": [2**40]}], "y"), "of shape"),
        (node("arange.default", [{"as_int": 2**62}], "y"), "of shape"),
        (node("eye.default", [{"as_int": 2**40}], "y"), "of shape"),
        (node("repeat.default", [tensor("x"), {"as_ints": [2**40, 2**40]}], "y"), "repeat"),
        (node("special_i0.default", [tensor("x")], "y"), r"special_i0.*model\.py:7"),
    ],
    ids=lambda case: case["target"] if isinstance(case, dict) else "",
)
def test_an_operator_with_absurd_arguments(path, changed, match):
    model = program()
    graph(model)["nodes"][0] = changed
    refused(write(path, model), match, gw.GradwireError)


@pytest.mark.parametrize("name", ["os.system", "torch.ops.evil.run", "builtins.eval"])
def test_only_operators_of_the_table_are_run(path, name):
    model = program()
    graph(model)["nodes"][0]["target"] = name
    refused(write(path, model), name.replace(".", r"\."), gw.GradwireError)


def test_too_many_operators(path, monkeypatch):
    from gradwire.runtime.interchange.importing.torch.exported import program as module

    monkeypatch.setattr(module, "MAX_NODES", 1)
    refused(write(path), "too many operators")


def test_an_input_that_is_too_large(path):
    model = program()
    graph(model)["tensor_values"]["x"] = meta((2**20, 2**20))
    refused(write(path, model), "too many elements", gw.LimitError)


def test_names_may_be_any_text(path):
    model, weights = program(), config()
    name = 'a.<b onclick="x">.\x00/../w'
    model["graph_module"]["signature"]["input_specs"][0]["parameter"]["parameter_name"] = name
    weights["config"][name] = weights["config"].pop("w")
    imported = import_pt2(write(path, model, weights))
    assert not gw.check(imported.diagram) and name in imported.parameters


def test_tied_weights_are_one_variable(path):
    model, weights = program(), config()
    weights["config"]["v"] = entry(weights)
    graph(model)["inputs"].append(tensor("p_v"))
    model["graph_module"]["signature"]["input_specs"].append(
        {"parameter": {"arg": {"name": "p_v"}, "parameter_name": "v"}}
    )
    imported = import_pt2(write(path, model, weights, WEIGHT.tobytes()))
    assert list(imported.parameters) == ["w"]
