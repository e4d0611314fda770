"""The page for ``man`` is that of the commands, and ``man`` can show it."""

from __future__ import annotations

import shutil
import subprocess
import tomllib

import pytest

from gradwire.runtime.cli.entry import COMMANDS
from tests.assets import man_page
from tests.assets.examples import ROOT

TEXT = man_page.PAGE.read_text(encoding="utf-8")


def test_it_is_up_to_date():
    assert man_page.page() == TEXT, "run: python -m tests.assets.man_page"


def test_it_is_installed_where_man_looks():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    shared = project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    page = man_page.PAGE.relative_to(ROOT).as_posix()
    assert shared == {page: "share/man/man1/gradwire.1"}


def test_man_shows_every_command_without_a_warning():
    if not (groff := shutil.which("groff")):
        pytest.skip("groff is not installed")
    shown = subprocess.run(
        [groff, "-man", "-ww", "-Tascii", "-P-cbou", man_page.PAGE], capture_output=True, text=True
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    for name in COMMANDS:
        assert f"   gradwire {name} [OPTIONS]" in shown.stdout


def test_what_looks_like_a_request_is_text():
    assert man_page._text(".TH\\fB --x") == r"\&.TH\efB \-\-x"
