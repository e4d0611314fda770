"""The page of the architecture: its pictures are current, its map leads to files that exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.assets import architecture
from tests.assets.examples import MANUAL, ROOT

PAGE = (MANUAL / "architecture.md").read_text(encoding="utf-8")
DRAW = "from tests.assets.architecture import drawn; print(drawn({name!r}), end='')"


@pytest.mark.night
@pytest.mark.checkout
@pytest.mark.parametrize("name", architecture.WALKS)
def test_a_picture_shows_what_happens_now(name):
    if name == "capture":
        pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", DRAW.format(name=name)],
        cwd=ROOT,
        env=os.environ | {"PYTHONIOENCODING": "utf-8", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    drawn = architecture.picture(name).read_text(encoding="utf-8")
    assert done.stdout == drawn, f"run: python -m tests.assets.architecture {name}"


def test_the_pictures_are_those_of_the_page():
    shown = re.findall(r"\(pictures/walk_(\w+)\.svg\)", PAGE)
    assert shown == list(architecture.WALKS)


@pytest.mark.parametrize(
    ("steps", "complaint"),
    [
        (["variable", "missing"], "is not called"),
        (["variable", "names_of", "build"], "is called before"),
    ],
)
def test_a_walk_that_is_not_walked_as_listed_is_refused(steps, complaint):
    def work():
        import gradwire.runtime.build as b

        b.build(b.loss(b.variable("x", 1.0)))

    walk = architecture.Walk("", work, tuple(f"runtime/build.py:{name}" for name in steps))
    with pytest.raises(AssertionError, match=complaint):
        list(architecture.seen(walk))


def test_every_file_of_the_page_exists():
    named = set(re.findall(r"`((?:app|runtime|blocks|tests|assets)/[\w./]+)`", PAGE))
    assert len(named) > 60
    assert {name for name in named if not (ROOT / name).exists()} == set()


def test_every_room_is_on_the_map():
    named = set(re.findall(r"`((?:app|runtime)/\w+)`", PAGE.partition("## From a feature")[2]))
    rooms = {
        f"{floor}/{path.name}"
        for floor in ("app", "runtime")
        for path in (ROOT / floor).iterdir()
        if path.is_dir() and not path.name.startswith("__")
    }
    assert named == rooms
