"""The notebooks print what they show."""

from __future__ import annotations

import pytest

from tests.assets.notebooks import NOTEBOOKS, executed, outputs

pytest.importorskip("torch")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
pytest.importorskip("nbclient")


def test_there_are_four():
    assert len(NOTEBOOKS) == 4


@pytest.mark.night
@pytest.mark.filterwarnings("ignore")  # of what runs notebooks
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_prints_what_it_shows(path):
    assert outputs(executed(path)) == outputs(nbformat.read(path, as_version=4))
