"""Pages about other systems, README.md too, print what they say, where those are installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.assets.examples import PAGES_OF_PEERS, run_python

if TYPE_CHECKING:
    from pathlib import Path

README, PYTORCH, WATCHING, JAX, ENGINES = PAGES_OF_PEERS


def prints_what_it_says(page: Path) -> None:
    _, outputs = run_python(page)
    assert outputs
    for expected, printed in outputs:
        assert printed.rstrip("\n") == expected.rstrip("\n")


@pytest.mark.night
def test_the_readme(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    prints_what_it_says(README)


@pytest.mark.night
def test_the_page_of_pytorch(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    prints_what_it_says(PYTORCH)


@pytest.mark.night
def test_the_page_of_watching(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    prints_what_it_says(WATCHING)


@pytest.mark.night
def test_the_page_of_jax(tmp_path, monkeypatch):
    pytest.importorskip("jax")
    monkeypatch.chdir(tmp_path)
    prints_what_it_says(JAX)


@pytest.mark.night
def test_the_page_of_engines(tmp_path, monkeypatch):
    pytest.importorskip("jax")
    monkeypatch.chdir(tmp_path)
    prints_what_it_says(ENGINES)
