import pytest

from gradwire.blocks.library.pages import Scan
from gradwire.blocks.limits import MAX_INSTANCES, MAX_NESTING
from gradwire.runtime.diagram import check
from gradwire.runtime.diagram.checks.expansion import Expansion
from gradwire.runtime.engine.flatten import flatten
from tests.runtime.diagram.drawing import draw, make, page


def uses(inner, count):
    """A page of blocks that stand for another page."""
    return page({f"u{i}": make("Page", page=inner) for i in range(count)})


def doubling(depth):
    """Pages that use each other twice: 2^depth constants."""
    pages = {f"p{i}": uses(f"p{i + 1}", 2) for i in range(depth)}
    return draw(
        {"u": make("Page", page="p0")},
        **pages,
        **{f"p{depth}": page({"c": make("Constant", value=1)})},
    )


def test_sizes_are_those_of_the_opened_diagram():
    diagram = doubling(4)
    size = Expansion(diagram).sizes["main"]
    flat = flatten(diagram)
    assert len(flat.instances) == 16
    assert size.instances == 1 + 2 + 4 + 8 + 16 + 16
    assert size.nesting == 6


@pytest.mark.parametrize("depth", [40, 90])
def test_pages_that_double_are_refused_where_they_first_become_too_many(depth):
    diagram = doubling(depth)
    (problem,) = check(diagram)
    expansion = Expansion(diagram)
    assert problem.code == "too-large"
    assert problem.location.page in diagram.pages
    assert problem.location.block == "u0"
    assert expansion.sizes[problem.location.page].instances > MAX_INSTANCES
    inner = diagram.pages[problem.location.page].blocks["u0"].page
    assert expansion.sizes[inner].fits
    assert len(flatten(diagram).instances) == 0


def test_a_scan_counts_its_steps():
    cell = page({"x": make("PageInput"), "neg": make("Neg"), "y": make("PageOutput")},
                {"neg.x": "x.out", "y.x": "neg.out"})  # fmt: skip
    scan = Scan(page="cell", steps=7, x=1.0)
    diagram = draw({"s": scan}, cell=cell)
    assert Expansion(diagram).sizes["main"].instances >= len(flatten(diagram).instances) == 23
    many = draw({"s": scan.with_parameters(steps=MAX_INSTANCES)}, cell=cell)
    (problem,) = check(many)
    assert (problem.code, problem.location.block) == ("too-large", "s")
    assert len(flatten(many).instances) == 0


@pytest.mark.night
def test_counting_ends_before_the_numbers_fill_the_memory():
    pages = {f"p{i}": uses(f"p{i + 1}", 2) for i in range(20_000)}
    diagram = draw({}, **pages, p20000=page({}))
    (problem,) = check(diagram)
    assert problem.code == "too-large"
    assert Expansion(diagram).sizes["p0"].instances < 10**16


def test_pages_may_be_nested_only_so_deep():
    def nested(depth):
        pages = {f"p{i}": uses(f"p{i + 1}", 1) for i in range(1, depth)}
        return draw({"u": make("Page", page="p1")}, **pages, **{f"p{depth}": page({})})

    assert check(nested(MAX_NESTING - 1)) == []
    (problem,) = check(nested(MAX_NESTING))
    assert (problem.code, problem.got) == ("too-large", str(MAX_NESTING + 1))


def test_long_names_multiply_in_paths():
    name = "x" * 100
    pages = {f"p{i}": page({name: make("Page", page=f"p{i + 1}")}) for i in range(90)}
    many = page({f"c{i}": make("Constant", value=1) for i in range(5_000)})
    diagram = draw({"u": make("Page", page="p0")}, **pages, p90=many)
    (problem,) = check(diagram)
    assert "paths" in problem.what


def test_pages_inside_each_other_are_not_opened_there():
    names = [f"p{i}" for i in range(14)]
    pages = {
        name: page({f"to_{other}": make("Page", page=other) for other in names if other != name})
        for name in names
    }
    diagram = draw({"u": make("Page", page="p0")}, **pages)
    assert [problem.code for problem in check(diagram)] == ["page-recursion"]
    assert list(flatten(diagram).uses) == ["main", "p0"]
