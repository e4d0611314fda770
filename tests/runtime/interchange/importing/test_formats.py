"""Files are recognised by what is in them, and refused before anything reads them whole."""

from __future__ import annotations

import json
import os
from operator import attrgetter
from pathlib import Path

import pytest

from gradwire.blocks.errors import FileError
from gradwire.runtime import extras
from gradwire.runtime.interchange.importing import formats
from gradwire.runtime.interchange.importing.formats import FORMATS, MAX_BYTES, format_of, is_model
from gradwire.runtime.interchange.importing.options import DEFAULTS

ROOT = Path(__file__).parents[4]
SEED = ROOT / "assets/models/mxnet_seed.json"
TITLE = attrgetter("title")


def test_a_format_is_recognised_whatever_the_file_is_called(tmp_path: Path):
    renamed = tmp_path / "weights.bin"
    renamed.write_bytes(SEED.read_bytes())
    assert format_of(renamed).title == "MXNet" and is_model(renamed)


@pytest.mark.parametrize("content", [b"", b"{}", b"\x00" * 100, b"PK\x03\x04", b"\x08\x07\xff"])
def test_what_is_no_model_is_refused(tmp_path: Path, content: bytes):
    path = tmp_path / "net.onnx"
    path.write_bytes(content)
    assert not is_model(path)
    with pytest.raises(FileError, match="no model that can be imported"):
        format_of(path)


def test_each_format_is_there_once():
    titles = [known.title for known in FORMATS]
    assert sorted(titles) == sorted(set(titles))


def test_diagrams_are_no_models():
    assert not any(map(is_model, (ROOT / "assets/diagrams").glob("*.json")))


def test_a_missing_file_and_an_empty_folder_are_no_models(tmp_path: Path):
    assert not is_model(tmp_path) and not is_model(tmp_path / "nowhere.onnx")
    with pytest.raises(FileError, match=r"nowhere\.onnx"):
        format_of(tmp_path / "nowhere.onnx")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes of a name")
@pytest.mark.parametrize("known", FORMATS, ids=TITLE)
def test_a_pipe_is_waited_for_by_no_reader(tmp_path: Path, known: formats.Format):
    path = tmp_path / "model"
    os.mkfifo(path)
    with pytest.raises(FileError, match="got a pipe"):
        format_of(path)
    for head in (b"PK\x03\x04", b"\x08\x07\x12", b"{"):
        known.is_in(head, path)
    with pytest.raises(FileError, match=r"got a pipe|pip install"):  # as if it became one meanwhile
        known.imported(path, DEFAULTS)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path):
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)  # takes no space
    with pytest.raises(FileError, match=r"too large[\s\S]*2 GiB"):
        format_of(path)


@pytest.mark.parametrize("known", [known for known in FORMATS if known.needs], ids=TITLE)
def test_a_missing_package_is_named_with_what_installs_it(
    known: formats.Format, monkeypatch: pytest.MonkeyPatch
):
    missing = known.needs[-1]
    find = extras.find_spec
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == missing else find(name))
    with pytest.raises(FileError, match=rf"{missing}[\s\S]*gradwire\[interchange\]"):
        known.imported(SEED, DEFAULTS)


@pytest.mark.parametrize("known", FORMATS, ids=TITLE)
def test_the_functions_of_a_format_are_there(known: formats.Format):
    assert callable(formats._named(known.recognise)) and callable(formats._named(known.read))


def test_only_one_format_claims_a_file():
    content = json.dumps(json.loads(SEED.read_text())).encode()
    assert [known.title for known in FORMATS if known.is_in(content, SEED)] == ["MXNet"]
