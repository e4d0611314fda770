"""Only regular files are read, arrays are those that were saved, and no litter stays."""

import os
import stat
import threading
import time

import numpy as np
import pytest

from gradwire.blocks.errors import FileError
from gradwire.blocks.library.sources import Constant
from gradwire.runtime.data.files.access import located
from gradwire.runtime.diagram import Diagram, Page, load, loads, save
from gradwire.runtime.diagram.files import regular, storage
from gradwire.runtime.diagram.files.regular import open_own, open_regular, read_regular
from gradwire.runtime.flow.tools.contracts import MOST_BYTES, beside, contracts_of

pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes of a name")


def with_array(seed=0):
    array = np.random.default_rng(seed).normal(size=(40, 30)).astype(np.float32)
    return Diagram({"main": Page({"W": Constant(value=array)})})


def arrays_of(path):
    (found,) = path.parent.glob("*.safetensors")
    return found


@pytest.fixture
def path(tmp_path):
    return tmp_path / "net.gradwire.json"


@pytest.fixture
def device():
    """A terminal of our own: nothing of the machine's is lost if it is written to after all."""
    ends = os.openpty()
    yield os.ttyname(ends[1])
    for end in ends:
        os.close(end)


@pipes
def test_a_pipe_is_not_waited_for(path):
    os.mkfifo(path)
    with pytest.raises(FileError, match="Expected a regular file, got a pipe"):
        load(path)


@pipes
def test_a_pipe_in_place_of_arrays_is_not_waited_for(path):
    save(with_array(), path)
    stored = arrays_of(path)
    stored.unlink()
    os.mkfifo(stored)
    with pytest.raises(FileError, match="not a regular file"):
        load(path)


@pipes
def test_a_pipe_or_a_folder_in_place_of_contracts_is_an_error(path):
    os.mkfifo(beside(path))
    with pytest.raises(FileError, match="got a pipe"):
        contracts_of(with_array(), path)
    beside(path).unlink()
    beside(path).mkdir()
    with pytest.raises(FileError, match="got a folder"):
        contracts_of(with_array(), path)


@pipes
def test_a_device_is_not_read(device):
    with pytest.raises(FileError, match="not a regular file"):
        load(device)


@pipes
def test_nothing_but_a_file_is_saved_over(path, device):
    os.mkfifo(path)
    with pytest.raises(FileError, match=r"Can't write.* got a pipe"):
        save(with_array(), path)
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert [left.name for left in path.parent.iterdir()] == [path.name]
    path.unlink()
    path.symlink_to(device)
    with pytest.raises(FileError, match=r"Can't write.* got a device"):
        save(with_array(), path)
    assert stat.S_ISCHR(os.stat(device).st_mode)


@pipes
def test_what_took_the_place_of_arrays_meanwhile_is_replaced(path):
    save(with_array(), path)
    stored = arrays_of(path)
    stored.unlink()
    os.mkfifo(stored)
    save(with_array(), path)
    assert load(path) == with_array()
    stored.unlink()
    with open(stored, "wb") as large:
        large.truncate(10**11)  # a file with a hole, which nobody can read whole
    save(with_array(), path)
    assert load(path) == with_array()


@pipes
def test_contracts_that_are_a_link_out_of_the_folder_are_refused(path, tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "key").write_text("a secret", encoding="utf-8")
    path = tmp_path / "inside" / path.name
    beside(path).symlink_to(tmp_path / "key")
    with pytest.raises(FileError, match="leads out") as caught:
        contracts_of(Diagram(), path)
    assert "secret" not in str(caught.value)


def test_contracts_are_read_up_to_a_limit(path):
    beside(path).write_bytes(b"#" * (MOST_BYTES + 1))
    with pytest.raises(FileError, match="too large"):
        contracts_of(with_array(), path)


@pipes
def test_a_save_waits_for_no_neighbour_and_reads_little_of_it(path, monkeypatch):
    save(with_array(), path)
    os.mkfifo(path.with_name("pipe.json"))
    large = path.with_name("large.json")
    large.write_text('{"pages": {}}' + " " * 4_000_000)
    opened, ends = storage.open_regular, []

    class Watched:
        """A file of which the number of bytes read is known."""

        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.file.close()

        def __getattr__(self, name):
            return getattr(self.file, name)

        def read(self, most):
            ends.append(most)
            return self.file.read(most)

    monkeypatch.setattr(storage, "open_regular", lambda other: Watched(opened(other)))
    save(with_array(1), path)
    assert ends and sum(ends) <= 10 * 2**16
    assert load(path) == with_array(1)
    assert len(list(path.parent.glob("*.safetensors"))) == 1


def test_arrays_that_only_the_end_of_a_neighbour_names_stay(path):
    save(with_array(), path)
    stored = arrays_of(path)
    other = '{"gradwire": 1, "pages": {' + " " * 200_000 + f'}}, "tensors": "{stored.name}"}}'
    path.with_name("other.json").write_text(other)
    save(with_array(1), path)
    assert stored.exists()


@pytest.mark.night
def test_every_flip_of_a_bit_is_found(path):
    save(with_array(), path)
    stored = arrays_of(path)
    content = stored.read_bytes()
    for bit in np.random.default_rng(0).choice(8 * len(content), 200, replace=False):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << (bit % 8)
        stored.write_bytes(flipped)
        with pytest.raises(FileError, match="is damaged"):
            load(path)
    stored.write_bytes(content)
    assert load(path) == with_array()


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_arrays_are_as_private_as_their_diagram(path):
    save(with_array(), path)
    path.chmod(0o600)
    save(with_array(), path)
    assert stat.S_IMODE(arrays_of(path).stat().st_mode) == 0o600
    save(with_array(1), path)
    assert stat.S_IMODE(arrays_of(path).stat().st_mode) == 0o600


def test_what_a_killed_save_left_goes_when_it_is_old(path):
    old, new = (path.with_name(f".gradwire-{name}.tmp") for name in ("old", "new"))
    for left in (old, new):
        left.write_bytes(b"half")
    long_ago = time.time() - 2 * 24 * 3600
    os.utime(old, (long_ago, long_ago))
    save(with_array(), path)
    assert not old.exists()
    assert new.exists()


@pytest.mark.parametrize("stem", ["ü b", "[x]*", "v1.2", ".hidden", 'q"q', "b\\s", "c:d", "n\nl"])
@pytest.mark.skipif(os.name == "nt", reason="names that Windows does not have")
def test_a_diagram_of_an_odd_name_keeps_one_file_of_arrays(tmp_path, stem):
    path = tmp_path / f"{stem}.gradwire.json"
    save(with_array(), path)
    save(with_array(1), path)
    assert load(path) == with_array(1)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("name", ["a\\u0000", ".a", "a\\ud800", 'a\\"', "a\\n"])
def test_a_name_that_no_save_writes_is_refused_with_its_place(name):
    text = f'{{\n"gradwire": 1,\n"tensors": "{name}.safetensors", "pages": {{"main": {{}}}}}}'
    with pytest.raises(FileError, match="not the name of an array file") as caught:
        loads(text)
    assert (caught.value.line, caught.value.column) == (3, 1)


@pytest.mark.parametrize("name", ["a\0b.json", "\ud800.json"])
def test_a_path_that_no_system_has_is_an_error_of_the_file(tmp_path, name):
    with pytest.raises(FileError, match="Can't read"):
        load(tmp_path / name)
    with pytest.raises(FileError, match="Can't write"):
        save(with_array(), tmp_path / name)


def test_a_drive_that_does_not_answer_is_not_waited_for(path, monkeypatch):
    path.write_bytes(b"late")
    answers, opened = threading.Event(), []
    usual = regular._opened

    def gone(place):
        answers.wait(20)
        opened.append(usual(place))
        return opened[0]

    monkeypatch.setattr(regular, "_opened", gone)
    monkeypatch.setattr(regular, "PATIENCE", 0.01)
    with pytest.raises(FileError, match="does not answer"):
        open_regular(path)
    answers.set()
    for thread in threading.enumerate():
        if thread.name == "file":
            thread.join(20)
    assert opened[0].closed


def test_what_opening_raises_is_raised_here(path):
    with pytest.raises(FileNotFoundError):
        open_regular(path)
    with pytest.raises(ValueError, match="null"):
        open_regular(path.with_name("a\0b"))


@pipes
def test_what_belongs_to_a_file_lies_in_its_folder(tmp_path):
    folder, secret = tmp_path / "model", tmp_path / "id_ed25519"
    (folder / "inner").mkdir(parents=True)
    secret.write_bytes(b"key")
    (folder / "inner" / "there").write_bytes(b"numbers")
    (folder / "alias").symlink_to("inner/there")
    (folder / "away").symlink_to(secret)
    (folder / "parent").symlink_to(tmp_path, target_is_directory=True)
    for name in ("inner/there", "alias"):
        assert read_regular(folder / name, 10, folder) == b"numbers"
    for name in ("away", "parent/id_ed25519", "../id_ed25519"):
        with pytest.raises(FileError, match="leads out of the folder"):
            read_regular(folder / name, 10, folder)
    linked = tmp_path / "linked"
    linked.symlink_to(folder, target_is_directory=True)
    assert read_regular(linked / "alias", 10, linked) == b"numbers"


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_an_own_file_is_no_link_no_pipe_and_nobody_else_may_write_to_it(path):
    path.write_bytes(b"code")
    with open_own(path) as file:
        assert file.read() == b"code"
    path.with_name("link").symlink_to(path)
    os.mkfifo(path.with_name("pipe"))
    for name in ("link", "pipe"):
        with pytest.raises(FileError, match="not a regular file"):
            open_own(path.with_name(name))
    path.chmod(0o620)
    with pytest.raises(FileError, match="Others may write"):
        open_own(path)


@pipes
def test_arrays_that_are_a_link_out_of_the_folder_are_refused(path, tmp_path):
    save(with_array(), path)
    other = tmp_path / "other" / path.name
    other.parent.mkdir()
    other.write_bytes(path.read_bytes())
    other.with_name(arrays_of(path).name).symlink_to(arrays_of(path))
    with pytest.raises(FileError, match="leads out of the folder"):
        load(other)


def test_links_on_a_drive_that_does_not_answer_are_not_waited_for(path, tmp_path, monkeypatch):
    save(with_array(), path)
    answers, usual = threading.Event(), os.path.realpath

    def gone(place, **how):
        answers.wait(20)
        return usual(place, **how)

    monkeypatch.setattr(os.path, "realpath", gone)
    monkeypatch.setattr(regular, "PATIENCE", 0.01)
    with pytest.raises(FileError, match="does not answer"):
        load(path)
    with pytest.raises(FileError, match="does not answer"):
        located("x.csv", tmp_path)
    answers.set()
