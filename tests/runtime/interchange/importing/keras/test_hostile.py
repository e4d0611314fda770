"""Files that lie or bring code: each is refused with an error that says why."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradwire.blocks.errors import FileError, GradwireError
from gradwire.runtime.interchange.importing.imported import UnsupportedError
from gradwire.runtime.interchange.importing.keras import weights as archive
from gradwire.runtime.interchange.importing.keras.importer import import_keras
from gradwire.runtime.interchange.importing.keras.model import model_of
from gradwire.runtime.interchange.importing.keras.weights import opened
from tests.runtime.interchange.importing.keras.fixtures import layer, save, sequential

h5py = pytest.importorskip("h5py")
DENSE = layer("Dense", "d", units=2)
OBJECT = {"class_name": "function", "config": {"x": 1}}
OLD = {**layer("Activation", "a"), "inbound_nodes": [[["x", 0, 0, {}]]]}


def custom(**changes: Any) -> dict[str, Any]:
    return {**layer("Custom", "mine"), **changes}


@pytest.mark.parametrize(
    ("made", "match"),
    [
        (layer("Lambda", "f", function={"code": "aGk="}), "it is code"),
        (custom(module="builtins"), "not of Keras"),
        (custom(module="os"), "not of Keras"),
        (custom(module=None), "not of Keras"),
        (custom(module="kerasx.layers"), "not of Keras"),
        (custom(registered_name="Custom>Mine"), "not of Keras"),
        (custom(), "Custom layer 'mine'"),
        (layer("Activation", "a", activation=OBJECT), "by name"),
        (layer("Activation", "a", activation="__import__"), "not known"),
    ],
)  # fmt: skip
def test_code_and_what_is_not_of_keras(made: dict[str, Any], match: str, tmp_path: Path):
    with pytest.raises(UnsupportedError, match=match):
        import_keras(save(tmp_path, sequential(made)))


@pytest.mark.parametrize(
    "made",
    [
        layer("Dense", "d", units=2, use_bias="yes"),
        layer("Reshape", "r", target_shape=[2**41]),
        layer("Reshape", "r", target_shape=[-1, -1]),
        layer("Permute", "p", dims=[7]),
        layer("RepeatVector", "r", n=2**39),
        layer("Conv2D", "c", kernel_size=[3, 3]),
        layer("MaxPooling1D", "m", pool_size=[1, 2, 3]),
        layer("BatchNormalization", "b", axis=9),
        layer("Softmax", "s", axis=99),
        layer("ZeroPadding2D", "z", padding=[[1, -1], [2, 2]]),
        layer("Concatenate", "c"),
        layer("Rescaling", "s", scale="2"),
        layer("Dense", "d", units=2),
    ],
)
def test_settings_that_fit_nothing(made: dict[str, Any], tmp_path: Path):
    with pytest.raises(GradwireError):
        import_keras(save(tmp_path, sequential(made)))


def functional(*layers: Any, outputs: Any = (("a", 0, 0),)) -> dict[str, Any]:
    first = {**layer("InputLayer", "x", batch_shape=[1, 3]), "inbound_nodes": []}
    config = {
        "name": "m", "layers": [first, *layers], "input_layers": [["x", 0, 0]],
        "output_layers": [list(entry) for entry in outputs],
    }  # fmt: skip
    return {**layer("Functional", "m"), "config": config}


def reading(name: str, *read: Any) -> dict[str, Any]:
    entries = [{"class_name": "__keras_tensor__", "config": {"keras_history": e}} for e in read]
    return {
        **layer("Activation", name, activation="relu"),
        "inbound_nodes": [{"args": entries, "kwargs": {}}],
    }


@pytest.mark.parametrize(
    ("document", "match"),
    [
        ([], "no object"),
        ({}, "no object"),
        (layer("Sequential", "m", layers=[]), "doesn't say what goes in"),
        (layer("Sequential", "m", layers={}), "expected|wrong"),
        (sequential(shape=()), "no shape"),
        (sequential(shape=(None, None)), "open"),
        (functional(reading("a", ["b", 0, 0]), reading("b", ["a", 0, 0])), "what is not there"),
        (functional(reading("a", ["a", 0, 0])), "what is not there"),
        (functional(reading("a", ["x", 0, 0]), outputs=[("q", 0, 0)]), "no output"),
        (functional(reading("a", ["x", -1, 0])), "no output of another"),
        (functional(reading("a", ["x", 0, 0]), reading("a", ["x", 0, 0])), "Two layers"),
        (functional(OLD), "older Keras"),
    ],
)  # fmt: skip
def test_models_that_lie(document: Any, match: str, tmp_path: Path):
    with pytest.raises(GradwireError, match=match):
        import_keras(save(tmp_path, document))


def test_models_inside_models_without_end():
    document = sequential()
    for _ in range(60):
        document = {
            **layer("Sequential", "m", layers=[layer("InputLayer", "x"), document]),
            "module": "keras",
        }
    with pytest.raises(UnsupportedError):
        model_of(document)


def test_brackets_beyond_the_depth(tmp_path: Path):
    with pytest.raises(FileError, match="nested"):
        import_keras(save(tmp_path, '{"config": ' + "[" * 100_000))


def zipped(folder: Path, **parts: bytes) -> Path:
    path = folder / "m.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in parts.items():
            file.writestr(name.replace("_", "."), data)
    return path


def test_a_part_that_is_missing(tmp_path: Path):
    with pytest.raises(FileError, match=r"no part 'config\.json'"):
        import_keras(zipped(tmp_path, other_json=b"{}"))


def test_a_part_that_unpacks_to_much_more(tmp_path: Path):
    bomb = zipped(tmp_path, config_json=b" " * 10_000_000, model_weights_h5=b"")
    with pytest.raises(FileError, match="too much larger"):
        import_keras(bomb)


def test_a_part_that_is_longer_than_the_zip_says(tmp_path: Path):
    path = zipped(tmp_path, config_json=b"{}" + b" " * 50, model_weights_h5=b"")
    data = path.read_bytes()
    place = data.rindex(b"PK\x01\x02") - 1
    first = data.index(b"PK\x01\x02")
    assert place >= first
    path.write_bytes(data[: first + 24] + (10).to_bytes(4, "little") + data[first + 28 :])
    with pytest.raises(FileError):
        import_keras(path)


def test_too_many_parts(tmp_path: Path, monkeypatch: Any):
    monkeypatch.setattr(archive, "MAX_PARTS", 1)
    with pytest.raises(FileError, match="too many members"):
        import_keras(save(tmp_path, sequential()))


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"\x80\x04cos\nsystem\n"])
def test_what_is_no_zip(data: bytes, tmp_path: Path):
    path = tmp_path / "m.keras"
    path.write_bytes(data)
    with pytest.raises(FileError):
        import_keras(path)


KERNEL = np.ones((3, 2), np.float32)


def soft(group: Any) -> None:
    group.file["elsewhere"] = KERNEL
    group["0"] = h5py.SoftLink("/elsewhere")


def external(group: Any) -> None:
    group["0"] = h5py.ExternalLink("/etc/passwd", "/x")


def compressed(group: Any) -> None:
    group.create_dataset("0", (2**20, 2**10), "f4", compression="gzip")


def stored_outside(group: Any) -> None:
    group.create_dataset("0", (3, 2), "f4", external=[("/etc/passwd", 0, 24)])


def virtual(group: Any) -> None:
    layout = h5py.VirtualLayout((3, 2), "f4")
    layout[:] = h5py.VirtualSource("/etc/passwd", "x", (3, 2))
    group.create_virtual_dataset("0", layout)


def unallocated(group: Any) -> None:
    group.create_dataset("0", (2**20,), "f4")  # takes no space until it is written


def text(group: Any) -> None:
    group["0"] = "text"


def a_group(group: Any) -> None:
    group.create_group("0")


@pytest.mark.parametrize(
    ("fill", "match"),
    [
        (soft, "link to another place"), (external, "link to another place"),
        (compressed, "plain numbers"), (stored_outside, "plain numbers"),
        (virtual, "plain numbers"), (unallocated, "plain numbers"), (text, "plain numbers"),
        (a_group, "no array"),
    ],
)  # fmt: skip
def test_weights_that_are_no_plain_numbers_of_the_file(
    fill: Callable[[Any], None], match: str, tmp_path: Path
):
    path = save(
        tmp_path, sequential(DENSE), lambda file: fill(file.create_group("layers/dense/vars"))
    )
    with pytest.raises(FileError, match=match):
        import_keras(path)


def test_every_byte_of_the_weights_may_be_wrong():
    stored = io.BytesIO()
    with h5py.File(stored, "w") as file:
        file["layers/dense/vars/0"] = KERNEL
    good = stored.getvalue()
    for place in range(0, len(good), 97):
        data = bytearray(good)
        data[place] ^= 0xFF
        try:
            with opened(bytes(data)) as weights:
                assert isinstance(weights.of("layers/dense"), list)
        except FileError as error:
            assert str(error)


def test_layers_may_be_counted_twice(tmp_path: Path):
    """Weights lie under the names of classes: a missing number is a missing layer."""
    document = sequential(DENSE, layer("Dense", "e", units=2, use_bias=False))

    def fill(file: Any) -> None:
        file["layers/dense/vars/0"], file["layers/dense/vars/1"] = KERNEL, np.ones(2, np.float32)

    with pytest.raises(FileError, match="no weights for the layer 'e'"):
        import_keras(save(tmp_path, json.dumps(document), fill))
