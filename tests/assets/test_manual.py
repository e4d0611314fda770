"""The manual does what it says: examples run, links lead somewhere, tables are complete."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys

import pytest
import typer

import gradwire as gw
from gradwire.app.canvas.input.bindings import KEYS, MOUSE
from gradwire.app.panels.help.manual import anchor_of
from gradwire.app.services.examples import ASSETS, SUFFIX
from gradwire.app.shell.actions.table import TABLE, Command
from gradwire.runtime.cli import entry
from gradwire.runtime.flow.tools.contracts import REQUIREMENTS
from gradwire.runtime.flow.words.states import STATES
from tests.assets import house
from tests.assets.examples import (
    MANUAL,
    PAGES_OF_PEERS,
    ROOT,
    run_python,
    shell_lines,
)
from tests.fuzz.captures import CAPTURES
from tests.fuzz.programs import PROGRAMS

PAGES = sorted(MANUAL.rglob("*.md"))
EVERYTHING = [ROOT / "README.md", *PAGES]

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
every_text = pytest.mark.parametrize("page", EVERYTHING, ids=lambda page: page.stem)


def read(name: str) -> str:
    return (MANUAL / name).read_text(encoding="utf-8")


def rows(text: str) -> list[str]:
    """The first cells of all tables of a page."""
    return re.findall(r"^\| `?([^|`]+)`? \|", text, re.MULTILINE)


@pytest.fixture
def library(monkeypatch):
    """The registry, with what an example adds taken out again."""
    monkeypatch.setattr(gw.registry(), "_classes", dict(gw.registry().classes))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder to work in, with the assets in sight."""
    (tmp_path / "assets").symlink_to(ASSETS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize(
    "page",
    [page for page in EVERYTHING if page not in PAGES_OF_PEERS],
    ids=lambda page: page.stem,
)
def test_its_python_prints_what_it_says(page, library, place):
    _, outputs = run_python(page)
    for expected, printed in outputs:
        assert printed.rstrip("\n") == expected.rstrip("\n")


LINES = [
    pytest.param(line, id=f"{page.stem}: {line}") for page in PAGES for line in shell_lines(page)
]


@pytest.mark.night
@pytest.mark.parametrize("line", [line for line in LINES if line.values[0].startswith("gradwire ")])
def test_a_command_runs(line, place, capsys):
    command, _, target = line.partition(" > ")
    assert entry.main(shlex.split(command, comments=True)[1:]) == 0
    assert capsys.readouterr().out
    assert not target or "/" not in target


@every_text
def test_its_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith("https://"):
            continue
        if target.startswith("example:"):
            assert (ASSETS / "diagrams" / f"{target.removeprefix('example:')}{SUFFIX}").is_file()
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        assert path.is_file(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in map(anchor_of, headings), target


@every_page
def test_a_page_links_to_nothing_outside_of_the_manual(page):
    for target in re.findall(r"\]\(([^):#]+)", page.read_text(encoding="utf-8")):
        if target != "example":
            assert (page.parent / target).resolve().is_relative_to(MANUAL)


def test_every_picture_is_shown_and_small():
    shown = {
        (page.parent / name).resolve()
        for page in PAGES
        for name in re.findall(r"!\[[^]]+\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    }
    there = {path for path in (MANUAL / "pictures").iterdir() if path.is_file()}
    assert shown == there
    assert sum(path.stat().st_size for path in there) < 500_000


# ---- the tables of the manual against the code --------------------------------------------------


def test_the_page_of_commands_has_every_command_and_option():
    text = read("command-line.md")
    sections = {
        section.partition("\n")[0]: section for section in re.split(r"^## ", text, flags=re.M)
    }
    click = typer.main.get_command(entry.application())
    assert set(click.commands) == set(sections) - {"# Command line"}
    for name, command in click.commands.items():
        options = {opt for p in command.params for opt in p.opts if opt.startswith("--")}
        assert set(re.findall(r"`(--[\w-]+)", sections[name])) >= options - {"--help"}, name
        assert set(re.findall(r"(--[a-z][a-z-]*)", sections[name])) <= options, name
    for option in (opt for p in click.params for opt in p.opts):
        assert f"`{option}`" in sections["# Command line"] or f"{option}`" in text


def test_the_page_of_states_has_every_state_in_its_table():
    structural, numeric = read("states.md").split("## States that refine")
    named = {state.value for state in STATES}
    assert {row for row in rows(structural) if row in named} == {
        state.value for state, row in STATES.items() if not row.numeric
    }
    assert {row for row in rows(numeric) if row in named} == {
        state.value for state, row in STATES.items() if row.numeric
    }


def test_the_page_of_contracts_has_every_requirement():
    assert {row.partition("(")[0] for row in rows(read("contracts.md"))} - {"line", "---"} == set(
        REQUIREMENTS
    )


def test_the_keys_of_the_editor_are_its_keys(qapp):
    from PySide6.QtGui import QKeySequence

    named = re.findall(r"`((?:Ctrl\+|Alt\+|Shift\+)*(?:[A-Z]|F\d+|Tab|Space|Enter|Up))`",
                       read("editor.md"))  # fmt: skip
    assert len(named) >= 10
    keys = {key for row in KEYS for key in (*row.keys, *re.findall(r"\w+", row.shown))}
    keys |= {word for way in MOUSE for word in re.findall(r"[\w+]+", way.mouse + " " + way.keys)}
    keys |= {
        QKeySequence(row.shortcut).toString()
        for row in TABLE
        if isinstance(row, Command) and row.shortcut is not None
    }
    assert {"Enter" if key == "Return" else key for key in keys}.issuperset(named)


@pytest.mark.checkout
def test_the_reference_has_every_public_name_once():
    listed = re.findall(r"^\.\. auto\w+:: (\w+)$", read("reference.rst"), re.MULTILINE)
    assert sorted([*listed, "__version__"]) == sorted(gw.__all__)


@pytest.mark.night
def test_the_drawing_of_the_house_is_up_to_date():
    drawn = house.DRAWING.read_text(encoding="utf-8")
    assert drawn == house.svg(), "run: python -m tests.assets.house"


def test_the_design_page_has_every_fuzz_program():
    rows = re.findall(r"^\| ([\w-]+) \| (.+) \| [\d,]+ \|$", read("design.md"), re.MULTILINE)
    programs = {**PROGRAMS, CAPTURES.name: CAPTURES}  # which are there with PyTorch alone
    assert rows == [(program.name, program.promise) for program in programs.values()]


# ---- the site -----------------------------------------------------------------------------------


@pytest.mark.night
@pytest.mark.checkout
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("furo")
    pytest.importorskip("myst_parser")
    pytest.importorskip("sphinx")
    path = os.pathsep.join(map(str, (ROOT, ROOT / "runtime" / "public")))
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", MANUAL, tmp_path / "site"],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    pages = {path.relative_to(tmp_path / "site") for path in (tmp_path / "site").rglob("*.html")}
    assert {page.relative_to(MANUAL).with_suffix(".html") for page in PAGES} <= pages
    reference = (tmp_path / "site" / "reference.html").read_text(encoding="utf-8")
    assert all(f'id="gradwire.{name}"' in reference for name in gw.__all__ if name[0] != "_")
    assert (tmp_path / "site" / f"gan{SUFFIX}").is_file()  # what example: links lead to
