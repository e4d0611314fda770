"""Checkpoints: what is written is read; what is damaged or made up is refused with a reason."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradwire as gw
from gradwire import TrainerState, load_checkpoint, save_checkpoint

ARRAYS = {
    "variable/w": np.arange(6, dtype=np.float64).reshape(2, 3) / 7,
    "variable/half": np.float16([1.5, np.nan]),
    "variable/rank 0": np.array(np.float32(3)),
    "variable/empty": np.zeros((0, 3)),
    "set/flags": np.array([True, False]),
    "set/ä/b:c": np.int64([1, -2]),
}


def state(rounds: int, shift: float = 0.0) -> TrainerState:
    arrays = ARRAYS | {"variable/w": ARRAYS["variable/w"] + shift}
    return TrainerState(rounds, arrays, {"step_number": rounds, "updates": {}})


def test_everything_comes_back_bit_by_bit(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path / "new", state(7), {"more": [1, "two"]})
    found = load_checkpoint(tmp_path / "new")
    assert found.path == path and not found.notes
    assert found.state.iterations == 7 and found.state.about == state(7).about
    assert found.extra == {"more": [1, "two"]}
    assert list(found.state.arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        back = found.state.arrays[name]
        assert (back.dtype, back.shape) == (array.dtype, array.shape)
        assert back.tobytes() == array.tobytes()


def test_the_last_two_are_kept(tmp_path: Path) -> None:
    for rounds in (10, 20, 30, 30, 40):
        save_checkpoint(tmp_path, state(rounds, rounds))
    names = sorted(path.name.partition(".")[0] for path in tmp_path.iterdir())
    assert names == ["checkpoint-000000030"] * 2 + ["checkpoint-000000040"] * 2
    assert load_checkpoint(tmp_path).state.iterations == 40


def test_a_checkpoint_of_an_earlier_round_replaces_later_ones(tmp_path: Path) -> None:
    for rounds in (10, 20, 15):
        save_checkpoint(tmp_path, state(rounds))
    assert load_checkpoint(tmp_path).state.iterations == 15


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    for name in ("checkpoint-1.json", "notes.txt", "weights.safetensors", ".gradwire-x.tmp"):
        (tmp_path / name).write_text("mine")
    for rounds in (1, 2, 3, 4):
        save_checkpoint(tmp_path, state(rounds))
    for name in ("checkpoint-1.json", "notes.txt", "weights.safetensors", ".gradwire-x.tmp"):
        assert (tmp_path / name).read_text() == "mine"


def damage(body: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> str:
    """The text of a checkpoint that was changed by somebody who knows its digest."""
    body.pop("sha256")
    change(body)
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return json.dumps({**body, "sha256": hashlib.sha256(text.encode()).hexdigest()})


def set_entry(key: str, value: object) -> Callable[[dict[str, Any]], None]:
    return lambda body: body["arrays"].update({key: value})


def set_array(name: str, value: object) -> Callable[[dict[str, Any]], None]:
    return lambda body: body["arrays"]["entries"].update({name: value})


LIES: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "format": (lambda body: body.update(format="other"), "not a checkpoint of Gradwire"),
    "version": (lambda body: body.update(version=99), "version is 99"),
    "rounds": (lambda body: body.update(rounds=3), "its name says iteration 2"),
    "true": (lambda body: body.update(rounds=True), "its name says"),
    "about": (lambda body: body.update(about=[]), "parts of it are missing"),
    "no arrays": (lambda body: body.pop("arrays"), "parts of it are missing"),
    "digest": (set_entry("sha256", "0" * 64), "are missing"),
    "path": (set_entry("sha256", "../../../etc/passwd"), "digest of its arrays"),
    "long path": (set_entry("sha256", "/" * 64), "digest of its arrays"),
    "size": (set_entry("bytes", 1000), "have changed"),
    "huge": (set_entry("bytes", 1 << 80), "do not fit into the memory"),
    "negative": (set_entry("bytes", -1), "do not fit"),
    "entries": (set_entry("entries", None), "list of its arrays"),
    "dtype": (set_array("variable/w", ["object", [2, 3]]), "nothing sensible"),
    "shape": (set_array("variable/w", ["float64", [2, -3]]), "nothing sensible"),
    "large shape": (set_array("variable/w", ["float64", [200, 3]]), "larger than its file"),
    "large product": (set_array("variable/w", ["float64", [400] * 60]), "larger than its file"),
    "other shape": (set_array("variable/w", ["float64", [3, 2]]), "states other arrays"),
    "one more": (set_array("variable/v", ["float64", [1]]), "states other arrays"),
}


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_refused_and_the_checkpoint_before_is_taken_and_that_is_said(
    tmp_path: Path, lie: str
) -> None:
    change, reason = LIES[lie]
    save_checkpoint(tmp_path, state(1))
    path = save_checkpoint(tmp_path, state(2))
    path.write_text(damage(json.loads(path.read_text()), change))
    found = load_checkpoint(tmp_path)
    assert found.state.iterations == 1
    assert len(found.notes) == 1
    assert path.name in found.notes[0]
    with pytest.raises(gw.FileError, match=reason):
        load_only(tmp_path, path)


def load_only(folder: Path, path: Path) -> None:
    """Load what is left when all other checkpoints are removed."""
    for other in folder.glob("*.json"):
        if other != path:
            other.unlink()
    load_checkpoint(folder)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
@pytest.mark.parametrize("suffix", [".json", ".safetensors"])
def test_files_that_are_cut_off_are_refused(tmp_path: Path, suffix: str, share: float) -> None:
    save_checkpoint(tmp_path, state(1))
    save_checkpoint(tmp_path, state(2))
    (path,) = tmp_path.glob(f"checkpoint-000000002*{suffix}")
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    found = load_checkpoint(tmp_path)
    assert found.state.iterations == 1 and len(found.notes) == 1


def test_one_changed_byte_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, state(1))
    for path in list(tmp_path.iterdir()):
        content = path.read_bytes()
        for place in range(0, len(content), 7):
            changed = bytearray(content)
            changed[place] ^= 1
            path.write_bytes(bytes(changed))
            try:
                found = load_checkpoint(tmp_path)
            except gw.FileError:
                continue
            # Only white space between two tokens may differ.
            assert json.loads(changed) == json.loads(content)
            assert found.state.arrays["variable/w"].tobytes() == ARRAYS["variable/w"].tobytes()
        path.write_bytes(content)


def test_deep_and_large_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "checkpoint-000000001.json").write_text("[" * 200_000)
    (tmp_path / "checkpoint-000000002.json").write_text("[1]")
    (tmp_path / "checkpoint-000000003.json").mkdir()
    (tmp_path / "checkpoint-000000004.json").symlink_to("/dev/zero")
    with pytest.raises(gw.FileError, match="No checkpoint") as caught:
        load_checkpoint(tmp_path)
    for number in range(1, 5):
        assert f"checkpoint-00000000{number}.json" in caught.value.what


def test_a_folder_without_checkpoints_and_no_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(gw.FileError, match="no checkpoint"):
        load_checkpoint(tmp_path)
    with pytest.raises(gw.FileError):
        load_checkpoint(tmp_path / "none")
