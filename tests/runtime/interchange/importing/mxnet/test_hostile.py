"""Files that lie: each is refused with an error that says why, and nothing large is allocated."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradwire.blocks.errors import FileError, GradwireError
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.mxnet.importer import import_mxnet
from gradwire.runtime.interchange.importing.mxnet.parameters import (
    parameters_beside,
    read_parameters,
)
from gradwire.runtime.interchange.importing.mxnet.recognition import is_mxnet
from gradwire.runtime.interchange.importing.mxnet.symbol import symbol_of
from gradwire.runtime.interchange.importing.options import ImportOptions
from tests.runtime.interchange.importing.mxnet.symbols import (
    V1,
    V2,
    V3,
    SymbolWriter,
    parameter_bytes,
    save,
)

A = {"op": "null", "name": "a", "inputs": []}


def one(operator: str, **attributes: str) -> dict[str, Any]:
    net = SymbolWriter()
    return net.document(net.node(operator, "n", [net.argument("a")], attributes))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "no MXNet symbol"),
        ({"nodes": {}}, "no MXNet symbol"),
        ({"nodes": [A], "heads": []}, "no heads"),
        ({"nodes": [A], "heads": [[1, 0, 0]]}, "no earlier node"),
        ({"nodes": [A], "heads": [[-1, 0, 0]]}, "no earlier node"),
        ({"nodes": [A], "heads": [[0.0, 0]]}, "not \\[node, output\\]"),
        ({"nodes": [A], "heads": [[True, 0]]}, "not \\[node, output\\]"),
        ({"nodes": [{**A, "inputs": [[0, 0, 0]]}], "heads": [[0, 0, 0]]}, "no earlier node"),
        ({"nodes": [{**A, "attrs": {"x": 3}}], "heads": [[0, 0, 0]]}, "not all text"),
        ({"nodes": [{**A, "subgraphs": [{}]}], "heads": [[0, 0, 0]]}, "symbols inside"),
        ({"nodes": [A, A], "heads": [[0, 0, 0]]}, "Two arguments"),
        ({"nodes": [{"op": 1, "name": "a"}], "heads": [[0, 0]]}, "no operator"),
    ],
)
def test_a_document_that_is_no_symbol(document: Any, message: str):
    with pytest.raises(FileError, match=message):
        symbol_of(document)


@pytest.mark.parametrize(
    "document",
    [
        one("_mul_scalar", scalar="1e999"),
        one("_mul_scalar", scalar="__import__('os')"),
        one("Reshape", shape="(" * 5000 + ")" * 5000),
        one("Reshape", shape="(" + "2," * 70 + ")"),
        one("Reshape", shape="(9999999999999999999999,)"),
        one("Reshape", shape="(0, 0, 0, 0)"),
        one("Reshape", shape="(-4, 0, 0)"),
        one("expand_dims", axis="99"),
        one("SwapAxis", dim1="7", dim2="0"),
        one("tile", reps="(9999999999, 9999999999)"),
        one("repeat", repeats="99999999999999", axis="0"),
        one("broadcast_axis", axis="(5,)", size="(3,)"),
        one("broadcast_to", shape="(99999999999999, 3)"),
        one("Pooling", kernel="(0, 0)"),
        one("Pad", pad_width="(1, 1, 99999999999999, 0)"),
        one("one_hot", depth="99999999999999"),
        one("SliceChannel", num_outputs="-1"),
        one("sum", axis="(99,)"),
        one("Cast", dtype="object"),
        one("elemwise_add"),
    ],
)
def test_attributes_that_no_input_fits(document: Any, tmp_path: Path):
    path = save(tmp_path, document)
    with pytest.raises(GradwireError):
        import_mxnet(path, ImportOptions(shapes={"a": (2, 3)}))


def test_brackets_beyond_the_depth(tmp_path: Path):
    path = tmp_path / "deep-symbol.json"
    path.write_text('{"nodes": ' + "[" * 100_000, encoding="utf-8")
    with pytest.raises(FileError, match="nested"):
        import_mxnet(path)


def test_text_that_is_no_utf8(tmp_path: Path):
    path = tmp_path / "net-symbol.json"
    path.write_bytes(b'{"nodes": "\xff"}')
    with pytest.raises(FileError, match="UTF-8"):
        import_mxnet(path)


def test_a_missing_shape_is_asked_for_by_name(tmp_path: Path):
    net = SymbolWriter()
    x = net.layer("FullyConnected", "fc", net.argument("data"), num_hidden=3)
    with pytest.raises(FileError, match="which shape 'data' has"):
        import_mxnet(net.save(tmp_path, x))
    with pytest.raises(FileError, match="no argument 'dta'"):
        import_mxnet(net.save(tmp_path, x), ImportOptions(shapes={"dta": (2, 3)}))


ARRAYS = {"w": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(3, np.float64)}


@pytest.mark.parametrize("version", [0, V1, V2, V3])
def test_parameters_of_every_version(version: int, tmp_path: Path):
    path = tmp_path / "net.params"
    path.write_bytes(parameter_bytes(ARRAYS, version))
    for name, array in read_parameters(path).items():
        np.testing.assert_array_equal(array, ARRAYS[name])


def lying(at: int, form: str, *numbers: int) -> bytes:
    data = bytearray(parameter_bytes(ARRAYS))
    struct.pack_into(form, data, at, *numbers)
    return bytes(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x04cos\nsystem\n",
        lying(0, "<Q", 0x113),
        lying(16, "<Q", 2**62),
        lying(32, "<i", 2**31 - 1),
        lying(36, "<q", 2**62),
        lying(36, "<qq", 2**40, 2**40),
        lying(36, "<q", -2),
        lying(36, "<qq", 0, 2**62),
        parameter_bytes(ARRAYS)[:-1],
        parameter_bytes(ARRAYS)[:90],
    ],
)
def test_parameters_whose_sizes_lie(data: bytes, tmp_path: Path):
    path = tmp_path / "net.params"
    path.write_bytes(data)
    with pytest.raises(FileError):
        read_parameters(path)


@pytest.mark.parametrize("data", [lying(28, "<i", 1), lying(60, "<i", 99)])
def test_sparse_arrays_and_unknown_dtypes(data: bytes, tmp_path: Path):
    path = tmp_path / "net.params"
    path.write_bytes(data)
    with pytest.raises(UnsupportedError):
        read_parameters(path)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "key").write_bytes(b"secret")
    try:
        (folder / "net-0001.params").symlink_to(tmp_path / "key")
    except OSError:
        pytest.skip("no links here")
    with pytest.raises(FileError, match="leads out of the folder"):
        read_parameters(folder / "net-0001.params")


def test_the_last_epoch_beside_the_symbol_is_taken(tmp_path: Path):
    for name in ("net-0001.params", "net-0012.params", "net-x.params", "other-0099.params"):
        (tmp_path / name).touch()
    assert parameters_beside(tmp_path / "net-symbol.json") == tmp_path / "net-0012.params"
    assert parameters_beside(tmp_path / "nothing-symbol.json") is None


def test_symbols_are_recognised_by_content(tmp_path: Path):
    head = json.dumps(one("relu"), indent=2).encode()[:400]
    assert is_mxnet(head, tmp_path / "any.name")
    assert not is_mxnet(b'{"format": "gradwire", "pages": {}}', tmp_path / "net-symbol.json")
