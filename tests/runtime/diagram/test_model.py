from dataclasses import replace

import pytest

from gradwire.blocks import Opaque
from gradwire.blocks.terms import term_index
from gradwire.runtime.diagram import (
    Disconnect,
    MoveBlocks,
    Page,
    Point,
    PortName,
    Ports,
    apply,
    ports,
)
from gradwire.runtime.diagram.model import own_ports
from tests.runtime.diagram.drawing import draw, make, page, scale, seed


def test_a_port_name_splits_at_the_first_dot():
    assert PortName.parse("sum.terms.2") == PortName("sum", "terms.2")
    assert str(PortName("sum", "terms.2")) == "sum.terms.2"


@pytest.mark.parametrize("text", ["", "mul", ".a", "mul."])
def test_what_is_no_port_name(text):
    with pytest.raises(ValueError, match=r"is not block\.port"):
        PortName.parse(text)


def test_ports_of_a_class():
    assert ports(seed(), "main", "mul") == Ports(("a", "b"), ("out",))
    assert ports(seed(), "main", "a") == Ports((), ("out",))


def test_a_repeating_port_has_those_in_use_and_a_free_one():
    diagram = draw(
        {"a": make("Variable"), "cat": make("Concat", **{"parts.1": 2.0})}, {"cat.parts.0": "a.out"}
    )
    assert ports(diagram, "main", "cat") == Ports(("parts.0", "parts.1"), ("out",), ("parts.2",))


def test_a_use_of_a_page_has_the_ports_of_the_page():
    diagram = draw({"use": make("Page", page="scale")}, scale=scale())
    assert ports(diagram, "main", "use") == Ports(("x", "factor"), ("y", "twice"))


def test_ports_that_only_wires_tell():
    wires = {"odd.y": "a.out", "odd.x": "a.out", "stop.x": "odd.second", "loss.x": "odd.first"}
    blocks = {"a": make("Variable"), "stop": make("StopGradient"), "loss": make("Loss")}
    for odd in (Opaque(original_type="Elsewhere"), make("Page", page="missing")):
        diagram = draw({**blocks, "odd": odd}, wires)
        assert ports(diagram, "main", "odd") == Ports(("x", "y"), ("first", "second"))
        assert own_ports(diagram.main, "odd") == ports(diagram, "main", "odd")


def test_ends_are_the_wires_by_block_and_made_once():
    here = page({}, {"mul.a": "x.out", "mul.b": "x.out", "stop.x": "mul.out"})
    assert here.ends.inward == {
        "mul": (PortName("mul", "a"), PortName("mul", "b")),
        "stop": (PortName("stop", "x"),),
    }
    assert here.ends.outward == {
        "x": (PortName("mul", "a"), PortName("mul", "b")),
        "mul": (PortName("stop", "x"),),
    }
    assert here.ends is here.ends
    assert replace(here, wires={}).ends.inward == {}


def test_what_is_known_of_ends_makes_no_difference_to_equality():
    known, fresh = seed().main, seed().main
    assert known.ends and known == fresh and repr(known) == repr(fresh)
    assert Page().with_ends(known.ends) == Page()


@pytest.mark.parametrize(
    ("term", "index"),
    [("parts.0", 0), ("parts.12", 12), ("parts.01", None), ("parts.²", None), ("parts", None),
     ("parts.", None), ("other.1", None), ("parts.1.2", None), ("parts." + "9" * 5000, None)],
)  # fmt: skip
def test_the_index_of_a_term(term, index):
    assert term_index(term, "parts") == index


def test_pages_with_the_same_wires_share_their_ends_whichever_is_asked_first():
    before = seed()
    first = next(iter(before.main.blocks))
    moved = apply(before, MoveBlocks({first: Point(40.0, 0.0)})).after
    assert moved.main.ends is before.main.ends
    cut = apply(moved, Disconnect(next(iter(before.main.wires)))).after
    assert moved.main.ends is before.main.ends
    assert cut.main.ends == Page(cut.main.blocks, cut.main.wires).ends != before.main.ends
