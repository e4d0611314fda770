"""``gradwire merge``, by itself and as a driver of git."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest

from gradwire.runtime.diagram import apply, load, save
from gradwire.runtime.diagram.edits.changes import RenameBlock, SetTitle


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
    assert done.code == 1 and "conflict: title (kept ours)" in done.out
    assert load(ours).title == "Ours"
    report = gradwire("merge", seed, ours, theirs, "--json").json
    assert report["conflicts"] == [{"page": "", "what": "title", "kept": "ours"}]


# .ci/run itself needs git, so it is skipped on other machines only.
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_merges_with_it(seed, tmp_path, monkeypatch):
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    file = folder / "m.gradwire.json"

    def git(*arguments):
        command = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", *arguments]
        return subprocess.run(command, check=False, capture_output=True, text=True)

    def commit(document):
        file.write_text(json.dumps(document), "utf-8")
        git("commit", "-qam", "change")

    document = json.loads(seed.read_text("utf-8"))
    git("init", "-q", "-b", "main")
    (folder / ".gitattributes").write_text("*.gradwire.json merge=gradwire\n")
    driver = f'"{sys.executable}" -P -m gradwire merge %O %A %B'
    git("config", "merge.gradwire.driver", driver)
    file.write_text(json.dumps(document), "utf-8")
    git("add", ".")
    git("commit", "-qm", "base")
    git("switch", "-qc", "other")
    document["pages"]["main"]["blocks"]["mul"]["a"] = 5
    commit(document)
    git("switch", "-q", "main")
    document["pages"]["main"]["blocks"]["mul"]["a"] = 3
    document["title"] = "On main"
    commit(document)
    done = git("merge", "other", "-m", "merged")
    assert done.returncode == 0, done.stdout + done.stderr
    merged = json.loads(file.read_text("utf-8"))
    assert merged["title"] == "On main" and merged["pages"]["main"]["blocks"]["mul"]["a"] == 5
