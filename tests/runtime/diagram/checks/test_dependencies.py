import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradwire.runtime.diagram import PortName, loads
from gradwire.runtime.diagram.checks.dependencies import Dependencies, strong_components
from tests.runtime.diagram.drawing import draw, make, page, scale
from tests.strategies import broken_diagrams

GRAPHS = st.integers(1, 7).flatmap(
    lambda n: st.lists(st.sets(st.integers(0, n - 1)).map(sorted), min_size=n, max_size=n)
)


def reach(graph, start):
    """All that is reachable from start in one or more steps, by brute force."""
    found, pending = set(), list(graph[start])
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending += graph[node]
    return found


@given(GRAPHS)
def test_components_are_those_of_brute_force_and_readers_come_first(graph):
    components = list(strong_components(range(len(graph)), graph.__getitem__))
    assert sorted(node for component in components for node in component) == list(range(len(graph)))
    place = {node: i for i, component in enumerate(components) for node in component}
    for a in range(len(graph)):
        for b in reach(graph, a):
            assert place[b] <= place[a]
            assert (place[a] == place[b]) == (a == b or a in reach(graph, b))


def test_depth_is_no_limit():
    graph = {i: [i + 1] for i in range(100_000)} | {100_000: []}
    assert sum(1 for _ in strong_components(graph, graph.__getitem__)) == 100_001


@given(GRAPHS)
def test_each_cycle_is_one_and_each_knot_has_one(graph):
    names = [f"n{i}" for i in range(len(graph))]
    readers = [(a, b) for a, heads in enumerate(graph) for b in heads]
    terms = {b: [a for a, head in readers if head == b] for b in range(len(graph))}
    diagram = draw(
        {name: make("AddN") for name in names},
        {f"n{b}.terms.{i}": f"n{a}.out" for b, tails in terms.items() for i, a in enumerate(tails)},
    )
    cycles = Dependencies(diagram).cycles("main")
    knots = {frozenset(reach(graph, a) & {b for b in reach(graph, a) if a in reach(graph, b)})
             for a in range(len(graph)) if a in reach(graph, a)}  # fmt: skip
    assert len(cycles) == len(knots)
    for cycle in cycles:
        numbers = [int(name[1:]) for name in cycle.blocks]
        for a, b in zip(numbers, [*numbers[1:], numbers[0]], strict=True):
            assert b in graph[a]
        assert any(set(numbers) <= knot for knot in knots)


@given(GRAPHS)
def test_a_wire_is_part_of_a_cycle_where_its_target_leads_to_its_source(graph):
    readers = [(a, b) for a, heads in enumerate(graph) for b in heads]
    wires = {f"n{b}.terms.{a}": f"n{a}.out" for a, b in readers}
    dependencies = Dependencies(draw({f"n{i}": make("AddN") for i in range(len(graph))}, wires))
    for a, b in readers:
        found = dependencies.cycle_along("main", [PortName(f"n{b}", f"terms.{a}")])
        assert (found is not None) == (a == b or a in reach(graph, b))


def test_which_outputs_of_a_page_read_which_inputs():
    diagram = draw({"use": make("Page", page="scale")}, scale=scale())
    assert Dependencies(diagram).through["scale"] == {"x": ("y", "twice"), "factor": ("y",)}


def test_also_through_a_page_inside_a_page():
    outer = page(
        {
            "x": make("PageInput"),
            "k": make("PageInput"),
            "in": make("Page", page="scale"),
            "y": make("PageOutput"),
        },
        {"in.x": "x.out", "in.factor": "k.out", "y.x": "in.twice"},
    )
    diagram = draw({}, outer=outer, scale=scale())
    dependencies = Dependencies(diagram)
    assert dependencies.through["outer"] == {"x": ("y",), "k": ()}
    assert dependencies.users("scale") == ["outer"]
    assert dependencies.users("outer") == []


def test_a_cycle_runs_through_pages():
    diagram = draw(
        {"use": make("Page", page="scale"), "stop": make("StopGradient")},
        {"use.x": "stop.out", "stop.x": "use.twice"},
        scale=scale(),
    )
    (cycle,) = Dependencies(diagram).cycles("main")
    assert str(cycle) == "use → stop → use"
    along = Dependencies(diagram).cycle_along("main", [PortName("stop", "x")])
    assert along is not None and set(along.blocks) == {"use", "stop"}


def test_an_output_that_does_not_read_the_input_closes_no_cycle():
    diagram = draw({"use": make("Page", page="scale")}, {"use.factor": "use.twice"}, scale=scale())
    assert Dependencies(diagram).cycles("main") == []


def test_pages_that_contain_one_another():
    loop = {
        "a": page({"b": make("Page", page="b")}),
        "b": page({"a": make("Page", page="a"), "x": make("PageInput")}),
        "c": page({"c": make("Page", page="c")}),
        "d": page({"c": make("Page", page="c")}),
    }
    dependencies = Dependencies(draw({}, **loop))
    assert {frozenset(group) for group in dependencies.recursive} == {
        frozenset("ab"), frozenset("c"),
    }  # fmt: skip
    assert set(dependencies.through) == {"main", "d"}


@pytest.mark.night
def test_pages_may_be_nested_deeply():
    pages = ", ".join(
        f'"p{i}": {{"blocks": {{"x": {{"type": "PageInput"}}, "y": {{"type": "PageOutput"}}, '
        f'"use": {{"type": "Page", "page": "p{i + 1}"}}}}, '
        f'"wires": {{"use.x": "x.out", "y.x": "use.y"}}}}'
        for i in range(3000)
    )
    dependencies = Dependencies(loads(f'{{"gradwire": 3, "pages": {{"main": {{}}, {pages}}}}}'))
    assert dependencies.through["p0"] == {"x": ("y",)}


@given(broken_diagrams())
def test_no_document_is_too_broken(diagram):
    dependencies = Dependencies(diagram)
    for name, content in diagram.pages.items():
        for cycle in dependencies.cycles(name):
            assert set(cycle.blocks) <= set(content.blocks)
