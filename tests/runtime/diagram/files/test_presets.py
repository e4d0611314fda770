"""Presets: parameters that survive a file, and files that are refused and kept."""

import json
import os

import numpy as np
import pytest

from gradwire.blocks import Opaque, Tensor
from gradwire.blocks.errors import FileError, ParameterError
from gradwire.blocks.library.pages import Page
from gradwire.blocks.library.sources import Constant, Variable
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram.files.presets import (
    MAX_BYTES,
    MAX_ELEMENTS,
    MAX_PRESETS,
    PresetName,
    Presets,
    preset_type,
    preset_values,
    with_preset,
)

HALF = PresetName("Variable", "half")


@pytest.fixture
def presets(tmp_path):
    return Presets(tmp_path / "not yet there" / "presets.json")


def file_of(presets, content):
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    presets.path.parent.mkdir(exist_ok=True)
    presets.path.write_bytes(data)
    return data


def holding(types):
    return {"gradwire presets": 1, "presets": types}


@pytest.mark.parametrize(
    "block",
    [
        Variable(initialiser="he_normal", scale=0.5, seed=3),
        Variable(value=Tensor([[1.0, 2.5]]), dtype="float16", trainable=False),
        Variable(scale=float("inf")),
        Constant(value=Tensor([float("nan"), 1.0])),
        Constant(value=Tensor(3)),
    ],
)
def test_another_block_gets_all_parameters_from_the_file(presets, block):
    preset = PresetName(preset_type(block), "a & <b>")
    presets.put(preset, preset_values(block)[0])
    read = Presets(presets.path).values(preset)
    assert with_preset(type(block)(), read) == block


def test_every_block_of_the_library_gets_its_own_parameters_back():
    for cls in registry().classes.values():
        if preset_type(block := cls.new()):
            values = json.loads(json.dumps(preset_values(block)[0]))
            assert with_preset(block, values) == block


def test_a_large_array_is_left_out_and_stays_in_the_other_block():
    large = Variable(value=Tensor(np.ones(MAX_ELEMENTS + 1)), trainable=False)
    values, left_out = preset_values(large)
    assert left_out == ("value",) and "value" not in values
    other = with_preset(Variable(value=Tensor([7.0])), values)
    assert other == Variable(value=Tensor([7.0]), trainable=False)
    at_the_limit = Variable(value=Tensor(np.ones(MAX_ELEMENTS)))
    assert preset_values(at_the_limit)[1] == ()


def test_uses_of_pages_and_unknown_blocks_have_none():
    unknown = Opaque(original_type="Gone", record={})
    add = registry().get("Add")()
    assert [preset_type(block) for block in (Page(page="p"), unknown, add)] == ["", "", ""]


@pytest.mark.parametrize("name", ["gone", "literals", "owned", "bypassed", "type"])
def test_only_parameters_are_set(name):
    with pytest.raises(ParameterError, match="Variable has no parameter"):
        with_preset(Variable(), {name: True})


def test_presets_are_listed_replaced_and_removed(presets):
    assert presets.names() == []
    other = PresetName("Constant", "zero")
    for preset, values in [(HALF, {"scale": 2}), (other, {"value": 0}), (HALF, {"scale": 0.5})]:
        presets.put(preset, values)
    assert presets.names() == [other, HALF]
    assert presets.values(HALF) == {"scale": 0.5}
    presets.remove(HALF)
    presets.remove(HALF)
    assert presets.names() == [other]
    with pytest.raises(FileError, match=r"Variable has no preset “half”\."):
        presets.values(HALF)


def test_what_another_editor_saved_is_kept(presets):
    presets.put(HALF, {"scale": 0.5})
    twice = PresetName("Variable", "twice")
    Presets(presets.path).put(twice, {"scale": 2.0})
    assert presets.names() == [HALF, twice]
    presets.remove(HALF)
    assert Presets(presets.path).names() == [twice]


HOSTILE = {
    "not text": (b"\x00\xff", "not UTF-8"),
    "not JSON": (b'{\n"gradwire presets": 1,\n!', ":3:1: Not JSON"),
    "deep": (b"[" * 100_000, "nested more than"),
    "twice": (b'{"presets": 1, "presets": 2}', "appears twice"),
    "a list": ([], "is not an object"),
    "another version": ({"gradwire presets": 2, "presets": {}}, "no file of presets"),
    "another field": (holding({}) | {"more": 1}, "no field 'more'"),
    "no types": (holding([]), "'presets' is not an object"),
    "no presets": (holding({"Variable": 3}), "'Variable' is not an object"),
    "no values": (holding({"Variable": {"half": [1]}}), "'half' is not an object"),
    "no name": (holding({"Variable": {"": {}}}), "can't be the name"),
    "a line break": (holding({"Variable": {"a\nb": {}}}), "can't be the name"),
    "a long name": (holding({"Variable": {"a" * 81: {}}}), "can't be the name"),
    "too many": (
        holding({"Variable": {str(n): {} for n in range(MAX_PRESETS + 1)}}),
        "Too many presets",
    ),
    "too large": (b" " * (MAX_BYTES + 1), "too large"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_bad_file_is_refused_with_a_reason_and_kept(presets, case):
    content, message = HOSTILE[case]
    data = file_of(presets, content)
    for attempt in (
        presets.names,
        lambda: presets.values(HALF),
        lambda: presets.put(HALF, {}),
        lambda: presets.remove(HALF),
    ):
        with pytest.raises(FileError) as caught:
            attempt()
        assert message in str(caught.value) and str(presets.path) in str(caught.value)
    assert presets.path.read_bytes() == data


def test_what_could_not_be_read_again_is_not_written(presets):
    presets.put(HALF, {"scale": 0.5})
    before = presets.path.read_bytes()
    with pytest.raises(FileError, match="would be too large"):
        presets.put(HALF, {"text": "a" * MAX_BYTES})
    with pytest.raises(FileError, match="can't be the name"):
        presets.put(PresetName("Variable", " a"), {})
    assert presets.path.read_bytes() == before
    assert os.listdir(presets.path.parent) == ["presets.json"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes of a name")
def test_a_pipe_is_not_read(presets):
    presets.path.parent.mkdir()
    os.mkfifo(presets.path)
    with pytest.raises(FileError, match="not a regular file"):
        presets.names()


def test_a_write_that_fails_says_so_and_leaves_the_file(presets, monkeypatch):
    presets.put(HALF, {"scale": 0.5})
    before = presets.path.read_bytes()

    def fail(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(FileError, match="No space left"):
        presets.put(HALF, {"scale": 1.0})
    assert presets.path.read_bytes() == before
    assert presets.values(HALF) == {"scale": 0.5}
