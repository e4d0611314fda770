"""The pages of *Extending Gradwire*, carried out to their end."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.assets.guides import GUIDES, copy_sources, run_commands, write_edits


@pytest.mark.checkout
def test_the_edits_of_all_guides_can_be_made_and_keep_the_style(tmp_path):
    copy_sources(tmp_path)
    written = set()
    for guide in GUIDES:
        edits = write_edits(guide, tmp_path)
        assert edits, f"{guide.name} adds nothing"
        written |= {place for place in edits if place.endswith(".py")}
    for check in (["check"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *check, *sorted(written)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout


@pytest.mark.night
@pytest.mark.checkout
@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_what_a_guide_adds_passes_the_tests_that_it_names(guide, tmp_path):
    copy_sources(tmp_path)
    write_edits(guide, tmp_path)
    assert " passed" in run_commands(guide, tmp_path)
