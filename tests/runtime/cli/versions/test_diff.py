"""``gradwire diff``: words, JSON, a picture, exit codes, and git."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import Diagram, Page, load, save
from gradwire.runtime.diagram.comparison import Comparison
from tests.runtime.cli.conftest import SEED, SEED_WIRES
from tests.runtime.lessons.lessons import RECORD, plain, taught

ROOT = Path(__file__).parents[4]


@pytest.fixture
def pair(diagram, tmp_path):
    """The seed, and the seed with its stop open and another value."""
    before = tmp_path / "before.gradwire.json"
    shutil.copy(diagram(SEED, SEED_WIRES), before)
    blocks = SEED | {"stop": {"type": "StopGradient", "open": True}, "mul": {"type": "Mul", "a": 4}}
    return before, diagram(blocks, SEED_WIRES)


def test_the_same_is_0_and_different_is_1(gradwire, pair):
    same = gradwire("diff", pair[0], pair[0])
    assert (same.code, same.err) == (0, "")
    assert "No difference." in same.out
    assert gradwire("diff", *pair).code == 1


def test_words_say_what_and_why(gradwire, pair):
    done = gradwire("diff", *pair)
    assert done.table("Page main") == [
        ["", "what", "change"],
        ["~", "mul: a", "3 → 4"],
        ["~", "stop: open", "– → true"],
    ]
    variables = done.table("Gradients of variables")
    assert variables[1][:2] == ["b", "gains a gradient"]
    assert "before: stop stops" in done.out
    assert ["stop.x", "STOPPED", "CARRIES"] in done.table("Wires in another state")


def test_json_says_the_same(gradwire, pair):
    report = gradwire("diff", *pair, "--json").json
    assert (report["report"], report["version"]) == ("diff", 2)
    assert (report["same"], report["same_meaning"]) == (False, False)
    assert report["pages"][0]["changed"]["mul"] == {"a": {"before": 3, "after": 4}}
    assert report["gradients"]["variables"]["b"]["effect"] == "gained"
    assert report["gradients"]["variables"]["a"]["effect"] == "same"
    assert report["gradients"]["wires"]["mul.b"] == {"before": "STOPPED", "after": "CARRIES"}


def test_numbers_are_compared_by_a_run(gradwire, pair):
    assert "another gradient" not in gradwire("diff", *pair).out
    blocks = SEED | {"mul": {"type": "Mul", "a": 5}, "stop": {"type": "StopGradient", "open": True}}
    other = pair[1].with_name("other.gradwire.json")
    shutil.copy(pair[1], other)
    text = other.read_text(encoding="utf-8").replace('"a": 4', '"a": 5')
    assert str(blocks["mul"]["a"]) in text
    other.write_text(text, encoding="utf-8")
    done = gradwire("diff", pair[1], other, "--run")
    assert ["b", "gets another gradient", "+25.0 %"] in done.table("Gradients of variables")


def test_layout_alone_counts_unless_meaning_is_asked_for(gradwire, pair):
    moved = pair[0].with_name("moved.gradwire.json")
    text = pair[0].read_text(encoding="utf-8")
    from gradwire.runtime.diagram import MoveBlocks, Point, apply

    save(apply(load(pair[0]), MoveBlocks({"a": Point(9.0, 9.0)})).after, moved)
    assert text != moved.read_text(encoding="utf-8")
    done = gradwire("diff", pair[0], moved)
    assert done.code == 1
    assert "moved" in done.out
    assert "Every gradient flows as before." in done.out
    assert gradwire("diff", pair[0], moved, "--meaning").code == 0


def test_trouble_is_2(gradwire, pair, tmp_path):
    assert gradwire("diff", pair[0], tmp_path / "no.gradwire.json").code == 2
    assert gradwire("diff", pair[0]).code == 2
    assert gradwire("diff", *pair, "-o", tmp_path / "x.gif").code == 2
    assert gradwire("diff", *pair, "-o", tmp_path / "x.svg", "--page", "no").code == 2
    assert gradwire("diff", "--git", *pair).code == 2
    (tmp_path / "bad.gradwire.json").write_text("{", encoding="utf-8")
    assert gradwire("diff", pair[0], tmp_path / "bad.gradwire.json").code == 2


def test_a_diagram_with_errors_is_compared_by_structure(gradwire, diagram, pair):
    broken = diagram(SEED, {k: v for k, v in SEED_WIRES.items() if k != "stop.x"})
    done = gradwire("diff", pair[0], broken, "--run")
    assert done.code == 1
    assert "by structure alone" in done.out


def test_a_picture_is_drawn(gradwire, pair, tmp_path):
    path = tmp_path / "diff.svg"
    assert gradwire("diff", *pair, "-o", path).code == 1
    assert path.read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.usefixtures("no_typeface")
def test_a_picture_says_that_the_typeface_is_missing(gradwire, pair, tmp_path):
    done = gradwire("diff", *pair, "-o", tmp_path / "diff.svg")
    assert done.code == 1
    assert done.err.count('Install it: pip install "gradwire[app]".') == 1


# ---- git ----------------------------------------------------------------------------------------


@pytest.fixture
def git(tmp_path):
    """``git(*arguments)`` in a new repository that compares diagrams by ``gradwire diff``."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    folder = tmp_path / "repository"
    folder.mkdir()
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_PAGER": "cat",
        "PYTHONPATH": str(ROOT),
        "PYTHONIOENCODING": "utf-8",
    }

    def call(*arguments):
        done = subprocess.run(
            ["git", *arguments], cwd=folder, env=environment, capture_output=True, timeout=120,
            text=True, encoding="utf-8", check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    call("init", "-q")
    call("config", "user.name", "a")
    call("config", "user.email", "a@b")
    call(
        "config", "diff.gradwire.command", f'"{sys.executable}" -m gradwire.runtime.cli diff --git'
    )
    (folder / ".gitattributes").write_text("*.gradwire.json diff=gradwire\n", encoding="utf-8")
    call.folder = folder
    return call


def commit(git):
    git("add", "-A")
    git("commit", "-q", "-m", "x")


@pytest.mark.night
def test_git_shows_words(git, pair):
    model = git.folder / "model.gradwire.json"
    shutil.copy(pair[0], model)
    commit(git)
    shutil.copy(pair[1], model)
    shown = git("diff")
    assert "model.gradwire.json → model.gradwire.json" in shown
    assert "b         gains a gradient" in shown
    commit(git)
    assert "gains a gradient" in git("log", "-p", "-1", "--ext-diff")


@pytest.mark.night
def test_git_shows_new_removed_and_renamed_files(git, pair):
    model = git.folder / "model.gradwire.json"
    shutil.copy(pair[0], model)
    git("add", "-A")
    assert "+  loss" in git("diff", "--cached")
    commit(git)
    git("mv", "model.gradwire.json", "other.gradwire.json")
    assert "model.gradwire.json → other.gradwire.json" in git("diff", "--cached", "-M")
    commit(git)
    (git.folder / "other.gradwire.json").unlink()
    assert "−  loss" in git("diff")


@pytest.mark.night
def test_git_shows_what_it_can_without_the_old_arrays(git):
    model = git.folder / "model.gradwire.json"
    for place, value in enumerate((1.0, 2.0)):
        array = np.full((50, 50), value)
        blocks = {"w": registry().get("Variable")(value=array)}
        blocks |= {"extra": registry().get("Relu")()} if place else {}
        save(Diagram({"main": Page(blocks)}), model)
        if not place:
            commit(git)
    shown = git("diff", "--", "model.gradwire.json")
    assert "not at hand" in shown
    assert "+  extra" in shown


def test_what_differs_in_a_lesson_is_named_by_step(gradwire, tmp_path):
    files = [tmp_path / f"{name}.gradwire.json" for name in ("plain", "taught", "edited")]
    steps = [*RECORD["steps"][:5], {**RECORD["steps"][5], "text": "Other."}]
    for file, diagram in zip(
        files, (plain(), taught(), taught(steps=steps, minutes=9)), strict=True
    ):
        save(diagram, file)
    rows = [gradwire("diff", *pair).out for pair in ((files[0], files[1]), (files[1], files[2]))]
    assert "6 steps" in rows[0]
    assert "minutes, step 6" in rows[1]
    assert "6 steps" in gradwire("diff", files[1], files[0]).out


def test_what_differs_in_a_comparison_is_said_in_words(gradwire, pair):
    files = [path.with_name(f"compared{i}.gradwire.json") for i, path in enumerate(pair)]
    for absent, file in enumerate(files, 1):
        compared = Comparison(absent=absent, structure="ab" * absent)
        save(replace(load(pair[0]), comparison=compared), file)
    rows = gradwire("diff", *files).table("Diagram")
    assert rows[1:] == [["~", "comparison", "gradients that are None"]]
