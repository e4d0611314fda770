"""The pages of *Extending Gradwire*, carried out to their end."""

from __future__ import annotations

import pytest

from tests.assets.guides import GUIDES, copy_sources, run_commands, write_edits


@pytest.mark.checkout
def test_the_edits_of_all_guides_can_be_made(tmp_path):
    copy_sources(tmp_path)
    for guide in GUIDES:
        assert write_edits(guide, tmp_path), f"{guide.name} adds nothing"


@pytest.mark.night
@pytest.mark.checkout
@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
def test_what_a_guide_adds_passes_the_tests_that_it_names(guide, tmp_path):
    copy_sources(tmp_path)
    write_edits(guide, tmp_path)
    assert " passed" in run_commands(guide, tmp_path)
