"""The files of the examples: canonical, complete, clean, and told in words."""

from __future__ import annotations

import importlib.resources
import re
from dataclasses import replace

import pytest

from gradwire.blocks.block import Opaque
from gradwire.blocks.library.gradient import StopGradient
from gradwire.blocks.library.pages import Page as PageBlock
from gradwire.blocks.library.views import Display
from gradwire.runtime.diagram import check, dumps
from gradwire.runtime.engine import Session
from tests.examples.gallery import NAMES, TRAINING, TWINS, diagram, path, stops

GAP = 40.0
"""Px a wire has at least between the left edges of its blocks."""

every_example = pytest.mark.parametrize("name", NAMES)


def test_all_examples_are_there():
    singles = {"mxnet_seed", "fan_out", "freeze_encoder", "straight_through", "vq_vae", "gan"}
    twins = {f"{name}_{how}" for name in TWINS for how in ("stopped", "unstopped")}
    assert set(NAMES) == singles | twins | set(TRAINING)


def test_they_come_with_the_installation():
    folder = importlib.resources.files("gradwire.assets") / "diagrams"
    assert (folder / "mxnet_seed.gradwire.json").read_text("utf-8").startswith('{\n  "gradwire"')


@every_example
def test_the_file_is_canonical(name):
    assert path(name).read_text("utf-8") == dumps(diagram(name))


@pytest.mark.sampled(one_in=3)
@every_example
def test_nothing_is_wrong_with_it(name):
    assert check(diagram(name)) == []
    session = Session(diagram(name))
    session.backward()
    assert session.diagnostics == []
    blocks = [block for page in diagram(name).pages.values() for block in page.blocks.values()]
    assert not any(isinstance(block, Opaque) for block in blocks)


@pytest.mark.sampled(one_in=3)
@every_example
def test_every_block_has_a_place_and_data_flows_to_the_right_or_to_a_lower_row(name):
    for page in diagram(name).pages.values():
        assert page.layout.keys() == page.blocks.keys()
        for target, source in page.wires.items():
            before, after = page.layout[source.block], page.layout[target.block]
            assert before.x + GAP < after.x or (name in TRAINING and before.y + GAP < after.y)


@pytest.mark.sampled(one_in=3)
@every_example
def test_every_page_is_used(name):
    pages = diagram(name).pages
    blocks = [block for page in pages.values() for block in page.blocks.values()]
    assert pages.keys() == {"main"} | {b.page for b in blocks if isinstance(b, PageBlock)}


@pytest.mark.sampled(one_in=3)
@every_example
def test_it_is_told_in_a_few_plain_sentences(name):
    document = diagram(name)
    assert 10 <= len(document.title) <= 80
    assert 1 <= sentences(document.description) <= 3
    notes = [note for note in document.main.notes.values() if not note.frame]
    assert sum(sentences(note.text) for note in notes) >= 4
    for page in document.pages.values():
        texts = [note.text for note in page.notes.values() if not note.frame]
        assert texts, "a page without a word"
        assert all(1 <= sentences(text) <= 5 for text in texts)
        assert not re.search(r"-\d", "".join(texts)), "a hyphen for a minus"


@pytest.mark.sampled(one_in=3)
@every_example
def test_the_notes_name_every_stop(name):
    told = " ".join(note.text for note in diagram(name).main.notes.values())
    assert "stop" in told
    assert all(re.search(rf"\b{stop}\b", told) for stop in stops(name, opened=True))


def sentences(text: str) -> int:
    """How many sentences a text has; a point within a number ends none."""
    return len(re.findall(r"[.!?](?=\s|$)", text))


@pytest.mark.parametrize("pair", TWINS)
def test_a_pair_differs_in_its_stops_alone(pair):
    stopped, unstopped = diagram(f"{pair}_stopped"), diagram(f"{pair}_unstopped")
    assert stops(f"{pair}_stopped") == list(TWINS[pair])
    assert stops(f"{pair}_unstopped") == []
    opened = {name: Display() for name in TWINS[pair]}
    page = replace(stopped.main, blocks={**stopped.main.blocks, **opened})
    assert unstopped.main.blocks == page.blocks
    assert unstopped.main.wires == page.wires
    assert unstopped.main.layout == page.layout
    others = [{k: p for k, p in d.pages.items() if k != "main"} for d in (stopped, unstopped)]
    assert others[0] == others[1]
    assert stopped.title != unstopped.title


@pytest.mark.parametrize("pair", TWINS)
def test_a_pair_gives_the_same_values_and_other_gradients(pair):
    runs = [Session(diagram(f"{pair}_{how}")).backward() for how in ("stopped", "unstopped")]
    for port, value in runs[0].values.items():
        assert value.tolist() == runs[1].values[port].tolist()
    assert any(
        abs(gradient - runs[1].gradients[name]).max() > 1e-4
        for name, gradient in runs[0].gradients.items()
        if gradient is not None
    )


def test_a_stop_stands_in_every_example_but_the_unstopped():
    for name in set(NAMES) - set(TRAINING):
        blocks = diagram(name).main.blocks.values()
        assert any(isinstance(b, StopGradient) for b in blocks) != name.endswith("unstopped")
