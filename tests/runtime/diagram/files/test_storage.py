import json
import os
import stat
from dataclasses import replace

import numpy as np
import pytest

from gradwire.blocks import Opaque, PortLiteral, Tensor
from gradwire.blocks.errors import FileError
from gradwire.runtime.diagram import (
    AddBlock,
    Point,
    SetTitle,
    View,
    apply,
    dumps,
    load,
    loads,
    save,
)
from gradwire.runtime.diagram.files import storage
from gradwire.runtime.diagram.files.tensors import MAX_INLINE
from tests.runtime.diagram.drawing import draw, make, page, seed

RANDOM = np.random.default_rng(0)
LARGE = RANDOM.standard_normal((40, 30)).astype(np.float32)


def titled(text, diagram=None):
    return apply(diagram or seed(), SetTitle(text)).after


def with_array(array=LARGE, name="W"):
    variable = make("Variable", value=array, dtype=array.dtype.name)
    return apply(seed(), AddBlock(name, variable)).after


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "net.gradwire.json"


def test_what_is_saved_is_loaded(path):
    save(seed(), path)
    assert load(path) == load(str(path)) == seed()
    assert path.read_text(encoding="utf-8") == dumps(seed())
    assert names(path.parent) == [path.name]


def test_a_new_file_has_the_usual_permissions_and_an_old_one_keeps_its_own(path):
    mask = os.umask(0o027)
    try:
        save(seed(), path)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    save(titled("Again"), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


def test_a_link_is_followed(path, tmp_path):
    save(with_array(), path)
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.gradwire.json"
    link.symlink_to(path)
    assert load(link) == with_array()
    save(with_array(LARGE + 1), link)
    assert link.is_symlink()
    assert load(path) == with_array(LARGE + 1)
    assert names(link.parent) == [link.name]


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(path, monkeypatch, step):
    save(titled("Old"), path)
    before = path.read_bytes(), names(path.parent)

    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.os, {"write": "open"}.get(step, step), fail)
    with pytest.raises(
        FileError, match=r"net\.gradwire\.json: Can't write the file: No space left"
    ):
        save(titled("New"), path)
    monkeypatch.undo()
    assert (path.read_bytes(), names(path.parent)) == before


def test_an_interrupted_save_leaves_no_litter(path, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(storage.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        save(seed(), path)
    assert names(path.parent) == []


def test_what_can_not_be_written_does_not_touch_the_file(path):
    save(seed(), path)
    before = path.read_bytes()
    for name in ("a.b", 'a"b', "a\0", "\ud800"):
        with pytest.raises(FileError, match="is not a valid name"):
            save(draw({name: make("Mul")}), path)
    assert path.read_bytes() == before


def test_a_read_only_file_stays(path, monkeypatch):
    save(seed(), path)
    monkeypatch.setattr(storage.os, "access", lambda path, mode: False)
    with pytest.raises(FileError, match="the file is read-only"):
        save(titled("New"), path)
    assert load(path) == seed()


def test_places_that_are_no_files(path, tmp_path):
    with pytest.raises(FileError, match=r"net\.gradwire\.json: Can't read the file: No such file"):
        load(path)
    with pytest.raises(FileError, match=r"not a regular file\..*got a folder"):
        load(tmp_path)
    with pytest.raises(FileError, match="Can't write the file"):
        save(seed(), tmp_path)
    with pytest.raises(FileError, match="Can't write the file: No such file"):
        save(seed(), tmp_path / "missing" / "x.json")


def test_an_error_names_file_line_and_column(path):
    path.write_text('{"gradwire": 1,\n "pages": 3}', encoding="utf-8")
    with pytest.raises(FileError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:2:2: 'pages' is not an object.")


def test_bytes_that_are_no_text(path):
    path.write_bytes(b'{"gradwire": 1,\n "title": "\xff"}')
    with pytest.raises(FileError) as caught:
        load(path)
    assert (caught.value.line, caught.value.column) == (2, 12)
    assert "The file is not UTF-8 text." in str(caught.value)


def test_a_byte_order_mark_and_foreign_line_ends_do_no_harm(path):
    path.write_bytes(b"\xef\xbb\xbf" + dumps(seed()).replace("\n", "\r\n").encode())
    assert load(path) == seed()


def test_a_file_that_is_too_large_is_not_read(path, monkeypatch):
    save(seed(), path)
    monkeypatch.setattr(storage, "MAX_CHARACTERS", 100)
    with pytest.raises(FileError, match=r"too large\. Expected at most 100 bytes"):
        load(path)


class TestLargeArrays:
    def test_they_lie_beside_the_diagram_and_come_back_exactly(self, path):
        save(with_array(), path)
        document = json.loads(path.read_text(encoding="utf-8"))
        name = document["tensors"]
        assert names(path.parent) == sorted([path.name, name])
        assert name.startswith("net.") and name.endswith(".safetensors")
        assert document["pages"]["main"]["blocks"]["W"] == {
            "type": "Variable",
            "value": {"tensor": "W.value", "dtype": "float32", "shape": [40, 30]},
        }
        assert load(path) == with_array()

    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint16", "bool"])
    def test_of_every_dtype_and_order(self, path, dtype):
        array = np.asfortranarray((LARGE * 10 > 3) if dtype == "bool" else (abs(LARGE) * 9))
        array = array.astype(dtype)
        save(with_array(array), path)
        assert load(path) == with_array(array)

    def test_other_programs_read_them(self, path):
        from safetensors.numpy import load_file

        save(with_array(), path)
        (stored,) = path.parent.glob("*.safetensors")
        np.testing.assert_array_equal(load_file(stored)["W.value"], LARGE)

    def test_small_ones_stay_in_the_file(self, path):
        save(with_array(LARGE.ravel()[:MAX_INLINE]), path)
        assert names(path.parent) == [path.name]

    def test_literals_pages_and_opaque_blocks_have_them_too(self, path):
        listed = LARGE.astype(np.float64).tolist()
        diagram = draw(
            {
                "list": make("Add", a=listed),
                "typed": make("Add", a=PortLiteral({"dtype": "float16", "value": listed})),
                "odd": Opaque(original_type="Elsewhere", record={"w": Tensor(LARGE), "n": 1}),
                "odd2": Opaque(
                    original_type="Elsewhere",
                    record={"x": {"dtype": "int8", "value": Tensor(LARGE)}},
                ),
            },
            inner=page({"W": make("Constant", value=LARGE)}),
        )
        save(diagram, path)
        text = path.read_text(encoding="utf-8")
        assert len(text) < 2000
        assert '"tensor": "inner/W.value"' in text
        assert load(path) == diagram
        assert loads(dumps(diagram)).pages["inner"] == diagram.pages["inner"]

    def test_equal_arrays_are_not_written_again(self, path, monkeypatch):
        save(with_array(), path)
        written = []
        monkeypatch.setattr(
            storage, "replace_file", lambda path, content: written.append(path.name)
        )
        save(titled("New", with_array()), path)
        assert written == [path.name]

    def test_a_damaged_file_is_written_again(self, path):
        save(with_array(), path)
        (stored,) = path.parent.glob("*.safetensors")
        stored.write_bytes(b"damaged")
        save(with_array(), path)
        assert load(path) == with_array()

    def test_a_crash_between_the_two_files_leaves_the_old_pair(self, path, monkeypatch):
        save(with_array(), path)
        replace = storage.os.replace

        def crash(source, target):
            if str(target).endswith(".json"):
                raise OSError(5, "Input/output error")
            replace(source, target)

        monkeypatch.setattr(storage.os, "replace", crash)
        with pytest.raises(FileError):
            save(with_array(LARGE + 1), path)
        monkeypatch.undo()
        assert load(path) == with_array()
        save(with_array(LARGE + 1), path)
        assert load(path) == with_array(LARGE + 1)

    @pytest.mark.parametrize("refusals", [2, 100])
    def test_a_file_that_windows_keeps_for_another_program(self, path, monkeypatch, refusals):
        save(with_array(), path)
        refused, replace = [], storage.os.replace

        def held(source, target):
            if str(target).endswith(".json") and len(refused) < refusals:
                error = PermissionError(13, "Access is denied")
                error.winerror = 5
                refused.append(target)
                raise error
            replace(source, target)

        monkeypatch.setattr(storage.os, "replace", held)
        monkeypatch.setattr(storage.time, "sleep", lambda seconds: None)
        if refusals == 2:
            save(seed(), path)
            assert load(path) == seed()
        else:
            with pytest.raises(FileError) as told:
                save(seed(), path)
            assert "Access is denied" in str(told.value) and len(refused) == 6
            assert told.value.next_step.startswith("Another program holds it open")
            monkeypatch.undo()
            assert load(path) == with_array()

    def test_a_file_that_a_reader_has_open_is_replaced(self, path):
        save(with_array(), path)
        with open(path, encoding="utf-8") as reader:
            begin = reader.read(10)
            save(seed(), path)
            assert begin + reader.read() != path.read_text(encoding="utf-8")
        assert load(path) == seed()

    def test_what_is_not_needed_any_more_goes(self, path):
        save(with_array(), path)
        save(with_array(LARGE + 1), path)
        assert len(names(path.parent)) == 2
        save(seed(), path)
        assert names(path.parent) == [path.name]

    def test_what_a_copy_still_needs_stays(self, path):
        save(with_array(), path)
        copy = path.with_name("copy.gradwire.json")
        copy.write_bytes(path.read_bytes())
        save(seed(), path)
        assert load(copy) == with_array()

    def test_a_file_of_another_name_is_never_removed(self, path):
        own = path.with_name("weights.safetensors")
        save(with_array(), path)
        (stored,) = path.parent.glob("net.*.safetensors")
        stored.rename(own)
        path.write_text(path.read_text(encoding="utf-8").replace(stored.name, own.name))
        assert load(path) == with_array()
        save(seed(), path)
        assert own.exists()

    def test_a_missing_file_is_told_with_its_place(self, path):
        save(with_array(), path)
        (stored,) = path.parent.glob("*.safetensors")
        stored.unlink()
        with pytest.raises(FileError, match=r"array file net\..* is missing") as e:
            load(path)
        assert e.value.line == 13 and e.value.path == str(path)

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (
                '"shape": [40, 30]',
                '"shape": [30, 40]',
                r"Expected float32 of shape \[30, 40\], got",
            ),
            ('"dtype": "float32"', '"dtype": "float64"', "Expected float64 of shape"),
            ('"tensor": "W.value"', '"tensor": "V.value"', "Can't read 'V.value' from net"),
            ('"tensors": "net', '"tensors": "../net', "This is not the name of an array file"),
            ('"tensors": "net', '"tensors": "C:net', "This is not the name of an array file"),
            ('.safetensors"', '.pickle"', "This is not the name of an array file"),
        ],
    )
    def test_what_does_not_belong_together_is_told(self, path, old, new, message):
        save(with_array(), path)
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(FileError, match=message) as caught:
            load(path)
        assert caught.value.line is not None

    def test_a_damaged_file_is_told(self, path):
        save(with_array(), path)
        (stored,) = path.parent.glob("*.safetensors")
        stored.write_bytes(stored.read_bytes()[:-10])
        with pytest.raises(FileError, match=r"array file net\..* is damaged"):
            load(path)

    def test_a_text_alone_has_no_file_beside_it(self, path):
        save(with_array(), path)
        with pytest.raises(FileError, match=r"can't be read here\. Open"):
            loads(path.read_text(encoding="utf-8"))
        assert loads(dumps(with_array())) == with_array()


@pytest.mark.parametrize(
    ("limit", "most", "what"),
    [
        ("gradwire.runtime.diagram.files.parsing.MAX_CHARACTERS", 300, "too large"),
        ("gradwire.runtime.diagram.files.storage.MAX_CHARACTERS", 300, "too large"),
        ("gradwire.runtime.diagram.files.parsing.MAX_ENTRIES", 20, "too many values"),
        ("gradwire.runtime.diagram.files.parsing.MAX_CONTAINERS", 5, "too many lists and objects"),
        ("gradwire.runtime.diagram.files.writing.MAX_CONTRACTS", 0, "Too many lines of contracts"),
        ("gradwire.runtime.diagram.files.writing.MAX_VIEWS", 0, "Too many bookmarks"),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(path, monkeypatch, limit, most, what):
    views = (View("a", "main", Point(0, 0), 1.0),)
    diagram = replace(seed(), contracts=("carries(a)",), views=views)
    save(diagram, path)
    before = path.read_bytes()
    monkeypatch.setattr(limit, most)
    with pytest.raises(FileError, match=what):
        save(diagram, path)
    assert path.read_bytes() == before
