"""``gradwire merge``, by itself and as a driver of git."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys

import pytest

from gradwire.blocks.registry import registry
from gradwire.runtime.diagram import apply, load, save
from gradwire.runtime.diagram.edits.changes import (
    AddBlock,
    Connect,
    RemoveBlocks,
    RenameBlock,
    SetParameters,
    SetTitle,
)
from gradwire.runtime.diagram.paths import PortName


def test_two_versions(gradwire, seed, tmp_path):
    ours, theirs, out = (tmp_path / f"{name}.gradwire.json" for name in ("o", "t", "out"))
    save(apply(load(seed), RenameBlock("a", "first")).after, ours)
    save(apply(load(seed), SetTitle("Theirs")).after, theirs)
    done = gradwire("merge", seed, ours, theirs, "-o", out)
    assert (done.code, done.out, done.err) == (0, f"{out}: merged\n", "")
    merged = load(out)
    assert "first" in merged.main.blocks and merged.title == "Theirs"


def test_conflicts_are_listed(gradwire, seed, tmp_path):
    ours, theirs = (tmp_path / f"{name}.gradwire.json" for name in ("o", "t"))
    save(apply(load(seed), SetTitle("Ours")).after, ours)
    save(apply(load(seed), SetTitle("Theirs")).after, theirs)
    done = gradwire("merge", seed, ours, theirs)
    assert done.code == 1
    assert done.out == f"{ours}: conflict: title (kept ours): ours Ours, theirs Theirs\n"
    assert load(ours).title == "Ours"
    report = gradwire("merge", seed, ours, theirs, "--json").json
    sides = {"ours": "Ours", "theirs": "Theirs"}
    title = {"page": "", "what": "title", "kept": "ours", **sides, "decided": False}
    assert report["conflicts"] == [title]


@pytest.fixture
def sides(seed, tmp_path):
    """Ours and theirs of the seed, with conflicts about the title, a field and a removed block."""
    ours, theirs = (tmp_path / f"{name}.gradwire.json" for name in ("o", "t"))
    stop, use = (
        registry().get("StopGradient")(),
        Connect(PortName("stop", "out"), PortName("new", "x")),
    )
    mine = SetTitle("Ours"), SetParameters("mul", {"a": 5}), RemoveBlocks(("stop",))
    other = SetTitle("Theirs"), SetParameters("mul", {"a": 7}), AddBlock("new", stop), use
    for path, changes in ((ours, mine), (theirs, other)):
        diagram = load(seed)
        for change in changes:
            diagram = apply(diagram, change).after
        save(diagram, path)
    return ours, theirs


def test_a_side_is_chosen_of_each_conflict(gradwire, seed, sides, tmp_path):
    out, field = tmp_path / "out.gradwire.json", "page main: mul: literals"
    done = gradwire("merge", seed, *sides, "-o", out, "--theirs", field, "--ours", "title")
    assert done.code == 1  # the wire is for the editor
    said = [line.removeprefix(f"{out}: ") for line in done.out.splitlines()]
    assert said == [
        'decided: page main: mul: literals (kept theirs): ours {"a": 5}, theirs {"a": 7}',
        "decided: title (kept ours): ours Ours, theirs Theirs",
        "conflict: page main: wire into new.x (kept neither): ours –, theirs stop.out",
    ]
    merged = load(out)
    assert merged.title == "Ours" and merged.main.blocks["mul"].to_record()["a"] == 7


def test_all_that_is_chosen_is_no_conflict_any_more(gradwire, seed, sides, tmp_path):
    ours, _ = sides
    theirs = tmp_path / "theirs.gradwire.json"
    save(apply(load(seed), SetTitle("Theirs")).after, theirs)
    done = gradwire("merge", seed, ours, theirs, "--theirs", "title")
    assert done.code == 0 and done.out.endswith(f"{ours}: merged\n")
    assert load(ours).title == "Theirs"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--theirs", "titel"], "Did you mean title?"),
        (["--ours", "title", "--theirs", "title"], "'title' is both --ours and --theirs."),
        (["--theirs", "page main: wire into new.x"], "connect the wire in the editor"),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(gradwire, seed, sides, options, said):
    before = sides[0].read_bytes()
    done = gradwire("merge", seed, *sides, *options)
    assert done.code == 2 and said in " ".join(done.err.split())
    assert sides[0].read_bytes() == before


def test_a_page_has_both_sides_with_what_is_in_conflict_marked(gradwire, seed, sides, tmp_path):
    pytest.importorskip("PySide6.QtWidgets", exc_type=ImportError)  # pictures need it
    page = tmp_path / "conflicts.html"
    assert gradwire("merge", seed, *sides, "--html", page).code == 1
    text = page.read_text("utf-8")
    assert text.count("<svg ") == 2
    assert "<td>page main: mul: literals</td>" in text
    assert "<td>{&quot;a&quot;: 5}</td><td>{&quot;a&quot;: 7}</td>" in text
    ours, theirs = text.split("<figcaption>")[1:]
    mark = importlib.import_module("gradwire.app.pictures.diff_picture").ChangeSign.CONFLICT
    light = importlib.import_module("gradwire.app.services.theme").LIGHT
    for name, side in (("ours", ours), ("theirs", theirs)):
        assert f"<title>main, {name}</title>" in side
        assert mark.colour(light).name() in side
    assert "http" not in text.replace("http://www.w3.org/", "")  # needs nothing else


def test_without_a_screen_it_is_said_how_to_choose(gradwire, seed, sides, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    before = sides[0].read_bytes()
    done = gradwire("merge", seed, *sides, "--open")
    assert done.code == 3 and "--html FILE" in done.err
    assert sides[0].read_bytes() == before


@pytest.fixture
def repository(seed, tmp_path, monkeypatch):
    """``git``, the file of the seed in a repository that merges diagrams, and ``commit(branch,
    document)``.
    """
    if shutil.which("git") is None:
        pytest.skip("git is not installed")  # .ci/run itself needs it: on other machines only
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    file = folder / "m.gradwire.json"

    def git(*arguments):
        command = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", *arguments]
        return subprocess.run(command, check=False, capture_output=True, text=True)

    def commit(branch, document):
        git("switch", "-q", branch)
        file.write_text(json.dumps(document), "utf-8")
        git("commit", "-qam", "change")

    git("init", "-q", "-b", "main")
    (folder / ".gitattributes").write_text("*.gradwire.json merge=gradwire\n")
    git("config", "merge.gradwire.driver", f'"{sys.executable}" -P -m gradwire merge %O %A %B')
    file.write_bytes(seed.read_bytes())
    git("add", ".")
    git("commit", "-qm", "base")
    git("branch", "other")
    return git, file, commit


def test_git_merges_with_it(seed, repository):
    git, file, commit = repository
    document = json.loads(seed.read_text("utf-8"))
    document["pages"]["main"]["blocks"]["mul"]["a"] = 5
    commit("other", document)
    document["pages"]["main"]["blocks"]["mul"]["a"] = 3
    document["title"] = "On main"
    commit("main", document)
    done = git("merge", "other", "-m", "merged")
    assert done.returncode == 0, done.stdout + done.stderr
    merged = json.loads(file.read_text("utf-8"))
    assert merged["title"] == "On main" and merged["pages"]["main"]["blocks"]["mul"]["a"] == 5


def test_conflicts_are_left_to_the_merge_tool_of_git(seed, repository):
    git, file, commit = repository
    document = json.loads(seed.read_text("utf-8"))
    for branch, value in (("other", 5), ("main", 4)):
        document["pages"]["main"]["blocks"]["mul"]["a"] = value
        commit(branch, document)
    assert git("merge", "other", "-m", "merged").returncode == 1
    assert git("diff", "--name-only", "--diff-filter=U").stdout.strip() == file.name
    tool = f'"{sys.executable}" -P -m gradwire merge "$BASE" "$LOCAL" "$REMOTE" -o "$MERGED"'
    git("config", "mergetool.gradwire.trustExitCode", "true")
    git("config", "mergetool.gradwire.cmd", tool)
    assert git("mergetool", "--no-prompt", "--tool", "gradwire").returncode == 1
    git("config", "mergetool.gradwire.cmd", f"{tool} --theirs 'page main: mul: literals'")
    done = git("mergetool", "--no-prompt", "--tool", "gradwire")
    assert done.returncode == 0, done.stdout + done.stderr
    assert git("diff", "--name-only", "--diff-filter=U").stdout == ""
    assert json.loads(file.read_text("utf-8"))["pages"]["main"]["blocks"]["mul"]["a"] == 5
