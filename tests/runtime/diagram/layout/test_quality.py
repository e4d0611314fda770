"""No wire runs behind a block, no blocks overlap, and the same page always gets the same layout."""

from dataclasses import replace

import pytest

from gradwire.runtime.diagram import Arrange, Point, apply
from gradwire.runtime.diagram.layout.arranging import arrangement
from tests.benchmarks.drawings import arranged, drawing
from tests.benchmarks.graphs import (
    chain,
    example_pages,
    fan,
    framed,
    fuzzed,
    lstm,
    perceptron,
    random_graph,
    side_trees,
    transformer,
    varied,
)
from tests.benchmarks.layout import flaws

EXAMPLES = example_pages()
MADE = {
    "perceptron": perceptron(12),
    "transformer": transformer(),
    "lstm": lstm(4),
    "side trees": side_trees(6),
    "fan": fan(16),
    "chain": chain(90),
    "random": random_graph(100),
}


def is_clean(found):
    return not any(flaws(found))


def bare(diagram, page):
    return diagram.with_page(page, replace(diagram.pages[page], layout={}, bends={}, routes={}))


@pytest.mark.night
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_has_nothing_behind_or_on_top(name):
    diagram, page = EXAMPLES[name]
    assert is_clean(arranged(bare(diagram, page), page))
    after = apply(diagram, Arrange(page=page)).after
    content = after.pages[page]
    assert is_clean(drawing(diagram, page, content.layout, content.routes, content.notes))
    assert apply(after, Arrange(page=page)).after == after


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("name", MADE)
def test_a_network_has_nothing_behind_or_on_top(name):
    assert is_clean(arranged(MADE[name], "main"))


@pytest.mark.night
@pytest.mark.parametrize("seed", range(40))
def test_a_random_page_has_nothing_behind_or_on_top(seed):
    diagram = fuzzed(seed)
    assert is_clean(arranged(diagram, "main"))
    assert arrangement(diagram, "main") == arrangement(diagram, "main")


SMALL = [seed for seed in range(60) if len(framed(seed).main.blocks) <= 30]


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize(
    ("made", "seed"),
    [*((framed, seed) for seed in SMALL), *((varied, seed) for seed in SMALL[:8])],
)
def test_frames_stay_together_and_notes_free(made, seed):
    diagram = made(seed)
    found = arrangement(diagram, "main")
    assert is_clean(drawing(diagram, "main", *found[:3]))
    assert arrangement(diagram, "main") == found
    once = apply(diagram, Arrange()).after
    assert apply(once, Arrange()).after == once


@pytest.mark.sampled(one_in=7)
@pytest.mark.parametrize("seed", range(12))
def test_a_page_that_was_placed_at_random_stays_as_it_is_arranged(seed):
    diagram = fuzzed(seed)
    layout = {name: Point(37.0 * (i * 7 % 23), 29.0 * (i * 11 % 19) + 0.5)
              for i, name in enumerate(diagram.main.blocks)}  # fmt: skip
    diagram = diagram.with_page("main", replace(diagram.main, layout=layout))
    once = apply(diagram, Arrange()).after
    assert apply(once, Arrange()).after == once
    assert is_clean(drawing(once, "main", once.main.layout, once.main.routes))


def zoom(diagram):
    return arranged(diagram, "main").zoom()


class TestTargets:
    """Lower bounds of what the benchmark of layouts measures, on its smaller graphs."""

    @pytest.mark.night
    def test_few_wires_cross(self):
        assert sum(arranged(bare(*e), e[1]).crossings() for e in EXAMPLES.values()) <= 90
        assert arranged(MADE["transformer"], "main").crossings() <= 10
        assert arranged(MADE["random"], "main").crossings() <= 160

    @pytest.mark.night
    def test_long_layouts_are_folded_so_that_they_can_be_read(self):
        assert zoom(MADE["perceptron"]) >= 0.6
        assert zoom(MADE["transformer"]) >= 0.5
        assert zoom(chain(300)) >= 0.28
