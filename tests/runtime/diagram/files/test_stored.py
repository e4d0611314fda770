"""Machine code and fonts on disk: found again, and ignored where it can't be trusted."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gradwire.runtime.diagram.files import stored
from gradwire.runtime.engine.compiler.regions import compiled_region
from gradwire.runtime.engine.plan import native
from gradwire.runtime.engine.plan.native import Operation, machine
from tests.runtime.engine.plan.native.loops import loop

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has other rights")
compiler = pytest.mark.skipif(not native.installed(), reason="llvmlite is not installed")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for machine code, empty, and nothing said so far."""
    monkeypatch.delenv("GRADWIRE_KEEP_CODE", raising=False)
    monkeypatch.setattr(stored, "cache_folder", lambda: tmp_path)
    stored._say_ignored.cache_clear()
    return tmp_path / "machine_code"


def test_what_was_kept_is_found_and_nothing_else(folder: Path) -> None:
    assert stored.load("a") is None
    stored.keep("a", b"code")
    stored.keep("a", b"newer")
    assert stored.load("a") == b"newer"
    assert stored.load("b") is None
    assert [path.name for path in folder.iterdir()] == ["a"]


def test_keys_tell_all_parts_apart() -> None:
    keys = [stored.key(parts) for parts in (["ab", "c"], ["a", "bc"], ["abc"], ["ab", "d"])]
    assert len(set(keys)) == 4
    assert stored.key(["ab", "c"]) == keys[0]


def _shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _change(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _replace(path: Path) -> None:
    path.write_bytes(b"code")


def _open_to_others(path: Path) -> None:
    path.chmod(0o666)


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def _open_folder(path: Path) -> None:
    path.parent.chmod(0o777)


DAMAGES = [_shorten, _change, _empty, _replace]
RIGHTS = [_open_to_others, _link, _open_folder]


@pytest.mark.parametrize("spoil", [*DAMAGES, *(pytest.param(x, marks=posix) for x in RIGHTS)])
def test_what_cannot_be_trusted_is_ignored_and_said_once(
    spoil: Callable[[Path], None], folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stored.keep("a", b"code")
    spoil(folder / "a")
    assert stored.load("a") is None
    assert stored.load("a") is None
    (record,) = caplog.records
    assert "ignored" in record.getMessage()
    assert str(folder) in record.getMessage()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@posix
def test_a_pipe_in_place_of_code_is_not_waited_for(folder: Path) -> None:
    stored.keep("a", b"code")
    _pipe(folder / "a")
    assert stored.load("a") is None


@posix
@pytest.mark.parametrize(("mode", "is_trusted"), [(0o777, False), (0o1777, True), (0o770, True)])
def test_a_folder_that_others_may_replace_is_ignored(
    folder: Path, mode: int, is_trusted: bool, caplog: pytest.LogCaptureFixture
) -> None:
    stored.keep("a", b"code")
    folder.parent.chmod(mode)
    assert (stored.load("a") is not None) is is_trusted
    assert (str(folder) in caplog.text) is not is_trusted


@posix
@pytest.mark.parametrize("spoil", [_open_to_others, _link, _pipe])
def test_a_folder_with_files_of_others_is_not_an_own_one(
    spoil: Callable[[Path], None], folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found = stored.own_folder("machine_code")
    assert found == folder
    (folder / "a").write_bytes(b"program")
    assert stored.all_own(folder)
    spoil(folder / "a")
    assert not stored.all_own(folder)
    assert str(folder / "a") in caplog.text


@posix
def test_code_of_another_user_is_ignored(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored.keep("a", b"code")
    monkeypatch.setattr(os, "getuid", lambda: os.stat(folder).st_uid + 1)
    assert stored.load("a") is None


def test_without_a_folder_nothing_is_kept(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write_text("a file in its place")
    stored.keep("a", b"code")
    assert stored.load("a") is None
    monkeypatch.setattr(stored, "cache_folder", lambda: None)
    stored.keep("a", b"code")
    assert stored.load("a") is None


def test_nothing_is_kept_or_read_where_that_is_turned_off(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored.keep("a", b"code")
    monkeypatch.setenv("GRADWIRE_KEEP_CODE", "0")
    stored.keep("b", b"code")
    assert stored.load("a") is None
    assert [path.name for path in folder.iterdir()] == ["a"]


def test_the_older_half_makes_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        stored.keep(str(number), bytes(100))
        os.utime(folder / str(number), (number, number))
    monkeypatch.setattr(stored, "MOST_BYTES", 300)
    stored.keep("new", b"code")
    assert sorted(path.name for path in folder.iterdir()) == ["4", "5", "new"]


def run(name: str) -> list[float]:
    """A kernel compiled anew, or read, on some numbers."""
    compiled_region.cache_clear()
    x, out = np.array([0.25, 4, 9], np.float32), np.zeros(3, np.float32)
    frame = np.array([(x.ctypes.data, 12), (out.ctypes.data, 12)])
    compiled_region(loop(Operation(name, "float32", (0,))))(frame.ctypes.data, 3, 0, 1)
    return [float(number) for number in out]


@compiler
def test_a_kernel_is_compiled_in_one_start_of_many(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, keep = [], stored.keep
    monkeypatch.setattr(stored, "keep", lambda *given: made.append(keep(*given)))
    assert run("sqrt") == run("sqrt") == [0.5, 2, 3]
    assert len(made) == 1
    assert run("negative") == [-0.25, -4, -9]
    assert len(made) == 2
    monkeypatch.setattr(machine, "_versions", lambda: ("another version",))
    assert run("sqrt") == [0.5, 2, 3]
    assert len(made) == 3


@compiler
def test_a_spoilt_kernel_is_compiled_again(folder: Path) -> None:
    assert run("sqrt") == [0.5, 2, 3]
    (path,) = folder.iterdir()
    _change(path)
    assert run("sqrt") == [0.5, 2, 3]
    assert stored.load(path.name) is not None  # the new one replaced it
