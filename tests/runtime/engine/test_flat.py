"""The order in which instances are traced, and those that depend on a cycle."""

import pytest

from gradwire.blocks.block import Block
from gradwire.blocks.registry import registry
from gradwire.runtime.diagram.model import Diagram, Page
from gradwire.runtime.diagram.paths import InstancePath, PortName
from gradwire.runtime.engine.flat import Flat, Instance, topological_order
from gradwire.runtime.engine.flatten import flatten


def flat(**reads: str) -> Flat:
    """A flat diagram of blocks, each with the names of those that it reads."""
    block, found = registry().get("AddN")(), Flat()
    for name, sources in reads.items():
        path = InstancePath(name)
        wires = {
            port: (path.wire(port), InstancePath(source).port("out"))
            for port, source in enumerate_ports(sources)
        }
        found.instances[path] = Instance(path, "main", name, block, tuple(wires), wires)
    return found


def enumerate_ports(sources: str) -> list[tuple[str, str]]:
    return [(f"terms.{i}", source) for i, source in enumerate(sources.split())]


def block_of(kind: str, **parameters: float) -> Block:
    return registry().get(kind)(**parameters)


def order(found: Flat) -> tuple[str, str]:
    instances, looped = topological_order(found)
    return " ".join(instance.path for instance in instances), " ".join(looped)


def test_what_is_in_order_stays_so() -> None:
    assert order(flat(a="", b="", c="b a", d="a")) == ("a b c d", "")


def test_inputs_come_first_in_port_order() -> None:
    assert order(flat(d="c a", a="b", b="", c="b")) == ("b c a d", "")


def test_what_depends_on_a_cycle_is_left_out() -> None:
    assert order(flat(a="", b="c", c="b a", d="c", e="a", f="f")) == ("a e", "c b d f")


def test_a_source_that_does_not_exist_is_no_obstacle() -> None:
    assert order(flat(a="gone", b="a")) == ("a b", "")


def test_instances_in_order_are_kept_so_with_shared_paths_of_their_ports() -> None:
    page = Page(
        {"w": block_of("Variable", value=1.0), "t": block_of("Tanh"), "s": block_of("AddN")},
        {PortName("t", "x"): PortName("w", "out"), PortName("s", "terms.0"): PortName("t", "out")},
    )
    found = flatten(Diagram({"main": page}))
    first, second, third = found.instances.values()
    assert found.in_order and topological_order(found) == ([first, second, third], [])
    assert second.wires["x"][1] is first.outputs[0]
    assert third.wires["terms.0"][1] is second.outputs[0] == "t.out"


@pytest.mark.parametrize("blocks", [["t", "w"], ["t"]])
def test_a_wire_from_a_later_or_missing_block_is_in_no_order(blocks: list[str]) -> None:
    made = {"w": block_of("Variable", value=1.0), "t": block_of("Tanh")}
    page = Page({n: made[n] for n in blocks}, {PortName("t", "x"): PortName("w", "out")})
    found = flatten(Diagram({"main": page}))
    order = [instance.name for instance in topological_order(found)[0]]
    assert not found.in_order and order == sorted(blocks, reverse=True)
