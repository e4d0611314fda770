"""What an array file may hold, made byte by byte, as other programs or attackers make it."""

import hashlib
import json
import struct

import pytest

from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram import SetParameters, apply, load, save
from gradwire.runtime.diagram.files.tensors import TensorFile, file_name
from tests.runtime.diagram.drawing import draw, make

SHAPE = [2, 2]


def content(dtype, size, shape=SHAPE, name="W.value"):
    """An array file with one array."""
    head = {name: {"dtype": dtype, "shape": shape, "data_offsets": [0, size]}}
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"\1" * size


@pytest.fixture
def diagram(tmp_path):
    """Writes a diagram and an array file of this content; returns the diagram's path."""

    def write(data, dtype="float32", shape=SHAPE, name="W.value"):
        beside = file_name("net", data)
        (tmp_path / beside).write_bytes(data)
        value = {"tensor": name, "dtype": dtype, "shape": shape}
        blocks = {"W": {"type": "Variable", "value": value}}
        document = {"gradwire": 3, "tensors": beside, "pages": {"main": {"blocks": blocks}}}
        path = tmp_path / "net.gradwire.json"
        path.write_text(json.dumps(document, indent=1), encoding="utf-8")
        return path

    return write


def refusal(path):
    with pytest.raises(FileError) as caught:
        load(path)
    assert (caught.value.line, caught.value.column) == (9, 6)
    return str(caught.value)


def test_the_file_that_was_checked_is_the_one_that_is_read(tmp_path, diagram, monkeypatch):
    path = diagram(content("F32", 16))
    (arrays,) = tmp_path.glob("*.safetensors")
    digest = hashlib.file_digest

    def replaced(file, name):
        found = digest(file, name)
        other = tmp_path / "other"
        other.write_bytes(content("F32", 16).replace(b"\1", b"\2"))
        other.replace(arrays)
        return found

    monkeypatch.setattr("hashlib.file_digest", replaced)
    block = load(path).pages["main"].blocks["W"]
    assert block.value.array.tobytes() == b"\1" * 16


def test_a_file_that_is_replaced_between_two_arrays_is_checked_again(tmp_path):
    data = content("F32", 16)
    path = tmp_path / file_name("net", data)
    path.write_bytes(data)
    stored = TensorFile(path)
    reference = {"tensor": "W.value", "dtype": "float32", "shape": SHAPE}
    assert stored.get(reference).shape == (2, 2)
    (tmp_path / "other").write_bytes(data.replace(b"\1", b"\2"))
    (tmp_path / "other").replace(path)
    with pytest.raises(FileError, match="damaged"):
        stored.get(reference | {"tensor": "b.value"})


def test_what_is_known_is_read(diagram):
    block = load(diagram(content("F32", 16))).pages["main"].blocks["W"]
    assert block.value.dtype == "float32" and block.value.shape == (2, 2)


@pytest.mark.parametrize(
    ("stored", "size", "dtype"),
    [
        ("F8_E4M3", 4, "float8_e4m3fn"),
        ("F8_E5M2", 4, "float8_e5m2"),
        ("F8_E8M0", 4, "float32"),
        ("F6_E2M3", 3, "float32"),
        ("F4", 2, "float32"),
        ("BF16", 8, "bfloat16"),
        ("C64", 32, "complex64"),
    ],
)
def test_a_dtype_that_blocks_lack_is_refused_by_its_name(diagram, stored, size, dtype):
    assert f"has the dtype {stored}, which Gradwire has not." in refusal(
        diagram(content(stored, size), dtype)
    )


@pytest.mark.parametrize(
    ("stored", "shape"),
    [("F99", SHAPE), ("", SHAPE), (3, SHAPE), (None, SHAPE), ("F32", [-1, 2]),
     ("F32", [2**40, 2**40]), ("F32", [2**31, 2]), ("F32", "ab"), ("F32", [2.5])],
)  # fmt: skip
def test_a_header_that_lies_is_refused(diagram, stored, shape):
    assert "Can't read 'W.value'" in refusal(diagram(content(stored, 16, shape), shape=shape))


@pytest.mark.parametrize("name", ["W\ud800", "", "nope", "W\0"])
def test_an_array_that_is_not_there_is_refused(diagram, name):
    assert "Can't read" in refusal(diagram(content("F32", 16), name=name))


def test_an_array_for_which_there_is_no_memory_is_refused(diagram, monkeypatch):
    def load_tensor(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr("safetensors.safe_open", load_tensor)
    assert "There is not enough memory for 'W.value'" in refusal(diagram(content("F32", 16)))


def test_the_array_of_an_own_variable_is_beside_the_diagram(tmp_path):
    own = {"value": [[0.5] * 2000], "trainable": False}
    diagram = draw({"fc": make("Linear", weight={"variable": own}, bias={"variable": {}})})
    save(diagram, tmp_path / "net.gradwire.json")
    text = (tmp_path / "net.gradwire.json").read_text(encoding="utf-8")
    reference = {"tensor": "fc.weight", "dtype": "float32", "shape": [1, 2000]}
    record = json.loads(text)["pages"]["main"]["blocks"]["fc"]["weight"]
    assert record == {"variable": {"value": reference, "trainable": False}}
    assert load(tmp_path / "net.gradwire.json") == diagram
    edit = apply(diagram, SetParameters("fc", {"units": 1}))
    assert edit.after.main.blocks["fc"].owned["weight"] == diagram.main.blocks["fc"].owned["weight"]
