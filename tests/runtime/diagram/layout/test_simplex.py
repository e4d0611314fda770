"""Layers by network simplex: every line leads ahead, and no others have shorter lines."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from gradwire.runtime.diagram.layout.layers import shortest_layers

NODES = 5
LINES = [(tail, head) for head in range(NODES) for tail in range(head)]
SPINE = [(node, node + 1) for node in range(NODES - 1)]


def length(layer, lines):
    return sum(layer[head] - layer[tail] for tail, head in lines)


def leads_ahead(layer, lines):
    return all(layer[head] > layer[tail] for tail, head in lines)


@given(st.sets(st.sampled_from(LINES)), st.permutations(range(NODES)))
def test_the_length_of_all_lines_is_the_least(chosen, order):
    """Of connected graphs: each node reads one of those before it, and maybe others."""
    lines = sorted({(order.index(node) % head, head) for node, head in SPINE} | chosen)
    found = shortest_layers(list(range(NODES)), lines)
    assert min(found) == 0
    assert leads_ahead(found, lines)
    best = min(
        length(layer, lines)
        for layer in product(range(NODES), repeat=NODES)
        if leads_ahead(layer, lines)
    )
    assert length(found, lines) == best


def test_a_source_of_a_late_reader_moves_beside_it():
    assert shortest_layers([0, 1, 2, 0], [(0, 1), (1, 2), (3, 2)]) == [0, 1, 2, 1]
