"""What hosts of the repository read in ``.github``, and the list of changes."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from gradwire.runtime.version import __version__
from tests.assets.examples import MANUAL, ROOT

PLACE = ROOT / ".github"
CHANGES = (MANUAL / "changes.md").read_text(encoding="utf-8")
RECORDS = sorted(path for path in PLACE.rglob("*") if path.suffix in (".cff", ".yml"))


def read(path: Path) -> dict:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_what_hosts_look_for_is_there():
    files = [path for path in PLACE.rglob("*.*") if path.is_file()]
    assert {path.relative_to(PLACE).as_posix() for path in files} == {
        "CITATION.cff", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md",
        "pull_request_template.md", "ISSUE_TEMPLATE/config.yml", "ISSUE_TEMPLATE/fault.yml",
        "ISSUE_TEMPLATE/wish.yml", "actions/check/action.yml", "workflows/ci.yml",
        "workflows/release.yml",
    }  # fmt: skip


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_it_is_a_record(path):
    assert isinstance(read(path), dict)


@pytest.mark.parametrize("path", sorted(PLACE.rglob("*.md")), ids=lambda path: path.stem)
def test_its_links_lead_somewhere(path):
    for target in re.findall(r"\]\(([^)]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).is_file(), target


@pytest.mark.parametrize("name", ["fault", "wish"])
def test_a_form_asks_each_question_once(name):
    form = read(PLACE / "ISSUE_TEMPLATE" / f"{name}.yml")
    asked = [each["id"] for each in form["body"]]
    assert form["name"] and form["description"] and len(set(asked)) == len(asked)
    assert all(each["attributes"]["label"] for each in form["body"])
    assert {each["type"] for each in form["body"]} <= {"textarea", "input"}


@pytest.mark.skipif(os.name == "nt", reason="hosts run it with bash")
def test_the_action_hands_its_inputs_on_and_runs_none_of_them(tmp_path):
    first, _ = read(PLACE / "actions" / "check" / "action.yml")["runs"]["steps"]
    assert "${{" not in first["run"]
    command = tmp_path / "gradwire"
    command.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    command.chmod(0o755)
    given = {
        "FILES": "a b.gradwire.json\nm.py:make\n$(touch broken)", "FINDINGS": "true",
        "BASELINE": "known.json", "SARIF": "out.sarif",
    }  # fmt: skip
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", **given}
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", first["run"]],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        "check", "--sarif", "out.sarif", "a b.gradwire.json", "m.py:make", "$(touch broken)",
        "--findings", "--baseline", "known.json",
    ]  # fmt: skip
    assert not (tmp_path / "broken").exists()


def test_hooks_run_commands_that_there_are():
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [hook["entry"].split()[:2] for hook in hooks] == [["gradwire", "check"]] * 2


def steps(workflow: str) -> list[str]:
    jobs = read(PLACE / "workflows" / workflow)["jobs"].values()
    return [step.get("run") or step["uses"] for job in jobs for step in job["steps"]]


def test_every_change_is_checked_by_the_script_that_people_run():
    assert steps("ci.yml")[-1] == ".ci/run" and (ROOT / ".ci" / "run").is_file()


def test_a_tag_is_published_without_a_password():
    jobs = read(PLACE / "workflows" / "release.yml")["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert jobs["publish"]["needs"] == "build"
    ran = "\n".join(steps("release.yml"))
    for part in (
        "python -m build",
        "check-wheel-contents",
        "twine check",
        "gh-action-pypi-publish",
    ):
        assert part in ran
    assert "secrets." not in (PLACE / "workflows" / "release.yml").read_text(encoding="utf-8")


def releases() -> list[tuple[str, str]]:
    """Versions and days of the list of changes, the newest first."""
    return re.findall(r"^## (\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)$", CHANGES, re.MULTILINE)


def test_the_changes_have_the_form_that_they_name():
    headings = re.findall(r"^## (.+)$", CHANGES, re.MULTILINE)
    assert headings == ["Unreleased", *(f"{version} - {day}" for version, day in releases())]
    days = [day for _, day in releases()]
    assert days == sorted(days, reverse=True)
    kinds = set(re.findall(r"^### (.+)$", CHANGES, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_newest_release_is_this_version_and_what_is_cited():
    cited = read(PLACE / "CITATION.cff")
    assert releases()[0] == (__version__, str(cited["date-released"]))
    assert cited["version"] == __version__
    assert {"cff-version", "message", "title", "authors", "type", "license"} <= cited.keys()


def test_addresses_of_the_project_are_in_one_place():
    """But for the description for software centres, which is a file of its own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    home = project["urls"]["Homepage"]
    texts = [*PLACE.rglob("*.*"), *MANUAL.rglob("*.md"), ROOT / "README.md"]
    assert not [path for path in texts if path.is_file() and home in path.read_text("utf-8")]
    (described,) = (ROOT / "assets" / "desktop").glob("*.metainfo.xml")
    host, name = home.removeprefix("https://").split("/")
    identity = ".".join([*reversed(host.split(".")), name])
    assert described.name == f"{identity}.metainfo.xml"
    text = described.read_text(encoding="utf-8")
    assert f"<id>{identity}</id>" in text and f">{home}</url>" in text
